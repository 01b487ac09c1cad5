/* demangle.c - which kind of name is it? */
#include "symbol/demangle/demangle.h"

#include <string.h>

#include "base/mem.h"

bool demangle(const char *name, size_t n, struct buf *out)
{
    if (n < 3 || n > DEMANGLE_MAX_INPUT) return false;
    if (name[0] == '_' && name[1] == 'R') return demangle_rust_v0(name, n, out);
    if (name[0] == '_' && name[1] == 'Z') {
        /* "17h" is in nearly no C++ name, and in every old Rust one. */
        if (name[2] == 'N' && memmem(name, n, "17h", 3) && demangle_rust_legacy(name, n, out)) return true;
        return demangle_cxx(name, n, out);
    }
    if (n > 11 && !memcmp(name, "_GLOBAL_", 8) && strchr("_.$", name[8]) &&
        (name[9] == 'D' || name[9] == 'I') && name[10] == '_') {
        size_t before = out->len;
        buf_str(out, name[9] == 'I' ? "global constructors keyed to " : "global destructors keyed to ");
        if (!demangle_cxx(name + 11, n - 11, out)) buf_add(out, name + 11, n - 11);
        return out->len > before;
    }
    return false;
}

char *symbol_demangle(const char *linkage_name)
{
    struct buf out = {0};
    if (!demangle(linkage_name, strlen(linkage_name), &out)) {
        buf_free(&out);
        return mem_strdup(linkage_name);
    }
    return buf_take(&out);
}
