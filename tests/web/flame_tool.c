/* flame_tool.c - makes what the page's tests and benchmarks look at.
 *
 *   flame_tool html|data|proto SOURCE [BASE] > OUT       SOURCE: a file, or made:N (a call tree of about N
 * nodes), short:N (the same with short names), odd (every oddity), none (no samples)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "format/format.h"
#include "report/flame/flame_html.h"

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static bool short_names;

/* Names as a database's C++ has them: a namespace, a class, a method, sometimes template arguments and
 * parameters. */
static uint32_t add_function(struct profile *p, unsigned i)
{
    static const char *spaces[] = {
        "starrocks", "starrocks::pipeline", "starrocks::vectorized", "std", "rocksdb",
        "bthread",   "google::protobuf",    "arrow::compute"};
    static const char *classes[] = {"HashJoiner",  "Aggregator",     "ChunkSource", "ColumnReader",
                                    "PageBuilder", "RuntimeFilter",  "MemTracker",  "Compaction",
                                    "ExprContext", "SegmentIterator"};
    static const char *verbs[] = {"build", "probe", "next_chunk", "evaluate", "append", "decode",
                                  "merge", "flush", "prepare",    "open",     "seek",   "compare"};
    char name[200], file[80];
    const char *space = spaces[i % 8], *class = classes[i / 8 % 10], *verb = verbs[i / 80 % 12];
    if (short_names)
        snprintf(name, sizeof name, "%s_%s_%u", verb, class, i);
    else if (i < 7 * 960 && i % 7 == 3)
        snprintf(name, sizeof name, "com.starrocks.%s.%s.%s", i % 2 ? "sql" : "catalog", class, verb);
    else if (i % 11 == 5)
        snprintf(name, sizeof name, "%s_%s_%u", verb, class, i);
    else if (i % 3 == 0)
        snprintf(name, sizeof name,
                 "%s::%s<%s::Column<int%u_t>, %u>::%s(%s::Chunk const&, std::vector<unsigned long> const&)",
                 space, class, space, 8u << i % 4, i, verb, space);
    else
        snprintf(name, sizeof name, "%s::%s::%s_%u(%s::RuntimeState*)", space, class, verb, i, space);
    snprintf(file, sizeof file, "be/src/%s/%s.cpp", verb, class);
    return profile_add_function(p, profile_cstr(p, name), 0, profile_cstr(p, file), 10 + i % 900);
}

static uint32_t location_of(struct profile *p, uint32_t function)
{
    uint32_t at = profile_add_location(p, 0x400000 + 16 * (uint64_t)function, 1);
    profile_add_line(p, function, 42, 0);
    return at;
}

static struct profile *make_tree(size_t n_nodes)
{
    struct profile *p = profile_new();
    profile_add_sample_type(p, "samples", "count");
    profile_add_sample_type(p, "cpu", "nanoseconds");
    p->time_ns = 1790000000000000000;
    p->duration_ns = 10000000000;
    p->period = 10000000;
    profile_add_mapping(p, 0x400000, 0x8000000, 0, profile_cstr(p, "/opt/starrocks/be/lib/starrocks_be"), 0);
    unsigned n_functions = n_nodes > 100000 ? 20000 : (unsigned)(n_nodes / 5 + 20);
    uint32_t *locations = mem_array(n_functions, sizeof *locations);
    for (unsigned i = 0; i < n_functions; i++) locations[i] = location_of(p, add_function(p, i));
    uint32_t path[400], stack[400];
    size_t depth = 0, made = 1;
    while (made < n_nodes) {
        /* Go back a few frames, then forward a few: near the leaf mostly, now and then from the root. */
        size_t keep = next_random() % 50 == 0 ? next_random() % (depth + 1)
                                              : depth - (depth ? next_random() % (depth < 7 ? depth : 7) : 0);
        size_t grow = 1 + next_random() % (keep < 12 ? 16 : keep < 60 ? 7 : 3);
        depth = keep;
        for (size_t i = 0; i < grow && depth < 90; i++, made++) {
            unsigned pick = (unsigned)(next_random() % n_functions);
            if (depth < 6) pick %= 12;
            path[depth++] = locations[pick];
        }
        for (size_t i = 0; i < depth; i++) stack[i] = path[depth - 1 - i];
        int64_t n = 1 + (int64_t)(next_random() % 8 == 0 ? next_random() % 2000 : next_random() % 30);
        profile_add_sample(p, stack, depth, (int64_t[]){n, n * 10000000});
    }
    mem_free(locations);
    return p;
}

