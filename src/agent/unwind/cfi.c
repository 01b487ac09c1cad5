/* cfi.c - see cfi.h. Finds the functions of the section, sorts them, runs the call frame program of each and
 * cuts the resulting rows into pages. */
#include "agent/unwind/cfi.h"

#include <string.h>

#include "agent/unwind/cfi_int.h"

#define N_CACHED_CIES 16
#define MAX_TEXT      0xffff0000u /* bytes of code: offsets have 32 bits */

struct function {
    uint32_t begin, end; /* offsets from the builder's begin */
    struct rd instructions;
    uint32_t cie; /* index into scan.cies */
};

struct scan {
    struct cfi_builder *b;
    struct pages_buf cies, functions;
    uint32_t recent[N_CACHED_CIES]; /* indexes of CIEs, by a hash of their position */
};

static uint32_t cie_at(struct scan *x, size_t position)
{
    const struct cfi_section *s = x->b->section;
    uint32_t *slot = &x->recent[(position >> 3) % N_CACHED_CIES];
    struct cfi_cie *known = (struct cfi_cie *)(void *)x->cies.data;
    if (x->cies.size && known[*slot].position == position) return *slot;
    struct cfi_cie cie = {.position = position};
    struct rd r = rd_over(s->bytes, s->n_bytes), entry;
    rd_skip(&r, position);
    bool is_64;
    if (cfi_next_entry(&r, &entry, &is_64)) {
        uint64_t id = is_64 ? rd_u64(&entry) : rd_u32(&entry);
        bool is_cie = s->is_debug_frame ? id == (is_64 ? UINT64_MAX : UINT32_MAX) : id == 0;
        if (is_cie) cfi_parse_cie(s, entry, &cie);
    }
    pages_buf_bytes(&x->cies, &cie, sizeof cie);
    return *slot = (uint32_t)(x->cies.size / sizeof cie) - 1;
}

static void add_function(struct scan *x, struct rd entry, size_t cie_position)
{
    const struct cfi_section *s = x->b->section;
    uint32_t index = cie_at(x, cie_position);
    const struct cfi_cie *cie = (const struct cfi_cie *)(const void *)x->cies.data + index;
    if (x->cies.failed || !cie->valid) return;
    uintptr_t begin, length;
    if (!cfi_read_pointer(s, &entry, cie->pointer_encoding, &begin)) return;
    struct cfi_section plain = *s;
    plain.bias = 0;
    if (!cfi_read_pointer(&plain, &entry, cie->pointer_encoding & 0x0f, &length)) return;
    if (cie->has_augmentation_data) rd_skip(&entry, rd_varint(&entry));
    if (entry.bad || !length || begin < x->b->begin || begin >= x->b->end || length > x->b->end - begin)
        return;
    struct function f = {.begin = (uint32_t)(begin - x->b->begin), .instructions = entry, .cie = index};
    f.end = f.begin + (uint32_t)length;
    pages_buf_bytes(&x->functions, &f, sizeof f);
}

static void scan_section(struct scan *x)
{
    const struct cfi_section *s = x->b->section;
    struct rd r = rd_over(s->bytes, s->n_bytes), entry;
    bool is_64;
    while (rd_left(&r) && cfi_next_entry(&r, &entry, &is_64)) {
        size_t id_position = (size_t)(entry.p - s->bytes);
        uint64_t id = is_64 ? rd_u64(&entry) : rd_u32(&entry);
        if (s->is_debug_frame) {
            if (id < s->n_bytes) add_function(x, entry, (size_t)id);
        } else if (id && id <= id_position) {
            add_function(x, entry, id_position - (size_t)id);
        }
    }
}

/* A radix sort: stable, and without qsort, which may call malloc. */
static struct function *sort_functions(struct function *f, struct function *spare, size_t n)
{
    bool sorted = true;
    for (size_t i = 1; i < n && sorted; i++) sorted = f[i - 1].begin <= f[i].begin;
    for (unsigned shift = 0; shift < 32 && !sorted; shift += 8) {
        size_t count[257] = {0};
        for (size_t i = 0; i < n; i++) count[(f[i].begin >> shift & 255) + 1]++;
        for (unsigned d = 0; d < 256; d++) count[d + 1] += count[d];
        for (size_t i = 0; i < n; i++) spare[count[f[i].begin >> shift & 255]++] = f[i];
        struct function *swap = f;
        f = spare;
        spare = swap;
    }
    return f;
}

void cfi_line_add(struct cfi_builder *b, uint32_t offset, uint32_t rule)
{
    struct cfi_line *lines = (struct cfi_line *)(void *)b->lines.data;
    size_t n = b->lines.size / sizeof *lines;
    if (n && lines[n - 1].offset == offset) { /* the earlier rule covers no code: the later one replaces it */
        lines[n - 1].rule = rule;
        return;
    }
    if (n && lines[n - 1].rule == rule) return;
    struct cfi_line line = {offset, rule};
    pages_buf_bytes(&b->lines, &line, sizeof line);
}

static void add_row(void *context, uintptr_t from, const struct unwind_rule *rule)
{
    struct cfi_builder *b = context;
    cfi_line_add(b, (uint32_t)(from - b->begin), cfi_rule_index(b, rule));
}

