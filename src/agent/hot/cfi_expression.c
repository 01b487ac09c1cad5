/* cfi_expression.c - the few DWARF expressions that compilers and linkers write into frame information. */
#include "agent/hot/cfi_machine.h"

enum {
    OP_DEREF = 0x06,
    OP_AND = 0x1a,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
};

/* sp + 8 + ((pc & 15) >= N) * 8: how the linker describes a procedure linkage table of 16-byte entries
 * (x86-64). */
static bool is_plt(struct rd e, struct unwind_rule *rule)
{
    bool good = rd_u8(&e) == OP_BREG0 + 7 && rd_sleb(&e) == 8 && rd_u8(&e) == OP_BREG0 + 16 &&
                rd_sleb(&e) == 0 && rd_u8(&e) == OP_LIT0 + 15 && rd_u8(&e) == OP_AND;
    uint8_t limit = rd_u8(&e);
    good = good && limit >= OP_LIT0 && limit <= OP_LIT0 + 15 && rd_u8(&e) == OP_GE &&
           rd_u8(&e) == OP_LIT0 + 3 && rd_u8(&e) == OP_SHL && rd_u8(&e) == OP_PLUS && !e.bad && !rd_left(&e);
    if (good)
        *rule = (struct unwind_rule){.cfa = UNWIND_CFA_PLT, .cfa_offset = limit - OP_LIT0, .ra_offset = -8};
    return good;
}

bool cfi_expression_cfa(const struct cfi_registers *registers, struct rd e, struct unwind_rule *rule)
{
    if (is_plt(e, rule)) return true;
    uint8_t op = rd_u8(&e);
    if (op < OP_BREG0 || op > OP_BREG31) return false;
    unsigned base = op - OP_BREG0;
    int64_t offset = rd_sleb(&e), add = 0;
    if (base != registers->sp && base != registers->fp) return false;
    if (!rd_left(&e)) { /* a plain register and offset, written as an expression */
        if (offset != (int32_t)offset) return false;
        rule->cfa = base == registers->sp ? UNWIND_CFA_SP : UNWIND_CFA_FP;
        rule->cfa_offset = (int32_t)offset;
        return !e.bad;
    }
    /* A function that aligned its stack keeps the old top in its frame: *(fp - 8). */
    if (rd_u8(&e) != OP_DEREF) return false;
    if (rd_left(&e)) {
        if (rd_u8(&e) != OP_PLUS_UCONST) return false;
        add = (int64_t)rd_varint(&e);
    }
    if (e.bad || rd_left(&e) || offset != (int16_t)offset || add != (int32_t)add) return false;
    rule->cfa = base == registers->sp ? UNWIND_CFA_DEREF_SP : UNWIND_CFA_DEREF_FP;
    rule->cfa_offset = (int32_t)add;
    rule->ra_offset =
        (int16_t)offset; /* where the old top is kept; the return address is then in its usual place */
    return true;
}

bool cfi_expression_fp(const struct cfi_registers *registers, struct rd e, struct unwind_rule *rule)
{
    uint8_t op = rd_u8(&e);
    int64_t offset = rd_sleb(&e);
    if (op != OP_BREG0 + registers->fp || e.bad || rd_left(&e) || offset != (int16_t)offset) return false;
    rule->fp = UNWIND_FP_AT_FP;
    rule->fp_offset = (int16_t)offset;
    return true;
}
