/* graph.c - building a graph from samples; see graph.h.
 *
 * The hot loop runs over every frame of every sample: 13 million of them in a large profile. So frames are
 * mapped to nodes once per location, "seen in this sample already" is a stamp on the node and on the edge,
 * and an edge is found through one hash probe keyed by the pair of nodes.
 */
#include "report/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/mem.h"
#include "base/path.h"
#include "profile/unit.h"
#include "report/graph_int.h"

enum { NO_NODE = UINT32_MAX };

/* ---- node lookup ---- */

struct node_table {
    uint32_t *slots; /* node + 1 */
    size_t n_slots, n_items;
};

static uint32_t hash_info(const struct node_info *i, uint32_t parent)
{
    uint64_t key[6] = {i->address,
                       (uint64_t)i->name << 32 | i->system_name,
                       (uint64_t)i->file << 32 | i->object,
                       (uint64_t)i->line,
                       (uint64_t)i->start_line << 32 ^ (uint64_t)i->column,
                       parent};
    return hash_bytes(key, sizeof key);
}

static bool same_info(const struct node_info *a, const struct node_info *b)
{
    return a->address == b->address && a->name == b->name && a->system_name == b->system_name &&
           a->file == b->file && a->object == b->object && a->start_line == b->start_line &&
           a->line == b->line && a->column == b->column;
}

static void table_grow(struct node_table *t, const struct graph *g)
{
    mem_free(t->slots);
    t->n_slots = t->n_slots ? t->n_slots * 2 : 1024;
    t->slots = mem_zalloc(t->n_slots * sizeof *t->slots);
    for (size_t i = 0; i < g->n_nodes; i++) {
        size_t at = hash_info(&g->nodes[i].info, g->nodes[i].parent) & (t->n_slots - 1);
        while (t->slots[at]) at = (at + 1) & (t->n_slots - 1);
        t->slots[at] = (uint32_t)i + 1;
    }
}

static uint32_t find_node(const struct node_table *t, const struct graph *g, const struct node_info *info,
                          uint32_t parent)
{
    if (!t->n_slots) return NO_NODE;
    size_t at = hash_info(info, parent) & (t->n_slots - 1);
    for (; t->slots[at]; at = (at + 1) & (t->n_slots - 1)) {
        const struct node *n = &g->nodes[t->slots[at] - 1];
        if (n->parent == parent && same_info(&n->info, info)) return t->slots[at] - 1;
    }
    return NO_NODE;
}

static uint32_t find_or_add_node(struct node_table *t, struct graph *g, const struct node_info *info,
                                 uint32_t parent)
{
    uint32_t found = find_node(t, g, info, parent);
    if (found != NO_NODE) return found;
    if (t->n_items * 2 >= t->n_slots) table_grow(t, g);
    size_t at = hash_info(info, parent) & (t->n_slots - 1);
    while (t->slots[at]) at = (at + 1) & (t->n_slots - 1);
    *VEC_PUSH(g->nodes, g->n_nodes, g->cap_nodes) = (struct node){.info = *info, .parent = parent};
    t->slots[at] = (uint32_t)g->n_nodes;
    t->n_items++;
    return (uint32_t)g->n_nodes - 1;
}

/* ---- edges ---- */

struct edge_table {
    uint64_t *keys; /* from << 32 | to, plus 1 */
    uint32_t *edges;
    uint32_t *stamps; /* by edge: last sample that counted it, plus 1 */
    size_t n_slots, n_items, cap_stamps;
};

static void edges_grow(struct edge_table *t)
{
    struct edge_table old = *t;
    t->n_slots = old.n_slots ? old.n_slots * 2 : 4096;
    t->keys = mem_zalloc(t->n_slots * sizeof *t->keys);
    t->edges = mem_array(t->n_slots, sizeof *t->edges);
    for (size_t i = 0; i < old.n_slots; i++) {
        if (!old.keys[i]) continue;
        size_t at = hash_u64(old.keys[i]) & (t->n_slots - 1);
        while (t->keys[at]) at = (at + 1) & (t->n_slots - 1);
        t->keys[at] = old.keys[i];
        t->edges[at] = old.edges[i];
    }
    mem_free(old.keys);
    mem_free(old.edges);
}

