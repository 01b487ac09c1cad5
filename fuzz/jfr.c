#include "reader.h"

/* On one thread; then in ranges and chunks on two, which only large files are otherwise. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_read(&format_jfr, data, size, &(struct format_options){0});
    fuzz_read(&format_jfr, data, size, &(struct format_options){.jfr_range_bytes = 256});
    fuzz_read(&format_jfr, data, size, &(struct format_options){.only_type = "alloc_space"});
    return 0;
}
