/* scope_names.c - see scope_names.h. All workers of a lookup share the table. It is split into shards by key,
 * each with its own lock, so that two workers seldom wait for each other. A worker holds the shard's lock
 * while it demangles a name, so that each name is demangled only once. */
#include "symbol/dwarf/scope_names.h"

#include <pthread.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/lock_rank.h"
#include "base/mem.h"
#include "base/strtab.h"
#include "symbol/demangle/demangle.h"

enum { N_SHARDS = 64 };

struct slot {
    const char *key, *value;
};

struct shard {
    pthread_mutex_t lock;
    struct slot *slots;
    size_t n_slots, n_used;
    struct arena text;
    struct buf scratch;
} __attribute__((aligned(64)));

struct names {
    struct shard shards[N_SHARDS];
};

struct names *names_new(void)
{
    struct names *names = mem_zalloc(sizeof *names);
    for (int i = 0; i < N_SHARDS; i++) lock_rank_init(&names->shards[i].lock, LOCK_SCOPE_NAMES, NULL);
    return names;
}

void names_free(struct names *names)
{
    if (!names) return;
    for (int i = 0; i < N_SHARDS; i++) {
        struct shard *s = &names->shards[i];
        pthread_mutex_destroy(&s->lock);
        mem_free(s->slots);
        arena_free(&s->text);
        buf_free(&s->scratch);
    }
    mem_free(names);
}

static struct slot *slot_of(struct slot *slots, size_t n_slots, const char *key, uint64_t hash)
{
    size_t i = (size_t)(hash >> 6) & (n_slots - 1);
    while (slots[i].key && slots[i].key != key) i = (i + 1) & (n_slots - 1);
    return &slots[i];
}

static void grow(struct shard *s)
{
    size_t n = s->n_slots ? s->n_slots * 2 : 64;
    struct slot *slots = mem_zalloc(n * sizeof *slots);
    for (size_t i = 0; i < s->n_slots; i++)
        if (s->slots[i].key)
            *slot_of(slots, n, s->slots[i].key, hash_u64((uintptr_t)s->slots[i].key)) = s->slots[i];
    mem_free(s->slots);
    s->slots = slots;
    s->n_slots = n;
}

const char *names_demangle(struct names *names, const char *name)
{
    if (name[0] != '_') return name;
    uint64_t hash = hash_u64((uintptr_t)name);
    struct shard *s = &names->shards[hash % N_SHARDS];
    pthread_mutex_lock(&s->lock);
    if (s->n_used * 4 >= s->n_slots * 3) grow(s);
    struct slot *slot = slot_of(s->slots, s->n_slots, name, hash);
    if (!slot->key) {
        s->n_used++;
        s->scratch.len = 0;
        slot->key = name;
        slot->value = demangle(name, strlen(name), &s->scratch)
                          ? arena_strndup(&s->text, s->scratch.data, s->scratch.len)
                          : name;
    }
    const char *value = slot->value;
    pthread_mutex_unlock(&s->lock);
    return value;
}
