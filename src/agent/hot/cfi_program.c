/* cfi_program.c - runs the instructions of DWARF 6.4.2: those of a function become rows. Only three
 * registers matter here: the frame address, the frame pointer and the return address. */
#include "agent/hot/cfi_machine.h"

enum { SAME, AT_OFFSET, EXPRESSION, UNDEFINED }; /* where a register of the caller is */

struct place {
    uint8_t how;
    int64_t offset;
    struct rd expression;
};

struct state {
    uint64_t cfa_register;
    int64_t cfa_offset;
    bool cfa_is_expression;
    struct rd cfa_expression;
    struct place fp, ra;
};

#define MAX_REMEMBERED                                                                                       \
    8 /* compilers nest them once; this may run on the stack of a handler, so it is short */

struct machine {
    const struct cfi_section *section;
    enum cfi_machine machine;
    struct cfi_registers registers;
    const struct cfi_cie *cie;
    cfi_row_fn *row; /* NULL while the CIE runs: its instructions make no rows, even if they move on */
    void *context;
    struct state now, initial, remembered[MAX_REMEMBERED];
    unsigned n_remembered;
    bool lost; /* an unknown instruction: there is no rule from here to the end of the function */
    uintptr_t pc, end;
};

static struct unwind_rule rule_of(struct machine *m)
{
    const struct state *s = &m->now;
    const struct cfi_registers *regs = &m->registers;
    struct unwind_rule none = {.cfa = UNWIND_CFA_NONE}, r = {0};
    if (m->cie->is_signal) return (struct unwind_rule){.cfa = UNWIND_CFA_SIGNAL};
    if (m->lost) return none;
    if (s->ra.how == UNDEFINED) return (struct unwind_rule){.cfa = UNWIND_CFA_END};
    if (s->ra.how == EXPRESSION) return none;
    if (s->ra.how == SAME) {
        if (m->machine == CFI_X86_64) return none;
        r.ra = UNWIND_RA_IN_LR;
    } else {
        if (s->ra.offset != (int16_t)s->ra.offset) return none;
        r.ra_offset = (int16_t)s->ra.offset;
    }
    if (s->cfa_is_expression) {
        if (!cfi_expression_cfa(regs, s->cfa_expression, &r)) return none;
    } else {
        if (s->cfa_offset != (int32_t)s->cfa_offset) return none;
        r.cfa_offset = (int32_t)s->cfa_offset;
        r.cfa = s->cfa_register == regs->sp   ? UNWIND_CFA_SP
                : s->cfa_register == regs->fp ? UNWIND_CFA_FP
                                              : UNWIND_CFA_REGISTER;
        if (r.cfa == UNWIND_CFA_REGISTER) {
            if (s->cfa_register > 31) return none;
            r.cfa_register = (uint8_t)s->cfa_register;
        }
    }
    if (s->fp.how == AT_OFFSET) {
        r.fp = s->fp.offset == (int16_t)s->fp.offset ? UNWIND_FP_AT_CFA : UNWIND_FP_UNKNOWN;
        r.fp_offset = r.fp == UNWIND_FP_AT_CFA ? (int16_t)s->fp.offset : 0;
    } else if (s->fp.how == EXPRESSION) {
        if (!cfi_expression_fp(regs, s->fp.expression, &r)) r.fp = UNWIND_FP_UNKNOWN;
    } else if (s->fp.how == UNDEFINED) {
        r.fp = UNWIND_FP_UNKNOWN;
    }
    return r;
}

static void row_end(struct machine *m, uintptr_t next_pc)
{
    if (next_pc <= m->pc) return;
    uintptr_t to = next_pc < m->end ? next_pc : m->end;
    if (m->pc < to && m->row) {
        struct unwind_rule r = rule_of(m);
        m->row(m->context, m->pc, &r);
    }
    m->pc = next_pc;
}

static struct place *place_of(struct machine *m, struct state *s, uint64_t reg)
{
    if (reg == m->cie->ra_register) return &s->ra;
    if (reg == m->registers.fp) return &s->fp;
    return NULL; /* a register that does not matter here */
}

static void set_place(struct machine *m, uint64_t reg, uint8_t how, int64_t offset, struct rd expression)
{
    struct place *p = place_of(m, &m->now, reg);
    if (p) *p = (struct place){.how = how, .offset = offset, .expression = expression};
}

static void restore_place(struct machine *m, uint64_t reg)
{
    struct place *p = place_of(m, &m->now, reg);
    if (p) *p = *place_of(m, &m->initial, reg);
}

/* The product wraps round: a file may hold any number, and rule_of refuses what is too large. */
static int64_t scaled(const struct machine *m, uint64_t factor)
{
    return (int64_t)(factor * (uint64_t)m->cie->data_align);
}

static const struct rd nothing;

