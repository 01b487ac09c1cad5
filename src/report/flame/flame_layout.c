/* flame_layout.c - see flame_layout.h.
 *
 * Every stack has a cursor, which is the rest of the stack, and a weight. All cursors are in one array. A
 * piece of work is a range of that array whose stacks share their first frames. Dividing a range moves equal
 * next frames together, and each group becomes a new piece of work. The pieces wait in a stack of their own,
 * so that deep stacks need no recursion.
 */
#include "report/flame/flame_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/strtab.h"

struct cursor {
    const char *at; /* the rest of the text; in a profile, the next frame's name (uint32_t *) */
    uint32_t left;  /* bytes, or frames */
    uint32_t token; /* bytes of the next frame */
    uint32_t group;
    int64_t value, base;
};

struct piece {
    size_t from, to;
    const char *name;
    uint32_t name_len, depth;
    int64_t start, total, base;
};

struct group {
    const char *name;
    uint32_t name_len, hash;
    size_t n, from;
    int64_t total, base;
};

struct division {
    struct group *groups;
    size_t n_groups, cap_groups;
    uint32_t *slots; /* group + 1 */
    size_t n_slots;
};

struct builder {
    struct flame_layout *out;
    const struct profile *p; /* NULL: text */
    bool reverse;
    int64_t min_total;
    uint32_t max_depth;
    struct cursor *cursors, *scratch;
    struct piece *work;
    size_t n_work, cap_work;
    struct division d;
};

/* The next frame of a cursor: its name, and how long it is. */
static void next_frame(const struct builder *b, struct cursor *c, const char **name, uint32_t *len)
{
    if (b->p) {
        uint32_t id;
        memcpy(&id, b->reverse ? c->at + (size_t)(c->left - 1) * 4 : c->at, 4);
        struct str s = profile_str(b->p, id);
        *name = s.s;
        *len = s.len;
        return;
    }
    if (!b->reverse) {
        const char *end = memchr(c->at, ';', c->left);
        *name = c->at;
        *len = end ? (uint32_t)(end - c->at) : c->left;
    } else {
        const char *end = memrchr(c->at, ';', c->left);
        *name = end ? end + 1 : c->at;
        *len = (uint32_t)(c->at + c->left - *name);
    }
}

static void advance(const struct builder *b, struct cursor *c)
{
    if (b->p) {
        if (!b->reverse) c->at += 4;
        c->left--;
        return;
    }
    uint32_t step = c->token + (c->token < c->left); /* the separator too */
    if (!b->reverse) c->at += step;
    c->left -= step;
}

static void grow_slots(struct division *d)
{
    mem_free(d->slots);
    d->n_slots = d->n_slots ? d->n_slots * 2 : 256;
    d->slots = mem_zalloc(d->n_slots * sizeof *d->slots);
    for (size_t i = 0; i < d->n_groups; i++) {
        size_t at = d->groups[i].hash & (d->n_slots - 1);
        while (d->slots[at]) at = (at + 1) & (d->n_slots - 1);
        d->slots[at] = (uint32_t)i + 1;
    }
}

static uint32_t find_group(struct division *d, const char *name, uint32_t len)
{
    uint32_t hash = hash_bytes(name, len);
    if (d->n_groups * 2 >= d->n_slots) grow_slots(d);
    size_t at = hash & (d->n_slots - 1);
    for (; d->slots[at]; at = (at + 1) & (d->n_slots - 1)) {
        const struct group *g = &d->groups[d->slots[at] - 1];
        if (g->hash == hash && g->name_len == len && !memcmp(g->name, name, len)) return d->slots[at] - 1;
    }
    d->slots[at] = (uint32_t)d->n_groups + 1;
    *VEC_PUSH(d->groups, d->n_groups, d->cap_groups) =
        (struct group){.name = name, .name_len = len, .hash = hash};
    return (uint32_t)d->n_groups - 1;
}

static void clear_groups(struct division *d)
{
    if (d->n_slots > 4096 &&
        d->n_groups < d->n_slots / 64) { /* one wide frame must not make all others pay */
        mem_free(d->slots);
        d->slots = NULL;
        d->n_slots = 0;
    } else if (d->slots) {
        memset(d->slots, 0, d->n_slots * sizeof *d->slots);
    }
    d->n_groups = 0;
}