static uint32_t find_or_add_edge(struct edge_table *t, struct graph *g, uint32_t from, uint32_t to)
{
    uint64_t key = ((uint64_t)from << 32 | to) + 1;
    if (t->n_items * 2 >= t->n_slots) edges_grow(t);
    size_t at = hash_u64(key) & (t->n_slots - 1);
    while (t->keys[at] && t->keys[at] != key) at = (at + 1) & (t->n_slots - 1);
    if (t->keys[at]) return t->edges[at];
    t->keys[at] = key;
    t->edges[at] = (uint32_t)g->n_edges;
    t->n_items++;
    *VEC_PUSH(g->edges, g->n_edges, g->cap_edges) = (struct edge){.from = from, .to = to, .inlined = true};
    if (g->n_edges > t->cap_stamps)
        t->stamps = mem_grow(t->stamps, &t->cap_stamps, g->n_edges, sizeof *t->stamps);
    t->stamps[g->n_edges - 1] = 0;
    return (uint32_t)g->n_edges - 1;
}

static void add_to_edge(struct edge *e, int64_t weight, int64_t div, bool residual, bool inlined)
{
    e->weight += weight;
    e->weight_div += div;
    e->residual |= residual;
    e->inlined &= inlined;
}

/* ---- tags ---- */

struct tag_table {
    struct idmap pair_of; /* group << 32 | name -> pair number + 1 */
    struct idmap tag_of;  /* node << 32 | pair << 1 | is_number -> tag + 1 */
    uint32_t n_pairs;
    uint32_t group; /* of the current sample */
    struct {
        uint32_t name, unit;
        int64_t value;
    } numbers[16];
    size_t n_numbers;
};

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The text labels of a sample as one string: "key:value" sorted, with a literal \n between. */
static uint32_t join_labels(struct graph *g, size_t s)
{
    struct profile *p = g->p;
    uint64_t from = p->sample_label_start[s], to = p->sample_label_start[s + 1];
    char **parts = mem_array((size_t)(to - from), sizeof *parts);
    size_t n = 0;
    for (uint64_t i = from; i < to; i++)
        if (p->labels[i].str)
            parts[n++] =
                mem_printf("%s:%s", profile_text(p, p->labels[i].key), profile_text(p, p->labels[i].str));
    qsort(parts, n, sizeof *parts, compare_text);
    struct buf joined = {0};
    for (size_t i = 0; i < n; i++) {
        if (i) buf_str(&joined, "\\n");
        buf_str(&joined, parts[i]);
        mem_free(parts[i]);
    }
    mem_free(parts);
    uint32_t id = profile_string(p, joined.data ? joined.data : "", joined.len);
    buf_free(&joined);
    return id;
}

static void read_sample_tags(struct graph *g, struct tag_table *t, size_t s, const struct graph_options *o)
{
    struct profile *p = g->p;
    uint32_t bytes_key = strtab_find(&p->strings, "bytes", 5);
    t->n_numbers = 0;
    t->group = 0;
    uint64_t from = p->sample_label_start[s], to = p->sample_label_start[s + 1];
    if (from == to) return;
    t->group = join_labels(g, s);
    for (uint64_t i = from; i < to && t->n_numbers < 16; i++) {
        const struct label *l = &p->labels[i];
        if (l->str || l->key != bytes_key) continue;
        char text[UNIT_LABEL_BYTES];
        unit_label(l->num, profile_text(p, o->bytes_unit), o->tag_unit, text);
        t->numbers[t->n_numbers].name = profile_cstr(p, text);
        t->numbers[t->n_numbers].unit = o->bytes_unit;
        t->numbers[t->n_numbers++].value = l->num;
    }
}

