/* dwarf_walk.c - finds the functions and inlined calls of some addresses in one pass over a unit's entries.
 *
 * Outside functions the pass steps over entries one by one. It jumps over a type with all its children if the
 * type has a sibling attribute, and likewise over a function that has none of the addresses. Inside a
 * function that has some, each inlined call takes from its caller the addresses that are in its ranges; the
 * pass jumps over a call that takes none. So the pass reads only a few bytes of each function, and reads them
 * once.
 *
 * Jumps may miss functions inside types or inside other functions (members of local classes). If addresses
 * are left over, the pass runs again without jumps, for these addresses only. If the lookup has only a few
 * addresses, the first pass jumps over namespaces too, because most compilers put functions behind them.
 */
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/strtab.h"
#include "symbol/dwarf/dwarf_entry.h"
#include "symbol/dwarf/dwarf_int.h"

enum { FEW_QUERIES = 8, LONG_UNIT_BYTES = 1 << 20 };

#define DAMAGED_ENTRIES "entries of a unit in .debug_info cannot be read"

/* ---- attributes of an entry ---- */

bool extent_slow(const struct walk *k, const struct abbrev *a, const uint8_t *p, struct extent *x)
{
    struct rd r = {.p = p, .end = k->end};
    struct value low = {0}, high = {0};
    for (uint32_t i = 0; i < a->n_attrs; i++) {
        const struct abbrev_attr *attr = &k->t->attrs[a->first_attr + i];
        struct value v;
        switch (attr->at) {
        case DW_AT_low_pc:
            form_read(k->u, &r, attr, &low);
            break;
        case DW_AT_high_pc:
            form_read(k->u, &r, attr, &high);
            break;
        case DW_AT_ranges:
            form_read(k->u, &r, attr, &v);
            x->is_list = true;
            x->list = v.u;
            x->list_is_index = v.form == DW_FORM_rnglistx;
            break;
        case DW_AT_sibling:
            form_read(k->u, &r, attr, &v);
            if (!r.bad) x->sibling = sibling_at(k, p, v.u);
            break;
        default:
            if (attr->form != DW_FORM_implicit_const) {
                const uint8_t *after = form_skip(k->u, r.p, r.end, attr->form);
                if (!after) return false;
                r.p = after;
            }
        }
        if (r.bad) return false;
    }
    x->after = r.p;
    if (x->is_list || !low.form) return true;
    if (!unit_address(k->u, &low, &x->low)) return true;
    if (!high.form || unit_address(k->u, &high, &x->high)) return true;
    x->high = x->low + high.u;
    return true;
}

/* ---- names ---- */

static struct known_origin *origin_slot(struct worker *w, uint64_t key)
{
    if (w->n_origins * 4 >= w->n_origin_slots * 3) {
        size_t n = w->n_origin_slots ? w->n_origin_slots * 2 : 1024;
        struct known_origin *old = w->origins, *grown = mem_zalloc(n * sizeof *grown);
        for (size_t i = 0; i < w->n_origin_slots; i++) {
            if (!old[i].key) continue;
            size_t at = hash_u64(old[i].key) & (n - 1);
            while (grown[at].key) at = (at + 1) & (n - 1);
            grown[at] = old[i];
        }
        mem_free(old);
        w->origins = grown;
        w->n_origin_slots = n;
    }
    size_t at = hash_u64(key) & (w->n_origin_slots - 1);
    while (w->origins[at].key && w->origins[at].key != key) at = (at + 1) & (w->n_origin_slots - 1);
    return &w->origins[at];
}

void forget_origins(struct worker *w)
{
    if (w->n_origins) memset(w->origins, 0, w->n_origin_slots * sizeof *w->origins);
    w->n_origins = 0;
}

const struct known_origin *find_origin(struct walk *k, uint64_t info_offset)
{
    struct known_origin *o = origin_slot(k->w, info_offset + 1);
    if (o->key) return o;
    k->w->n_origins++;
    o->key = info_offset + 1;
    origin_read(k->u, info_offset, &o->origin);
    o->is_plain = !o->origin.linkage_name;
    if (o->is_plain) o->origin.linkage_name = o->origin.name;
    struct names *names = k->w->dwarf->names;
    o->function = !o->origin.linkage_name ? NULL
                  : names                 ? names_demangle(names, o->origin.linkage_name)
                                          : o->origin.linkage_name;
    return o;
}

