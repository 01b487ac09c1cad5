/* image_unit.c - divides all code of a unit into pieces. It collects the address intervals of functions and
 * inlined calls, keeps the innermost one at each address, and merges the result with the rows of the line
 * program. */
#include "symbol/image_unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/dwarf/dwarf_entry.h"

struct interval {
    uint64_t low, high;
    uint32_t scope; /* index + 1 */
    uint32_t depth;
};

struct edge { /* this scope is the innermost one from this address on */
    uint64_t address;
    uint32_t scope; /* index + 1; 0: none */
};

struct making {
    struct walk k;
    struct unit_image *m;
    struct interval *intervals;
    size_t n_intervals, cap_intervals;
    struct edge *edges;
    size_t n_edges, cap_edges;
    uint32_t *file_numbers; /* for each file of the line table: its index in m->files + 1; 0: not added yet */
    size_t n_file_numbers;
};

static uint32_t file_number(struct making *g, uint64_t file)
{
    if (file >= g->n_file_numbers) return 0;
    if (!g->file_numbers[file]) {
        const char *path = line_file_path(g->k.line_unit, g->k.lines, file, g->k.w->memory);
        if (!path) return 0;
        *VEC_PUSH(g->m->files, g->m->n_files, g->m->cap_files) = path;
        g->file_numbers[file] = (uint32_t)g->m->n_files;
    }
    return g->file_numbers[file];
}

static uint32_t function_number(struct making *g, uint64_t info_offset)
{
    struct known_origin *o = (struct known_origin *)find_origin(&g->k, info_offset);
    if (!o->number) {
        *VEC_PUSH(g->m->functions, g->m->n_functions, g->m->cap_functions) =
            (struct unit_function){o->origin.linkage_name, o->function, o->origin.line};
        o->number = (uint32_t)g->m->n_functions;
    }
    return o->number - 1;
}

/* Returns the index of a function that was not inlined, with the name that the symbol table may give it. */
static uint32_t own_function_number(struct making *g, uint64_t info_offset, uint64_t low)
{
    const struct known_origin o = find_function(&g->k, info_offset, low);
    if (o.origin.linkage_name == o.origin.name || !o.is_plain) return function_number(g, info_offset);
    *VEC_PUSH(g->m->functions, g->m->n_functions, g->m->cap_functions) =
        (struct unit_function){o.origin.linkage_name, o.function, o.origin.line};
    return (uint32_t)g->m->n_functions - 1;
}

static void add_interval(struct making *g, uint64_t low, uint64_t high, uint32_t depth)
{
    *VEC_PUSH(g->intervals, g->n_intervals, g->cap_intervals) =
        (struct interval){low, high, (uint32_t)g->m->n_scopes + 1, depth};
}

/* Returns true if the code at low belongs to this unit. If several units have the same function, the linker
 * keeps one copy, but all units still describe it. Only the description of the unit that owns the address
 * counts. */
static bool is_own_code(const struct making *g, uint64_t low)
{
    const struct unit *owner = dwarf_unit_at(g->k.w->dwarf, low, 0);
    return !owner || owner == g->k.line_unit;
}

/* Adds the intervals of an entry with code. Returns the index of its scope + 1, or 0 if it has no code in
 * this unit. */
static uint32_t add_scope(struct making *g, const struct abbrev *a, const uint8_t *entry, const uint8_t *p,
                          const struct extent *x, uint32_t parent, uint32_t depth)
{
    size_t before = g->n_intervals;
    if (!x->is_list) {
        if (range_is_code(g->k.u, x->low, x->high)) add_interval(g, x->low, x->high, depth);
    } else {
        struct range_list *ranges = &g->k.w->ranges;
        ranges->n = 0;
        ranges_read(g->k.u, x->list, x->list_is_index, ranges);
        for (size_t i = 0; i < ranges->n; i++)
            add_interval(g, ranges->items[i].low, ranges->items[i].high, depth);
    }
    if (g->n_intervals == before) return 0;
    if (!parent && !is_own_code(g, g->intervals[before].low)) {
        g->n_intervals = before;
        return 0;
    }
    struct image_scope scope = {.parent = parent};
    struct call call = {.origin = (uint64_t)(entry - g->k.info)};
    if (parent) {
        call_read(&g->k, a, entry, p, &call);
        if (call.has_file) scope.call_file = file_number(g, call.file);
        scope.call_line = call.line;
        scope.call_column = call.column;
    }
    scope.function = parent ? function_number(g, call.origin)
                            : own_function_number(g, call.origin, g->intervals[before].low);
    *VEC_PUSH(g->m->scopes, g->m->n_scopes, g->m->cap_scopes) = scope;
    return (uint32_t)g->m->n_scopes;
}