static struct tag *find_or_add_tag(struct graph *g, struct tag_table *t, uint32_t node, uint32_t name,
                                   bool is_number)
{
    bool is_new;
    uint32_t *pair = idmap_slot(&t->pair_of, (uint64_t)t->group << 32 | name, &is_new);
    if (is_new) *pair = ++t->n_pairs;
    uint32_t *tag = idmap_slot(&t->tag_of, (uint64_t)node << 32 | *pair << 1 | is_number, &is_new);
    if (is_new) {
        *VEC_PUSH(g->tags, g->n_tags, g->cap_tags) =
            (struct tag){.node = node, .group = t->group, .name = name, .is_number = is_number};
        *tag = (uint32_t)g->n_tags;
    }
    return &g->tags[*tag - 1];
}

static void add_tags(struct graph *g, struct tag_table *t, uint32_t node, int64_t w, int64_t div, bool flat)
{
    for (size_t i = 0; i <= t->n_numbers; i++) {
        struct tag *tag;
        if (i == t->n_numbers) {
            if (!t->group) return;
            tag = find_or_add_tag(g, t, node, t->group, false);
        } else {
            tag = find_or_add_tag(g, t, node, t->numbers[i].name, true);
            tag->unit = t->numbers[i].unit;
            tag->value = t->numbers[i].value;
        }
        if (flat) {
            tag->flat += w;
            tag->flat_div += div;
        } else {
            tag->cum += w;
            tag->cum_div += div;
        }
    }
}

/* ---- the graph ---- */

/* Lexical clean-up of a path: no empty, "." or ".." components (".." above the root of a relative path
 * stays). */
static uint32_t clean_path(struct profile *p, uint32_t id)
{
    struct str s = profile_str(p, id);
    if (!s.len) return 0;
    char *out = mem_alloc(s.len + 2);
    size_t n = 0, root = s.s[0] == '/', floor = root;
    if (root) out[n++] = '/';
    for (size_t i = 0; i < s.len;) {
        size_t len = 0;
        while (i + len < s.len && s.s[i + len] != '/') len++;
        const char *part = s.s + i;
        i += len + 1;
        if (!len || (len == 1 && part[0] == '.')) continue;
        if (len == 2 && part[0] == '.' && part[1] == '.') {
            if (n > floor) {
                while (n > floor && out[n - 1] != '/') n--;
                if (n > floor) n--;
                continue;
            }
            if (root) continue;
            if (n) out[n++] = '/';
            out[n++] = '.';
            out[n++] = '.';
            floor = n;
            continue;
        }
        if (n && out[n - 1] != '/') out[n++] = '/';
        memcpy(out + n, part, len);
        n += len;
    }
    if (!n) out[n++] = '.';
    uint32_t cleaned = n == s.len && !memcmp(out, s.s, n) ? id : profile_string(p, out, n);
    mem_free(out);
    return cleaned;
}

struct builder {
    struct graph *g;
    const struct graph_options *o;
    const struct graph *of;
    const uint8_t *kept;
    struct node_table nodes, of_nodes;
    struct edge_table edges;
    struct tag_table tags;
    uint32_t *clean_file;   /* by function: string + 1 */
    uint32_t *node_of_line; /* node by line of the profile, or by location if the profile has no lines */
    uint32_t *first_of_location;
    uint8_t *may_be_inlined; /* by node */
};

struct node_info graph_frame_info(struct profile *p, const struct location *l, const struct line *line)
{
    uint32_t object = l->mapping ? p->mappings[l->mapping - 1].filename : 0;
    if (!line) return (struct node_info){.address = l->address, .object = object};
    const struct function *f = &p->functions[line->function];
    struct node_info info = {.address = l->address,
                             .line = line->line,
                             .column = line->column,
                             .name = f->name,
                             .file = clean_path(p, f->filename)};
    if (!info.name) info.object = object;
    return info;
}

static struct node_info info_of(struct builder *b, const struct location *l, const struct line *line)
{
    struct profile *p = b->g->p;
    uint32_t object = l->mapping ? p->mappings[l->mapping - 1].filename : 0;
    if (!line) return (struct node_info){.address = l->address, .object = object};
    const struct function *f = &p->functions[line->function];
    if (!b->clean_file[line->function]) {
        uint32_t cleaned = clean_path(p, f->filename) + 1; /* may move the strings, not the functions */
        b->clean_file[line->function] = cleaned;
    }
    struct node_info info = {.address = l->address,
                             .line = line->line,
                             .column = line->column,
                             .name = f->name,
                             .file = b->clean_file[line->function] - 1};
    if (b->o->original_names) info.system_name = f->system_name;
    if (b->o->object_names || (!info.name && !info.system_name)) {
        info.object = object;
        info.start_line = f->start_line;
    }
    return info;
}

