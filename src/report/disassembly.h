/* disassembly.h - disassembles machine code with objdump. */
#ifndef REPORT_DISASSEMBLY_H
#define REPORT_DISASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct instruction {
    uint64_t address;
    const char *text;
    const char *function, *file; /* "" when unknown */
    int64_t line;
};

struct disassembly { /* release with disassembly_free */
    struct instruction *items;
    size_t n_items, cap_items;
    struct arena memory;
};

/* Disassembles the addresses [start, end) of the object. ERR_UNSUPPORTED means that objdump is not installed;
 * the text names its package. */
int disassemble(const char *object, uint64_t start, uint64_t end, bool intel_syntax, struct disassembly *ret,
                struct err *err);
void disassembly_free(struct disassembly *d);

#endif
