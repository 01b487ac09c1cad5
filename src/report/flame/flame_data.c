/* flame_data.c - see flame_data.h for the bytes.
 *
 * Stacks are merged by function name, root first. Two frames are equal if their names are equal, because two
 * builds that are compared share nothing else. All stacks are sorted first (flame_sort.h). The stacks below a
 * node are then neighbours, so that one walk makes the tree, and the weight of a node is the difference of
 * two prefix sums.
 */
#include "report/flame/flame_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"
#include "report/flame/flame_sort.h"

struct node {
    uint32_t function, parent;
    uint32_t first, end; /* the distinct stacks that run through it */
    uint32_t self;       /* index + 1 of the distinct stack that ends here; 0 if none does */
};

struct function_facts {
    uint32_t file, module; /* indexes of the tree's own tables */
    uint64_t start_line;
};

struct tree {
    struct strtab names, files, modules; /* a name's id is the function's id while the tree grows */
    struct function_facts *functions;
    size_t n_functions, cap_functions;
    struct flame_stacks stacks; /* of functions; its number of a stack is ours */
    int64_t *values;            /* n_stacks * n_values; after sorting: n_distinct * n_values */
    size_t cap_values, n_values, n_distinct;
    struct node *nodes; /* in preorder */
    size_t n_nodes, cap_nodes;
};

/* ---- functions ---- */

static uint32_t tree_function(struct tree *t, const char *name, size_t len)
{
    uint32_t id = strtab_add(&t->names, name, len);
    while (t->n_functions <= id)
        *VEC_PUSH(t->functions, t->n_functions, t->cap_functions) = (struct function_facts){0};
    return id;
}

static int64_t add_saturated(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return b < 0 ? INT64_MIN + 1 : INT64_MAX;
    return sum == INT64_MIN ? INT64_MIN + 1 : sum; /* |x| always exists */
}

/* The functions of a location, outermost first, appended to *list. */
struct function_list {
    uint32_t *items;
    size_t n_items, cap_items;
};

static void list_location(struct tree *t, const struct profile *p, size_t index, struct function_list *list)
{
    const struct location *l = &p->locations[index];
    const char *module = "";
    if (l->mapping && l->mapping <= p->n_mappings)
        module = profile_text(p, p->mappings[l->mapping - 1].filename);
    for (uint32_t i = l->n_lines; i-- > 0;) {
        const struct function *f = &p->functions[p->lines[l->first_line + i].function];
        struct str name = profile_str(p, f->name ? f->name : f->system_name);
        size_t known = t->n_functions;
        uint32_t id = name.len ? tree_function(t, name.s, name.len) : tree_function(t, "(no name)", 9);
        struct function_facts *facts = &t->functions[id];
        if (id >= known || (!facts->file && f->filename)) {
            struct str file = profile_str(p, f->filename);
            *facts = (struct function_facts){.file = strtab_add(&t->files, file.s, file.len),
                                             .module = strtab_add_cstr(&t->modules, module),
                                             .start_line = f->start_line > 0 ? (uint64_t)f->start_line : 0};
        }
        *VEC_PUSH(list->items, list->n_items, list->cap_items) = id;
    }
    if (l->n_lines == 0) {
        char text[300];
        int len = *module ? snprintf(text, sizeof text, "0x%llx [%.200s]", (unsigned long long)l->address,
                                     path_base_name(module))
                          : snprintf(text, sizeof text, "0x%llx", (unsigned long long)l->address);
        size_t known = t->n_functions;
        uint32_t id = tree_function(t, text, (size_t)len);
        if (id >= known) t->functions[id].module = strtab_add_cstr(&t->modules, module);
        *VEC_PUSH(list->items, list->n_items, list->cap_items) = id;
    }
}

/* ---- stacks and nodes ---- */

/* column_of[i] is the index of the profile's i-th sample type in a node's values, or SIZE_MAX if it has none.
 */
