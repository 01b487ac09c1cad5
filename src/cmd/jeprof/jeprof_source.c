/* jeprof_source.c - writes --list and --disasm: the functions whose name matches, with the cost of each
 * source line or instruction. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/regex.h"
#include "cmd/jeprof/jeprof_report.h"
#include "report/disassembly.h"
#include "report/source.h"
#include "symbol/demangle/demangle.h"

enum { CONTEXT_LINES = 5, MAX_ROUTINE_BYTES = 1 << 22 };

struct routine {
    const struct jeprof_object *object;
    const struct symtab_entry *entry;
    char *name; /* short name */
};

struct tally { /* arrays indexed by place */
    double *flat, *cum;
};

struct work {
    const struct jeprof_view *view;
    struct tally tally;
    struct routine *routines;
    size_t n_routines, cap_routines;
    double total;
    struct buf *out;
};

static void tally_places(struct work *w, const struct jeprof_sums *left)
{
    size_t n_places = w->view->profile->n_places;
    w->tally.flat = mem_zalloc((n_places + 1) * sizeof *w->tally.flat);
    w->tally.cum = mem_zalloc((n_places + 1) * sizeof *w->tally.cum);
    uint64_t *last =
        mem_zalloc((n_places + 1) * sizeof *last); /* last stack in which the place was counted, + 1 */
    for (size_t i = 0; i < left->n_stacks; i++) {
        size_t n;
        const uint32_t *places = jeprof_sums_stack(left, i, &n);
        if (n) w->tally.flat[places[0]] += left->counts[i];
        for (size_t k = 0; k < n; k++) {
            if (last[places[k]] == i + 1) continue;
            last[places[k]] = i + 1;
            w->tally.cum[places[k]] += left->counts[i];
        }
        w->total += left->counts[i];
    }
    mem_free(last);
}

static int compare_routines(const void *a, const void *b)
{
    const struct routine *x = a, *y = b;
    int by = strcmp(x->name, y->name);
    return by ? by : x->entry->start < y->entry->start ? -1 : x->entry->start > y->entry->start;
}

static void add_routine(struct work *w, const struct jeprof_object *o, const struct symtab_entry *e,
                        struct regex *re)
{
    for (size_t i = 0; i < w->n_routines; i++)
        if (w->routines[i].entry == e) return;
    char *full = symbol_demangle(e->name);
    char *tagged = mem_printf("%s<%016llx>", full,
                              (unsigned long long)e->start); /* as jeprof distinguishes equal names */
    if (regex_match(re, tagged, strlen(tagged)))
        *VEC_PUSH(w->routines, w->n_routines, w->cap_routines) =
            (struct routine){o, e, jeprof_short_name(full, strlen(full))};
    mem_free(tagged);
    mem_free(full);
}

/* Collects the functions that have a cost and whose name, including arguments and start address, matches. */
static int find_routines(struct work *w, const char *expression, struct err *err)
{
    const struct jeprof_profile *p = w->view->profile;
    struct regex *re;
    int rc = regex_compile(expression, &re, err);
    if (rc) return rc;
    for (size_t i = 0; i < p->n_places; i++) {
        const struct jeprof_object *o = w->tally.cum[i] != 0 || w->tally.flat[i] != 0
                                            ? jeprof_names_object(w->view->names, p->places[i].object)
                                            : NULL;
        const struct symtab_entry *e = o ? symtab_find(&o->symtab, p->places[i].object_address) : NULL;
        if (e) add_routine(w, o, e, re);
    }
    regex_free(re);
    if (w->n_routines) qsort(w->routines, w->n_routines, sizeof *w->routines, compare_routines);
    return 0;
}

static void work_free(struct work *w)
{
    for (size_t i = 0; i < w->n_routines; i++) mem_free(w->routines[i].name);
    mem_free(w->routines);
    mem_free(w->tally.flat);
    mem_free(w->tally.cum);
}

static void put_value(struct work *w, double value)
{
    struct buf text = {0};
    if (value == 0)
        buf_char(&text, '.');
    else
        jeprof_number(&text, value, w->view->profile->unit);
    if (text.len < 6) buf_fill(w->out, ' ', 6 - text.len);
    buf_add(w->out, text.data, text.len);
    buf_char(w->out, ' ');
    buf_free(&text);
}

static void put_sum(struct work *w, double value)
{
    struct buf text = {0};
    jeprof_number(&text, value, w->view->profile->unit);
    buf_printf(w->out, "%6s ", buf_cstr(&text));
    buf_free(&text);
}

static bool place_is_in(const struct work *w, size_t place, const struct routine *r)
{
    const struct jeprof_place *at = &w->view->profile->places[place];
    return at->object == r->object->name && at->object_address >= r->entry->start &&
           at->object_address < r->entry->end;
}

