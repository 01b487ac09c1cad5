/* node_list.c - see node_list.h. */
#include "serve/collector/node_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"

static int64_t size_of(const struct json_value *entry)
{
    double size;
    const char *text = json_text(entry, "size"); /* a number written as text counts too */
    if (text) return strtoll(text, NULL, 10);
    return json_number(entry, "size", &size) && size >= 0 && size < 9e15 ? (int64_t)size : 0;
}

int node_list_parse(const void *bytes, size_t len, size_t max, struct node_list_entry **ret_entries,
                    size_t *ret_n_entries, struct err *err)
{
    struct arena arena = {0};
    struct json_value *list = NULL, *profiles;
    struct node_list_entry *entries = NULL;
    size_t n = 0, cap = 0;
    int bad = json_read(bytes, len, &arena, &list, err);
    profiles = bad ? NULL : json_member(list, "profiles");
    for (const struct json_value *item = profiles ? profiles->items : NULL; item && n < max;
         item = item->next) {
        struct node_list_entry e = {.size_bytes = size_of(item)};
        const char *file = json_text(item, "filename");
        int32_t node;
        if (!file || strlen(file) >= sizeof e.file) continue;
        memcpy(e.file, file, strlen(file) + 1);
        if (!profile_name_parse_listed(e.file, &e.name, &node) || e.name.form == PROFILE_FLAME) continue;
        *VEC_PUSH(entries, n, cap) = e;
    }
    arena_free(&arena);
    *ret_entries = entries;
    *ret_n_entries = n;
    return bad;
}