struct known_origin find_function(struct walk *k, uint64_t info_offset, uint64_t low)
{
    struct known_origin o = *find_origin(k, info_offset);
    struct dwarf *d = k->w->dwarf;
    if (!d->symbol_at) return o;
    /* Static functions often have no linkage name although their language has them. */
    bool lacks_linkage_name = o.is_plain && k->u->root.is_named_by_symbols;
    const char *symbol =
        d->symbol_at(d->symbol_context, low, lacks_linkage_name ? NULL : o.origin.linkage_name);
    if (!symbol) return o;
    o.origin.linkage_name = symbol;
    o.function = d->names ? names_demangle(d->names, symbol) : symbol;
    return o;
}

void call_read(const struct walk *k, const struct abbrev *a, const uint8_t *entry, const uint8_t *p,
               struct call *c)
{
    struct rd r = {.p = p, .end = k->end};
    *c = (struct call){.origin = (uint64_t)(entry - k->info)};
    for (uint32_t i = 0; i < a->n_attrs; i++) {
        const struct abbrev_attr *attr = &k->t->attrs[a->first_attr + i];
        struct value v;
        form_read(k->u, &r, attr, &v);
        if (r.bad) return;
        switch (attr->at) {
        /* Most origins are in the same unit. Their names are then found once for all calls. For any other
         * origin find_origin starts at the call's own entry and follows the reference. */
        case DW_AT_abstract_origin:
            if (v.form == DW_FORM_ref4 && v.u < k->u->end - k->u->offset &&
                k->u->offset + v.u >= k->u->first_entry)
                c->origin = k->u->offset + v.u;
            break;
        case DW_AT_call_file:
            c->has_file = true;
            c->file = v.u;
            break;
        case DW_AT_call_line:
            c->line = v.u <= UINT32_MAX ? (uint32_t)v.u : 0;
            break;
        case DW_AT_call_column:
            c->column = v.u <= UINT32_MAX ? (uint32_t)v.u : 0;
            break;
        default:
            break;
        }
    }
}

static const struct scope *new_scope(struct walk *k, const struct abbrev *a, const uint8_t *entry,
                                     const uint8_t *p, const struct scope *parent, uint64_t low)
{
    struct scope *s = arena_zalloc(k->w->memory, sizeof *s);
    struct call call = {.origin = (uint64_t)(entry - k->info)};
    s->parent = parent;
    if (parent) {
        call_read(k, a, entry, p, &call);
        if (call.has_file) s->call_file = line_file_path(k->line_unit, k->lines, call.file, k->w->memory);
        s->call_line = call.line;
        s->call_column = call.column;
    }
    const struct known_origin o = parent ? *find_origin(k, call.origin) : find_function(k, call.origin, low);
    s->function = o.function;
    s->linkage_name = o.origin.linkage_name;
    s->start_line = o.origin.line;
    return s;
}

/* ---- addresses ---- */

struct take { /* an entry that takes addresses from the entry around it */
    const struct abbrev *abbrev;
    const uint8_t *entry, *attrs;
    const struct scope *from;   /* the scope that has the addresses so far; NULL: none has them */
    const struct scope *parent; /* of the entry's scope */
    const struct scope *scope;  /* the entry's own; NULL until it takes its first address */
    uint64_t low;               /* where its code starts */
    uint32_t first, end;        /* the range of queries that contains all it took */
};

/* Gives the entry those queries of the level around it that are between low and high. */
static void take_range(struct walk *k, const struct level *around, struct take *t, uint64_t low,
                       uint64_t high)
{
    const struct query *q = k->queries;
    uint32_t i = around->first, end = around->end;
    if (end - i > 8)
        i += (uint32_t)queries_below(q + i, end - i, low);
    else
        while (i < end && q[i].address < low) i++;
    for (; i < end && q[i].address < high; i++) {
        if (k->w->scope_of[i] != t->from) continue;
        if (!t->scope) {
            t->scope = new_scope(k, t->abbrev, t->entry, t->attrs, t->parent, t->low);
            t->first = i;
            t->end = i + 1;
        }
        if (i < t->first) t->first = i;
        if (i >= t->end) t->end = i + 1;
        if (!t->from) k->n_left--;
        k->w->scope_of[i] = t->scope;
    }
}

static void take_extent(struct walk *k, const struct level *around, struct take *t, const struct extent *x)
{
    if (around->first == around->end) return;
    if (!x->is_list) {
        t->low = x->low;
        if (range_is_code(k->u, x->low, x->high)) take_range(k, around, t, x->low, x->high);
        return;
    }
    struct range_list *ranges = &k->w->ranges;
    ranges->n = 0;
    ranges_read(k->u, x->list, x->list_is_index, ranges);
    if (ranges->n) t->low = ranges->items[0].low;
    for (size_t i = 0; i < ranges->n; i++)
        take_range(k, around, t, ranges->items[i].low, ranges->items[i].high);
}