/* ---- source ---- */

struct listing { /* of one function */
    const char *file;
    uint32_t first, last; /* line numbers */
    uint32_t last_of_code;
    uint32_t *line_at; /* line of `file` for each byte of the function; 0 if none or in another file */
    size_t n_bytes;
};

/* Finds the file of the function, which is the file of its first line, and the lines that its code comes
 * from. */
static void find_lines(const struct routine *r, struct listing *ret)
{
    uint64_t n_bytes = r->entry->end - r->entry->start;
    size_t n = n_bytes && n_bytes < MAX_ROUTINE_BYTES ? (size_t)n_bytes : 1;
    uint64_t *addresses = mem_array(n, sizeof *addresses);
    struct symbol_result found;
    for (size_t i = 0; i < n; i++) addresses[i] = r->entry->start + i;
    symbol_lookup(r->object->opened, addresses, n, &found);
    mem_free(addresses);
    *ret = (struct listing){.line_at = mem_zalloc(n * sizeof *ret->line_at), .n_bytes = n};
    for (size_t i = 0; i < n; i++) {
        if (found.first_frame[i] == found.first_frame[i + 1]) continue;
        const struct symbol_frame *f = &found.frames[found.first_frame[i + 1] - 1];
        if (!f->file || !f->line || (ret->file && strcmp(ret->file, f->file))) continue;
        if (!ret->file) ret->first = f->line;
        ret->file = f->file;
        ret->line_at[i] = f->line;
        if (f->line > ret->last) ret->last = f->line;
    }
    ret->last_of_code = ret->last;
    symbol_result_free(&found);
}

static int indentation(const char *line) /* -1 for a blank line */
{
    size_t n = strspn(line, " \t\r\f\v");
    return line[n] ? (int)n : -1;
}

/* Extends the listing of an indented function, as in a class, to the last line before one that is indented
 * less than its first line, because closing brackets have no code. Like jeprof, it includes one line more. */
static void extend_to_end(struct listing *l, struct source_reader *source)
{
    struct err ignored;
    int first = -1;
    for (long at = l->first;; at++) {
        const char *text = source_line(source, l->file, at, &ignored);
        if (!text) return;
        int indent = indentation(text);
        if (first < 0) first = indent;
        if (first == 0) return;
        if (at < (long)l->last || indent < 0) continue;
        if (indent < first) return;
        l->last = (uint32_t)at + 1;
    }
}

static void put_source(struct work *w, const char *text)
{
    for (; *text; text++)
        if (*text != '\r') buf_char(w->out, *text);
    buf_char(w->out, '\n');
}

struct cost {
    double flat, cum;
};

/* Adds the cost of each address to its line. If that line is not in the listing, the next line of the code
 * that is gets the cost, and the last line gets what remains at the end. Returns the sum. */
static struct cost cost_of_lines(const struct work *w, const struct routine *r, const struct listing *l,
                                 struct cost *lines)
{
    const struct jeprof_profile *p = w->view->profile;
    struct cost *at = mem_zalloc(l->n_bytes * sizeof *at), sum = {0}, open = {0};
    for (size_t i = 0; i < p->n_places; i++) {
        if (!place_is_in(w, i, r)) continue;
        uint64_t offset = p->places[i].object_address - r->entry->start;
        if (offset >= l->n_bytes) continue;
        at[offset].flat += w->tally.flat[i];
        at[offset].cum += w->tally.cum[i];
    }
    for (size_t i = 0; i <= l->n_bytes; i++) {
        if (i < l->n_bytes) {
            open.flat += at[i].flat, open.cum += at[i].cum;
            sum.flat += at[i].flat, sum.cum += at[i].cum;
        }
        uint32_t line = i < l->n_bytes ? l->line_at[i] : l->last;
        if (line < l->first || line > l->last) continue;
        lines[line - l->first].flat += open.flat;
        lines[line - l->first].cum += open.cum;
        open = (struct cost){0};
    }
    mem_free(at);
    return sum;
}

static void put_listing(struct work *w, const struct routine *r, const struct listing *l,
                        struct source_reader *source)
{
    struct cost *lines = mem_zalloc((l->last - l->first + 1) * sizeof *lines),
                sum = cost_of_lines(w, r, l, lines);
    struct err ignored;
    const char *file = l->file;
    if (!strncmp(file, "/proc/self/cwd/", 15)) file += 15;
    if (!strncmp(file, "./", 2)) file += 2;
    buf_printf(w->out, "ROUTINE ====================== %s in %s\n", r->name, file);
    put_sum(w, sum.flat);
    put_sum(w, sum.cum);
    buf_printf(w->out, "Total %s (flat / cumulative)\n", jeprof_unit_name(w->view->profile->unit));
    long from = (long)l->first - CONTEXT_LINES, to = (long)l->last_of_code + CONTEXT_LINES;
    if (to < (long)l->last) to = l->last;
    for (long at = from < 1 ? 1 : from; at <= to; at++) {
        const char *text = source_line(source, l->file, at, &ignored);
        if (!text) break;
        bool inside = at >= (long)l->first && at <= (long)l->last;
        if (at == (long)l->first) buf_str(w->out, "---\n");
        put_value(w, inside ? lines[at - l->first].flat : 0);
        put_value(w, inside ? lines[at - l->first].cum : 0);
        buf_printf(w->out, "%4ld: ", at);
        put_source(w, text);
        if (at == (long)l->last) buf_str(w->out, "---\n");
    }
    mem_free(lines);
}

