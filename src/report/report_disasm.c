/* report_disasm.c - annotated machine code of the functions that match, and (weblist) source with its machine
 * code as a page. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "report/disassembly.h"
#include "report/report_int.h"
#include "report/simple_names.h"
#include "report/source.h"
#include "symbol/demangle/demangle.h"
#include "symbol/elf/elf.h"
#include "symbol/elf/symtab.h"

struct place { /* a node with its address in the object */
    uint64_t address;
    const struct node *node;
};

struct routine { /* a function of an object that has samples and was asked for */
    char *object, *name;
    uint64_t start, end;
    struct place *places; /* sorted by address */
    size_t n_places;
};

struct routines {
    struct routine *items;
    size_t n_items, cap_items;
    bool address_in_binary; /* an address was asked for, and some function has it */
};

static void routines_free(struct routines *r)
{
    for (size_t i = 0; i < r->n_items; i++) {
        mem_free(r->items[i].object);
        mem_free(r->items[i].name);
        mem_free(r->items[i].places);
    }
    mem_free(r->items);
}

static int compare_addresses(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;
    return (a->address > b->address) - (a->address < b->address);
}

static int compare_routines(const void *pa, const void *pb)
{
    const struct routine *a = pa, *b = pb;
    int c = strcmp(a->name, b->name);
    return c ? c : (a->start > b->start) - (a->start < b->start);
}

/* The places of one mapping, in the object's own addresses. */
static struct place *places_of(struct graph *g, uint32_t mapping_file, const struct mapping *m,
                               struct symbol_object *object, size_t *ret_n)
{
    struct place *places = mem_array(g->n_order, sizeof *places);
    size_t n = 0;
    for (size_t i = 0; i < g->n_order; i++) {
        const struct node *node = &g->nodes[g->order[i]];
        if (node->info.object != mapping_file || !node->info.address) continue;
        if (m->limit && (node->info.address < m->start || node->info.address >= m->limit)) continue;
        places[n++] = (struct place){
            symbol_object_address(object, node->info.address, m->start, m->limit, m->file_offset), node};
    }
    qsort(places, n, sizeof *places, compare_addresses);
    *ret_n = n;
    return places;
}

static void add_routine(struct routines *rs, const char *object, const struct symtab_entry *symbol,
                        char *name, const struct place *places, size_t n)
{
    size_t from = 0;
    while (from < n && places[from].address < symbol->start) from++;
    size_t to = from;
    while (to < n && places[to].address < symbol->end) to++;
    if (from == to) {
        mem_free(name);
        return;
    }
    struct routine *r = VEC_PUSH(rs->items, rs->n_items, rs->cap_items);
    *r = (struct routine){.object = mem_strdup(object),
                          .name = name,
                          .start = symbol->start,
                          .end = symbol->end,
                          .n_places = to - from};
    r->places = mem_array(r->n_places, sizeof *r->places);
    memcpy(r->places, places + from, r->n_places * sizeof *r->places);
}

/* Functions whose name matches, or that hold the address that was asked for. */
static void find_in_mapping(struct report *r, struct graph *g, const struct mapping *m, struct symbolizer *s,
                            const uint64_t *wanted, struct routines *rs)
{
    struct symbol_object *object;
    struct elf *elf;
    struct err err;
    const char *path = profile_text(r->p, m->filename);
    if (symbolizer_open(s, path, *profile_text(r->p, m->build_id) ? profile_text(r->p, m->build_id) : NULL,
                        &object, &err))
        return;
    if (elf_open(symbol_object_path(object), &elf, &err)) return;
    struct symtab table = {0};
    symtab_read(elf, &table);
    size_t n;
    struct place *places = places_of(g, m->filename, m, object, &n);
    uint64_t wanted_here =
        wanted ? symbol_object_address(object, *wanted, m->start, m->limit, m->file_offset) : 0;
    for (size_t i = 0, at = 0; i < table.n_entries && n; i++) {
        const struct symtab_entry *e = &table.entries[i];
        while (at < n && places[at].address < e->start) at++;
        bool holds = wanted && wanted_here >= e->start && wanted_here < e->end;
        rs->address_in_binary |= holds;
        if (at == n || places[at].address >= e->end) continue; /* no samples */
        char *full = symbol_demangle(e->name), *name = simple_name(full, NAME_TEMPLATES);
        bool matches = holds || regex_match(r->symbol, name, strlen(name)) ||
                       regex_match(r->symbol, e->name, strlen(e->name));
        mem_free(full);
        if (matches)
            add_routine(rs, symbol_object_path(object), e, name, places + at, n - at);
        else
            mem_free(name);
    }
    mem_free(places);
    symtab_free(&table);
    elf_close(elf);
}