/* ---- the pass ---- */

static struct level *push_level(struct worker *w, size_t depth)
{
    if (depth == w->cap_levels) w->levels = mem_grow(w->levels, &w->cap_levels, depth + 1, sizeof *w->levels);
    return &w->levels[depth];
}

/* Walks through the children of a function that has some of the addresses. Returns the first byte behind the
 * function, or NULL if the unit is damaged. */
static const uint8_t *walk_inside(struct walk *k, const uint8_t *p, struct level function)
{
    const struct level everything = {.end = (uint32_t)k->n_queries};
    size_t depth = 0;
    *push_level(k->w, depth) = function;
    while (p < k->end) {
        const uint8_t *entry = p;
        uint64_t code = read_code(&p, k->end);
        if (!code) {
            if (depth-- == 0) return p;
            continue;
        }
        const struct abbrev *a = abbrev_find(k->t, code);
        if (!a->kind) return NULL;
        struct level level = k->w->levels[depth];
        if (a->kind == KIND_INLINED || a->kind == KIND_FUNCTION) {
            struct extent x;
            bool is_function = a->kind == KIND_FUNCTION;
            if (a->kind == KIND_INLINED && level.first == level.end) {
                p = abbrev_skip(k->u, k->t, a, p, k->end);
                if (!p) return NULL;
            } else {
                if (!extent_read(k, a, p, &x)) return NULL;
                struct take t = {.abbrev = a,
                                 .entry = entry,
                                 .attrs = p,
                                 .from = is_function ? NULL : level.scope,
                                 .parent = is_function ? NULL : level.scope};
                take_extent(k, is_function ? &everything : &level, &t, &x);
                p = x.after;
                if (!t.scope && x.sibling && a->has_children) {
                    p = x.sibling;
                    continue;
                }
                level = (struct level){.scope = t.scope, .first = t.first, .end = t.end};
            }
        } else {
            p = abbrev_skip(k->u, k->t, a, p, k->end);
            if (!p) return NULL;
        }
        if (a->has_children) {
            if (++depth >= MAX_LEVELS) return NULL;
            *push_level(k->w, depth) = level;
        }
    }
    return p;
}

static void walk_unit(struct walk *k)
{
    const struct level everything = {.end = (uint32_t)k->n_queries};
    const uint8_t *p = k->info + k->u->first_entry, *end = k->end;
    while (p && p < end && k->n_left && k->w->ranges.budget) {
        const uint8_t *entry = p;
        uint64_t code = read_code(&p, end);
        if (!code) continue;
        const struct abbrev *a = abbrev_find(k->t, code);
        switch (a->kind) {
        case KIND_UNKNOWN:
            dwarf_note_problem(k->w->dwarf, DAMAGED_ENTRIES);
            return;
        case KIND_ABSTRACT:
        case KIND_TYPE:
        case KIND_NAMESPACE:
            if (k->jump && (k->jump_namespaces || a->kind != KIND_NAMESPACE) && a->sibling >= 0 &&
                (size_t)(end - p) >= a->n_fixed) {
                uint32_t sibling;
                memcpy(&sibling, p + a->sibling, 4);
                const uint8_t *to = sibling_at(k, p, sibling);
                if (to) {
                    k->jumped = true;
                    p = to;
                    continue;
                }
            }
            break;
        case KIND_FUNCTION: {
            struct extent x;
            if (!extent_read(k, a, p, &x)) {
                dwarf_note_problem(k->w->dwarf, DAMAGED_ENTRIES);
                return;
            }
            struct take t = {.abbrev = a, .entry = entry, .attrs = p};
            take_extent(k, &everything, &t, &x);
            p = x.after;
            if (t.scope && a->has_children) {
                p = walk_inside(k, p, (struct level){.scope = t.scope, .first = t.first, .end = t.end});
            } else if (k->jump && x.sibling && a->has_children) {
                k->jumped = true;
                p = x.sibling;
            }
            continue;
        }
        default:
            break;
        }
        p = abbrev_skip(k->u, k->t, a, p, end);
    }
    if (!p) dwarf_note_problem(k->w->dwarf, DAMAGED_ENTRIES);
    if (!k->w->ranges.budget)
        dwarf_note_problem(k->w->dwarf, "functions have more ranges than there is room for");
}