/* With a set of nodes to keep, a place that is not in it has no node. */
static bool may_exist(struct builder *b, const struct node_info *info)
{
    if (!b->kept) return true;
    uint32_t old = find_node(&b->of_nodes, b->of, info, 0);
    return old != NO_NODE && b->kept[old];
}

static void map_locations(struct builder *b)
{
    struct profile *p = b->g->p;
    size_t n = 0;
    b->first_of_location = mem_array(p->n_locations + 1, sizeof *b->first_of_location);
    for (size_t i = 0; i < p->n_locations; i++) {
        b->first_of_location[i] = (uint32_t)n;
        n += p->locations[i].n_lines ? p->locations[i].n_lines : 1;
    }
    b->first_of_location[p->n_locations] = (uint32_t)n;
    b->node_of_line = mem_array(n, sizeof *b->node_of_line);
    for (size_t i = 0; i < p->n_locations; i++) {
        const struct location *l = &p->locations[i];
        uint32_t *into = b->node_of_line + b->first_of_location[i];
        for (uint32_t k = 0; k < (l->n_lines ? l->n_lines : 1); k++) {
            struct node_info info = info_of(b, l, l->n_lines ? &p->lines[l->first_line + k] : NULL);
            into[k] = may_exist(b, &info) ? find_or_add_node(&b->nodes, b->g, &info, 0) : NO_NODE;
        }
    }
    b->may_be_inlined = mem_zalloc(b->g->n_nodes);
    for (size_t i = 0; i < p->n_locations; i++)
        for (uint32_t k = b->first_of_location[i]; k + 1 < b->first_of_location[i + 1]; k++)
            if (b->node_of_line[k] != NO_NODE) b->may_be_inlined[b->node_of_line[k]] = 1;
}

struct running { /* the part of a node that the hot loop uses, small for the cache */
    int64_t cum;
    uint32_t stamp; /* last sample that counted it, plus 1 */
};

static void add_samples(struct builder *b)
{
    struct graph *g = b->g;
    struct profile *p = g->p;
    const bool with_tags = b->o->tags, mean = b->o->mean, all_edges = b->o->edges;
    struct running *running = mem_zalloc(g->n_nodes * sizeof *running);
    for (size_t s = 0; s < p->n_samples; s++) {
        const int64_t *values = profile_sample_values(p, s);
        int64_t w = values[b->o->sample_index], div = mean ? values[0] : 0;
        if (!w && !div) continue;
        if (with_tags) read_sample_tags(g, &b->tags, s, b->o);
        uint32_t stamp = (uint32_t)s + 1, parent = NO_NODE;
        bool residual = false;
        const uint32_t *frames = profile_sample_frames(p, s);
        for (size_t i = profile_sample_depth(p, s); i > 0; i--) {
            uint32_t first = b->first_of_location[frames[i - 1]],
                     last = b->first_of_location[frames[i - 1] + 1] - 1;
            for (uint32_t k = last + 1; k > first; k--) {
                uint32_t node = b->node_of_line[k - 1];
                if (node == NO_NODE) {
                    residual = true;
                    continue;
                }
                if (running[node].stamp != stamp) {
                    running[node].stamp = stamp;
                    running[node].cum += w;
                    if (mean) g->nodes[node].cum_div += div;
                    if (with_tags) add_tags(g, &b->tags, node, w, div, false);
                }
                if (parent != NO_NODE && node != parent && (all_edges || b->may_be_inlined[node])) {
                    uint32_t e = find_or_add_edge(&b->edges, g, parent, node);
                    if (b->edges.stamps[e] != stamp) {
                        b->edges.stamps[e] = stamp;
                        add_to_edge(&g->edges[e], w, div, residual, k - 1 != last);
                    }
                }
                parent = node;
                residual = false;
            }
        }
        if (parent != NO_NODE && !residual) {
            g->nodes[parent].flat += w;
            g->nodes[parent].flat_div += div;
            if (with_tags) add_tags(g, &b->tags, parent, w, div, true);
        }
    }
    for (size_t i = 0; i < g->n_nodes; i++) g->nodes[i].cum = running[i].cum;
    mem_free(running);
}

