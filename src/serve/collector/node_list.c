/* node_list.c - see node_list.h. */
#include "serve/collector/node_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The text between the quotes that follow, and what is after it; NULL: there are none, or it is too long. */
static const char *quoted(const char *at, char file[PROFILE_NAME_MAX])
{
    const char *open = strchr(at, '"'), *close = open ? strchr(open + 1, '"') : NULL;
    size_t n = close ? (size_t)(close - open - 1) : 0;
    if (!close) return NULL;
    memset(file, 0, PROFILE_NAME_MAX);
    if (n < PROFILE_NAME_MAX) memcpy(file, open + 1, n);
    return close + 1;
}

size_t node_list_parse(const void *bytes, size_t len, size_t max, struct node_list_entry **ret_entries)
{
    static const char key[] = "\"filename\"", size_key[] = "\"size\"";
    char *text = mem_strndup(bytes, len);
    struct node_list_entry *entries = NULL;
    size_t n = 0, cap = 0;
    for (const char *at = text; n < max && (at = strstr(at, key));) {
        struct node_list_entry e = {0};
        int32_t node;
        at = quoted(at + strlen(key), e.file);
        if (!at) break;
        if (!profile_name_parse_listed(e.file, &e.name, &node) || e.name.form == PROFILE_FLAME) continue;
        const char *object_end = strchr(at, '}'), *size = strstr(at, size_key);
        if (size && object_end && size < object_end) {
            size += strlen(size_key);
            e.size_bytes = strtoll(size + strspn(size, ": \t\r\n\""), NULL, 10);
        }
        *VEC_PUSH(entries, n, cap) = e;
    }
    mem_free(text);
    *ret_entries = entries;
    return n;
}
