/* jfr_stacks.c - reads the stack traces of a chunk's pool, and keeps each distinct stack of the file once;
 * see jfr.h.
 *
 * Most of a recording is stack traces, and most of these were already in the previous chunk. Reading the pool
 * therefore skips them quickly. When an event needs a stack, a hash of its bytes finds it among the known
 * ones, and only a new stack is decoded frame by frame.
 */
#include <endian.h>
#include <string.h>

#include "base/mem.h"
#include "format/jfr/jfr.h"

enum { MAX_FRAMES = 65536 };

/* ---- skipping ---- */

void jfr_stacks_begin(struct jfr_pools *pools)
{
    const struct jfr_types *t = pools->types;
    const struct jfr_type *stack = jfr_type_by_name(t, "jdk.types.StackTrace");
    if (!stack || stack->n_fields != 2) return;
    const struct jfr_field *f = t->fields + stack->first_field;
    if (f[0].op != JFR_OP_BYTE || f[0].is_array || f[1].op != JFR_OP_STRUCT || !f[1].is_array) return;
    const struct jfr_type *frame = &t->types[f[1].type];
    for (uint32_t i = 0; i < frame->n_fields; i++) {
        const struct jfr_field *inner = &t->fields[frame->first_field + i];
        if (inner->op != JFR_OP_VARINT || inner->is_array) return;
    }
    pools->n_plain_frame_fields = frame->n_fields < 64 ? frame->n_fields : 0;
}

/* Skips n varints, eight bytes at a time. A varint ends at a byte below 0x80, except that one of nine bytes
 * ends at its ninth byte whatever that is. If eight bytes in a row do not end a varint, the function starts
 * again and skips one varint at a time. */
static void skip_varints(struct rd *r, uint64_t n)
{
    const uint64_t tops = 0x8080808080808080u;
    unsigned going_on = 0; /* bytes at the end of the last word that belong to an unfinished varint */
    const uint8_t *begin = r->p;
    uint64_t left = n;
    while (left >= 8 && rd_left(r) >= 8) {
        uint64_t word;
        memcpy(&word, r->p, 8);
        uint64_t ends = ~le64toh(word) & tops;
        if (!ends || going_on + (unsigned)__builtin_ctzll(ends) / 8 >= 8) {
            r->p = begin;
            left = n;
            for (; left && !r->bad; left--) (void)jfr_varint(r);
            return;
        }
        going_on = (unsigned)__builtin_clzll(ends) / 8;
        left -= (ends >> 7) * 0x0101010101010101u >> 56; /* the number of bits set */
        r->p += 8;
    }
    r->p -= going_on; /* back to the start of the unfinished varint */
    for (; left && !r->bad; left--) (void)jfr_varint(r);
}

void jfr_skip_plain_stack(const struct jfr_pools *pools, struct rd *r)
{
    rd_skip(r, 1);
    uint64_t n = jfr_varint(r);
    if (n > rd_left(r))
        rd_fail(r);
    else
        skip_varints(r, n * pools->n_plain_frame_fields);
}

/* ---- each distinct stack once ---- */

