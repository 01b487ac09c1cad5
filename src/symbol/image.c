/* image.c - see image.h. Opens images and looks addresses up. */
#include "symbol/image.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/strtab.h"
#include "symbol/dwarf/address_query.h"
#include "symbol/image_int.h"
#include "symbol/symbol.h"

enum { MAX_CHAIN = 4096, CHUNK = 2048 };

struct image {
    struct bytes bytes;
    struct image_header h;
    const uint32_t *starts, *buckets;
    const struct image_text *files;
    const struct image_row *rows;
    const struct image_scope *scopes;
    const struct image_function *functions;
    /* Several threads set the flags below while they look addresses up. Relaxed order is enough, because the
     * bytes of an image never change: a thread that misses a flag only checks the same bytes again. */
    atomic_uchar *checked; /* one per block: its checksum was verified */
    atomic_uchar *known;   /* one per function, then one per file: which of its texts were checked */
    size_t n_blocks;
    atomic_bool bad; /* a block is damaged */
};

/* The checksum has four lanes of multiply and rotate. It is as fast as the memory, and any flipped bit
 * changes it. */
uint64_t image_checksum(const void *bytes, size_t n)
{
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    const uint8_t *p = bytes;
    uint64_t lane[4] = {odd, odd * 3, odd * 5, odd * 7}, word;
    size_t left = n;
    for (; left >= 32; left -= 32, p += 32)
        for (int i = 0; i < 4; i++) {
            memcpy(&word, p + 8 * i, 8);
            lane[i] = (lane[i] ^ word) * odd;
            lane[i] ^= lane[i] >> 29;
        }
    for (; left; left--, p++) lane[left & 3] = (lane[left & 3] ^ *p) * odd;
    return hash_u64(lane[0] ^ hash_u64(lane[1] ^ hash_u64(lane[2] ^ hash_u64(lane[3] ^ n))));
}

size_t image_item_bytes(enum image_table table)
{
    static const size_t sizes[N_TABLES] = {
        [TABLE_CHECKSUMS] = 8,
        [TABLE_STARTS] = 4,
        [TABLE_ROWS] = sizeof(struct image_row),
        [TABLE_SCOPES] = sizeof(struct image_scope),
        [TABLE_FUNCTIONS] = sizeof(struct image_function),
        [TABLE_FILES] = sizeof(struct image_text),
        [TABLE_STRINGS] = 1,
        [TABLE_BUCKETS] = 4,
    };
    return sizes[table];
}

static bool header_is_sound(const struct image *g, const char *build_id, const char **ret_reason)
{
    const struct image_header *h = &g->h;
    *ret_reason = "not a symbol cache";
    if (memcmp(h->magic, IMAGE_MAGIC, sizeof h->magic)) return false;
    *ret_reason = "made by another version";
    if (h->version != IMAGE_VERSION || h->byte_order != 0x01020304) return false;
    *ret_reason = "cut off";
    if (h->n_bytes != g->bytes.len) return false;
    *ret_reason = "for another build";
    if (!memchr(h->build_id, 0, sizeof h->build_id) || (build_id && strcmp(build_id, h->build_id)))
        return false;
    *ret_reason = "damaged";
    for (int t = 0; t < N_TABLES; t++) {
        const struct image_table_place *p = &h->tables[t];
        if (p->offset % 8 || p->offset > h->n_bytes ||
            p->count > (h->n_bytes - p->offset) / image_item_bytes(t))
            return false;
    }
    size_t n_blocks = (g->bytes.len + IMAGE_BLOCK_BYTES - 1) / IMAGE_BLOCK_BYTES;
    const struct image_table_place *sums = &h->tables[TABLE_CHECKSUMS];
    if (sums->count != n_blocks || sums->offset != sizeof *h ||
        h->tables[TABLE_ROWS].count != h->tables[TABLE_STARTS].count)
        return false;
    uint64_t own = image_checksum(h, offsetof(struct image_header, checksum)) ^
                   image_checksum(g->bytes.data + sums->offset, (size_t)sums->count * 8);
    if (own != h->checksum) return false;
    const struct image_table_place *buckets = &h->tables[TABLE_BUCKETS];
    return buckets->count >= 1 && h->tables[TABLE_STRINGS].count <= UINT32_MAX;
}

