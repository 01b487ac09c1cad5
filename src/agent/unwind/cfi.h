/* cfi.h - from the call frame information of an object (.eh_frame, .debug_frame: DWARF 6.4) to the rows of
 * hot/unwind.h.
 *
 * Reads bytes that are already in our own memory, through bounds, and trusts nothing in them: rows that make
 * no sense become "no rule", which the unwinder steps over by frame pointer. Knows both machines, whichever
 * it runs on.
 */
#ifndef AGENT_UNWIND_CFI_H
#define AGENT_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/hot/cfi_machine.h"
#include "agent/hot/unwind.h"
#include "base/err.h"

struct cfi_table {
    struct unwind_module module; /* points into memory */
    void *memory;
    size_t n_bytes;
    uint32_t n_rows, n_rules, n_functions;
};

/* The rows for code in [begin, end). ret_table is the caller's: cfi_table_free. */
int cfi_build(const struct cfi_section *section, enum cfi_machine machine, uintptr_t begin, uintptr_t end,
              struct cfi_table *ret_table, struct err *err);
void cfi_table_free(struct cfi_table *table);

#endif
