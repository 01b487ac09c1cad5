/* JSON from clients and nodes: the tree must fit the limits, its texts must be UTF-8, and the answers of
 * nodes that are made from it must hold only names of profiles. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "serve/collector/node_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text)
{
    for (size_t left = strlen(text), n; left; left -= n, text += n)
        if (!(n = utf8_sequence_len(text, left))) abort();
}

static void check(const struct json_value *value, int depth, size_t *n_values)
{
    if (depth > JSON_MAX_DEPTH || ++*n_values > JSON_MAX_VALUES) abort();
    if ((value->kind == JSON_TEXT) != (value->text != NULL)) abort();
    if (value->text) check_text(value->text);
    if (value->items && value->kind != JSON_ARRAY && value->kind != JSON_OBJECT) abort();
    for (const struct json_value *item = value->items; item; item = item->next) {
        if ((value->kind == JSON_OBJECT) != (item->key != NULL)) abort();
        if (item->key) {
            check_text(item->key);
            if (!json_member(value, item->key)) abort();
        }
        check(item, depth + 1, n_values);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct json_value *value = NULL;
    struct node_list_entry *entries;
    struct err err = {0};
    size_t n_values = 0;
    if (size > 1 << 16) return 0;
    if (!json_read(data, size, &arena, &value, &err))
        check(value, 0, &n_values);
    else if (!err.text[0])
        abort();
    arena_free(&arena);
    size_t n;
    node_list_parse(data, size, 100, &entries, &n, &err);
    for (size_t i = 0; i < n; i++)
        if (!entries[i].file[0] || strpbrk(entries[i].file, "/\\<>&\"'% \n")) abort();
    mem_free(entries);
    return 0;
}