struct image *image_open(struct bytes *bytes, const char *build_id, struct err *err)
{
    struct image *g = mem_zalloc(sizeof *g);
    g->bytes = *bytes;
    *bytes = (struct bytes){0};
    const char *reason = "cut off";
    bool ok = g->bytes.len >= sizeof g->h;
    if (ok) {
        memcpy(&g->h, g->bytes.data, sizeof g->h);
        ok = header_is_sound(g, build_id, &reason);
    }
    if (!ok) {
        err_set(err, ERR_INPUT, "symbol cache: %s", reason);
        image_free(g);
        return NULL;
    }
    const uint8_t *p = g->bytes.data;
    g->starts = (const uint32_t *)(p + g->h.tables[TABLE_STARTS].offset);
    g->rows = (const struct image_row *)(p + g->h.tables[TABLE_ROWS].offset);
    g->scopes = (const struct image_scope *)(p + g->h.tables[TABLE_SCOPES].offset);
    g->functions = (const struct image_function *)(p + g->h.tables[TABLE_FUNCTIONS].offset);
    g->files = (const struct image_text *)(p + g->h.tables[TABLE_FILES].offset);
    g->buckets = (const uint32_t *)(p + g->h.tables[TABLE_BUCKETS].offset);
    g->n_blocks = (size_t)g->h.tables[TABLE_CHECKSUMS].count;
    g->checked = mem_zalloc(g->n_blocks + 1);
    g->known = mem_zalloc((size_t)(g->h.tables[TABLE_FUNCTIONS].count + g->h.tables[TABLE_FILES].count + 1));
    return g;
}

void image_free(struct image *g)
{
    if (!g) return;
    bytes_free(&g->bytes);
    mem_free(g->checked);
    mem_free(g->known);
    mem_free(g);
}

/* ---- checks of a file ---- */

/* Verifies the checksum of a block. Returns false if this or another block is damaged. */
static __attribute__((noinline)) bool check_block(struct image *g, size_t block)
{
    if (atomic_load_explicit(&g->bad, memory_order_relaxed)) return false;
    size_t at = block * IMAGE_BLOCK_BYTES, n = g->bytes.len - at;
    if (n > IMAGE_BLOCK_BYTES) n = IMAGE_BLOCK_BYTES;
    /* Header and table of checksums are not part of the sum, because they would contain their own checksums.
     * image_open has verified them. */
    size_t skip = (size_t)(g->h.tables[TABLE_CHECKSUMS].offset + g->h.tables[TABLE_CHECKSUMS].count * 8);
    if (at + n <= skip)
        n = 0;
    else if (at < skip)
        n -= skip - at, at = skip;
    uint64_t want;
    memcpy(&want, g->bytes.data + g->h.tables[TABLE_CHECKSUMS].offset + block * 8, 8);
    if (image_checksum(g->bytes.data + at, n) != want) {
        atomic_store(&g->bad, true);
        return false;
    }
    atomic_store_explicit(&g->checked[block], 1, memory_order_relaxed);
    return true;
}

/* Returns true if all blocks that contain these n bytes are undamaged. */
static inline bool is_good(struct image *g, const void *from, size_t n)
{
    size_t first = (size_t)((const uint8_t *)from - g->bytes.data) / IMAGE_BLOCK_BYTES,
           last = (size_t)((const uint8_t *)from - g->bytes.data + n - 1) / IMAGE_BLOCK_BYTES;
    for (size_t b = first; b <= last; b++)
        if (!atomic_load_explicit(&g->checked[b], memory_order_relaxed) && !check_block(g, b)) return false;
    return true;
}