static uint32_t hash_frames(const uint32_t *frames, size_t n)
{
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) h = (h ^ frames[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
    return (uint32_t)(h ^ h >> 32);
}

static void grow_stack_slots(struct jfr_world *w)
{
    size_t n_slots = w->n_stack_slots ? w->n_stack_slots * 2 : 1024;
    mem_free(w->stack_slots);
    w->stack_slots = mem_zalloc(n_slots * sizeof *w->stack_slots);
    w->n_stack_slots = n_slots;
    for (size_t s = 0; s < w->n_stacks; s++) {
        size_t i =
            hash_frames(w->stack_frames + w->stack_start[s], w->stack_start[s + 1] - w->stack_start[s]) &
            (n_slots - 1);
        while (w->stack_slots[i]) i = (i + 1) & (n_slots - 1);
        w->stack_slots[i] = (uint32_t)s + 1;
    }
}

uint32_t jfr_intern_stack(struct jfr_world *w, const uint32_t *frames, size_t n)
{
    if (w->n_stacks * 2 >= w->n_stack_slots) grow_stack_slots(w);
    size_t mask = w->n_stack_slots - 1, i = hash_frames(frames, n) & mask;
    for (; w->stack_slots[i]; i = (i + 1) & mask) {
        uint32_t stack = w->stack_slots[i] - 1;
        uint64_t start = w->stack_start[stack];
        if (w->stack_start[stack + 1] - start == n &&
            !memcmp(w->stack_frames + start, frames, n * sizeof *frames))
            return stack;
    }
    w->stack_frames =
        mem_grow(w->stack_frames, &w->cap_stack_frames, w->n_stack_frames + n + 1, sizeof *w->stack_frames);
    w->stack_start = mem_grow(w->stack_start, &w->cap_stacks, w->n_stacks + 2, sizeof *w->stack_start);
    if (!w->n_stacks) w->stack_start[0] = 0;
    if (n) memcpy(w->stack_frames + w->n_stack_frames, frames, n * sizeof *frames);
    w->n_stack_frames += n;
    w->stack_start[w->n_stacks + 1] = w->n_stack_frames;
    w->stack_slots[i] = (uint32_t)++w->n_stacks;
    return (uint32_t)w->n_stacks - 1;
}

uint32_t jfr_stack_of_text(struct jfr_world *w, const char *name)
{
    uint32_t function = jfr_function_named(w, name);
    bool is_new;
    uint32_t *slot = idmap_slot(&w->locations, (uint64_t)function << 32 | N_FRAME_KINDS, &is_new);
    if (is_new) {
        *slot = profile_add_location(w->p, 0, 0);
        profile_add_line(w->p, function, 0, 0);
    }
    uint32_t location = *slot;
    return jfr_intern_stack(w, &location, 1);
}

/* ---- stacks of earlier chunks ---- */

void jfr_memo_free(struct jfr_memo *memo)
{
    idmap_free(&memo->methods);
    mem_free(memo->meanings);
    mem_free(memo->entries);
    *memo = (struct jfr_memo){0};
}

struct jfr_hash jfr_hash_of(const uint8_t *bytes, size_t n)
{
    uint64_t a = n * 0x9e3779b97f4a7c15u, b = ~(uint64_t)n, word = 0;
    for (; n >= 8; bytes += 8, n -= 8) {
        memcpy(&word, bytes, 8);
        a = (a ^ word) * 0xd6e8feb86659fd93u;
        a ^= a >> 32;
        b = (b + word) * 0xa0761d6478bd642fu;
        b ^= b >> 29;
    }
    word = 0;
    memcpy(&word, bytes, n);
    a = (a ^ word) * 0xd6e8feb86659fd93u;
    b = (b + word) * 0xa0761d6478bd642fu;
    return (struct jfr_hash){a ^ a >> 32, (uint32_t)(b ^ b >> 32)};
}

static struct jfr_memo_entry *memo_slot(struct jfr_memo *m, uint64_t hash_a, uint32_t hash_b)
{
    size_t i = hash_a & (m->n_slots - 1);
    while (m->entries[i].stack && (m->entries[i].hash_a != hash_a || m->entries[i].hash_b != hash_b))
        i = (i + 1) & (m->n_slots - 1);
    return &m->entries[i];
}

static void memo_add(struct jfr_memo *m, const struct jfr_entry *entry)
{
    if (m->n_entries * 2 >= m->n_slots) {
        struct jfr_memo old = *m;
        m->n_slots = old.n_slots ? old.n_slots * 2 : 4096;
        m->entries = mem_zalloc(m->n_slots * sizeof *m->entries);
        for (size_t i = 0; i < old.n_slots; i++)
            if (old.entries[i].stack)
                *memo_slot(m, old.entries[i].hash_a, old.entries[i].hash_b) = old.entries[i];
        mem_free(old.entries);
    }
    struct jfr_memo_entry *e = memo_slot(m, entry->hash_a, entry->hash_b);
    if (!e->stack) m->n_entries++;
    *e = (struct jfr_memo_entry){entry->hash_a, entry->hash_b, entry->result + 1};
}

static uint64_t hash_layout(const struct jfr_pools *pools)
{
    uint8_t text[16 + 64 * 2] = {0};
    size_t n = 16;
    memcpy(text, pools->kind_of_frame_type, 16);
    for (uint32_t i = 0; i < pools->frame_program.n_steps && n + 2 <= sizeof text; i++) {
        text[n++] = pools->frame_program.steps[i].op;
        text[n++] = pools->frame_program.steps[i].slot;
    }
    return jfr_hash_of(text, n).a | 1;
}

/* Empties the memo if the ids of this chunk do not mean what they meant before. */
static void check_memo(struct jfr_pools *pools, struct jfr_world *w)
{
    struct jfr_memo *m = &w->memo;
    const struct jfr_pool *methods = &pools->pools[JFR_POOL_METHOD];
    pools->memo_checked = true;
    uint64_t layout = hash_layout(pools);
    bool is_same = m->layout == layout;
    for (int round = 0; round < 2; round++) {
        if (!is_same) jfr_memo_free(m);
        m->layout = layout;
        is_same = true;
        for (size_t i = 0; i < methods->n_slots && is_same; i++) {
            const struct jfr_entry *method = &methods->entries[i];
            if (!method->at) continue;
            bool is_new;
            uint64_t meaning = jfr_method_meaning(pools, method);
            uint32_t *slot = idmap_slot(&m->methods, method->key, &is_new);
            if (is_new) {
                *slot = (uint32_t)m->n_meanings;
                *VEC_PUSH(m->meanings, m->n_meanings, m->cap_meanings) = meaning;
            } else if (m->meanings[*slot] != meaning) {
                is_same = false;
            }
        }
        if (is_same) return;
    }
}

static uint32_t decode_stack(struct jfr_pools *pools, struct jfr_world *w, const uint8_t *at)
{
    struct jfr_pool *pool = &pools->pools[JFR_POOL_STACK];
    union jfr_slot slots[JFR_MAX_SLOTS] = {0};
    struct rd r = {.p = at, .end = pools->end};
    jfr_run(pools->types, &pool->program, &r, slots);
    if (slots[JFR_STACK_TRUNCATED].number) w->n_truncated++;
    r = (struct rd){.p = slots[JFR_STACK_FRAMES].at, .end = pools->end};
    uint64_t n = jfr_varint(&r);
    if (n > MAX_FRAMES) n = MAX_FRAMES;
    if (!n) return jfr_stack_of_text(w, "[no stack]");
    w->frames_scratch =
        mem_grow(w->frames_scratch, &w->cap_frames_scratch, (size_t)n + 1, sizeof *w->frames_scratch);
    for (uint64_t i = 0; i < n; i++) {
        union jfr_slot frame[JFR_MAX_SLOTS] = {0};
        jfr_run(pools->types, &pools->frame_program, &r, frame);
        w->frames_scratch[i] = jfr_location_of(pools, w, frame[JFR_FRAME_METHOD].number,
                                               frame[JFR_FRAME_LINE].number, frame[JFR_FRAME_TYPE].number);
    }
    return jfr_intern_stack(w, w->frames_scratch, (size_t)n);
}

static void resolve(struct jfr_pools *pools, struct jfr_world *w, struct jfr_entry *entry)
{
    struct jfr_memo_entry *known = w->memo.n_slots ? memo_slot(&w->memo, entry->hash_a, entry->hash_b) : NULL;
    if (known && known->stack) {
        entry->result = known->stack - 1;
        return;
    }
    size_t n_unresolved = w->n_unresolved;
    entry->result = decode_stack(pools, w, entry->at);
    if (w->n_unresolved == n_unresolved) memo_add(&w->memo, entry);
}

static void prepare_stacks(struct jfr_pools *pools, struct jfr_world *w)
{
    if (!pools->frame_types_known) jfr_learn_frame_types(pools, w);
    if (!pools->memo_checked) check_memo(pools, w);
}

uint32_t jfr_pool_stack(struct jfr_pools *pools, struct jfr_world *w, uint64_t key)
{
    struct jfr_pool *pool = &pools->pools[JFR_POOL_STACK];
    struct jfr_entry *entry = jfr_pool_find(pool, key);
    if (!entry || !(pool->program.found & 1u << JFR_STACK_FRAMES)) {
        if (key) w->n_unresolved++;
        return jfr_stack_of_text(w, key ? "[stack not recorded]" : "[no stack]");
    }
    if (entry->result == JFR_UNRESOLVED) {
        prepare_stacks(pools, w);
        resolve(pools, w, entry);
    }
    return entry->result;
}

void jfr_pool_stacks(struct jfr_pools *pools, struct jfr_world *w, const struct jfr_count *counts, size_t n,
                     uint32_t *ret_stacks)
{
    struct jfr_pool *pool = &pools->pools[JFR_POOL_STACK];
    struct jfr_entry *entries[JFR_MAX_AHEAD];
    bool can_resolve = pool->n_slots && pool->program.found & 1u << JFR_STACK_FRAMES;
    prepare_stacks(pools, w);
    /* Each loop prefetches the memory that the next loop reads. */
    for (size_t i = 0; i < n && can_resolve; i++)
        __builtin_prefetch(&pool->entries[jfr_pool_slot(pool, counts[i].stack)]);
    for (size_t i = 0; i < n; i++) {
        entries[i] = can_resolve ? jfr_pool_find(pool, counts[i].stack) : NULL;
        if (entries[i] && entries[i]->result == JFR_UNRESOLVED && w->memo.n_slots)
            __builtin_prefetch(&w->memo.entries[entries[i]->hash_a & (w->memo.n_slots - 1)]);
    }
    for (size_t i = 0; i < n; i++) {
        ret_stacks[i] = JFR_UNRESOLVED;
        if (!entries[i]) continue;
        if (entries[i]->result == JFR_UNRESOLVED) resolve(pools, w, entries[i]);
        ret_stacks[i] = entries[i]->result;
    }
}
