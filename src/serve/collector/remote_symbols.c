/* remote_symbols.c - see remote_symbols.h. */
#include "serve/collector/remote_symbols.h"

#include "base/buf.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "format/symbolized.h"
#include "symbol/demangle/demangle.h"

enum { ADDRESSES_A_CALL = 5000 };

static uint32_t add_function(struct profile *p, struct piece linkage_name)
{
    char *linkage = mem_strndup(linkage_name.s, linkage_name.n), *name = symbol_demangle(linkage);
    uint32_t function = profile_add_function(p, profile_cstr(p, name), profile_cstr(p, linkage), 0, 0);
    mem_free(linkage);
    mem_free(name);
    return function;
}

static void take_reply(struct profile *p, struct idmap *functions, const struct bytes *reply)
{
    struct piece rest = {(const char *)reply->data, reply->len}, name;
    uint64_t address;
    while (symbolized_next(&rest, &address, &name)) {
        if (piece_starts(name, "0x")) continue; /* brpc repeats the address when it knows no name */
        bool is_new;
        uint32_t *slot = idmap_slot(functions, address, &is_new);
        if (is_new) *slot = add_function(p, name);
    }
}

static bool is_unnamed(const struct profile *p, size_t location)
{
    return p->locations[location].address && !p->locations[location].n_lines;
}

static void name_locations(struct profile *p, const struct idmap *functions)
{
    for (size_t i = 0; i < p->n_locations; i++) {
        uint32_t function;
        if (is_unnamed(p, i) && idmap_find(functions, p->locations[i].address, &function))
            profile_name_location(p, i, function);
    }
}

void remote_symbols(remote_post *post, void *context, struct profile *p)
{
    struct idmap functions = {0}; /* by address */
    bool failed = false;
    for (size_t i = 0; i < p->n_locations && !failed;) {
        struct buf body = {0};
        struct bytes reply = {0};
        for (size_t n = 0; i < p->n_locations && n < ADDRESSES_A_CALL; i++)
            if (is_unnamed(p, i))
                buf_printf(&body, "%s%#llx", n++ ? "+" : "", (unsigned long long)p->locations[i].address);
        failed = body.len && post(context, "/pprof/symbol", buf_cstr(&body), &reply);
        if (!failed) take_reply(p, &functions, &reply);
        bytes_free(&reply);
        buf_free(&body);
    }
    name_locations(p, &functions);
    idmap_free(&functions);
}
