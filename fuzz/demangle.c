/* A linkage name: each demangler either appends readable text of bounded length or leaves the output as it
 * was. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool (*demangler)(const char *, size_t, struct buf *), const char *name, size_t n)
{
    static const char before[] = "before";
    const size_t n_before = sizeof before - 1;
    struct buf out = {0};
    buf_add(&out, before, n_before);
    bool good = demangler(name, n, &out);
    if (out.len < n_before || memcmp(out.data, before, n_before)) abort();
    if (!good && out.len != n_before) abort();
    /* A demangler checks the limit before it adds a part, and no part is longer than the name. */
    if (out.len > n_before + DEMANGLE_MAX_OUTPUT + 4 * (n + 64)) abort();
    buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *name = (const char *)data;
    check(demangle, name, size);
    check(demangle_cxx, name, size);
    check(demangle_rust_legacy, name, size);
    check(demangle_rust_v0, name, size);
    return 0;
}