static void collect(struct making *g)
{
    struct walk *k = &g->k;
    struct {
        uint32_t scope, depth;
    } *levels = mem_array(MAX_LEVELS, sizeof *levels);
    size_t level = 0;
    levels[0].scope = levels[0].depth = 0;
    for (const uint8_t *p = k->info + k->u->first_entry; p && p < k->end && k->w->ranges.budget;) {
        const uint8_t *entry = p;
        uint64_t code = read_code(&p, k->end);
        if (!code) {
            if (level) level--;
            continue;
        }
        const struct abbrev *a = abbrev_find(k->t, code);
        if (!a->kind) break;
        uint32_t scope = levels[level].scope, depth = levels[level].depth;
        bool is_function = a->kind == KIND_FUNCTION;
        if (is_function || (a->kind == KIND_INLINED && scope)) {
            struct extent x;
            if (!extent_read(k, a, p, &x)) break;
            depth = is_function ? 1 : depth + 1;
            scope = add_scope(g, a, entry, p, &x, is_function ? 0 : scope, depth);
            p = x.after;
            if (!scope && x.sibling && a->has_children && !is_function) {
                p = x.sibling;
                continue;
            }
        } else {
            if (a->kind == KIND_ABSTRACT) scope = 0;
            p = abbrev_skip(k->u, k->t, a, p, k->end);
        }
        if (a->has_children) {
            if (++level >= MAX_LEVELS) break;
            levels[level].scope = scope;
            levels[level].depth = depth;
        }
    }
    mem_free(levels);
}

/* ---- merging ---- */

static int by_low(const void *a_, const void *b_)
{
    const struct interval *a = a_, *b = b_;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    if (a->depth != b->depth) return a->depth < b->depth ? -1 : 1;
    return a->scope < b->scope ? -1 : a->scope > b->scope;
}

static void add_edge(struct making *g, uint64_t address, uint32_t scope)
{
    struct edge *last = g->n_edges ? &g->edges[g->n_edges - 1] : NULL;
    if (last && last->address == address)
        last->scope = scope;
    else
        *VEC_PUSH(g->edges, g->n_edges, g->cap_edges) = (struct edge){address, scope};
}

static void flatten(struct making *g)
{
    struct interval *open = NULL;
    size_t n_open = 0, cap_open = 0;
    if (g->n_intervals) qsort(g->intervals, g->n_intervals, sizeof *g->intervals, by_low);
    for (size_t i = 0; i <= g->n_intervals; i++) {
        struct interval next =
            i < g->n_intervals ? g->intervals[i] : (struct interval){.low = UINT64_MAX, .high = UINT64_MAX};
        while (n_open && open[n_open - 1].high <= next.low) {
            uint64_t at = open[--n_open].high;
            add_edge(g, at, n_open ? open[n_open - 1].scope : 0);
        }
        if (i == g->n_intervals) break;
        if (n_open) {
            /* An inlined call counts only inside its caller. A second function at the same addresses does not
             * count, but if it reaches beyond the first one, the rest of the code belongs to it. */
            const struct interval *top = &open[n_open - 1];
            if (next.depth <= top->depth || g->m->scopes[next.scope - 1].parent != top->scope) {
                if (next.high > open[0].high && next.depth == 1) {
                    while (n_open) n_open--;
                } else {
                    continue;
                }
            } else if (next.high > top->high) {
                next.high = top->high;
            }
        }
        add_edge(g, next.low, next.scope);
        *VEC_PUSH(open, n_open, cap_open) = next;
    }
    mem_free(open);
}

struct sequence {
    size_t first, end; /* indexes of rows; the last row has only the end address */
    uint64_t low;
};

