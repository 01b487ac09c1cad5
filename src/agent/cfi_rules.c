/* cfi_rules.c - the rules of an object (a few hundred for hundreds of thousands of rows) and the expressions
 * we know. */
#include <string.h>

#include "agent/cfi_int.h"

static uint32_t rule_hash(const struct unwind_rule *r)
{
    uint64_t words[2] = {0};
    memcpy(words, r, sizeof *r);
    uint64_t h = words[0] * 0x9e3779b97f4a7c15u ^ words[1] * 0xc2b2ae3d27d4eb4fu;
    return (uint32_t)(h >> 40);
}

uint32_t cfi_rule_index(struct cfi_builder *b, const struct unwind_rule *rule)
{
    if (!b->rule_slots) {
        b->rule_slots = pages_map(CFI_RULE_SLOTS * sizeof *b->rule_slots);
        if (!b->rule_slots) return 0;
        struct unwind_rule none = {.cfa = UNWIND_CFA_NONE};
        pages_buf_bytes(&b->rules, &none, sizeof none);
    }
    if (rule->cfa == UNWIND_CFA_NONE) return 0;
    uint32_t at = rule_hash(rule) & (CFI_RULE_SLOTS - 1);
    for (;; at = (at + 1) & (CFI_RULE_SLOTS - 1)) {
        uint32_t found = b->rule_slots[at];
        if (!found) break;
        if (!memcmp(b->rules.data + (size_t)(found - 1) * sizeof *rule, rule, sizeof *rule)) return found - 1;
    }
    uint32_t index = (uint32_t)(b->rules.size / sizeof *rule);
    if (index > UINT16_MAX) return 0;
    pages_buf_bytes(&b->rules, rule, sizeof *rule);
    b->rule_slots[at] = index + 1;
    return index;
}

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
        (int16_t)offset; /* the place of the old top; the return address is then where it always is */
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