static int find_routines(struct report *r, struct graph *g, struct routines *rs, struct err *err)
{
    char *end;
    uint64_t address = strtoull(r->o.symbol, &end, 0);
    bool is_address = *r->o.symbol && !*end;
    struct symbolizer *own = r->o.symbolizer ? NULL : symbolizer_new(NULL), *s = own ? own : r->o.symbolizer;
    for (size_t i = 0; i < r->p->n_mappings; i++)
        if (r->p->mappings[i].filename)
            find_in_mapping(r, g, &r->p->mappings[i], s, is_address ? &address : NULL, rs);
    symbolizer_free(own);
    if (rs->n_items) {
        qsort(rs->items, rs->n_items, sizeof *rs->items, compare_routines);
        return 0;
    }
    if (!is_address) return err_set(err, ERR_NOT_FOUND, "no matches found for regexp %s", r->o.symbol);
    if (!rs->address_in_binary)
        return err_set(err, ERR_NOT_FOUND, "no matches found for address 0x%llx",
                       (unsigned long long)address);
    return err_set(
        err, ERR_NOT_FOUND,
        "address 0x%llx found in binary, but the corresponding symbols do not have samples in the profile",
        (unsigned long long)address);
}

struct weight {
    int64_t flat, cum;
};

/* What the samples from *at up to the next instruction weigh. */
static struct weight take_weight(const struct routine *routine, size_t *at, uint64_t next)
{
    struct weight w = {0, 0};
    for (; *at < routine->n_places && routine->places[*at].address < next; ++*at) {
        w.flat += node_flat(routine->places[*at].node);
        w.cum += node_cum(routine->places[*at].node);
    }
    return w;
}

static int disassemble_routine(struct report *r, const struct routine *routine, struct buf *out,
                               struct err *err)
{
    struct disassembly d = {0};
    char flat_text[UNIT_LABEL_BYTES], cum_text[UNIT_LABEL_BYTES], percent[16];
    int rc = disassemble(routine->object, routine->start, routine->end, r->o.intel_syntax, &d, err);
    if (rc) return rc;
    struct weight sum = {0, 0};
    for (size_t i = 0; i < routine->n_places; i++) {
        sum.flat += routine->places[i].node->flat;
        sum.cum += routine->places[i].node->cum;
    }
    buf_printf(out, "ROUTINE ======================== %s\n", routine->name);
    buf_printf(out, "%10s %10s (flat, cum) %s of Total\n", report_value(r, sum.flat, flat_text),
               report_value(r, sum.cum, cum_text), unit_percentage(sum.cum, r->total, percent));
    const char *function = "", *file = "";
    int64_t line = 0;
    for (size_t i = 0, at = 0; i < d.n_items; i++) {
        const struct instruction *in = &d.items[i];
        struct weight w = take_weight(routine, &at, i + 1 < d.n_items ? d.items[i + 1].address : UINT64_MAX);
        struct buf where = {0};
        if (strcmp(in->function, function) || strcmp(in->file, file) || in->line != line) {
            function = in->function;
            file = in->file;
            line = in->line;
            if (*function) buf_printf(&where, "%s ", function);
            if (*file) buf_str(&where, path_base_name(file));
            if (*file && line) buf_printf(&where, ":%lld", (long long)line);
        }
        bool is_short = strlen(in->text) < 40;
        if (where.len && !is_short) buf_printf(out, "%74s;%s\n", "", buf_cstr(&where));
        buf_printf(out, "%10s %10s %10llx: ", value_or_dot(r, w.flat, flat_text),
                   value_or_dot(r, w.cum, cum_text), (unsigned long long)in->address);
        if (where.len && is_short)
            buf_printf(out, "%-40s;%s\n", in->text, buf_cstr(&where));
        else
            buf_printf(out, "%s\n", in->text);
        buf_free(&where);
    }
    disassembly_free(&d);
    return 0;
}