static void make_room(struct worker *w, size_t n)
{
    if (n > w->cap_queries) {
        w->cap_queries = n * 2;
        w->rows = mem_realloc(w->rows, w->cap_queries * sizeof *w->rows);
        w->found = mem_realloc(w->found, w->cap_queries);
        w->scope_of = mem_realloc(w->scope_of, w->cap_queries * sizeof *w->scope_of);
    }
    memset(w->found, 0, n);
    memset(w->scope_of, 0, n * sizeof *w->scope_of);
}

static void find_scopes(struct walk *k)
{
    k->n_left = k->n_queries;
    k->jump = true;
    k->jump_namespaces = k->n_queries <= FEW_QUERIES;
    walk_unit(k);
    if (k->n_left && k->jumped && k->jump_namespaces) {
        k->jumped = k->jump_namespaces = false;
        walk_unit(k);
    }
    if (k->n_left && k->jumped) {
        k->jump = false;
        walk_unit(k);
    }
}

/* Does one half of a unit's lookup: half 0 reads the entries, half 1 runs the line program. Two threads may
 * run the two halves at the same time, because the halves write to different parts of the worker. */
static void find_half(void *context, size_t half, unsigned worker)
{
    (void)worker;
    struct walk *k = context;
    if (half == 0)
        find_scopes(k);
    else
        line_lookup(k->line_unit, k->lines, k->queries, k->n_queries, k->w->rows, k->w->found);
}

void unit_lookup(struct worker *w, struct unit *u, const struct query *queries, size_t n, struct hit *hits)
{
    if (!unit_root(u)) {
        dwarf_note_problem(w->dwarf, "a unit's header, first entry or abbreviations cannot be read");
        return;
    }
    struct unit *split = u->root.dwo_name ? dwarf_split_unit(u) : NULL;
    struct line_table lines;
    make_room(w, n);
    worker_line_table(w, u, &lines);
    struct walk k = {
        .w = w, .u = split ? split : u, .line_unit = u, .queries = queries, .n_queries = n, .lines = &lines};
    k.t = k.u->abbrevs;
    k.info = k.u->file->s.info.p;
    k.end = k.info + k.u->end;
    bool is_long = k.u->end - k.u->offset >= LONG_UNIT_BYTES;
    parallel_for(2, w->alone && is_long ? 2 : 1, find_half, &k);
    for (size_t i = 0; i < n; i++) {
        struct hit *h = &hits[queries[i].index];
        if (w->scope_of[i]) h->scope = w->scope_of[i];
        if (!w->found[i]) continue;
        h->file = line_file_path(u, &lines, w->rows[i].file, w->memory);
        h->line = w->rows[i].line;
        h->column = w->rows[i].column;
        h->discriminator = w->rows[i].discriminator;
    }
    forget_origins(w);
    arena_free(&w->scratch);
}

void worker_init(struct worker *w, struct dwarf *d, struct arena *memory)
{
    enum { PASSES = 16, LEAST = 1 << 26 }; /* far more than any file from a compiler needs */
    const struct dwarf_sections *s = &d->main->s;
    *w = (struct worker){.dwarf = d, .memory = memory};
    w->ranges.budget = LEAST + PASSES * (uint64_t)(s->ranges.n + s->rnglists.n);
    w->line_budget = LEAST + PASSES * (uint64_t)s->line.n;
}

void worker_line_table(struct worker *w, struct unit *u, struct line_table *ret_table)
{
    *ret_table = (struct line_table){0};
    if (w->line_budget && line_table_parse(u, ret_table, &w->scratch)) {
        uint64_t n_bytes = (uint64_t)(ret_table->end - u->file->s.line.p) - u->root.line;
        w->line_budget -= n_bytes < w->line_budget ? n_bytes : w->line_budget;
    } else if (u->root.has_line) {
        dwarf_note_problem(w->dwarf, w->line_budget ? "a line table cannot be read"
                                                    : "line tables are longer than there is room for");
    }
}

void dwarf_note_problem(struct dwarf *d, const char *text)
{
    const char *none = NULL;
    atomic_compare_exchange_strong(&d->problem, &none, text);
}

void worker_free(struct worker *w)
{
    mem_free(w->ranges.items);
    mem_free(w->rows);
    mem_free(w->found);
    mem_free(w->scope_of);
    mem_free(w->origins);
    mem_free(w->levels);
    arena_free(&w->scratch);
}
