/* idmap.c - see idmap.h. */
#include "base/idmap.h"

#include "base/mem.h"
#include "base/strtab.h"

static size_t slot_of(const struct idmap *map, uint64_t key)
{
    size_t at = hash_u64(key) & (map->n_slots - 1);
    while (map->used[at] && map->keys[at] != key) at = (at + 1) & (map->n_slots - 1);
    return at;
}

static void rehash(struct idmap *map, size_t n_slots)
{
    struct idmap old = *map;
    map->keys = mem_array(n_slots, sizeof *map->keys);
    map->values = mem_array(n_slots, sizeof *map->values);
    map->used = mem_zalloc(n_slots);
    map->n_slots = n_slots;
    for (size_t i = 0; i < old.n_slots; i++) {
        if (!old.used[i]) continue;
        size_t at = slot_of(map, old.keys[i]);
        map->used[at] = 1;
        map->keys[at] = old.keys[i];
        map->values[at] = old.values[i];
    }
    mem_free(old.keys);
    mem_free(old.values);
    mem_free(old.used);
}

uint32_t *idmap_slot(struct idmap *map, uint64_t key, bool *ret_new)
{
    if (map->n_items * 2 >= map->n_slots) rehash(map, map->n_slots ? map->n_slots * 2 : 64);
    size_t at = slot_of(map, key);
    if (ret_new) *ret_new = !map->used[at];
    if (!map->used[at]) {
        map->used[at] = 1;
        map->keys[at] = key;
        map->values[at] = 0;
        map->n_items++;
    }
    return &map->values[at];
}

bool idmap_find(const struct idmap *map, uint64_t key, uint32_t *ret_value)
{
    if (!map->n_slots) return false;
    size_t at = slot_of(map, key);
    if (!map->used[at]) return false;
    *ret_value = map->values[at];
    return true;
}

void idmap_free(struct idmap *map)
{
    mem_free(map->keys);
    mem_free(map->values);
    mem_free(map->used);
    *map = (struct idmap){0};
}
