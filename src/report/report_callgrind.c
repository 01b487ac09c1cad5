/* report_callgrind.c - the graph for KCachegrind. Names and addresses are written once, then by number or
 * distance. */
#include <stdio.h>
#include <string.h>

#include "base/idmap.h"
#include "base/mem.h"
#include "report/report_int.h"

struct names { /* text -> number, given in order of first use */
    struct idmap number_of;
    uint32_t n;
};

static void put_name(struct buf *out, const char *key, struct names *names, struct profile *p,
                     uint32_t string)
{
    buf_str(out, key);
    if (string) {
        bool is_new;
        uint32_t *number = idmap_slot(&names->number_of, string, &is_new);
        if (is_new) *number = ++names->n;
        buf_printf(out, "(%u)", *number);
        if (is_new) buf_printf(out, " %s", profile_text(p, string));
    }
    buf_char(out, '\n');
}

/* Absolute, or relative to the previous address where that is shorter. */
static void put_address(struct buf *out, const uint64_t *previous, uint64_t address)
{
    char absolute[32], relative[32];
    int n = snprintf(absolute, sizeof absolute, address ? "%#llx" : "0x%llx", (unsigned long long)address);
    if (previous) {
        if (*previous == address) {
            buf_char(out, '*');
            return;
        }
        int m = snprintf(relative, sizeof relative, "%+lld", (long long)(address - *previous));
        if (m < n) {
            buf_str(out, relative);
            return;
        }
    }
    buf_str(out, absolute);
}

/* Two functions of one name and file (another object, or another path in a call tree) get " [1/2]". */
static uint32_t *disambiguate(struct report *r, struct graph *g)
{
    struct profile *p = r->p;
    struct idmap name_of_pair = {0}, functions = {0}, counts = {0};
    uint32_t *pair = mem_array(g->n_nodes, sizeof *pair), *index = mem_array(g->n_nodes, sizeof *index);
    uint32_t *name = mem_array(g->n_nodes, sizeof *name);
    for (size_t i = 0; i < g->n_nodes; i++) name[i] = g->nodes[i].info.name;
    for (size_t i = 0; i < g->n_order; i++) {
        const struct node *n = &g->nodes[g->order[i]];
        bool is_new;
        uint32_t *slot = idmap_slot(&name_of_pair, (uint64_t)n->info.file << 32 | n->info.name, &is_new);
        if (is_new) *slot = (uint32_t)name_of_pair.n_items;
        pair[g->order[i]] = *slot;
        uint64_t key[4] = {*slot, (uint64_t)n->info.object << 32 | n->info.system_name,
                           (uint64_t)n->info.start_line, r->o.call_tree ? n->parent : 0};
        uint64_t content =
            (uint64_t)hash_bytes(key, sizeof key) << 32 | hash_bytes(key + 1, sizeof key - sizeof *key);
        uint32_t *function = idmap_slot(&functions, content, &is_new);
        if (is_new) *function = ++*idmap_slot(&counts, pair[g->order[i]], NULL);
        index[g->order[i]] = *function;
    }
    for (size_t i = 0; i < g->n_order; i++) {
        uint32_t node = g->order[i], count = 0;
        idmap_find(&counts, pair[node], &count);
        if (count < 2) continue;
        char *text = mem_printf("%s [%u/%u]", profile_text(p, name[node]), index[node], count);
        name[node] = profile_cstr(p, text);
        mem_free(text);
    }
    idmap_free(&name_of_pair);
    idmap_free(&functions);
    idmap_free(&counts);
    mem_free(pair);
    mem_free(index);
    return name;
}

int report_callgrind(struct report *r, struct buf *out, struct err *err)
{
    (void)err;
    struct trimmed t = report_trimmed_graph(r);
    struct graph *g = t.g;
    report_select_unit(r, g);
    uint32_t *call_name = disambiguate(r, g);
    struct names objects = {0}, files = {0}, names = {0};
    const struct node_info *previous = NULL;
    const char *unit;
    buf_printf(out, "positions: instr line\nevents: %s(%s)\n", r->sample_type, r->output_unit);
    for (size_t i = 0; i < g->n_order; i++) {
        const struct node *n = &g->nodes[g->order[i]];
        const struct node_info *info = &n->info;
        if (!previous || info->object != previous->object || info->file != previous->file ||
            info->name != previous->name) {
            buf_char(out, '\n');
            put_name(out, "ob=", &objects, r->p, info->object);
            put_name(out, "fl=", &files, r->p, info->file);
            put_name(out, "fn=", &names, r->p, info->name);
        }
        put_address(out, previous ? &previous->address : NULL, info->address);
        buf_printf(out, " %lld %lld\n", (long long)info->line,
                   (long long)unit_scale(node_flat(n), r->sample_unit, r->output_unit, &unit));
        size_t n_edges;
        struct edge **edges = graph_sorted_edges(g, g->order[i], true, &n_edges);
        for (size_t k = 0; k < n_edges; k++) {
            const struct node_info *callee = &g->nodes[edges[k]->to].info;
            put_name(out, "cfl=", &files, r->p, callee->file);
            put_name(out, "cfn=", &names, r->p, call_name[edges[k]->to]);
            buf_str(out, "calls=0 ");
            put_address(out, previous ? &previous->address : NULL, callee->address);
            buf_printf(out, " %lld\n* * %lld\n", (long long)callee->line,
                       (long long)unit_scale(edges[k]->weight, r->sample_unit, r->output_unit, &unit));
        }
        mem_free(edges);
        previous = info;
    }
    mem_free(call_name);
    idmap_free(&objects.number_of);
    idmap_free(&files.number_of);
    idmap_free(&names.number_of);
    graph_free(g);
    return 0;
}