static void run_functions(struct cfi_builder *b, const struct function *f, size_t n,
                          const struct cfi_cie *cies)
{
    uint32_t done = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t begin =
            f[i].begin > done ? f[i].begin : done; /* where functions overlap, the first one wins */
        if (begin >= f[i].end) continue;
        if (begin != f[i].begin) continue;
        uint32_t end =
            i + 1 < n && f[i + 1].begin > begin && f[i + 1].begin < f[i].end ? f[i + 1].begin : f[i].end;
        cfi_program_run(b->section, b->machine, &cies[f[i].cie], f[i].instructions, b->begin + begin,
                        b->begin + end, add_row, b);
        cfi_line_add(b, end, 0);
        done = end;
    }
}

/* Writes the lines as rows of 4 bytes. Each page of 64 KiB begins with a row for its first byte. Pages, rows
 * and rules are one block of memory. */
static int cut_pages(struct cfi_builder *b, struct cfi_table *t, struct err *err)
{
    const struct cfi_line *lines = (const struct cfi_line *)(const void *)b->lines.data;
    size_t n_lines = b->lines.size / sizeof *lines, n_pages = ((b->end - b->begin) >> 16) + 1;
    size_t n_rules = b->rules.size / sizeof(struct unwind_rule), max_rows = n_lines + n_pages;
    size_t pages_bytes = ((n_pages + 1) * sizeof(uint32_t) + 7) & ~(size_t)7,
           rules_bytes = (n_rules * sizeof(struct unwind_rule) + 7) & ~(size_t)7;
    t->n_bytes = pages_bytes + rules_bytes + max_rows * sizeof(struct unwind_row);
    char *memory = t->memory = pages_map(t->n_bytes);
    if (!memory) return err_set(err, ERR_LIMIT, "no memory for %zu unwind rows", max_rows);
    uint32_t *pages = (uint32_t *)(void *)memory, n_rows = 0, rule = 0;
    memcpy(memory + pages_bytes, b->rules.data, n_rules * sizeof(struct unwind_rule));
    struct unwind_row *rows = (struct unwind_row *)(void *)(memory + pages_bytes + rules_bytes);
    size_t line = 0;
    for (size_t page = 0; page < n_pages; page++) {
        pages[page] = n_rows;
        if (line >= n_lines || lines[line].offset != page << 16)
            rows[n_rows++] = (struct unwind_row){0, (uint16_t)rule};
        for (; line < n_lines && lines[line].offset >> 16 == page; line++) {
            rule = lines[line].rule;
            rows[n_rows++] = (struct unwind_row){(uint16_t)lines[line].offset, (uint16_t)rule};
        }
    }
    pages[n_pages] = n_rows;
    t->module =
        (struct unwind_module){.begin = b->begin,
                               .end = b->end,
                               .pages = pages,
                               .rows = rows,
                               .rules = (const struct unwind_rule *)(const void *)(memory + pages_bytes)};
    t->n_rows = n_rows;
    t->n_rules = (uint32_t)n_rules;
    return 0;
}

int cfi_build(const struct cfi_section *section, enum cfi_machine machine, uintptr_t begin, uintptr_t end,
              struct cfi_table *ret_table, struct err *err)
{
    if (end <= begin || end - begin > MAX_TEXT)
        return err_set(err, ERR_UNSUPPORTED, "an object has %zu bytes of code; at most %u can be described",
                       (size_t)(end - begin), MAX_TEXT);
    struct cfi_builder b = {.section = section, .machine = machine, .begin = begin, .end = end};
    struct scan x = {.b = &b};
    scan_section(&x);
    size_t n = x.functions.size / sizeof(struct function);
    struct function *spare = pages_map(n * sizeof *spare);
    struct cfi_table t = {.n_functions = (uint32_t)n};
    int status = spare ? 0 : err_set(err, ERR_LIMIT, "no memory for %zu functions", n);
    struct unwind_rule none = {.cfa = UNWIND_CFA_NONE};
    (void)cfi_rule_index(&b, &none); /* rule 0 */
    if (!status) {
        run_functions(&b, sort_functions((struct function *)(void *)x.functions.data, spare, n), n,
                      (const struct cfi_cie *)(const void *)x.cies.data);
        if (x.functions.failed || x.cies.failed || b.lines.failed || b.rules.failed || !b.rule_slots)
            status = err_set(err, ERR_LIMIT, "no memory for the rows of %zu functions", n);
    }
    if (!status) status = cut_pages(&b, &t, err);
    pages_unmap(spare, n * sizeof *spare);
    pages_unmap(b.rule_slots, CFI_RULE_SLOTS * sizeof *b.rule_slots);
    pages_buf_free(&x.functions);
    pages_buf_free(&x.cies);
    pages_buf_free(&b.lines);
    pages_buf_free(&b.rules);
    if (!status) *ret_table = t;
    return status;
}

void cfi_table_free(struct cfi_table *t)
{
    pages_unmap(t->memory, t->n_bytes);
    *t = (struct cfi_table){0};
}
