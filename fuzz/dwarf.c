/* A file that may be an object with debug information: looks up a handful of addresses (their own, shorter
 * way), then all that it says it has code at, and some that it does not. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/dwarf/dwarf_int.h"
#include "symbol/image.h"
#include "symbol/symbol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_ADDRESSES = 64, N_FEW = 4 };

static void read_names(const struct hit *hits, size_t n)
{
    volatile size_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        for (const struct scope *s = hits[i].scope; s; s = s->parent)
            sum = sum + (s->function ? strlen(s->function) : 0) + (s->call_file ? strlen(s->call_file) : 0);
        if (hits[i].file) sum = sum + strlen(hits[i].file);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bytes = {.data = mem_alloc(size), .len = size};
    struct elf *elf = NULL;
    struct err err = {0};
    if (size) memcpy(bytes.data, data, size);
    if (elf_open_bytes(&bytes, "input", &elf, &err) < 0) return 0;
    struct names *names = names_new();
    struct dwarf *d = NULL;
    const struct debugfile_places places = {.root = "/nonexistent"};
    if (dwarf_open(elf, &places, 1, names, &d, &err) < 0) {
        if (!err.text[0]) abort();
    } else {
        uint64_t addresses[N_ADDRESSES] = {0, 1, UINT64_MAX};
        struct hit hits[N_ADDRESSES];
        size_t n = 3;
        uint64_t few[N_FEW];
        for (size_t i = 0; i < N_FEW; i++) few[i] = d->main->code_min + i * i * 11;
        memset(hits, 0, sizeof hits);
        dwarf_lookup(d, few, N_FEW, hits);
        read_names(hits, N_FEW);
        memset(hits, 0, sizeof hits);
        dwarf_find_places(d);
        for (size_t i = 0; i < d->n_places && n + 4 <= N_ADDRESSES; i++) {
            const struct place *p = &d->places_of_code[i];
            addresses[n++] = p->low;
            addresses[n++] = p->high - 1;
            addresses[n++] = p->low + (p->high - p->low) / 2;
            addresses[n++] = p->low + (p->high - p->low) / 3;
        }
        dwarf_lookup(d, addresses, n, hits);
        read_names(hits, n);
    }
    struct image *image = d ? image_build(d, "", NULL) : NULL;
    if (image) {
        uint64_t addresses[N_ADDRESSES];
        struct symbol_result r;
        for (size_t i = 0; i < N_ADDRESSES; i++) addresses[i] = d->main->code_min + i * 5;
        if (!image_lookup(image, addresses, N_ADDRESSES, &(struct image_want){.n_threads = 1}, &r)) abort();
        symbol_result_free(&r);
        image_free(image);
    }
    dwarf_close(d);
    names_free(names);
    elf_close(elf);
    return 0;
}