int report_disasm(struct report *r, struct buf *out, struct err *err)
{
    struct graph *g = report_graph(r);
    struct routines rs = {0};
    char value[UNIT_LABEL_BYTES];
    int rc = find_routines(r, g, &rs, err);
    if (!rc) buf_printf(out, "Total: %s\n", report_value(r, r->total, value));
    for (size_t i = 0; i < rs.n_items && !rc; i++) rc = disassemble_routine(r, &rs.items[i], out, err);
    routines_free(&rs);
    graph_free(g);
    return rc;
}

/* ---- weblist ---- */

static const char page_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>procprof: "
    "source</title>\n<style>\n"
    "body{font:14px/1.4 system-ui,sans-serif;margin:1.5em;background:#fff;color:#222}\n"
    "h2{font-size:15px;margin:1.6em 0 .2em}p.sub{color:#666;margin:.1em 0 .5em}\n"
    "pre{font:13px/1.35 ui-monospace,monospace;margin:0;overflow-x:auto}\n"
    ".l{display:block;cursor:default;white-space:pre}.hot{background:#fff1ec}.l.more{cursor:pointer}\n"
    ".l .n{color:#999}.l "
    ".v{color:#a33}.asm{display:none;color:#366;background:#f4f8f8}.open+.asm{display:block}\n"
    "@media(prefers-color-scheme:dark){body{background:#1b1b1d;color:#ddd}.hot{background:#3a2622}.asm{"
    "background:#20282a;color:#9cc}}\n"
    "</style></head><body>\n";
static const char page_tail[] = "<script>document.addEventListener('click',function(e){var "
                                "l=e.target.closest('.more');if(l)l.classList.toggle('open')});"
                                "document.addEventListener('keydown',function(e){if(e.key==='Enter'&&e."
                                "target.classList.contains('more'))e.target.classList.toggle('open')})"
                                "</script>\n</body></html>\n";

struct line_sum {
    uint32_t name, file; /* strings */
    int64_t start_line, line;
    struct weight w;
};

static int compare_lines(const void *pa, const void *pb, void *context)
{
    const struct line_sum *a = pa, *b = pb;
    const struct profile *p = context;
    int c = strcmp(profile_text(p, a->name), profile_text(p, b->name));
    if (!c) c = strcmp(profile_text(p, a->file), profile_text(p, b->file));
    return c ? c : (a->line > b->line) - (a->line < b->line);
}

static void web_instructions(struct report *r, const struct routine *routine, const struct disassembly *d,
                             const char *file, int64_t line, struct buf *out)
{
    char flat_text[UNIT_LABEL_BYTES], cum_text[UNIT_LABEL_BYTES];
    for (size_t i = 0, at = 0; i < d->n_items; i++) {
        const struct instruction *in = &d->items[i];
        struct weight w =
            take_weight(routine, &at, i + 1 < d->n_items ? d->items[i + 1].address : UINT64_MAX);
        if (in->line != line || strcmp(path_base_name(in->file), path_base_name(file))) continue;
        buf_printf(out, "%10s %10s          %10llx: ", value_or_dot(r, w.flat, flat_text),
                   value_or_dot(r, w.cum, cum_text), (unsigned long long)in->address);
        buf_xml(out, in->text, strlen(in->text));
        buf_char(out, '\n');
    }
}