/* A call tree: the same place under another caller is another node. */
static void add_samples_to_tree(struct builder *b)
{
    struct graph *g = b->g;
    struct profile *p = g->p;
    for (size_t s = 0; s < p->n_samples; s++) {
        const int64_t *values = profile_sample_values(p, s);
        int64_t w = values[b->o->sample_index], div = b->o->mean ? values[0] : 0;
        if (!w && !div) continue;
        if (b->o->tags) read_sample_tags(g, &b->tags, s, b->o);
        uint32_t parent = NO_NODE;
        const uint32_t *frames = profile_sample_frames(p, s);
        for (size_t i = profile_sample_depth(p, s); i > 0; i--) {
            const struct location *l = &p->locations[frames[i - 1]];
            uint32_t n_lines = l->n_lines ? l->n_lines : 1;
            for (uint32_t k = n_lines; k > 0; k--) {
                struct node_info info = info_of(b, l, l->n_lines ? &p->lines[l->first_line + k - 1] : NULL);
                uint32_t node = find_or_add_node(&b->nodes, g, &info, parent == NO_NODE ? 0 : parent + 1);
                g->nodes[node].cum += w;
                g->nodes[node].cum_div += div;
                if (b->o->tags) add_tags(g, &b->tags, node, w, div, false);
                if (parent != NO_NODE) {
                    uint32_t e = find_or_add_edge(&b->edges, g, parent, node); /* may move the edges */
                    add_to_edge(&g->edges[e], w, div, false, k != n_lines);
                }
                parent = node;
            }
        }
        if (parent == NO_NODE) continue;
        g->nodes[parent].flat += w;
        g->nodes[parent].flat_div += div;
        if (b->o->tags) add_tags(g, &b->tags, parent, w, div, true);
    }
}

static void select_nodes(struct graph *g, bool drop_negative)
{
    g->order = mem_array(g->n_nodes, sizeof *g->order);
    for (size_t i = 0; i < g->n_nodes; i++) {
        struct node *n = &g->nodes[i];
        if (!n->cum && !n->flat) continue;
        if (drop_negative && (n->flat < 0 || (n->flat == 0 && n->cum < 0))) continue;
        n->has_weight = true;
        g->order[g->n_order++] = (uint32_t)i;
    }
}

/* Lists of edge numbers by node, as counting sort. */
void graph_index_edges(struct graph *g)
{
    mem_free(g->in_edges);
    mem_free(g->out_edges);
    g->in_edges = mem_array(g->n_edges, sizeof *g->in_edges);
    g->out_edges = mem_array(g->n_edges, sizeof *g->out_edges);
    for (size_t i = 0; i < g->n_nodes; i++) g->nodes[i].n_in = g->nodes[i].n_out = 0;
    for (size_t e = 0; e < g->n_edges; e++) {
        if (g->edges[e].dropped) continue;
        g->nodes[g->edges[e].to].n_in++;
        g->nodes[g->edges[e].from].n_out++;
    }
    uint32_t in = 0, out = 0;
    for (size_t i = 0; i < g->n_nodes; i++) {
        struct node *n = &g->nodes[i];
        n->first_in = in;
        n->first_out = out;
        in += n->n_in;
        out += n->n_out;
        n->n_in = n->n_out = 0;
    }
    for (size_t e = 0; e < g->n_edges; e++) {
        if (g->edges[e].dropped) continue;
        struct node *to = &g->nodes[g->edges[e].to], *from = &g->nodes[g->edges[e].from];
        g->in_edges[to->first_in + to->n_in++] = (uint32_t)e;
        g->out_edges[from->first_out + from->n_out++] = (uint32_t)e;
    }
}

