/* idmap.h - a hash map from 64-bit keys to 32-bit values (usually an index into an array). */
#ifndef BASE_IDMAP_H
#define BASE_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap { /* all zero is an empty map */
    uint64_t *keys;
    uint32_t *values;
    uint8_t *used;
    size_t n_items, n_slots;
};

/* Returns the address of key's value. If the key is new, adds it with the value 0 and sets *ret_new. The
 * address is valid until the next idmap_slot. */
uint32_t *idmap_slot(struct idmap *map, uint64_t key, bool *ret_new);

/* Sets *ret_value to key's value. Returns false if the map does not have the key. */
bool idmap_find(const struct idmap *map, uint64_t key, uint32_t *ret_value);
void idmap_free(struct idmap *map);

#endif
