/* jeprof_callgrind.c - writes a profile for KCachegrind. For each source line it gives the cost of the line
 * itself and the cost of each call from it. */
#include <stdlib.h>

#include "base/mem.h"
#include "cmd/jeprof/jeprof_report.h"

struct spot { /* a frame: function, file, line */
    const char *function, *file;
    uint32_t line;
};

struct cost {
    uint32_t from, to; /* spots; to is UINT32_MAX for the line's own cost */
    double count;
};

struct calls {
    struct spot *spots;
    struct cost *costs;
    size_t n_costs, cap_costs;
};

static int compare_spots(const struct spot *a, const struct spot *b)
{
    int by = strcmp(a->file, b->file);
    if (!by) by = strcmp(a->function, b->function);
    if (!by) by = a->line < b->line ? -1 : a->line > b->line;
    return by;
}

static int compare_costs(const void *a, const void *b, void *context)
{
    const struct spot *spots = context;
    const struct cost *x = a, *y = b;
    int by = compare_spots(&spots[x->from], &spots[y->from]);
    if (by || x->to == y->to) return by;
    if (x->to == UINT32_MAX || y->to == UINT32_MAX) return x->to == UINT32_MAX ? -1 : 1;
    return compare_spots(&spots[x->to], &spots[y->to]);
}

/* The first use of a name writes its number and its text, later uses only the number. */
static void put_name(struct buf *out, const char *kind, const char *name, struct strtab *seen)
{
    if (!seen->n_items) strtab_add(seen, "", 0);
    size_t known = seen->n_items;
    uint32_t id = strtab_add_cstr(seen, name);
    buf_printf(out, "%s=(%u)%s%s\n", kind, id, id >= known ? " " : "", id >= known ? name : "");
}

static void put_cost(const struct calls *c, const struct cost *cost, double count, struct strtab *files,
                     struct strtab *functions, struct buf *out)
{
    const struct spot *from = &c->spots[cost->from];
    buf_char(out, '\n');
    put_name(out, "fl", from->file, files);
    put_name(out, "fn", from->function, functions);
    if (cost->to != UINT32_MAX) {
        const struct spot *to = &c->spots[cost->to];
        put_name(out, "cfl", to->file, files);
        put_name(out, "cfn", to->function, functions);
        buf_str(out, "calls=");
        jeprof_number(out, count, JEPROF_SAMPLES);
        buf_printf(out, " %u\n", to->line);
    }
    buf_printf(out, "%u ", from->line);
    jeprof_number(out, count, JEPROF_SAMPLES);
    buf_char(out, '\n');
}

void jeprof_write_callgrind(const struct jeprof_view *view, const struct jeprof_sums *left, struct buf *out)
{
    const struct jeprof_profile *p = view->profile;
    struct calls c = {0};
    struct arena unnamed = {0};
    uint32_t *first = mem_array(p->n_places + 1, sizeof *first);
    size_t n_spots = 0, cap_spots = 0;
    for (size_t i = 0; i < p->n_places; i++) {
        const struct jeprof_place *at = &p->places[i];
        first[i] = (uint32_t)n_spots;
        for (uint32_t f = 0; f < at->n_frames; f++) {
            const struct jeprof_frame *frame = &p->frames[at->first_frame + f];
            *VEC_PUSH(c.spots, n_spots, cap_spots) =
                (struct spot){strtab_get(&p->text, frame->short_id).s,
                              frame->file ? strtab_get(&p->text, frame->file).s : "??", frame->line};
        }
        if (at->n_frames) continue;
        char *address = mem_printf("0x%016llx", (unsigned long long)at->address);
        *VEC_PUSH(c.spots, n_spots, cap_spots) = (struct spot){arena_strdup(&unnamed, address), "??", 0};
        mem_free(address);
    }
    for (size_t i = 0; i < left->n_stacks; i++) {
        size_t n;
        const uint32_t *places = jeprof_sums_stack(left, i, &n);
        uint32_t callee = UINT32_MAX;
        for (size_t k = 0; k < n; k++) {
            uint32_t n_frames = p->places[places[k]].n_frames;
            for (uint32_t f = 0; f < (n_frames ? n_frames : 1); f++) {
                uint32_t spot = first[places[k]] + f;
                *VEC_PUSH(c.costs, c.n_costs, c.cap_costs) = (struct cost){spot, callee, left->counts[i]};
                callee = spot;
            }
        }
    }
    if (c.n_costs) qsort_r(c.costs, c.n_costs, sizeof *c.costs, compare_costs, c.spots);
    struct strtab files = {0}, functions = {0};
    buf_str(out, "events: Hits\n");
    for (size_t i = 0; i < c.n_costs;) {
        double count = 0;
        size_t same = i;
        for (; same < c.n_costs && !compare_costs(&c.costs[i], &c.costs[same], c.spots); same++)
            count += c.costs[same].count;
        put_cost(&c, &c.costs[i], count, &files, &functions, out);
        i = same;
    }
    strtab_free(&files);
    strtab_free(&functions);
    arena_free(&unnamed);
    mem_free(first);
    mem_free(c.spots);
    mem_free(c.costs);
}