static int compare_groups(const void *pa, const void *pb)
{
    const struct group *a = *(struct group *const *)pa, *b = *(struct group *const *)pb;
    int c = memcmp(a->name, b->name, a->name_len < b->name_len ? a->name_len : b->name_len);
    return c ? c : (a->name_len > b->name_len) - (a->name_len < b->name_len);
}

/* Orders the cursors of a piece by group. Cursors at the end of their stack come first and are done. */
static void scatter(struct builder *b, const struct piece *piece, struct group **sorted, size_t n_sorted,
                    size_t n_ended)
{
    size_t at = piece->from + n_ended, ended = 0;
    for (size_t i = 0; i < n_sorted; i++) {
        sorted[i]->from = at;
        at += sorted[i]->n;
        sorted[i]->n = 0;
    }
    size_t n = piece->to - piece->from;
    memcpy(b->scratch, b->cursors + piece->from, n * sizeof *b->cursors);
    for (size_t i = 0; i < n; i++) {
        struct cursor *c = &b->scratch[i];
        if (c->group == UINT32_MAX) {
            b->cursors[piece->from + ended++] = *c;
            continue;
        }
        struct group *g = &b->d.groups[c->group];
        b->cursors[g->from + g->n++] = *c;
    }
}

static void divide(struct builder *b, const struct piece *piece)
{
    struct division *d = &b->d;
    size_t n_ended = 0;
    clear_groups(d);
    for (size_t i = piece->from; i < piece->to; i++) {
        struct cursor *c = &b->cursors[i];
        if (!c->left) {
            c->group = UINT32_MAX;
            n_ended++;
            continue;
        }
        const char *name;
        uint32_t len;
        next_frame(b, c, &name, &len);
        c->token = len;
        c->group = find_group(d, name, len);
        struct group *g = &d->groups[c->group];
        g->n++;
        g->total += c->value;
        g->base += c->base;
    }
    struct group **sorted = mem_array(d->n_groups, sizeof *sorted);
    for (size_t i = 0; i < d->n_groups; i++) sorted[i] = &d->groups[i];
    qsort(sorted, d->n_groups, sizeof *sorted, compare_groups);
    scatter(b, piece, sorted, d->n_groups, n_ended);
    int64_t start = piece->start;
    size_t first = b->n_work;
    for (size_t i = 0; i < d->n_groups; i++) {
        const struct group *g = sorted[i];
        if (g->total >= b->min_total && g->total > 0) {
            for (size_t k = g->from; k < g->from + g->n; k++) advance(b, &b->cursors[k]);
            *VEC_PUSH(b->work, b->n_work, b->cap_work) = (struct piece){
                g->from, g->from + g->n, g->name, g->name_len, piece->depth + 1, start, g->total, g->base};
        }
        start += g->total;
    }
    for (size_t i = first, k = b->n_work; i + 1 < k; i++, k--) { /* the leftmost is done next */
        struct piece swap = b->work[i];
        b->work[i] = b->work[k - 1];
        b->work[k - 1] = swap;
    }
    mem_free(sorted);
}

static void build(struct builder *b, size_t n_cursors, const struct flame_layout_options *o)
{
    struct flame_layout *out = b->out;
    int64_t total = 0, base = 0;
    for (size_t i = 0; i < n_cursors; i++) {
        total += b->cursors[i].value;
        base += b->cursors[i].base;
    }
    out->total = total;
    b->min_total = (int64_t)(o->min_fraction * (double)total);
    b->max_depth = o->max_depth ? o->max_depth : 4096;
    b->scratch = mem_array(n_cursors, sizeof *b->scratch);
    *VEC_PUSH(b->work, b->n_work, b->cap_work) = (struct piece){0, n_cursors, "all", 3, 0, 0, total, base};
    while (b->n_work) {
        struct piece piece = b->work[--b->n_work];
        *VEC_PUSH(out->frames, out->n_frames, out->cap_frames) =
            (struct flame_frame){piece.name,  piece.name_len, piece.depth,
                                 piece.start, piece.total,    out->compares ? piece.total - piece.base : 0};
        if (piece.depth > out->max_depth) out->max_depth = piece.depth;
        if (piece.depth < b->max_depth)
            divide(b, &piece);
        else
            for (size_t i = piece.from; i < piece.to; i++) out->n_cut_stacks += b->cursors[i].left > 0;
    }
    mem_free(b->scratch);
    mem_free(b->cursors);
    mem_free(b->work);
    mem_free(b->d.groups);
    mem_free(b->d.slots);
}

