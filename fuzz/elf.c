/* A file that may be an ELF object: headers, sections (unpacked), symbol tables, MiniDebugInfo. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/elf/debugfile.h"
#include "symbol/elf/elf.h"
#include "symbol/elf/symtab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct elf *elf)
{
    struct symtab table = {0};
    struct span bytes;
    struct err err = {0};
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < elf->n_sections && i < 64; i++) {
        int rc = elf_data(elf, &elf->sections[i], &bytes, &err);
        if (rc < 0 && !err.text[0]) abort();
        if (rc == 0 && bytes.n) sum = (uint8_t)(sum + bytes.p[0] + bytes.p[bytes.n - 1]);
    }
    symtab_read(elf, &table);
    for (size_t i = 0; i < table.n_entries; i++) {
        if (i && table.entries[i].start <= table.entries[i - 1].start) abort();
        sum = (uint8_t)(sum + strlen(table.entries[i].name));
        symtab_find(&table, table.entries[i].start);
    }
    symtab_free(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bytes = {.data = mem_alloc(size), .len = size};
    struct elf *elf = NULL;
    struct err err = {0};
    if (size) memcpy(bytes.data, data, size);
    if (elf_open_bytes(&bytes, "input", &elf, &err) < 0) {
        if (!err.text[0]) abort();
        return 0;
    }
    look(elf);
    struct elf *mini = debugfile_open_mini(elf);
    if (mini) look(mini);
    elf_close(mini);
    elf_close(elf);
    return 0;
}
