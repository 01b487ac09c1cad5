/* cfi_int.h - shared by the three parts of the builder: cfi.c (functions and pages), cfi_program.c
 * (instructions), cfi_rules.c. */
#ifndef AGENT_CFI_INT_H
#define AGENT_CFI_INT_H

#include "agent/cfi.h"
#include "agent/pages.h"
#include "base/rd.h"

struct cfi_cie {
    size_t position; /* in the section; the key */
    bool valid, is_signal, has_augmentation_data;
    uint8_t pointer_encoding;
    uint64_t code_align;
    int64_t data_align;
    uint64_t ra_register;
    struct rd instructions;
};

/* Registers by DWARF number of the machine we read for. */
struct cfi_registers {
    uint8_t fp, sp, ra;
};

struct cfi_line { /* one row before it is cut into pages */
    uint32_t offset;
    uint32_t rule;
};

struct cfi_builder {
    const struct cfi_section *section;
    enum cfi_machine machine;
    struct cfi_registers registers;
    uintptr_t begin, end;
    struct pages_buf lines; /* struct cfi_line[] */
    struct pages_buf rules; /* struct unwind_rule[]; [0] is "none" */
    uint32_t *rule_slots;   /* hash: rule index + 1 */
};

#define CFI_RULE_SLOTS 131072u

/* An encoded pointer (LSB 10.5.1) at its place in the section; false when the encoding is not one we know. */
bool cfi_read_pointer(const struct cfi_section *s, struct rd *r, uint8_t encoding, uintptr_t *ret_value);

/* The number of this rule, added when new; 0 (none) when there are more than 65,535. */
uint32_t cfi_rule_index(struct cfi_builder *b, const struct unwind_rule *rule);

/* From offset on, this rule. Offsets never go back. */
void cfi_line_add(struct cfi_builder *b, uint32_t offset, uint32_t rule);

/* Runs the program of a function and adds its lines. */
void cfi_program_run(struct cfi_builder *b, const struct cfi_cie *cie, struct rd instructions,
                     uintptr_t begin, uintptr_t end);

/* What an expression means, where it is one of the few that compilers and linkers write; false otherwise. */
bool cfi_expression_cfa(const struct cfi_registers *registers, struct rd expression,
                        struct unwind_rule *rule);
bool cfi_expression_fp(const struct cfi_registers *registers, struct rd expression, struct unwind_rule *rule);

#endif