/* The address of item i of a table, or NULL if there is no such item or its block is damaged. */
#define ITEM(g, table, items, i)                                                                             \
    ((uint64_t)(i) < (g)->h.tables[table].count && is_good(g, &(items)[i], sizeof *(items)) ? &(items)[i]    \
                                                                                            : NULL)

enum { KNOWN_NAME = 1, KNOWN_LINKAGE_NAME = 2, KNOWN_FILE = 1 };

/* Returns a text of the image, or NULL if there is none or it is damaged. Each text is checked once. The bit
 * in *known says that the text is inside its table, undamaged, and ends with a NUL at the right place. */
static inline const char *text_of(struct image *g, const struct image_text *text, atomic_uchar *known,
                                  unsigned char bit)
{
    const struct image_table_place *t = &g->h.tables[TABLE_STRINGS];
    const char *p = (const char *)g->bytes.data + t->offset + text->at_plus_1 - 1;
    if (atomic_load_explicit(known, memory_order_relaxed) & bit) return p;
    if (!text->at_plus_1 || (uint64_t)text->at_plus_1 + text->n_bytes > t->count) return NULL;
    if (!is_good(g, p, (size_t)text->n_bytes + 1) || p[text->n_bytes]) return NULL;
    atomic_fetch_or_explicit(known, bit, memory_order_relaxed);
    return p;
}

static inline void set_file(struct image *g, struct symbol_frame *f, uint32_t index_plus_1)
{
    const struct image_text *file = index_plus_1 ? ITEM(g, TABLE_FILES, g->files, index_plus_1 - 1) : NULL;
    if (!file) return;
    f->file = text_of(g, file, &g->known[g->h.tables[TABLE_FUNCTIONS].count + index_plus_1 - 1], KNOWN_FILE);
    f->file_bytes = f->file ? file->n_bytes : 0;
}

static inline void set_function(struct image *g, struct symbol_frame *f, uint32_t index,
                                const struct image_want *want)
{
    const struct image_function *function = ITEM(g, TABLE_FUNCTIONS, g->functions, index);
    if (!function) return;
    f->start_line = function->start_line;
    if (!want->linkage_names) {
        f->function = text_of(g, &function->name, &g->known[index], KNOWN_NAME);
        f->function_bytes = f->function ? function->name.n_bytes : 0;
        if (f->function && want->one_name) return;
    }
    f->linkage_name = text_of(g, &function->linkage_name, &g->known[index], KNOWN_LINKAGE_NAME);
    if (f->function || !f->linkage_name) return;
    f->function = f->linkage_name;
    f->function_bytes = function->linkage_name.n_bytes;
}

/* ---- looking up ---- */

