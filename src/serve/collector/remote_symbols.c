/* remote_symbols.c - see remote_symbols.h. */
#include "serve/collector/remote_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "symbol/demangle/demangle.h"

enum { ADDRESSES_A_CALL = 5000, MAX_ADDRESS_TEXT = 18 };

static uint32_t add_function(struct profile *p, const char *linkage_name, size_t len)
{
    char *linkage = mem_strndup(linkage_name, len), *name = symbol_demangle(linkage);
    uint32_t function = profile_add_function(p, profile_cstr(p, name), profile_cstr(p, linkage), 0, 0);
    mem_free(linkage);
    mem_free(name);
    return function;
}

/* One line, "0xADDRESS<blank>name". brpc repeats the address in place of a name that it does not know. */
static void take_line(struct profile *p, struct idmap *functions, const char *line, const char *end)
{
    char number[MAX_ADDRESS_TEXT + 1] = "", *number_end;
    size_t len = (size_t)(end - line);
    memcpy(number, line, len < MAX_ADDRESS_TEXT ? len : MAX_ADDRESS_TEXT);
    uint64_t address = strtoull(number, &number_end, 16);
    const char *name = line + (number_end - number);
    while (name < end && (*name == ' ' || *name == '\t')) name++;
    while (end > name && (end[-1] == '\r' || end[-1] == ' ')) end--;
    if (strncmp(number, "0x", 2) || name == end || (end - name >= 2 && !memcmp(name, "0x", 2))) return;
    bool is_new;
    uint32_t *slot = idmap_slot(functions, address, &is_new);
    if (is_new) *slot = add_function(p, name, (size_t)(end - name));
}

static void take_reply(struct profile *p, struct idmap *functions, const struct bytes *reply)
{
    const char *at = (const char *)reply->data, *end = at + reply->len;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        take_line(p, functions, at, stop);
        at = stop + 1;
    }
}

static bool is_unnamed(const struct profile *p, size_t location)
{
    return p->locations[location].address && !p->locations[location].n_lines;
}

static void name_locations(struct profile *p, const struct idmap *functions)
{
    for (size_t i = 0; i < p->n_locations; i++) {
        struct location *l = &p->locations[i];
        uint32_t function;
        if (!is_unnamed(p, i) || !idmap_find(functions, l->address, &function)) continue;
        l->first_line = (uint32_t)p->n_lines;
        l->n_lines = 1;
        *VEC_PUSH(p->lines, p->n_lines, p->cap_lines) = (struct line){.function = function};
        if (l->mapping) p->mappings[l->mapping - 1].has_functions = true;
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