void flame_layout_stacks(const struct flame_stack *stacks, size_t n_stacks,
                         const struct flame_layout_options *o, struct flame_layout *ret)
{
    *ret = (struct flame_layout){0};
    struct builder b = {.out = ret, .reverse = o->reverse, .cursors = mem_array(n_stacks, sizeof *b.cursors)};
    for (size_t i = 0; i < n_stacks; i++) {
        b.cursors[i] = (struct cursor){.at = stacks[i].text,
                                       .left = stacks[i].len,
                                       .value = stacks[i].value > 0 ? stacks[i].value : 0,
                                       .base = stacks[i].base};
        ret->compares |= stacks[i].base != 0;
    }
    build(&b, n_stacks, o);
}

/* All frames of all samples as names, root first, inlined callees after their callers. */
static uint32_t *frame_names(struct profile *p, uint64_t *starts)
{
    uint64_t n = 0;
    uint32_t *unnamed = mem_zalloc(p->n_locations * sizeof *unnamed);
    for (size_t s = 0; s < p->n_samples; s++) {
        starts[s] = n;
        const uint32_t *frames = profile_sample_frames(p, s);
        for (size_t i = 0; i < profile_sample_depth(p, s); i++)
            n += p->locations[frames[i]].n_lines ? p->locations[frames[i]].n_lines : 1;
    }
    starts[p->n_samples] = n;
    uint32_t *names = mem_array(n, sizeof *names);
    for (size_t s = 0; s < p->n_samples; s++) {
        uint32_t *into = names + starts[s];
        const uint32_t *frames = profile_sample_frames(p, s);
        for (size_t i = profile_sample_depth(p, s); i > 0; i--) {
            const struct location *l = &p->locations[frames[i - 1]];
            for (uint32_t k = l->n_lines; k > 0; k--) {
                const struct function *f = &p->functions[p->lines[l->first_line + k - 1].function];
                *into++ = f->name ? f->name : f->system_name ? f->system_name : f->filename;
            }
            if (l->n_lines) continue;
            if (!unnamed[frames[i - 1]]) {
                char text[400];
                const char *file =
                    l->mapping ? path_base_name(profile_text(p, p->mappings[l->mapping - 1].filename)) : "";
                if (l->address)
                    snprintf(text, sizeof text, "0x%llx%s%.300s%s", (unsigned long long)l->address,
                             *file ? " [" : "", file, *file ? "]" : "");
                else
                    snprintf(text, sizeof text, "[%.300s]", *file ? file : "unknown");
                unnamed[frames[i - 1]] = profile_cstr(p, text);
            }
            *into++ = unnamed[frames[i - 1]];
        }
    }
    mem_free(unnamed);
    return names;
}

static bool is_base_sample(const struct profile *p, size_t s, uint32_t key)
{
    for (uint64_t i = p->sample_label_start[s]; i < p->sample_label_start[s + 1]; i++)
        if (p->labels[i].key == key) return true;
    return false;
}

void flame_layout_profile(const struct profile *profile, size_t sample_index,
                          const struct flame_layout_options *o, struct flame_layout *ret)
{
    struct profile *p =
        (struct profile *)profile; /* only strings are added: names for frames that have none */
    *ret = (struct flame_layout){0};
    uint64_t *starts = mem_array(p->n_samples + 1, sizeof *starts);
    uint32_t *names = frame_names(p, starts), base_key = strtab_find(&p->strings, "pprof::base", 11);
    ret->compares = base_key != UINT32_MAX;
    ret->owned = names;
    struct builder b = {
        .out = ret, .p = p, .reverse = o->reverse, .cursors = mem_array(p->n_samples, sizeof *b.cursors)};
    size_t n = 0;
    for (size_t s = 0; s < p->n_samples; s++) {
        int64_t v = profile_sample_values(p, s)[sample_index];
        struct cursor c = {.at = (const char *)(names + starts[s]),
                           .left = (uint32_t)(starts[s + 1] - starts[s])};
        if (ret->compares && is_base_sample(p, s, base_key))
            c.base = -v;
        else if (v > 0)
            c.value = v;
        if (c.value || c.base) b.cursors[n++] = c;
    }
    mem_free(starts);
    build(&b, n, o);
}

void flame_layout_free(struct flame_layout *layout)
{
    mem_free(layout->frames);
    mem_free(layout->owned);
    *layout = (struct flame_layout){0};
}