/* Returns the row of the piece that contains the address, or NULL. */
static const struct image_row *find_row(struct image *g, uint64_t address)
{
    uint64_t offset = address - g->h.base;
    if (address < g->h.base || offset > UINT32_MAX) return NULL;
    uint64_t bucket = offset >> IMAGE_BUCKET_LOG2, n_rows = g->h.tables[TABLE_STARTS].count;
    const uint32_t *from = ITEM(g, TABLE_BUCKETS, g->buckets, bucket);
    if (!from) return NULL;
    const uint32_t *to = ITEM(g, TABLE_BUCKETS, g->buckets, bucket + 1);
    uint64_t low = *from, high = to ? *to : n_rows;
    if (high > n_rows || low > high) return NULL;
    if (low < high && !is_good(g, &g->starts[low], (high - low) * 4)) return NULL;
    while (low < high) { /* finds the first start behind the address */
        uint64_t middle = low + (high - low) / 2;
        if (g->starts[middle] <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? ITEM(g, TABLE_ROWS, g->rows, low - 1) : NULL;
}

struct image_work {
    struct image *image;
    const struct query *sorted; /* by address, so that neighbours in memory follow each other */
    size_t n;
    const struct image_want *want;
    const struct image_row **rows;
    struct symbol_result *result;
};

static inline void count_frames(struct image_work *w, const struct query *q)
{
    struct image *g = w->image;
    size_t i = q->index;
    const struct image_row *row = w->rows[i] = find_row(g, q->address);
    size_t depth = 0;
    if (row && row->scope) {
        for (uint32_t s = row->scope, before = UINT32_MAX; s && s < before && depth < MAX_CHAIN; depth++) {
            const struct image_scope *scope = ITEM(g, TABLE_SCOPES, g->scopes, s - 1);
            if (!scope) break;
            before = s;
            s = w->want->no_inlines ? 0 : scope->parent;
        }
    } else if ((row && row->file) || w->want->room_for_gaps) {
        depth = 1;
    }
    w->result->first_frame[i] = depth;
}

static inline void fill_frames(struct image_work *w, const struct query *q)
{
    struct image *g = w->image;
    size_t i = q->index;
    size_t n_frames = w->result->first_frame[i + 1] - w->result->first_frame[i];
    struct symbol_frame *f = &w->result->frames[w->result->first_frame[i]];
    const struct image_row *row = w->rows[i];
    if (!n_frames) return;
    if (!row) {
        *f = (struct symbol_frame){0};
        return;
    }
    uint32_t file = row->file, line = row->line, column = row->column, s = row->scope;
    uint32_t discriminator = row->discriminator;
    for (size_t k = 0; k < n_frames; k++, f++) {
        *f = (struct symbol_frame){.line = line, .column = column, .discriminator = discriminator};
        set_file(g, f, file);
        const struct image_scope *scope = s ? ITEM(g, TABLE_SCOPES, g->scopes, s - 1) : NULL;
        if (!scope) continue;
        set_function(g, f, scope->function, w->want);
        f->inlined = scope->parent != 0;
        file = scope->call_file;
        line = scope->call_line;
        column = scope->call_column;
        discriminator = 0;
        s = scope->parent;
    }
}

static inline void for_chunk(struct image_work *w, size_t chunk,
                             void (*take)(struct image_work *w, const struct query *q))
{
    size_t end = (chunk + 1) * CHUNK < w->n ? (chunk + 1) * CHUNK : w->n;
    for (size_t k = chunk * CHUNK; k < end; k++) take(w, &w->sorted[k]);
}

static void count_chunk(void *context, size_t chunk, unsigned worker)
{
    (void)worker;
    for_chunk(context, chunk, count_frames);
}

static void fill_chunk(void *context, size_t chunk, unsigned worker)
{
    (void)worker;
    for_chunk(context, chunk, fill_frames);
}

bool image_lookup(struct image *g, const uint64_t *addresses, size_t n, const struct image_want *want,
                  struct symbol_result *ret_result)
{
    struct symbol_result r = {.n_addresses = n};
    struct query *sorted = mem_array(n + 1, sizeof *sorted);
    for (size_t i = 0; i < n; i++) sorted[i] = (struct query){addresses[i], (uint32_t)i};
    queries_sort(sorted, n);
    struct image_work w = {.image = g, .sorted = sorted, .n = n, .want = want, .result = &r};
    r.first_frame = mem_array(n + 1, sizeof *r.first_frame);
    w.rows = mem_array(n + 1, sizeof *w.rows);
    size_t n_chunks = (n + CHUNK - 1) / CHUNK;
    parallel_for(n_chunks, want->n_threads, count_chunk, &w);
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        size_t depth = r.first_frame[i];
        r.first_frame[i] = total;
        total += depth;
    }
    r.first_frame[n] = total;
    r.frames = mem_array(total + 1, sizeof *r.frames);
    parallel_for(n_chunks, want->n_threads, fill_chunk, &w);
    mem_free(w.rows);
    mem_free(sorted);
    if (atomic_load(&g->bad)) {
        symbol_result_free(&r);
        return false;
    }
    *ret_result = r;
    return true;
}
