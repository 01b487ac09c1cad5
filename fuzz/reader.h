/* reader.h - a fuzz harness for one format reader: whatever comes in, it says "not mine", says what is wrong,
 * or makes a valid profile. */
#ifndef FUZZ_READER_H
#define FUZZ_READER_H

#include <stdio.h>
#include <stdlib.h>

#include "format/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_read(const struct format_reader *reader, const uint8_t *data, size_t size,
                             const struct format_options *options)
{
    struct profile *p = profile_new();
    struct err err = {0};
    int rc = reader->read(data, size, options, p, &err);
    if (rc < 0 && !err.text[0]) abort();
    if (rc == 0 && profile_check(p, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    profile_free(p);
}

#define FUZZ_READER(reader, ...)                                                                             \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                             \
    {                                                                                                        \
        fuzz_read(&(reader), data, size, &(struct format_options){__VA_ARGS__});                             \
        return 0;                                                                                            \
    }

#endif
