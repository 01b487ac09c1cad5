/* strtab.c - see strtab.h. */
#include "base/strtab.h"

#include <string.h>

#include "base/mem.h"

uint32_t hash_bytes(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = 0x9e3779b97f4a7c15u ^ n, word;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&word, p, 8);
        h = (h ^ word) * 0xd6e8feb86659fd93u;
        h ^= h >> 29;
    }
    if (n) {
        word = 0;
        memcpy(&word, p, n);
        h = (h ^ word) * 0xd6e8feb86659fd93u;
    }
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return (uint32_t)(h ^ h >> 32);
}

static void rehash(struct strtab *table, size_t n_slots)
{
    mem_free(table->slots);
    table->slots = mem_zalloc(n_slots * sizeof *table->slots);
    table->n_slots = n_slots;
    for (size_t id = 0; id < table->n_items; id++) {
        size_t at = table->items[id].hash & (n_slots - 1);
        while (table->slots[at]) at = (at + 1) & (n_slots - 1);
        table->slots[at] = (uint32_t)id + 1;
    }
}

static uint32_t append(struct strtab *table, const char *s, size_t len, uint32_t hash)
{
    uint32_t id = (uint32_t)table->n_items;
    struct str *item = VEC_PUSH(table->items, table->n_items, table->cap_items);
    *item = (struct str){arena_strndup(&table->text, s, len), (uint32_t)len, hash};
    if (table->n_items * 2 > table->n_slots) {
        rehash(table, table->n_slots ? table->n_slots * 2 : 64);
        return id;
    }
    size_t at = hash & (table->n_slots - 1);
    while (table->slots[at]) at = (at + 1) & (table->n_slots - 1);
    table->slots[at] = id + 1;
    return id;
}

static uint32_t find(const struct strtab *table, const char *s, size_t len, uint32_t hash)
{
    if (!table->n_slots) return UINT32_MAX;
    for (size_t at = hash & (table->n_slots - 1); table->slots[at]; at = (at + 1) & (table->n_slots - 1)) {
        const struct str *item = &table->items[table->slots[at] - 1];
        if (item->hash == hash && item->len == len && !memcmp(item->s, s, len)) return table->slots[at] - 1;
    }
    return UINT32_MAX;
}

uint32_t strtab_find(const struct strtab *table, const char *s, size_t len)
{
    return len ? find(table, s, len, hash_bytes(s, len)) : 0;
}

uint32_t strtab_add_hashed(struct strtab *table, const char *s, size_t len, uint32_t hash)
{
    if (!table->n_items) append(table, "", 0, hash_bytes("", 0));
    if (!len) return 0;
    uint32_t found = find(table, s, len, hash);
    return found != UINT32_MAX ? found : append(table, s, len, hash);
}

uint32_t strtab_add(struct strtab *table, const char *s, size_t len)
{
    return strtab_add_hashed(table, s, len, hash_bytes(s, len));
}

uint32_t strtab_add_cstr(struct strtab *table, const char *s)
{
    return strtab_add(table, s, strlen(s));
}

void strtab_reserve(struct strtab *table, size_t n_strings)
{
    size_t n_slots = table->n_slots ? table->n_slots : 64;
    while (n_slots < n_strings * 2) n_slots *= 2;
    if (n_slots > table->n_slots) rehash(table, n_slots);
    if (n_strings > table->cap_items)
        table->items = mem_grow(table->items, &table->cap_items, n_strings, sizeof *table->items);
}

void strtab_free(struct strtab *table)
{
    arena_free(&table->text);
    mem_free(table->items);
    mem_free(table->slots);
    *table = (struct strtab){0};
}