static void index_tags(struct graph *g)
{
    if (!g->n_tags) return;
    g->first_tag = mem_zalloc((g->n_nodes + 2) * sizeof *g->first_tag);
    g->tags_of_node = mem_array(g->n_tags, sizeof *g->tags_of_node);
    for (size_t i = 0; i < g->n_tags; i++) g->first_tag[g->tags[i].node + 2]++;
    for (size_t i = 2; i < g->n_nodes + 2; i++) g->first_tag[i] += g->first_tag[i - 1];
    for (size_t i = 0; i < g->n_tags; i++) g->tags_of_node[g->first_tag[g->tags[i].node + 1]++] = (uint32_t)i;
}

struct graph *graph_build(struct profile *p, const struct graph_options *options, const struct graph *of,
                          const uint8_t *kept)
{
    struct graph *g = mem_zalloc(sizeof *g);
    g->p = p;
    struct builder b = {.g = g, .o = options, .of = of, .kept = kept};
    b.clean_file = mem_zalloc(p->n_functions * sizeof *b.clean_file);
    if (kept) {
        b.of_nodes.n_slots = 512;
        while (b.of_nodes.n_slots < of->n_nodes * 2) b.of_nodes.n_slots *= 2;
        table_grow(&b.of_nodes, of);
    }
    if (options->call_tree) {
        add_samples_to_tree(&b);
    } else {
        map_locations(&b);
        add_samples(&b);
    }
    select_nodes(g, options->drop_negative);
    graph_index_edges(g);
    index_tags(g);
    mem_free(b.clean_file);
    mem_free(b.node_of_line);
    mem_free(b.first_of_location);
    mem_free(b.may_be_inlined);
    mem_free(b.nodes.slots);
    mem_free(b.of_nodes.slots);
    mem_free(b.edges.keys);
    mem_free(b.edges.edges);
    mem_free(b.edges.stamps);
    idmap_free(&b.tags.pair_of);
    idmap_free(&b.tags.tag_of);
    return g;
}

void graph_free(struct graph *g)
{
    if (!g) return;
    arena_free(&g->memory);
    mem_free(g->nodes);
    mem_free(g->order);
    mem_free(g->edges);
    mem_free(g->in_edges);
    mem_free(g->out_edges);
    mem_free(g->tags);
    mem_free(g->tags_of_node);
    mem_free(g->first_tag);
    mem_free(g->printable);
    mem_free(g);
}

void node_info_print(const struct profile *p, const struct node_info *info, const char *name,
                     const char *file, const char *separator, struct buf *out)
{
    size_t start = out->len;
    if (info->address) buf_printf(out, "%016llx", (unsigned long long)info->address);
    if (*name) {
        if (out->len > start) buf_str(out, separator);
        buf_str(out, name);
    }
    const char *before = out->len > start ? separator : "";
    if (info->line) {
        buf_printf(out, "%s%s:%lld", before, file, (long long)info->line);
        if (info->column) buf_printf(out, ":%lld", (long long)info->column);
    } else if (*file) {
        buf_str(out, before);
        buf_str(out, file);
    } else if (*name) {
        /* the name is printed already */
    } else if (info->object) {
        buf_printf(out, "%s[%s]", before, path_base_name(profile_text(p, info->object)));
    } else {
        buf_printf(out, "%s<unknown>", before);
    }
}

const char *graph_node_name(struct graph *g, uint32_t node)
{
    if (!g->printable) g->printable = mem_zalloc(g->n_nodes * sizeof *g->printable);
    if (!g->printable[node]) {
        const struct node_info *i = &g->nodes[node].info;
        if (!i->address && !i->line && !i->file && i->name) { /* by far the most common: the name alone */
            g->printable[node] = profile_text(g->p, i->name);
        } else {
            struct buf text = {0};
            node_info_print(g->p, i, profile_text(g->p, i->name), profile_text(g->p, i->file), " ", &text);
            g->printable[node] = arena_strndup(&g->memory, text.data ? text.data : "", text.len);
            buf_free(&text);
        }
    }
    return g->printable[node];
}
