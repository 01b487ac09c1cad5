/* Fuzz: call frame information, as the library reads it from objects of its host (.eh_frame, .debug_frame).
 *
 * The first byte chooses the machine and the form of the section; the rest is the section. Whatever the bytes
 * are, the rows of a program come in order and inside its function, and the rows of a table are sorted, start
 * each page and name rules that exist.
 */
#include <stdlib.h>

#include "agent/unwind/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SECTION_ADDRESS = 0x1000000, CODE_BEGIN = 0xff0000, CODE_END = 0x1040000 };

struct bounds {
    uintptr_t next, end;
};

static void check_row(void *context, uintptr_t from, const struct unwind_rule *rule)
{
    struct bounds *b = context;
    if (from < b->next || from >= b->end || rule->cfa > UNWIND_CFA_END || rule->cfa_register > 31) abort();
    b->next = from + 1;
}

/* The bytes as the content of a CIE and, behind it, the program of one function. */
static void run_program(const struct cfi_section *section, enum cfi_machine machine)
{
    struct cfi_cie cie = {0};
    cfi_parse_cie(section, rd_over(section->bytes, section->n_bytes), &cie);
    if (!cie.valid) return;
    struct bounds b = {CODE_BEGIN, CODE_END};
    struct rd program = cie.instructions;
    cie.instructions = rd_sub(&program, rd_left(&program) / 2);
    cfi_program_run(section, machine, &cie, program, CODE_BEGIN, CODE_END, check_row, &b);
}

static void check_table(const struct cfi_table *t)
{
    const struct unwind_module *m = &t->module;
    size_t n_pages = ((m->end - m->begin) >> 16) + 1;
    if (m->pages[n_pages] != t->n_rows) abort();
    for (size_t page = 0; page < n_pages; page++) {
        uint32_t row = m->pages[page];
        if (row >= m->pages[page + 1] || m->rows[row].address) abort();
        for (; row < m->pages[page + 1]; row++) {
            if (m->rows[row].rule >= t->n_rules) abort();
            if (row > m->pages[page] && m->rows[row].address <= m->rows[row - 1].address) abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    enum cfi_machine machine = data[0] & 1 ? CFI_AARCH64 : CFI_X86_64;
    struct cfi_section section = {
        .bytes = data + 1, .n_bytes = size - 1, .address = SECTION_ADDRESS, .is_debug_frame = data[0] & 2};
    if (section.is_debug_frame) section.bias = CODE_BEGIN;
    struct cfi_table table;
    struct err err;
    run_program(&section, machine);
    if (!cfi_build(&section, machine, CODE_BEGIN, CODE_END, &table, &err)) {
        check_table(&table);
        cfi_table_free(&table);
    }
    return 0;
}