static int by_sequence(const void *a_, const void *b_)
{
    const struct sequence *a = a_, *b = b_;
    if (a->low != b->low) return a->low < b->low ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* Returns the sequences of the line program, sorted by address. It leaves out sequences without code of this
 * unit and sequences whose addresses decrease. */
static size_t sort_sequences(const struct making *g, const struct line_rows *rows, struct sequence **ret)
{
    struct sequence *list = NULL;
    size_t n = 0, cap = 0, first = 0;
    bool sound = true;
    for (size_t i = 0; i < rows->n; i++) {
        if (i > first && rows->items[i].address < rows->items[i - 1].address) sound = false;
        if (rows->items[i].line != UINT32_MAX) continue;
        uint64_t low = rows->items[first].address;
        if (sound && i > first && range_is_code(g->k.line_unit, low, rows->items[i].address) &&
            is_own_code(g, low))
            *VEC_PUSH(list, n, cap) = (struct sequence){first, i + 1, low};
        first = i + 1;
        sound = true;
    }
    if (n) qsort(list, n, sizeof *list, by_sequence);
    *ret = list;
    return n;
}

static void add_piece(struct making *g, uint64_t start, const struct image_row *row)
{
    struct unit_image *m = g->m;
    static const struct image_row nothing;
    const struct dwarf *d = g->k.w->dwarf;
    /* The padding between functions is covered by line programs but belongs to no unit. */
    if (!row->scope && row->file && !d->n_unplaced && !dwarf_unit_at(g->k.w->dwarf, start, 0)) row = &nothing;
    struct code_piece *last = m->n_pieces ? &m->pieces[m->n_pieces - 1] : NULL;
    if (last && last->start == start)
        last->row = *row;
    else if (!last || memcmp(&last->row, row, sizeof *row))
        *VEC_PUSH(m->pieces, m->n_pieces, m->cap_pieces) = (struct code_piece){start, *row};
}

/* Merges the edges with the rows of the line program. Both lists are sorted. A new piece starts at each
 * address where scope or line changes. */
static void merge(struct making *g)
{
    struct line_rows rows = {0};
    struct sequence *sequences;
    line_all(g->k.line_unit, g->k.lines, &rows);
    size_t n = sort_sequences(g, &rows, &sequences), e = 0;
    struct image_row now = {0};
    uint64_t done = 0; /* the address up to which rows were added */
    for (size_t s = 0; s < n; s++) {
        if (sequences[s].low < done) continue; /* overlaps with an earlier sequence, which counts */
        for (size_t i = sequences[s].first; i < sequences[s].end; i++) {
            const struct line_row *r = &rows.items[i];
            for (; e < g->n_edges && g->edges[e].address < r->address; e++) {
                now.scope = g->edges[e].scope;
                add_piece(g, g->edges[e].address, &now);
            }
            if (e < g->n_edges && g->edges[e].address == r->address) now.scope = g->edges[e++].scope;
            bool ends = r->line == UINT32_MAX;
            now.file = ends ? 0 : file_number(g, r->file);
            now.line = ends ? 0 : r->line;
            now.column = ends || r->column > UINT16_MAX ? 0 : (uint16_t)r->column;
            now.discriminator = ends || r->discriminator > UINT16_MAX ? 0 : (uint16_t)r->discriminator;
            add_piece(g, r->address, &now);
            done = r->address;
        }
    }
    for (; e < g->n_edges; e++) {
        now.scope = g->edges[e].scope;
        add_piece(g, g->edges[e].address, &now);
    }
    mem_free(sequences);
    mem_free(rows.items);
}

void unit_image_make(struct worker *w, struct unit *u, struct unit_image *m)
{
    if (!unit_root(u)) return;
    struct unit *split = u->root.dwo_name ? dwarf_split_unit(u) : NULL;
    struct line_table lines;
    worker_line_table(w, u, &lines);
    struct making g = {.k = {.w = w, .u = split ? split : u, .line_unit = u, .lines = &lines}, .m = m};
    g.k.t = g.k.u->abbrevs;
    g.k.info = g.k.u->file->s.info.p;
    g.k.end = g.k.info + g.k.u->end;
    g.n_file_numbers = lines.good ? lines.n_files : 0;
    g.file_numbers = mem_zalloc((g.n_file_numbers + 1) * sizeof *g.file_numbers);
    collect(&g);
    flatten(&g);
    merge(&g);
    mem_free(g.intervals);
    mem_free(g.edges);
    mem_free(g.file_numbers);
    forget_origins(w);
    arena_free(&w->scratch);
}

void unit_image_free(struct unit_image *m)
{
    mem_free(m->pieces);
    mem_free(m->scopes);
    mem_free(m->functions);
    mem_free(m->files);
    *m = (struct unit_image){0};
}
