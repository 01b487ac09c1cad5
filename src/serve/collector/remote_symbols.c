/* remote_symbols.c - see remote_symbols.h. */
#include "serve/collector/remote_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/idmap.h"
#include "base/mem.h"

enum { ADDRESSES_A_CALL = 5000 };

/* Lines "0xADDRESS<blank>name". */
static void take_reply(struct profile *p, const struct idmap *of_address, const struct bytes *reply)
{
    const char *at = (const char *)reply->data, *end = at + reply->len;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        uint64_t address = 0;
        const char *s = at;
        if (stop - at > 4 && s[0] == '0' && s[1] == 'x') {
            for (s += 2; s < stop; s++) {
                int digit = *s >= '0' && *s <= '9'   ? *s - '0'
                            : *s >= 'a' && *s <= 'f' ? *s - 'a' + 10
                            : *s >= 'A' && *s <= 'F' ? *s - 'A' + 10
                                                     : -1;
                if (digit < 0) break;
                address = address << 4 | (unsigned)digit;
            }
            while (s < stop && (*s == ' ' || *s == '\t')) s++;
            while (stop > s && (stop[-1] == '\r' || stop[-1] == ' ')) stop--;
            uint32_t index;
            /* brpc says the address again when it knows no name */
            if (s < stop && strncmp(s, "0x", 2) && idmap_find(of_address, address, &index) &&
                !p->locations[index].n_lines) {
                uint32_t name = profile_string(p, s, (size_t)(stop - s));
                struct location *l = &p->locations[index];
                l->first_line = (uint32_t)p->n_lines;
                l->n_lines = 1;
                uint32_t function = profile_add_function(p, name, name, 0, 0);
                *VEC_PUSH(p->lines, p->n_lines, p->cap_lines) = (struct line){.function = function};
                if (l->mapping) p->mappings[l->mapping - 1].has_functions = true;
            }
        }
        stop = memchr(at, '\n', (size_t)(end - at));
        at = stop ? stop + 1 : end;
    }
}

void remote_symbols(remote_post *post, void *context, struct profile *p)
{
    struct idmap of_address = {0};
    struct buf body = {0};
    size_t n = 0;
    for (size_t i = 0; i <= p->n_locations; i++) {
        bool wanted = i < p->n_locations && p->locations[i].address && !p->locations[i].n_lines;
        if (wanted) {
            bool is_new;
            uint32_t *slot = idmap_slot(&of_address, p->locations[i].address, &is_new);
            if (is_new) *slot = (uint32_t)i;
            buf_printf(&body, "%s%#llx", n ? "+" : "", (unsigned long long)p->locations[i].address);
            n++;
        }
        if (n && (n == ADDRESSES_A_CALL || i == p->n_locations)) {
            struct bytes reply = {0};
            int bad = post(context, "/pprof/symbol", buf_cstr(&body), &reply);
            if (!bad) take_reply(p, &of_address, &reply);
            bytes_free(&reply);
            buf_free(&body);
            n = 0;
            if (bad) break;
        }
    }
    buf_free(&body);
    idmap_free(&of_address);
}