static void run_extended(struct machine *m, uint8_t op, struct rd *r)
{
    struct state *s = &m->now;
    uint64_t reg;
    uintptr_t address;
    switch (op) {
    case 0x00:
        break; /* nop */
    case 0x01: /* set_loc */
        if (cfi_read_pointer(m->section, r, m->cie->pointer_encoding, &address))
            row_end(m, address);
        else
            m->lost = true;
        break;
    case 0x02:
        row_end(m, m->pc + rd_u8(r) * m->cie->code_align);
        break;
    case 0x03:
        row_end(m, m->pc + rd_u16(r) * m->cie->code_align);
        break;
    case 0x04:
        row_end(m, m->pc + rd_u32(r) * m->cie->code_align);
        break;
    case 0x05: /* offset_extended */
        reg = rd_varint(r);
        set_place(m, reg, AT_OFFSET, scaled(m, rd_varint(r)), nothing);
        break;
    case 0x06:
        restore_place(m, rd_varint(r));
        break;
    case 0x07:
        set_place(m, rd_varint(r), UNDEFINED, 0, nothing);
        break;
    case 0x08:
        set_place(m, rd_varint(r), SAME, 0, nothing);
        break;
    case 0x09: /* register: the caller's value is in another register */
        reg = rd_varint(r);
        (void)rd_varint(r);
        if (reg == m->cie->ra_register)
            m->lost = true;
        else
            set_place(m, reg, UNDEFINED, 0, nothing);
        break;
    case 0x0a:
        if (m->n_remembered < MAX_REMEMBERED)
            m->remembered[m->n_remembered++] = *s;
        else
            m->lost = true;
        break;
    case 0x0b:
        if (m->n_remembered)
            *s = m->remembered[--m->n_remembered];
        else
            m->lost = true;
        break;
    case 0x0c: /* def_cfa */
    case 0x12: /* def_cfa_sf */
        s->cfa_register = rd_varint(r);
        s->cfa_offset = op == 0x0c ? (int64_t)rd_varint(r) : scaled(m, (uint64_t)rd_sleb(r));
        s->cfa_is_expression = false;
        break;
    case 0x0d:
        s->cfa_register = rd_varint(r);
        s->cfa_is_expression = false;
        break;
    case 0x0e:
        s->cfa_offset = (int64_t)rd_varint(r);
        break;
    case 0x13:
        s->cfa_offset = scaled(m, (uint64_t)rd_sleb(r));
        break;
    case 0x0f:
        s->cfa_is_expression = true;
        s->cfa_expression = rd_sub(r, rd_varint(r));
        break;
    case 0x10: /* expression */
        reg = rd_varint(r);
        set_place(m, reg, EXPRESSION, 0, rd_sub(r, rd_varint(r)));
        break;
    case 0x11: /* offset_extended_sf */
        reg = rd_varint(r);
        set_place(m, reg, AT_OFFSET, scaled(m, (uint64_t)rd_sleb(r)), nothing);
        break;
    case 0x14: /* val_offset, val_offset_sf: the value itself; never seen for the registers we follow */
    case 0x15:
        reg = rd_varint(r);
        if (op == 0x14)
            (void)rd_varint(r);
        else
            (void)rd_sleb(r);
        set_place(m, reg, UNDEFINED, 0, nothing);
        break;
    case 0x16: /* val_expression */
        reg = rd_varint(r);
        rd_skip(r, rd_varint(r));
        set_place(m, reg, UNDEFINED, 0, nothing);
        break;
    case 0x2d:
        break; /* aarch64: return addresses are signed from here on; the walk removes the signature in any
                  case */
    case 0x2e:
        (void)rd_varint(r);
        break; /* GNU_args_size */
    case 0x2f: /* GNU_negative_offset_extended */
        reg = rd_varint(r);
        set_place(m, reg, AT_OFFSET, scaled(m, -rd_varint(r)), nothing);
        break;
    default:
        m->lost = true;
        r->p = r->end;
    }
}

static void run(struct machine *m, struct rd r)
{
    while (rd_left(&r) && !r.bad && m->pc < m->end) {
        uint8_t op = rd_u8(&r);
        uint8_t low = op & 0x3f;
        switch (op >> 6) {
        case 1:
            row_end(m, m->pc + low * m->cie->code_align);
            break;
        case 2:
            set_place(m, low, AT_OFFSET, scaled(m, rd_varint(&r)), nothing);
            break;
        case 3:
            restore_place(m, low);
            break;
        default:
            run_extended(m, op, &r);
        }
    }
    if (r.bad) m->lost = true;
}

void cfi_program_run(const struct cfi_section *section, enum cfi_machine machine, const struct cfi_cie *cie,
                     struct rd instructions, uintptr_t begin, uintptr_t end, cfi_row_fn *row, void *context)
{
    struct machine m = {.section = section, .machine = machine, .cie = cie, .context = context};
    m.registers = machine == CFI_X86_64 ? (struct cfi_registers){.fp = 6, .sp = 7}
                                        : (struct cfi_registers){.fp = 29, .sp = 31};
    m.pc = begin;
    m.end = end;
    m.now.ra.how = SAME;
    run(&m, cie->instructions);
    m.pc = begin;
    m.row = row;
    m.initial = m.now;
    run(&m, instructions);
    row_end(&m, end);
}
