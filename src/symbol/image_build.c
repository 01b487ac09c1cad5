/* image_build.c - joins the images of all units: one list of pieces, one each of scopes, functions and files,
 * and one of strings. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/strtab.h"
#include "symbol/image_int.h"
#include "symbol/image_unit.h"

struct build {
    struct dwarf *dwarf;
    struct unit **units; /* largest first */
    struct unit_image *images;
    size_t n_units;
    struct worker *workers;
};

static int by_size(const void *a_, const void *b_)
{
    const struct unit *a = *(struct unit *const *)a_, *b = *(struct unit *const *)b_;
    uint64_t a_bytes = a->end - a->offset, b_bytes = b->end - b->offset;
    if (a_bytes != b_bytes) return a_bytes > b_bytes ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void make_one(void *context, size_t i, unsigned worker)
{
    struct build *b = context;
    unit_image_make(&b->workers[worker], b->units[i], &b->images[i]);
}

static void make_units(struct build *b)
{
    struct dwarf_file *f = b->dwarf->main;
    b->units = mem_array(f->n_units + 1, sizeof *b->units);
    for (size_t i = 0; i < f->n_units; i++)
        if (f->units[i].type != DW_UT_type && f->units[i].type != DW_UT_partial)
            b->units[b->n_units++] = &f->units[i];
    qsort(b->units, b->n_units, sizeof *b->units, by_size);
    b->images = mem_zalloc((b->n_units + 1) * sizeof *b->images);
    b->workers = mem_zalloc(b->dwarf->n_threads * sizeof *b->workers);
    for (unsigned i = 0; i < b->dwarf->n_threads; i++)
        worker_init(&b->workers[i], b->dwarf, &b->dwarf->worker_memory[i]);
    parallel_for(b->n_units, b->dwarf->n_threads, make_one, b);
    for (unsigned i = 0; i < b->dwarf->n_threads; i++) worker_free(&b->workers[i]);
    mem_free(b->workers);
}

/* ---- joining ---- */

struct joined {
    struct buf strings;
    struct idmap string_at; /* address of a text -> its offset in strings + 1 */
    struct strtab files;
    struct unit_function *functions;
    size_t n_functions, cap_functions;
    struct idmap function_at; /* hash of a function's fields -> its index */
    struct image_scope *scopes;
    size_t n_scopes, cap_scopes;
    struct code_piece *pieces;
    size_t n_pieces;
    bool too_large;
};

/* Adds a text once. The key is the text's address, because linkers merge equal texts. */
static struct image_text add_string(struct joined *j, const char *text)
{
    if (!text) return (struct image_text){0};
    bool is_new;
    uint32_t *slot = idmap_slot(&j->string_at, (uintptr_t)text, &is_new);
    if (is_new) {
        size_t n = strlen(text) + 1;
        if (j->strings.len + n >= UINT32_MAX) {
            j->too_large = true;
            return (struct image_text){0};
        }
        *slot = (uint32_t)j->strings.len + 1;
        buf_add(&j->strings, text, n);
    }
    return (struct image_text){*slot, (uint32_t)strlen(text)};
}

static uint32_t add_function(struct joined *j, const struct unit_function *f)
{
    uint64_t key = hash_u64((uintptr_t)f->linkage_name) ^ hash_u64(f->line + 1);
    bool is_new;
    uint32_t *slot = idmap_slot(&j->function_at, key, &is_new);
    if (!is_new && j->functions[*slot].linkage_name == f->linkage_name && j->functions[*slot].line == f->line)
        return *slot;
    *slot = (uint32_t)j->n_functions;
    *VEC_PUSH(j->functions, j->n_functions, j->cap_functions) = *f;
    return (uint32_t)j->n_functions - 1;
}

static void join_unit(struct joined *j, struct unit_image *m)
{
    uint32_t *functions = mem_array(m->n_functions + 1, sizeof *functions),
             *files = mem_array(m->n_files + 1, sizeof *files);
    uint32_t first_scope = (uint32_t)j->n_scopes;
    for (size_t i = 0; i < m->n_functions; i++) functions[i] = add_function(j, &m->functions[i]);
    files[0] = 0;
    for (size_t i = 0; i < m->n_files; i++) files[i + 1] = strtab_add_cstr(&j->files, m->files[i]);
    if (j->n_scopes + m->n_scopes >= UINT32_MAX) j->too_large = true;
    if (j->n_scopes + m->n_scopes > j->cap_scopes)
        j->scopes = mem_grow(j->scopes, &j->cap_scopes, j->n_scopes + m->n_scopes, sizeof *j->scopes);
    for (size_t i = 0; i < m->n_scopes; i++) {
        struct image_scope s = m->scopes[i];
        if (s.parent) s.parent += first_scope;
        s.function = functions[s.function];
        s.call_file = files[s.call_file];
        j->scopes[j->n_scopes++] = s;
    }
    for (size_t i = 0; i < m->n_pieces; i++) {
        struct code_piece p = m->pieces[i];
        if (p.row.scope) p.row.scope += first_scope;
        p.row.file = files[p.row.file];
        j->pieces[j->n_pieces++] = p;
    }
    mem_free(functions);
    mem_free(files);
    unit_image_free(m);
}

static bool is_end(const struct code_piece *p)
{
    return !p->row.scope && !p->row.file;
}

static int by_start(const struct code_piece *a, const struct code_piece *b)
{
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    /* The end of one unit comes before the start of the next, so that the start counts. */
    return is_end(b) - is_end(a);
}

/* Sorts the pieces by address. The pieces of each unit are a sorted run already, which suits a merge sort. */
static void sort_pieces(struct joined *j)
{
    size_t n = j->n_pieces;
    struct code_piece *from = j->pieces, *to = mem_array(n + 1, sizeof *to);
    size_t *runs = NULL, n_runs = 0, cap_runs = 0;
    for (size_t i = 0; i < n; i++)
        if (!i || by_start(&from[i - 1], &from[i]) > 0) *VEC_PUSH(runs, n_runs, cap_runs) = i;
    while (n_runs > 1) {
        size_t kept = 0;
        for (size_t r = 0; r < n_runs; r += 2) {
            size_t a = runs[r], a_end = r + 1 < n_runs ? runs[r + 1] : n, b = a_end,
                   b_end = r + 2 < n_runs ? runs[r + 2] : n, o = a;
            while (a < a_end && b < b_end) to[o++] = by_start(&from[b], &from[a]) < 0 ? from[b++] : from[a++];
            if (a < a_end) memcpy(to + o, from + a, (a_end - a) * sizeof *to);
            if (b < b_end) memcpy(to + o, from + b, (b_end - b) * sizeof *to);
            runs[kept++] = runs[r];
        }
        n_runs = kept;
        struct code_piece *swap = from;
        from = to;
        to = swap;
    }
    j->pieces = from;
    mem_free(to);
    mem_free(runs);
}

/* Keeps one piece per address, and joins neighbours with equal rows. */
static void unite_pieces(struct joined *j)
{
    size_t n = 0;
    for (size_t i = 0; i < j->n_pieces; i++) {
        const struct code_piece *p = &j->pieces[i];
        if (n && j->pieces[n - 1].start == p->start) {
            if (!is_end(p) && is_end(&j->pieces[n - 1])) j->pieces[n - 1].row = p->row;
            continue;
        }
        if (n && !memcmp(&j->pieces[n - 1].row, &p->row, sizeof p->row)) continue;
        j->pieces[n++] = *p;
    }
    j->n_pieces = n;
}

/* ---- writing ---- */

static uint64_t place(struct image_header *h, enum image_table t, uint64_t at, uint64_t count)
{
    at = (at + 7) & ~(uint64_t)7;
    h->tables[t] = (struct image_table_place){at, count};
    return at + count * image_item_bytes(t);
}

static void write_tables(struct joined *j, const struct image_header *h, uint8_t *out)
{
    uint32_t *starts = (uint32_t *)(out + h->tables[TABLE_STARTS].offset),
             *buckets = (uint32_t *)(out + h->tables[TABLE_BUCKETS].offset);
    struct image_text *files = (struct image_text *)(out + h->tables[TABLE_FILES].offset);
    struct image_row *rows = (struct image_row *)(out + h->tables[TABLE_ROWS].offset);
    size_t n_buckets = (size_t)h->tables[TABLE_BUCKETS].count, bucket = 0;
    for (size_t i = 0; i < j->n_pieces; i++) {
        starts[i] = (uint32_t)(j->pieces[i].start - h->base);
        rows[i] = j->pieces[i].row;
        for (; bucket < n_buckets && bucket <= starts[i] >> IMAGE_BUCKET_LOG2; bucket++)
            buckets[bucket] = (uint32_t)i;
    }
    for (; bucket < n_buckets; bucket++) buckets[bucket] = (uint32_t)j->n_pieces;
    if (j->n_scopes) memcpy(out + h->tables[TABLE_SCOPES].offset, j->scopes, j->n_scopes * sizeof *j->scopes);
    struct image_function *functions = (struct image_function *)(out + h->tables[TABLE_FUNCTIONS].offset);
    for (size_t i = 0; i < j->n_functions; i++) {
        const struct unit_function *f = &j->functions[i];
        functions[i] =
            (struct image_function){add_string(j, f->linkage_name), add_string(j, f->name), f->line};
    }
    for (size_t i = 0; i < h->tables[TABLE_FILES].count; i++)
        files[i] = add_string(j, strtab_get(&j->files, (uint32_t)i + 1).s);
    if (j->strings.len) memcpy(out + h->tables[TABLE_STRINGS].offset, j->strings.data, j->strings.len);
}

static void write_checksums(struct image_header *h, uint8_t *out, size_t n)
{
    size_t skip = (size_t)(h->tables[TABLE_CHECKSUMS].offset + h->tables[TABLE_CHECKSUMS].count * 8);
    uint64_t *sums = (uint64_t *)(out + h->tables[TABLE_CHECKSUMS].offset);
    for (size_t b = 0; b < h->tables[TABLE_CHECKSUMS].count; b++) {
        size_t from = b * IMAGE_BLOCK_BYTES, to = from + IMAGE_BLOCK_BYTES < n ? from + IMAGE_BLOCK_BYTES : n;
        if (from < skip) from = to <= skip ? to : skip;
        sums[b] = image_checksum(out + from, to - from);
    }
    h->checksum = image_checksum(h, offsetof(struct image_header, checksum)) ^
                  image_checksum(sums, (size_t)h->tables[TABLE_CHECKSUMS].count * 8);
    memcpy(out, h, sizeof *h);
}

/* Adds files and readable names first, so that the texts that most lookups need are close together. Linkage
 * names follow. */
static void add_strings(struct joined *j)
{
    size_t n_files = j->files.n_items ? j->files.n_items - 1 : 0;
    for (size_t i = 0; i < n_files; i++) add_string(j, strtab_get(&j->files, (uint32_t)i + 1).s);
    for (size_t i = 0; i < j->n_functions; i++) add_string(j, j->functions[i].name);
    for (size_t i = 0; i < j->n_functions; i++) add_string(j, j->functions[i].linkage_name);
}

static bool write_image(struct joined *j, const char *build_id, struct bytes *ret)
{
    uint64_t base = j->n_pieces ? j->pieces[0].start & ~(uint64_t)0xfff : 0;
    uint64_t last = j->n_pieces ? j->pieces[j->n_pieces - 1].start : 0;
    size_t n_files = j->files.n_items ? j->files.n_items - 1 : 0;
    add_strings(j);
    if (last - base > UINT32_MAX || j->too_large || j->n_pieces >= UINT32_MAX) return false;
    struct image_header h = {.version = IMAGE_VERSION, .byte_order = 0x01020304, .base = base};
    memcpy(h.magic, IMAGE_MAGIC, sizeof h.magic);
    size_t n_id = strlen(build_id);
    memcpy(h.build_id, build_id, n_id < sizeof h.build_id ? n_id : sizeof h.build_id - 1);
    uint64_t n_buckets = ((last - base) >> IMAGE_BUCKET_LOG2) + 2, n_blocks = 0, n_bytes = 0;
    /* The number of blocks depends on the size of the table of checksums, which depends on the number of
     * blocks. Three rounds are enough for both to settle. */
    for (int rounds = 0; rounds < 3; rounds++) {
        uint64_t at = place(&h, TABLE_CHECKSUMS, sizeof h, n_blocks);
        at = place(&h, TABLE_STARTS, at, j->n_pieces);
        at = place(&h, TABLE_ROWS, at, j->n_pieces);
        at = place(&h, TABLE_SCOPES, at, j->n_scopes);
        at = place(&h, TABLE_FUNCTIONS, at, j->n_functions);
        at = place(&h, TABLE_FILES, at, n_files);
        at = place(&h, TABLE_BUCKETS, at, n_buckets);
        n_bytes = place(&h, TABLE_STRINGS, at, j->strings.len);
        n_blocks = (n_bytes + IMAGE_BLOCK_BYTES - 1) / IMAGE_BLOCK_BYTES;
    }
    h.n_bytes = n_bytes;
    *ret = (struct bytes){.data = mem_zalloc((size_t)n_bytes), .len = (size_t)n_bytes};
    write_tables(j, &h, ret->data);
    write_checksums(&h, ret->data, (size_t)n_bytes);
    return true;
}

struct image *image_build(struct dwarf *d, const char *build_id, struct bytes *ret_bytes)
{
    struct build b = {.dwarf = d};
    struct joined j = {0};
    dwarf_find_places(d);
    make_units(&b);
    size_t n_pieces = 0;
    for (size_t i = 0; i < b.n_units; i++) n_pieces += b.images[i].n_pieces;
    j.pieces = mem_array(n_pieces + 1, sizeof *j.pieces);
    for (size_t i = 0; i < b.n_units; i++) join_unit(&j, &b.images[i]);
    mem_free(b.images);
    mem_free(b.units);
    sort_pieces(&j);
    unite_pieces(&j);
    struct bytes bytes = {0};
    struct image *image = NULL;
    if (write_image(&j, build_id, &bytes)) {
        if (ret_bytes) *ret_bytes = (struct bytes){.data = bytes.data, .len = bytes.len};
        image = image_open(&bytes, NULL, NULL);
    }
    buf_free(&j.strings);
    idmap_free(&j.string_at);
    idmap_free(&j.function_at);
    strtab_free(&j.files);
    mem_free(j.functions);
    mem_free(j.scopes);
    mem_free(j.pieces);
    return image;
}
