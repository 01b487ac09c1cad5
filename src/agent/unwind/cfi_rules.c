/* cfi_rules.c - the set of different rules in an object: a few hundred for hundreds of thousands of rows. */
#include <string.h>

#include "agent/unwind/cfi_int.h"

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
    if (b->rules.failed) return 0; /* a slot may only name a rule that is there */
    b->rule_slots[at] = index + 1;
    return index;
}