static void list_routine(struct work *w, const struct routine *r, struct source_reader *source)
{
    struct listing lines;
    struct err why;
    find_lines(r, &lines);
    if (!lines.file) {
        fprintf(stderr,
                "%s: no line numbers in %s (built without -g, or its debug information is elsewhere)\n",
                r->name, symbol_object_path(r->object->opened));
    } else if (!source_line(source, lines.file, lines.first, &why)) {
        fprintf(stderr, "%s\n", why.text);
    } else {
        extend_to_end(&lines, source);
        put_listing(w, r, &lines, source);
    }
    mem_free(lines.line_at);
}

/* ---- machine code ---- */

static void sum_range(const struct work *w, const struct routine *r, uint64_t from, uint64_t to, double *flat,
                      double *cum)
{
    const struct jeprof_profile *p = w->view->profile;
    *flat = *cum = 0;
    for (size_t i = 0; i < p->n_places; i++) {
        if (!place_is_in(w, i, r) || p->places[i].object_address < from || p->places[i].object_address >= to)
            continue;
        *flat += w->tally.flat[i];
        *cum += w->tally.cum[i];
    }
}

static void put_source_of_code(struct work *w, const struct routine *r, const struct instruction *first,
                               uint64_t end, struct source_reader *source)
{
    double flat, cum;
    struct err ignored;
    const char *text =
        *first->file && first->line ? source_line(source, first->file, (long)first->line, &ignored) : NULL;
    if (!first->line) return;
    sum_range(w, r, first->address, end, &flat, &cum);
    put_value(w, flat);
    put_value(w, cum);
    while (text && (*text == ' ' || *text == '\t')) text++;
    buf_printf(w->out, "%5lld: %s\n", (long long)first->line, text ? text : "");
}

static int disasm_routine(struct work *w, const struct routine *r, struct source_reader *source,
                          struct err *err)
{
    struct disassembly d = {0};
    double flat, cum;
    int rc =
        disassemble(symbol_object_path(r->object->opened), r->entry->start, r->entry->end, false, &d, err);
    if (rc) return rc;
    sum_range(w, r, r->entry->start, r->entry->end, &flat, &cum);
    buf_printf(w->out, "ROUTINE ====================== %s\n", r->name);
    put_sum(w, flat);
    put_sum(w, cum);
    buf_printf(w->out, "%s (flat, cumulative) %.1f%% of total\n", jeprof_unit_name(w->view->profile->unit),
               w->total != 0 ? cum * 100 / w->total : 0);
    const char *file = "";
    for (size_t i = 0; i < d.n_items; i++) {
        const struct instruction *at = &d.items[i];
        bool new_file = *at->file && strcmp(at->file, file) != 0;
        if (new_file) buf_printf(w->out, "-------------------- %s\n", file = at->file);
        if (!i || new_file || at->line != d.items[i - 1].line) {
            size_t k = i;
            while (k < d.n_items && d.items[k].line == at->line && !strcmp(d.items[k].file, at->file)) k++;
            put_source_of_code(w, r, at, k < d.n_items ? d.items[k].address : r->entry->end, source);
        }
        sum_range(w, r, at->address, i + 1 < d.n_items ? d.items[i + 1].address : r->entry->end, &flat, &cum);
        put_value(w, flat);
        put_value(w, cum);
        buf_printf(w->out, "   %8llx: %s\n", (unsigned long long)at->address, at->text);
    }
    disassembly_free(&d);
    return 0;
}

int jeprof_write_routines(const struct jeprof_view *view, const struct jeprof_sums *left,
                          const char *routines, bool as_code, struct buf *out, struct err *err)
{
    struct work w = {.view = view, .out = out};
    tally_places(&w, left);
    int rc = find_routines(&w, routines, err);
    struct source_reader *source = source_reader_new("", "");
    for (size_t i = 0; i < w.n_routines && !rc; i++) {
        if (as_code)
            rc = disasm_routine(&w, &w.routines[i], source, err);
        else
            list_routine(&w, &w.routines[i], source);
    }
    source_reader_free(source);
    work_free(&w);
    return rc;
}
