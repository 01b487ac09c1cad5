/* The reader, and the sort that works on the lines themselves. */
#include "format/folded.h"

#include "base/mem.h"
#include "reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_read(&format_folded, data, size, &(struct format_options){0});
    size_t n;
    struct folded_line *lines = folded_lines((struct piece){(const char *)data, size}, &n, NULL);
    mem_free(lines);
    return 0;
}