static void tree_add_profile(struct tree *t, const struct profile *p, const size_t *column_of)
{
    struct function_list list = {0};
    size_t *start = mem_array(p->n_locations + 1, sizeof *start), n_functions = 0;
    for (size_t i = 0; i < p->n_locations; i++) {
        start[i] = list.n_items;
        list_location(t, p, i, &list);
    }
    start[p->n_locations] = list.n_items;
    uint64_t n_frames = p->n_samples ? p->sample_location_start[p->n_samples] : 0;
    for (uint64_t i = 0; i < n_frames; i++)
        n_functions += start[p->sample_locations[i] + 1] - start[p->sample_locations[i]];
    flame_stacks_reserve(&t->stacks, p->n_samples, n_functions);
    size_t n_values = (t->stacks.n + p->n_samples) * t->n_values;
    if (n_values > t->cap_values)
        t->values = mem_grow(t->values, &t->cap_values, n_values, sizeof *t->values);
    for (size_t s = 0; s < p->n_samples; s++) {
        const uint32_t *frames = profile_sample_frames(p, s);
        int64_t *into = t->values + t->stacks.n * t->n_values;
        for (size_t i = profile_sample_depth(p, s); i-- > 0;)
            for (size_t k = start[frames[i]]; k < start[frames[i] + 1]; k++)
                flame_stacks_push(&t->stacks, list.items[k]);
        flame_stacks_end(&t->stacks);
        if (t->n_values) memset(into, 0, t->n_values * sizeof *into);
        for (size_t i = 0; i < p->n_sample_types; i++)
            if (column_of[i] != SIZE_MAX)
                into[column_of[i]] = add_saturated(0, profile_sample_values(p, s)[i]);
    }
    mem_free(start);
    mem_free(list.items);
}

/* Makes the nodes of the sorted stacks, and the values of equal stacks one. */
static void tree_build(struct tree *t)
{
    uint32_t *order = flame_stacks_sort(&t->stacks);
    int64_t *values = mem_array(t->stacks.n * t->n_values, sizeof *values);
    uint32_t *path = NULL; /* the nodes of the stack before; path[0] is the root */
    size_t n_path = 1, cap_path = 0;
    struct flame_stack_view before = {0};
    *VEC_PUSH(t->nodes, t->n_nodes, t->cap_nodes) = (struct node){0};
    path = mem_grow(path, &cap_path, 1, sizeof *path);
    path[0] = 0;
    enum { AHEAD = 12 }; /* sorted, they lie anywhere in memory */
    for (size_t i = 0; i < t->stacks.n; i++) {
        if (i + 2 * AHEAD < t->stacks.n) {
            __builtin_prefetch(&t->stacks.starts[order[i + 2 * AHEAD]]);
            struct flame_stack_view next = flame_stack_view(&t->stacks, order[i + AHEAD]);
            __builtin_prefetch(next.items);
            __builtin_prefetch(next.items + 16);
            __builtin_prefetch(next.items + 32);
            __builtin_prefetch(t->values + (size_t)order[i + AHEAD] * t->n_values);
        }
        struct flame_stack_view stack = flame_stack_view(&t->stacks, order[i]);
        const int64_t *more = t->values + (size_t)order[i] * t->n_values;
        size_t common = flame_stack_common(&stack, &before);
        bool is_new = !i || common < stack.n || common < before.n;
        if (is_new) {
            uint32_t number = (uint32_t)t->n_distinct++;
            while (n_path > common + 1) t->nodes[path[--n_path]].end = number;
            if (stack.n + 1 > cap_path) path = mem_grow(path, &cap_path, stack.n + 1, sizeof *path);
            for (size_t d = common; d < stack.n; d++) {
                uint32_t node = (uint32_t)t->n_nodes;
                *VEC_PUSH(t->nodes, t->n_nodes, t->cap_nodes) =
                    (struct node){.function = stack.items[d], .parent = path[d], .first = number};
                path[d + 1] = node;
            }
            n_path = stack.n + 1;
            t->nodes[path[stack.n]].self = number + 1;
            if (t->n_values)
                memcpy(values + (size_t)number * t->n_values, more, t->n_values * sizeof *values);
        } else {
            int64_t *sum = values + (t->n_distinct - 1) * t->n_values;
            for (size_t c = 0; c < t->n_values; c++) sum[c] = add_saturated(sum[c], more[c]);
        }
        before = stack;
    }
    while (n_path) t->nodes[path[--n_path]].end = (uint32_t)t->n_distinct;
    mem_free(path);
    mem_free(order);
    mem_free(t->values);
    t->values = values;
}

/* ---- order and size ---- */

/* Returns the weight of a node with its subtree, which is the largest of its shares of any column. It
 * never exceeds its parent's weight. */
static double *tree_weights(const struct tree *t)
{
    size_t n = t->n_distinct, k = t->n_values;
    double *sum = mem_array((n + 1) * k, sizeof *sum), *weight = mem_array(t->n_nodes, sizeof *weight);
    for (size_t c = 0; c < k; c++) sum[c] = 0;
    for (size_t i = 0; i < n * k; i++) sum[i + k] = sum[i] + fabs((double)t->values[i]);
    for (size_t i = 0; i < t->n_nodes; i++) {
        const double *low = sum + t->nodes[i].first * k, *high = sum + t->nodes[i].end * k,
                     *all = sum + n * k;
        weight[i] = 0;
        for (size_t c = 0; c < k; c++) {
            double share = all[c] > 0 ? (high[c] - low[c]) / all[c] : 0;
            if (share > weight[i]) weight[i] = share;
        }
    }
    mem_free(sum);
    return weight;
}

