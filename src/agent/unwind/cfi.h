/* cfi.h - turns the call frame information of an object (.eh_frame or .debug_frame, DWARF section 6.4) into
 * the rows of hot/unwind.h.
 *
 * The input is a copy in our own memory. It is read through base/rd.h and nothing in it is trusted: a row
 * that makes no sense becomes "no rule", and the unwinder steps over that code by its frame pointer. Both
 * machines (x86-64, aarch64) can be read on either of them.
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

/* Makes the rows for the code in [begin, end). The caller frees ret_table with cfi_table_free. ERR_LIMIT when
 * there is no memory, so a later call can succeed. ERR_UNSUPPORTED when there is more code than a table can
 * describe. */
int cfi_build(const struct cfi_section *section, enum cfi_machine machine, uintptr_t begin, uintptr_t end,
              struct cfi_table *ret_table, struct err *err);
void cfi_table_free(struct cfi_table *table);

#endif
