/* strtab.h - interned strings: equal text, equal id. Id 0 is always "". Text may hold any bytes; a NUL
 * follows it. */
#ifndef BASE_STRTAB_H
#define BASE_STRTAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct str {
    const char *s;
    uint32_t len;
    uint32_t hash;
};

struct strtab { /* all zero is an empty table that already knows "" */
    struct arena text;
    struct str *items;
    size_t n_items, cap_items;
    uint32_t *slots; /* open addressing, id+1 */
    size_t n_slots;
};

uint32_t strtab_add(struct strtab *table, const char *s, size_t len);
uint32_t strtab_add_cstr(struct strtab *table, const char *s);
uint32_t strtab_add_hashed(struct strtab *table, const char *s, size_t len,
                           uint32_t hash);                   /* hash: hash_bytes(s, len) */
void strtab_reserve(struct strtab *table, size_t n_strings); /* room for so many without growing on the way */
uint32_t strtab_find(const struct strtab *table, const char *s, size_t len); /* UINT32_MAX when not there */
void strtab_free(struct strtab *table);

/* Until the table is freed; the pointers do not move when strings are added. */
static inline struct str strtab_get(const struct strtab *table, uint32_t id)
{
    return id < table->n_items ? table->items[id] : (struct str){.s = ""};
}

uint32_t hash_bytes(const void *bytes, size_t n);
static inline uint64_t hash_u64(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

#endif