/* The source of one function in one file: lines [from, to) of sums. */
static void web_function(struct report *r, struct source_reader *reader, const struct line_sum *sums,
                         size_t n, const struct routines *rs, const struct disassembly *code, struct buf *out)
{
    const char *name = profile_text(r->p, sums[0].name), *file = profile_text(r->p, sums[0].file);
    char flat_text[UNIT_LABEL_BYTES], cum_text[UNIT_LABEL_BYTES], percent[16];
    struct weight sum = {0, 0};
    int64_t first = INT64_MAX, last = 0;
    for (size_t i = 0; i < n; i++) {
        sum.flat += sums[i].w.flat;
        sum.cum += sums[i].w.cum;
        int64_t start =
            sums[i].start_line && sums[i].start_line < sums[i].line ? sums[i].start_line : sums[i].line - 5;
        if (start < first) first = start;
        if (sums[i].line + 5 > last) last = sums[i].line + 5;
    }
    if (first < 1) first = 1;
    buf_str(out, "<h2>");
    buf_xml(out, name, strlen(name));
    buf_str(out, "</h2><p class=\"sub\">");
    buf_xml(out, file, strlen(file));
    buf_printf(out, " &middot; %s flat, %s cum (%s)</p><pre>", report_value(r, sum.flat, flat_text),
               report_value(r, sum.cum, cum_text), unit_percentage_trimmed(sum.cum, r->total, percent));
    struct err err = {0};
    size_t at = 0;
    for (int64_t line = first; line <= last; line++) {
        const char *text = source_line(reader, file, (long)line, &err);
        if (err.code && (at >= n || sums[at].line != line))
            continue; /* no source: only the lines with samples */
        if (!text && !err.code) break;
        struct weight w = {0, 0};
        for (; at < n && sums[at].line <= line; at++) {
            w.flat += sums[at].w.flat;
            w.cum += sums[at].w.cum;
        }
        struct buf assembly = {0};
        for (size_t i = 0; i < rs->n_items && w.cum; i++)
            web_instructions(r, &rs->items[i], &code[i], file, line, &assembly);
        buf_printf(
            out,
            "<span class=\"l%s%s\"%s><span class=\"v\">%10s %10s</span> <span class=\"n\">%6lld</span>  ",
            w.cum ? " hot" : "", assembly.len ? " more" : "", assembly.len ? " tabindex=\"0\"" : "",
            value_or_dot(r, w.flat, flat_text), value_or_dot(r, w.cum, cum_text), (long long)line);
        if (text) buf_xml(out, text, strlen(text));
        buf_str(out, "\n</span>");
        if (assembly.len) {
            buf_str(out, "<span class=\"asm\">");
            buf_add(out, assembly.data, assembly.len);
            buf_str(out, "</span>");
        }
        buf_free(&assembly);
    }
    buf_str(out, "</pre>\n");
    if (err.code) {
        buf_str(out, "<p class=\"sub\">");
        buf_xml(out, err.text, strlen(err.text));
        buf_str(out, "</p>\n");
    }
}

int report_weblist(struct report *r, struct buf *out, struct err *err)
{
    struct graph *g = report_graph(r);
    struct line_sum *sums = mem_array(g->n_order, sizeof *sums);
    size_t n = 0;
    char value[UNIT_LABEL_BYTES];
    char *end;
    uint64_t address = strtoull(r->o.symbol, &end, 0);
    bool is_address = *r->o.symbol && !*end;
    for (size_t i = 0; i < g->n_order; i++) {
        const struct node *node = &g->nodes[g->order[i]];
        const char *name = profile_text(r->p, node->info.name), *file = profile_text(r->p, node->info.file);
        bool matches = is_address ? node->info.address == address
                                  : regex_match(r->symbol, name, strlen(name)) ||
                                        regex_match(r->symbol, file, strlen(file));
        if (matches && node->info.file)
            sums[n++] = (struct line_sum){node->info.name,
                                          node->info.file,
                                          node->info.start_line,
                                          node->info.line,
                                          {node_flat(node), node_cum(node)}};
    }
    int rc = n ? 0 : err_set(err, ERR_NOT_FOUND, "no matches found for regexp: %s", r->o.symbol);
    if (!rc) {
        struct routines rs = {0};
        find_routines(r, g, &rs,
                      NULL); /* machine code where there is some; the source stands without it too */
        struct disassembly *code = mem_zalloc(rs.n_items * sizeof *code);
        for (size_t i = 0; i < rs.n_items && i < 25; i++)
            if (disassemble(rs.items[i].object, rs.items[i].start, rs.items[i].end, r->o.intel_syntax,
                            &code[i], NULL))
                break;
        struct source_reader *reader = source_reader_new(r->o.source_path, r->o.trim_path);
        struct buf labels = {0};
        qsort_r(sums, n, sizeof *sums, compare_lines, r->p);
        report_profile_lines(r, &labels);
        buf_str(out, page_head);
        buf_str(out, "<p class=\"sub\">");
        buf_xml(out, buf_cstr(&labels), labels.len);
        buf_printf(out, " &middot; Total: %s &middot; click a line for its machine code</p>\n",
                   report_value(r, r->total, value));
        for (size_t from = 0, to; from < n; from = to) {
            for (to = from; to < n && sums[to].name == sums[from].name && sums[to].file == sums[from].file;)
                to++;
            web_function(r, reader, sums + from, to - from, &rs, code, out);
        }
        buf_str(out, page_tail);
        buf_free(&labels);
        for (size_t i = 0; i < rs.n_items; i++) disassembly_free(&code[i]);
        mem_free(code);
        source_reader_free(reader);
        routines_free(&rs);
    }
    mem_free(sums);
    graph_free(g);
    return rc;
}