static int compare_down(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Returns the item that would be at index `rank` if all were sorted, largest first. Reorders items. */
static double select_down(double *items, size_t n, size_t rank)
{
    enum { MAX_ROUNDS = 100 }; /* twenty or thirty are usual; hostile data is sorted instead */
    size_t from = 0, to = n;
    for (int round = 0; to - from > 1; round++) {
        if (round == MAX_ROUNDS) {
            qsort(items + from, to - from, sizeof *items, compare_down);
            return items[rank];
        }
        double a = items[from], b = items[from + (to - from) / 2], c = items[to - 1];
        double pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
        size_t high = from, at = from, low = to; /* [from,high) greater, [high,at) equal, [low,to) less */
        while (at < low) {
            double x = items[at];
            if (x > pivot) {
                items[at++] = items[high];
                items[high++] = x;
            } else if (x < pivot) {
                items[at] = items[--low];
                items[low] = x;
            } else {
                at++;
            }
        }
        if (rank < high)
            to = high;
        else if (rank < low)
            return pivot;
        else
            from = low;
    }
    return items[from];
}

/* Returns the weight below which nodes are removed, so that at most max_nodes stay. */
static double weight_limit(const double *weight, size_t n, size_t max_nodes)
{
    if (n <= max_nodes) return -1;
    double *items = mem_array(n, sizeof *items);
    memcpy(items, weight, n * sizeof *items);
    double limit = select_down(items, n, max_nodes);
    mem_free(items);
    return nextafter(limit, 2); /* nodes as light as the first surplus one are removed as well */
}

/* Removes the nodes that weigh less than limit, with everything below them. The others keep their order.
 * Sets ret_has_smaller[node] if a child of the node was removed. Returns how many removed nodes had a
 * parent that stayed. */
static size_t tree_drop_light(struct tree *t, double *weight, double limit, uint8_t **ret_has_smaller)
{
    uint32_t *new_id = mem_array(t->n_nodes, sizeof *new_id);
    uint8_t *has_smaller = mem_zalloc(t->n_nodes);
    size_t kept = 0, n_left_out = 0;
    for (size_t i = 0; i < t->n_nodes; i++) {
        struct node node = t->nodes[i];
        uint32_t parent = i ? new_id[node.parent] : 0;
        new_id[i] = UINT32_MAX;
        if (parent == UINT32_MAX) continue;
        if (i && weight[i] < limit) {
            has_smaller[parent] = 1;
            n_left_out++;
            continue;
        }
        node.parent = parent;
        weight[kept] = weight[i];
        t->nodes[kept] = node;
        new_id[i] = (uint32_t)kept++;
    }
    t->n_nodes = kept;
    mem_free(new_id);
    *ret_has_smaller = has_smaller;
    return n_left_out;
}

struct by_weight {
    const double *weight;
    const struct node *nodes;
};

static int compare_children(const void *a, const void *b, void *context)
{
    const struct by_weight *by = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (by->weight[x] != by->weight[y]) return by->weight[x] < by->weight[y] ? 1 : -1;
    return by->nodes[x].function < by->nodes[y].function ? -1 : by->nodes[x].function > by->nodes[y].function;
}

/* Children of every node, heaviest first: node i has child[first[i] .. first[i + 1]). */
struct children {
    uint32_t *first, *child;
};

static struct children tree_children(const struct tree *t, const double *weight)
{
    size_t n = t->n_nodes;
    struct children c = {.first = mem_zalloc((n + 2) * sizeof(uint32_t)),
                         .child = mem_array(n, sizeof(uint32_t))};
    for (size_t i = 1; i < n; i++) c.first[t->nodes[i].parent + 2]++;
    for (size_t i = 2; i < n + 2; i++) c.first[i] += c.first[i - 1];
    for (size_t i = 1; i < n; i++) c.child[c.first[t->nodes[i].parent + 1]++] = (uint32_t)i;
    struct by_weight by = {weight, t->nodes};
    for (size_t i = 0; i < n; i++) {
        size_t count = c.first[i + 1] - c.first[i];
        if (count > 1) qsort_r(c.child + c.first[i], count, sizeof(uint32_t), compare_children, &by);
    }
    return c;
}

/* ---- writing ---- */

struct preorder {
    uint32_t *node; /* in output order; SMALLER is the sum of the nodes left out under a parent */
    uint32_t *depth;
    size_t n, cap_node, cap_depth;
    int64_t *smaller; /* n_values for each SMALLER, in order */
    size_t n_smaller, cap_smaller;
    size_t n_left_out;
    uint32_t max_depth;
};

#define SMALLER UINT32_MAX

static void preorder_push(struct preorder *o, uint32_t node, uint32_t depth)
{
    if (o->n == o->cap_node) o->node = mem_grow(o->node, &o->cap_node, o->n + 1, sizeof *o->node);
    if (o->n == o->cap_depth) o->depth = mem_grow(o->depth, &o->cap_depth, o->n + 1, sizeof *o->depth);
    o->node[o->n] = node;
    o->depth[o->n++] = depth;
    if (depth > o->max_depth) o->max_depth = depth;
}

/* Returns the sum of the values up to each distinct stack. 128 bits keep the sums exact. */
static __int128 *stack_sums(const struct tree *t)
{
    size_t k = t->n_values;
    __int128 *sum = mem_array((t->n_distinct + 1) * k, sizeof *sum);
    for (size_t c = 0; c < k; c++) sum[c] = 0;
    for (size_t i = 0; i < t->n_distinct * k; i++) sum[i + k] = sum[i] + t->values[i];
    return sum;
}

static int64_t clamped(__int128 v)
{
    return v > INT64_MAX ? INT64_MAX : v < INT64_MIN + 1 ? INT64_MIN + 1 : (int64_t)v;
}

/* What is below a node, but neither its own nor below the children that stayed. */
static void sum_smaller(const struct tree *t, const struct children *c, uint32_t node, const __int128 *sums,
                        int64_t *into)
{
    size_t k = t->n_values;
    const struct node *n = &t->nodes[node];
    for (size_t v = 0; v < k; v++) {
        __int128 left = sums[n->end * k + v] - sums[n->first * k + v];
        if (n->self) left -= t->values[(n->self - 1) * k + v];
        for (uint32_t i = c->first[node]; i < c->first[node + 1]; i++) {
            const struct node *child = &t->nodes[c->child[i]];
            left -= sums[child->end * k + v] - sums[child->first * k + v];
        }
        into[v] = clamped(left);
    }
}

/* All that is in a node and below it. */
static void sum_all(const struct tree *t, uint32_t node, const __int128 *sums, int64_t *into)
{
    size_t k = t->n_values;
    const struct node *n = &t->nodes[node];
    for (size_t v = 0; v < k; v++) into[v] = clamped(sums[n->end * k + v] - sums[n->first * k + v]);
}

static struct preorder tree_preorder(const struct tree *t, const struct children *c,
                                     const uint8_t *has_smaller)
{
    struct preorder o = {0};
    __int128 *sums = has_smaller ? stack_sums(t) : NULL;
    struct todo {
        uint32_t node, depth, parent;
    } *stack = NULL;
    size_t n_stack = 0, cap_stack = 0;
    *VEC_PUSH(stack, n_stack, cap_stack) = (struct todo){0};
    while (n_stack) {
        struct todo at = stack[--n_stack];
        preorder_push(&o, at.node, at.depth);
        if (at.node != SMALLER) {
            if (has_smaller && has_smaller[at.node])
                *VEC_PUSH(stack, n_stack, cap_stack) = (struct todo){SMALLER, at.depth + 1, at.node};
            for (uint32_t i = c->first[at.node + 1]; i-- > c->first[at.node];)
                *VEC_PUSH(stack, n_stack, cap_stack) = (struct todo){c->child[i], at.depth + 1, at.node};
            continue;
        }
        if ((o.n_smaller + 1) * t->n_values > o.cap_smaller)
            o.smaller =
                mem_grow(o.smaller, &o.cap_smaller, (o.n_smaller + 1) * t->n_values, sizeof *o.smaller);
        sum_smaller(t, c, at.parent, sums, o.smaller + o.n_smaller++ * t->n_values);
    }
    mem_free(stack);
    mem_free(sums);
    return o;
}

/* Appends any text as valid UTF-8 without control bytes, because '\n' is the separator. */
static void add_text(struct buf *out, const char *s, size_t n)
{
    size_t clean = 0;
    while (clean < n && (unsigned char)s[clean] >= 0x20 && (unsigned char)s[clean] < 0x7f) clean++;
    buf_add(out, s, clean);
    for (size_t i = clean; i < n;) {
        unsigned char c = (unsigned char)s[i];
        size_t len = c < 0x80 ? (c >= 0x20 && c != 0x7f) : utf8_sequence_len(s + i, n - i);
        if (len) {
            buf_add(out, s + i, len);
            i += len;
        } else {
            buf_str(out, "\xef\xbf\xbd");
            i++;
        }
    }
}

static void add_section(struct buf *out, struct buf *bytes)
{
    buf_varint(out, bytes->len);
    buf_add(out, bytes->data, bytes->len);
    bytes->len = 0;
}

static uint64_t zigzag(int64_t v)
{
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

/* Ids on the wire: the root is 0, then by how many nodes they have, so that most ids take one byte. */
struct rank {
    uint32_t function, n_nodes;
};

static int compare_ranks(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->n_nodes != y->n_nodes) return x->n_nodes < y->n_nodes ? 1 : -1;
    return x->function < y->function ? -1 : x->function > y->function;
}

/* Of the i-th in preorder, asked for in order; NULL: all zero. */
static inline const int64_t *values_of(const struct tree *t, const struct preorder *o, size_t i,
                                       size_t *n_smaller)
{
    if (o->node[i] == SMALLER) return o->smaller + (*n_smaller)++ * t->n_values;
    uint32_t self = t->nodes[o->node[i]].self;
    return self ? t->values + (size_t)(self - 1) * t->n_values : NULL;
}

/* Appends a number without a bounds check, because there are millions. The caller provides room for ten
 * bytes. */
static inline void put_varint(struct buf *b, uint64_t value)
{
    while (value >= 0x80) {
        b->data[b->len++] = (char)(value | 0x80);
        value >>= 7;
    }
    b->data[b->len++] = (char)value;
}

static void write_values(const struct tree *t, const struct preorder *o, size_t value, bool zigzagged,
                         int64_t scale, struct buf *scratch)
{
    size_t n_smaller = 0;
    buf_reserve(scratch, o->n * 10);
    for (size_t i = 0; i < o->n; i++) {
        const int64_t *values = values_of(t, o, i, &n_smaller);
        int64_t v = values ? values[value] / scale : 0;
        put_varint(scratch, zigzagged ? zigzag(v) : (uint64_t)v);
    }
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Sets scales to a common divisor of all values of each column. Times are multiples of the period, for
 * example. Divided values are smaller to send and quicker to read. */
static void column_kinds(const struct tree *t, const struct preorder *o, char *kinds, int64_t *scales)
{
    size_t k = t->n_values, n_smaller = 0;
    memset(kinds, '0', k);
    for (size_t c = 0; c < k; c++) scales[c] = 0;
    for (size_t i = 0; i < o->n; i++) {
        const int64_t *v = values_of(t, o, i, &n_smaller);
        for (size_t c = 0; v && c < k; c++) {
            if (v[c] < 0)
                kinds[c] = 'z';
            else if (v[c] > 0 && kinds[c] == '0')
                kinds[c] = 'u';
            if (v[c] && scales[c] != 1 && v[c] != INT64_MIN)
                scales[c] = (int64_t)common_divisor((uint64_t)(v[c] < 0 ? -v[c] : v[c]), (uint64_t)scales[c]);
            else if (v[c] == INT64_MIN)
                scales[c] = 1;
        }
    }
    for (size_t c = 0; c < k; c++)
        if (!scales[c]) scales[c] = 1;
}

static void write_profile_facts(struct buf *h, const struct profile *p, const char *title,
                                unsigned n_processes)
{
    buf_str(h, "{\"title\":");
    buf_json(h, title ? title : "", title ? strlen(title) : 0);
    buf_printf(h,
               ",\"time_ms\":%lld,\"duration_ms\":%.6g,\"samples\":%zu,\"processes\":%u,\"period\":%lld,"
               "\"period_type\":",
               (long long)(p->time_ns / 1000000), (double)p->duration_ns / 1e6, p->n_samples,
               n_processes ? n_processes : 1, (long long)p->period);
    struct str type = profile_str(p, p->period_type.type), unit = profile_str(p, p->period_type.unit);
    buf_char(h, '[');
    buf_json(h, type.s, type.len);
    buf_char(h, ',');
    buf_json(h, unit.s, unit.len);
    buf_str(h, "],\"comments\":[");
    for (size_t i = 0; i < p->n_comments && i < 50; i++) {
        struct str text = profile_str(p, p->comments[i]);
        if (i) buf_char(h, ',');
        buf_json(h, text.s, text.len);
    }
    buf_str(h, "]}");
}

static size_t shown_type(const struct profile *p, const struct flame_data_options *options)
{
    int asked = options->sample_type ? profile_sample_index(p, options->sample_type) : -1;
    return p->n_sample_types == 0 ? 0 : asked >= 0 ? (size_t)asked : profile_default_sample_index(p);
}

static void write_header(const struct profile *p, const struct flame_data_options *options,
                         const struct tree *t, const struct preorder *o, const struct preorder *whole,
                         size_t n_functions, const char *kinds, const int64_t *scales, struct buf *out)
{
    struct buf h = {0};
    buf_str(&h, "{\"sample_types\":[");
    for (size_t i = 0; i < p->n_sample_types; i++) {
        struct str type = profile_str(p, p->sample_types[i].type),
                   unit = profile_str(p, p->sample_types[i].unit);
        buf_str(&h, i ? ",[" : "[");
        buf_json(&h, type.s, type.len);
        buf_char(&h, ',');
        buf_json(&h, unit.s, unit.len);
        buf_char(&h, ']');
    }
    buf_printf(&h,
               "],\"default\":%zu,\"nodes\":%zu,\"functions\":%zu,\"max_depth\":%u,\"left_out\":%zu,"
               "\"smaller\":%zu,\"columns\":",
               shown_type(p, options), o->n, n_functions, o->max_depth, whole->n_left_out,
               o->n_smaller ? n_functions - 1 : 0);
    buf_json(&h, kinds, t->n_values);
    buf_str(&h, ",\"scales\":[");
    for (size_t c = 0; c < t->n_values; c++) buf_printf(&h, c ? ",%lld" : "%lld", (long long)scales[c]);
    buf_char(&h, ']');
    if (o != whole) buf_printf(&h, ",\"preview\":%d", FLAME_DATA_PREVIEW_PIXELS);
    buf_str(&h, ",\"profile\":");
    write_profile_facts(&h, p, options->title, options->n_processes);
    if (options->base) {
        buf_str(&h, ",\"base\":");
        write_profile_facts(&h, options->base, options->base_title, options->base_n_processes);
    }
    if (options->extra_json) {
        buf_char(&h, ',');
        buf_str(&h, options->extra_json);
    }
    buf_char(&h, '}');
    add_section(out, &h);
    buf_free(&h);
}

/* The strings of a table that the functions written need, in the order of their first use; place[id]: where.
 */
static void write_used(const struct tree *t, const struct rank *ranks, size_t n_used, bool files,
                       uint32_t *place, struct buf *scratch, struct buf *out)
{
    const struct strtab *table = files ? &t->files : &t->modules;
    memset(place, 0, table->n_items * sizeof *place);
    uint32_t n = 0;
    for (size_t i = 1; i < n_used; i++) {
        const struct function_facts *f = &t->functions[ranks[i].function];
        uint32_t id = files ? f->file : f->module;
        if (!id || place[id]) continue;
        place[id] = ++n;
        buf_char(scratch, '\n');
        add_text(scratch, table->items[id].s, table->items[id].len);
    }
    add_section(out, scratch);
}

/* whole == o: the tree; else o is a preview of it. */
static void write_tree(const struct profile *p, const struct flame_data_options *options,
                       const struct tree *t, const struct preorder *o, const struct preorder *whole,
                       struct buf *out)
{
    struct buf scratch = {0};
    struct rank *ranks = mem_array(t->n_functions + 1, sizeof *ranks);
    uint32_t *wire = mem_array(t->n_functions + 1, sizeof *wire);
    for (uint32_t i = 0; i < t->n_functions; i++) ranks[i] = (struct rank){i, 0};
    for (size_t i = 1; i < o->n; i++)
        if (o->node[i] != SMALLER) ranks[t->nodes[o->node[i]].function].n_nodes++;
    ranks[0].n_nodes = UINT32_MAX; /* the root's */
    qsort(ranks, t->n_functions, sizeof *ranks, compare_ranks);
    size_t n_used = 0;
    while (n_used < t->n_functions && ranks[n_used].n_nodes) n_used++;
    for (uint32_t i = 0; i < n_used; i++) wire[ranks[i].function] = i;
    size_t n_functions = n_used + (o->n_smaller != 0);

    char *kinds = mem_alloc(t->n_values + 1);
    int64_t *scales = mem_array(t->n_values + 1, sizeof *scales);
    column_kinds(t, o, kinds, scales);
    buf_str(out, "PPF1");
    write_header(p, options, t, o, whole, n_functions, kinds, scales, out);

    buf_str(&scratch, "all");
    for (size_t i = 1; i < n_used; i++) {
        struct str name = strtab_get(&t->names, ranks[i].function);
        buf_char(&scratch, '\n');
        add_text(&scratch, name.s, name.len);
    }
    if (o->n_smaller) buf_str(&scratch, "\n(smaller)");
    add_section(out, &scratch);
    uint32_t *file_place = mem_array(t->files.n_items, sizeof *file_place);
    uint32_t *module_place = mem_array(t->modules.n_items, sizeof *module_place);
    write_used(t, ranks, n_used, true, file_place, &scratch, out);
    write_used(t, ranks, n_used, false, module_place, &scratch, out);
    for (int part = 0; part < 3; part++) {
        for (size_t i = 0; i < n_functions; i++) {
            const struct function_facts none = {0},
                                        *f = i && i < n_used ? &t->functions[ranks[i].function] : &none;
            buf_varint(&scratch, part == 0   ? file_place[f->file]
                                 : part == 1 ? module_place[f->module]
                                             : f->start_line);
        }
        add_section(out, &scratch);
    }

    buf_reserve(&scratch, o->n * 10);
    for (size_t i = 0; i < o->n; i++) put_varint(&scratch, i ? o->depth[i - 1] + 1 - o->depth[i] : 0);
    add_section(out, &scratch);
    for (size_t i = 0; i < o->n; i++)
        put_varint(&scratch, i == 0                  ? 0
                             : o->node[i] == SMALLER ? n_functions - 1
                                                     : wire[t->nodes[o->node[i]].function]);
    add_section(out, &scratch);
    for (size_t c = 0; c < t->n_values; c++) {
        if (kinds[c] != '0') write_values(t, o, c, kinds[c] == 'z', scales[c], &scratch);
        add_section(out, &scratch);
    }
    mem_free(module_place);
    mem_free(file_place);
    mem_free(scales);
    mem_free(kinds);
    mem_free(wire);
    mem_free(ranks);
    buf_free(&scratch);
}

static void preorder_free(struct preorder *o)
{
    mem_free(o->node);
    mem_free(o->depth);
    mem_free(o->smaller);
}

/* ---- preview ---- */

/* Computes how wide the page draws each node in the sample type that it shows first: the node's own value
 * and everything below it. */
static double *tree_widths(const struct tree *t, size_t column, bool compared)
{
    double *sum = mem_array(t->n_distinct + 1, sizeof *sum), *width = mem_array(t->n_nodes, sizeof *width);
    sum[0] = 0;
    for (size_t i = 0; i < t->n_distinct; i++) {
        const int64_t *v = &t->values[i * t->n_values + column];
        double own = fabs((double)v[0]), base = compared ? fabs((double)v[1]) : 0;
        sum[i + 1] = sum[i] + (own > base ? own : base);
    }
    for (size_t i = 0; i < t->n_nodes; i++) width[i] = sum[t->nodes[i].end] - sum[t->nodes[i].first];
    mem_free(sum);
    return width;
}

static void preview_add_smaller(struct preorder *o, uint32_t depth, const int64_t *total, size_t n_values)
{
    if (o->node[o->n - 1] != SMALLER || o->depth[o->n - 1] != depth) { /* not beside one already */
        preorder_push(o, SMALLER, depth);
        if ((o->n_smaller + 1) * n_values > o->cap_smaller)
            o->smaller =
                mem_grow(o->smaller, &o->cap_smaller, (o->n_smaller + 1) * n_values, sizeof *o->smaller);
        memset(o->smaller + o->n_smaller++ * n_values, 0, n_values * sizeof *o->smaller);
    }
    int64_t *sum = o->smaller + (o->n_smaller - 1) * n_values;
    for (size_t c = 0; c < n_values; c++) sum[c] = add_saturated(sum[c], total[c]);
}

/* Returns the nodes that a page of that many pixels would paint. As in web/src/flame/canvas.ts, the first
 * node of a row that touches a pixel gets the pixel. Neighbouring siblings that get no pixel become one
 * frame. */
static struct preorder tree_preview(const struct tree *t, const struct children *c,
                                    const uint8_t *has_smaller, const double *width)
{
    struct preorder o = {0};
    __int128 *sums = stack_sums(t);
    int64_t *total = mem_array(t->n_values, sizeof *total);
    struct todo {
        uint32_t node, depth, parent; /* parent: of SMALLER */
        double left;
    } *stack = NULL;
    size_t n_stack = 0, cap_stack = 0;
    int painted[FLAME_DATA_PREVIEW_ROWS]; /* per row: the last pixel that has a frame */
    for (int row = 0; row < FLAME_DATA_PREVIEW_ROWS; row++) painted[row] = -1;
    double scale = width[0] > 0 ? FLAME_DATA_PREVIEW_PIXELS / width[0] : 0;
    *VEC_PUSH(stack, n_stack, cap_stack) = (struct todo){0};
    while (n_stack) {
        struct todo at = stack[--n_stack];
        if (at.node == SMALLER) {
            sum_smaller(t, c, at.parent, sums, total);
            preview_add_smaller(&o, at.depth, total, t->n_values);
            continue;
        }
        int first = (int)(at.left * scale), last = (int)((at.left + width[at.node]) * scale) - 1;
        if (last < first) last = first;
        if (at.node &&
            (at.depth >= FLAME_DATA_PREVIEW_ROWS || width[at.node] == 0 || last <= painted[at.depth])) {
            sum_all(t, at.node, sums, total);
            preview_add_smaller(&o, at.depth, total, t->n_values);
            continue;
        }
        painted[at.depth] = last;
        preorder_push(&o, at.node, at.depth);
        uint32_t begin = c->first[at.node], end = c->first[at.node + 1];
        double left = at.left;
        if (has_smaller && has_smaller[at.node])
            *VEC_PUSH(stack, n_stack, cap_stack) = (struct todo){SMALLER, at.depth + 1, at.node, 0};
        for (uint32_t i = begin; i < end; i++) left += width[c->child[i]];
        for (uint32_t i = end; i-- > begin;) {
            left -= width[c->child[i]];
            *VEC_PUSH(stack, n_stack, cap_stack) = (struct todo){c->child[i], at.depth + 1, at.node, left};
        }
    }
    mem_free(stack);
    mem_free(sums);
    mem_free(total);
    return o;
}

/* Where the base's sample types go: behind the equal one of the new profile. */
static size_t *base_columns(const struct profile *p, const struct profile *base)
{
    size_t *column_of = mem_array(base->n_sample_types + 1, sizeof *column_of);
    for (size_t i = 0; i < base->n_sample_types; i++) {
        column_of[i] = SIZE_MAX;
        for (size_t k = 0; k < p->n_sample_types; k++)
            if (!strcmp(profile_text(base, base->sample_types[i].type),
                        profile_text(p, p->sample_types[k].type)) &&
                !strcmp(profile_text(base, base->sample_types[i].unit),
                        profile_text(p, p->sample_types[k].unit)))
                column_of[i] = k * 2 + 1;
    }
    return column_of;
}

void flame_data_write(const struct profile *p, const struct flame_data_options *options, struct buf *out)
{
    static const struct flame_data_options defaults;
    if (!options) options = &defaults;
    size_t step = options->base ? 2 : 1;
    struct tree t = {.n_values = p->n_sample_types * step};
    tree_function(&t, "", 0);
    strtab_add(&t.files, "", 0);
    strtab_add(&t.modules, "", 0);

    size_t *column_of = mem_array(p->n_sample_types + 1, sizeof *column_of);
    for (size_t i = 0; i < p->n_sample_types; i++) column_of[i] = i * step;
    tree_add_profile(&t, p, column_of);
    mem_free(column_of);
    if (options->base) {
        column_of = base_columns(p, options->base);
        tree_add_profile(&t, options->base, column_of);
        mem_free(column_of);
    }

    tree_build(&t);
    flame_stacks_free(&t.stacks);
    double *weight = tree_weights(&t);
    double limit =
        weight_limit(weight, t.n_nodes, options->max_nodes ? options->max_nodes : FLAME_DATA_MAX_NODES);
    uint8_t *has_smaller = NULL;
    size_t n_left_out = limit >= 0 ? tree_drop_light(&t, weight, limit, &has_smaller) : 0;
    struct children children = tree_children(&t, weight);
    struct preorder order = tree_preorder(&t, &children, has_smaller);
    order.n_left_out = n_left_out;
    if (order.n >= FLAME_DATA_PREVIEW_FROM && t.n_values) {
        double *width = tree_widths(&t, shown_type(p, options) * step, options->base != NULL);
        struct preorder preview = tree_preview(&t, &children, has_smaller, width);
        write_tree(p, options, &t, &preview, &order, out);
        preorder_free(&preview);
        mem_free(width);
    }
    write_tree(p, options, &t, &order, &order, out);

    mem_free(has_smaller);
    preorder_free(&order);
    mem_free(children.first);
    mem_free(children.child);
    mem_free(weight);
    mem_free(t.values);
    mem_free(t.nodes);
    mem_free(t.functions);
    strtab_free(&t.names);
    strtab_free(&t.files);
    strtab_free(&t.modules);
}
