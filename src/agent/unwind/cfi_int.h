/* cfi_int.h - shared by the two parts of the table builder, cfi.c (functions and pages) and cfi_rules.c. */
#ifndef AGENT_UNWIND_CFI_INT_H
#define AGENT_UNWIND_CFI_INT_H

#include "agent/host/pages.h"
#include "agent/unwind/cfi.h"
#include "base/rd.h"

struct cfi_line { /* one row before it is cut into pages */
    uint32_t offset;
    uint32_t rule;
};

struct cfi_builder {
    const struct cfi_section *section;
    enum cfi_machine machine;
    uintptr_t begin, end;
    struct pages_buf lines; /* struct cfi_line[] */
    struct pages_buf rules; /* struct unwind_rule[]; [0] is "none" */
    uint32_t *rule_slots;   /* hash: rule index + 1 */
};

#define CFI_RULE_SLOTS 131072u

/* The index of this rule, which is added when it is new; 0 (none) when there are more than 65,535 rules. */
uint32_t cfi_rule_index(struct cfi_builder *b, const struct unwind_rule *rule);

/* From this offset on, this rule applies. The offset is never smaller than in the call before. */
void cfi_line_add(struct cfi_builder *b, uint32_t offset, uint32_t rule);

#endif