/* Deep, long, negative, empty-named, not UTF-8, looks like markup, recursive. */
static struct profile *make_odd(void)
{
    struct profile *p = profile_new();
    profile_add_sample_type(p, "delta", "bytes");
    char *longest = mem_alloc(100001);
    memset(longest, 'x', 100000);
    longest[100000] = 0;
    const char *names[] = {"main", longest,           "not\xff\xfeutf8\xc3", "<script>alert(1)</script>&\"'",
                           "",     "line\nbreak\x01", "日本語の関数",        "recurse(int)"};
    uint32_t at[8], deep[5000];
    for (int i = 0; i < 8; i++)
        at[i] = location_of(p, profile_add_function(p, profile_cstr(p, names[i]), 0, 0, 0));
    for (int i = 0; i < 8; i++)
        profile_add_sample(p, (uint32_t[]){at[i], at[0]}, 2, (int64_t[]){(i + 1) * 1000});
    profile_add_sample(p, (uint32_t[]){at[3], at[2], at[0]}, 3, (int64_t[]){-7000});
    for (int i = 0; i < 5000; i++) deep[i] = i == 4999 ? at[0] : at[7];
    profile_add_sample(p, deep, 5000, (int64_t[]){9000});
    uint32_t bare = profile_add_location(p, 0xdeadbeef, 0);
    profile_add_sample(p, &bare, 1, (int64_t[]){INT64_MAX / 4});
    profile_add_sample(p, NULL, 0, (int64_t[]){5});
    mem_free(longest);
    return p;
}

static struct profile *get(const char *source)
{
    short_names = !strncmp(source, "short:", 6);
    if (short_names) return make_tree(strtoul(source + 6, NULL, 10));
    if (!strncmp(source, "made:", 5)) return make_tree(strtoul(source + 5, NULL, 10));
    if (!strcmp(source, "odd")) return make_odd();
    if (!strcmp(source, "none")) return make_tree(0);
    struct bytes bytes;
    struct err err;
    struct profile *p;
    if (file_read(source, FORMAT_MAX_BYTES, &bytes, &err) < 0 ||
        format_read(bytes.data, bytes.len, source, NULL, &p, &err) < 0) {
        fprintf(stderr, "flame_tool: %s\n", err.text);
        exit(1);
    }
    bytes_free(&bytes);
    return p;
}

int main(int argc, char **argv)
{
    if (argc < 3) return fprintf(stderr, "flame_tool html|data SOURCE [BASE]\n"), 2;
    struct profile *p = get(argv[2]), *base = argc > 3 ? get(argv[3]) : NULL;
    struct flame_html_options o = {
        .data = {.title = argv[2], .base = base, .base_title = argc > 3 ? argv[3] : NULL}};
    struct buf out = {0};
    struct err err;
    if (!strcmp(argv[1], "data"))
        flame_data_write(p, &o.data, &out);
    else if (!strcmp(argv[1], "proto"))
        format_write_proto(p, &out);
    else if (flame_html_write(p, &o, &out, &err) < 0)
        return fprintf(stderr, "flame_tool: %s\n", err.text), 1;
    fwrite(out.data, 1, out.len, stdout);
    buf_free(&out);
    profile_free(p);
    profile_free(base);
    return 0;
}
