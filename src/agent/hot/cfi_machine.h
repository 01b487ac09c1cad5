/* cfi_machine.h - reads call frame information (.eh_frame, .debug_frame: DWARF 6.4): the entries, the
 * instructions of a function, which become rows, and the few expressions that occur.
 *
 * These functions read bytes of our own memory within bounds and trust nothing in them. They allocate
 * nothing, so both the builder of tables (agent/unwind/cfi.h) and a handler that meets code without a table
 * (untabled_code.h) can use them. They know both machines, whichever they run on.
 */
#ifndef AGENT_HOT_CFI_MACHINE_H
#define AGENT_HOT_CFI_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/hot/unwind.h"
#include "base/rd.h"

enum cfi_machine { CFI_X86_64, CFI_AARCH64 };
#if defined(__x86_64__)
#define CFI_OWN_MACHINE CFI_X86_64
#else
#define CFI_OWN_MACHINE CFI_AARCH64
#endif

struct cfi_section {
    const uint8_t *bytes;
    size_t n_bytes;
    uintptr_t address; /* where the first byte stands in the process: pc-relative pointers count from there */
    uintptr_t data_base; /* base of "data-relative" pointers (.eh_frame_hdr) */
    uintptr_t bias;      /* added to absolute addresses (.debug_frame of an object that was moved) */
    bool is_debug_frame; /* CIE pointers are section offsets, CIE id is all ones */
};

struct cfi_cie {
    size_t position; /* in the section; identifies the CIE */
    bool valid, is_signal, has_augmentation_data;
    uint8_t pointer_encoding;
    uint64_t code_align;
    int64_t data_align;
    uint64_t ra_register;
    struct rd instructions;
};

/* Registers by DWARF number of the machine we read for. */
struct cfi_registers {
    uint8_t fp, sp;
};

/* Reads an encoded pointer (LSB 10.5.1) at its place in the section; false when the encoding is unknown. */
bool cfi_read_pointer(const struct cfi_section *s, struct rd *r, uint8_t encoding, uintptr_t *ret_value);

/* The next entry: its content behind the length. False at the end. */
bool cfi_next_entry(struct rd *r, struct rd *ret_entry, bool *ret_is_64);

/* The reader stands behind the id. cie->valid stays false when the CIE is of an unknown form. */
void cfi_parse_cie(const struct cfi_section *s, struct rd r, struct cfi_cie *cie);

/* From this address on, this rule holds. Addresses never go back. */
typedef void cfi_row_fn(void *context, uintptr_t from, const struct unwind_rule *rule);

/* Runs the instructions of a function. A caller that wants the rule of one address only passes the next
 * address as the end and keeps the last row. */
void cfi_program_run(const struct cfi_section *section, enum cfi_machine machine, const struct cfi_cie *cie,
                     struct rd instructions, uintptr_t begin, uintptr_t end, cfi_row_fn *row, void *context);

/* The rule that an expression describes, if it is one of the few that compilers and linkers write; false
 * otherwise. */
bool cfi_expression_cfa(const struct cfi_registers *registers, struct rd expression,
                        struct unwind_rule *rule);
bool cfi_expression_fp(const struct cfi_registers *registers, struct rd expression, struct unwind_rule *rule);

#endif
