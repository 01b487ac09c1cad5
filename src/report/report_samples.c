/* report_samples.c - reports that show samples as they are: raw text, traces, collapsed stacks; and their
 * labels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/idmap.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/utf8.h"
#include "report/report_int.h"
#include "report/tag_filter.h"

/* ---- labels of one sample, grouped by key ---- */

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Calls print once for each distinct key among the text (or numeric) labels of a sample, and returns what it
 * printed, sorted. */
typedef void print_label(struct report *r, size_t sample, uint32_t key, struct buf *out);

static char **label_lines(struct report *r, size_t s, bool numbers, print_label *print, size_t *ret_n)
{
    struct profile *p = r->p;
    uint64_t from = p->sample_label_start[s], to = p->sample_label_start[s + 1];
    char **lines = mem_array((size_t)(to - from), sizeof *lines);
    size_t n = 0;
    for (uint64_t i = from; i < to; i++) {
        if ((p->labels[i].str == 0) != numbers) continue;
        bool seen = false;
        for (uint64_t k = from; k < i; k++)
            seen |= p->labels[k].key == p->labels[i].key && (p->labels[k].str == 0) == numbers;
        if (seen) continue;
        struct buf line = {0};
        print(r, s, p->labels[i].key, &line);
        lines[n++] = buf_take(&line);
    }
    qsort(lines, n, sizeof *lines, compare_lines);
    *ret_n = n;
    return lines;
}

static void free_lines(char **lines, size_t n)
{
    for (size_t i = 0; i < n; i++) mem_free(lines[i]);
    mem_free(lines);
}

/* ---- raw ---- */

static void raw_text_label(struct report *r, size_t s, uint32_t key, struct buf *out)
{
    struct profile *p = r->p;
    buf_printf(out, "%s:[", profile_text(p, key));
    const char *separator = "";
    for (uint64_t i = p->sample_label_start[s]; i < p->sample_label_start[s + 1]; i++) {
        if (p->labels[i].key != key || !p->labels[i].str) continue;
        buf_printf(out, "%s%s", separator, profile_text(p, p->labels[i].str));
        separator = " ";
    }
    buf_char(out, ']');
}

static void raw_number_label(struct report *r, size_t s, uint32_t key, struct buf *out)
{
    struct profile *p = r->p;
    bool any_unit = false;
    for (uint64_t i = p->sample_label_start[s]; i < p->sample_label_start[s + 1]; i++)
        any_unit |= p->labels[i].key == key && !p->labels[i].str && p->labels[i].unit;
    buf_printf(out, "%s:[", profile_text(p, key));
    const char *separator = "";
    for (uint64_t i = p->sample_label_start[s]; i < p->sample_label_start[s + 1]; i++) {
        const struct label *l = &p->labels[i];
        if (l->key != key || l->str) continue;
        buf_printf(out, "%s%lld", separator, (long long)l->num);
        if (any_unit) buf_printf(out, " %s", profile_text(p, l->unit));
        separator = " ";
    }
    buf_char(out, ']');
}

static void raw_labels(struct report *r, size_t s, bool numbers, struct buf *out)
{
    size_t n;
    char **lines = label_lines(r, s, numbers, numbers ? raw_number_label : raw_text_label, &n);
    for (size_t i = 0; i < n; i++) buf_printf(out, "%s%s", i ? " " : "                ", lines[i]);
    if (n) buf_char(out, '\n');
    free_lines(lines, n);
}

/* "1h2m3.5s", "12.34ms": as Go prints a duration. */
static void go_duration(int64_t ns, char into[48])
{
    char text[32], *at = into;
    uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0) *at++ = '-';
    if (u < 1000000000) {
        const char *unit = u < 1000 ? "ns" : u < 1000000 ? "\xc2\xb5s" : "ms";
        double value = u < 1000 ? (double)u : u < 1000000 ? (double)u / 1e3 : (double)u / 1e6;
        snprintf(text, sizeof text, "%.9f", value);
        char *end = text + strlen(text);
        while (end[-1] == '0') *--end = '\0';
        if (end[-1] == '.') *--end = '\0';
        sprintf(at, "%s%s", u ? text : "0", u ? unit : "s");
        return;
    }
    uint64_t seconds = u / 1000000000, rest = u % 1000000000;
    if (seconds >= 3600) at += sprintf(at, "%lluh", (unsigned long long)(seconds / 3600));
    if (seconds >= 60) at += sprintf(at, "%llum", (unsigned long long)(seconds / 60 % 60));
    at += sprintf(at, "%llu", (unsigned long long)(seconds % 60));
    if (rest) {
        at += sprintf(at, ".%09llu", (unsigned long long)rest);
        while (at[-1] == '0') at--;
    }
    strcpy(at, "s");
}

static void raw_head(struct report *r, struct buf *out)
{
    const struct profile *p = r->p;
    for (size_t i = 0; i < p->n_comments; i++)
        buf_printf(out, "Comment: %s\n", profile_text(p, p->comments[i]));
    if (p->doc_url) buf_printf(out, "Doc: %s\n", profile_text(p, p->doc_url));
    if (p->has_period_type || p->period_type.type || p->period_type.unit)
        buf_printf(out, "PeriodType: %s %s\n", profile_text(p, p->period_type.type),
                   profile_text(p, p->period_type.unit));
    buf_printf(out, "Period: %lld\n", (long long)p->period);
    if (p->time_ns) {
        time_t seconds = (time_t)(p->time_ns / 1000000000);
        long fraction = (long)(p->time_ns % 1000000000);
        if (fraction < 0) fraction += 1000000000, seconds--;
        struct tm local;
        char day[40], zone[40], part[16] = "";
        localtime_r(&seconds, &local);
        strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S", &local);
        strftime(zone, sizeof zone, "%z %Z", &local);
        if (fraction) {
            snprintf(part, sizeof part, ".%09ld", fraction);
            for (size_t n = strlen(part); part[n - 1] == '0'; n--) part[n - 1] = '\0';
        }
        buf_printf(out, "Time: %s%s %s\n", day, part, zone);
    }
    if (p->duration_ns) {
        char text[48];
        go_duration(p->duration_ns, text);
        size_t n = 0, runes = 0; /* google/pprof cuts it to four characters */
        while (text[n] && runes < 4) {
            n++;
            while (((unsigned char)text[n] & 0xc0) == 0x80) n++;
            runes++;
        }
        buf_printf(out, "Duration: %.*s\n", (int)n, text);
    }
}

static void pad_number(struct buf *out, int64_t value, int width)
{
    char text[24], *end = text + sizeof text, *at = end;
    uint64_t u = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do *--at = (char)('0' + u % 10);
    while (u /= 10);
    if (value < 0) *--at = '-';
    while (end - at < width) *--at = ' '; /* width: at most 20 */
    buf_add(out, at, (size_t)(end - at));
}

static void raw_location(const struct profile *p, const struct location *l, struct buf *out)
{
    pad_number(out, (int64_t)l->id, 6);
    buf_str(out, ": 0x");
    buf_hex(out, l->address);
    buf_char(out, ' ');
    if (l->mapping) {
        buf_str(out, "M=");
        buf_u64(out, p->mappings[l->mapping - 1].id);
        buf_char(out, ' ');
    }
    if (l->is_folded) buf_str(out, "[F] ");
    if (!l->n_lines) buf_char(out, '\n');
    for (uint32_t i = 0; i < l->n_lines; i++) {
        const struct line *line = &p->lines[l->first_line + i];
        const struct function *f = &p->functions[line->function];
        if (i) buf_str(out, "             ");
        buf_add(out, profile_str(p, f->name).s, profile_str(p, f->name).len);
        buf_char(out, ' ');
        buf_add(out, profile_str(p, f->filename).s, profile_str(p, f->filename).len);
        buf_char(out, ':');
        buf_i64(out, line->line);
        buf_char(out, ':');
        buf_i64(out, line->column);
        buf_str(out, " s=");
        buf_i64(out, f->start_line);
        if (f->name != f->system_name) buf_printf(out, "(%s)", profile_text(p, f->system_name));
        buf_char(out, '\n');
    }
}

/* The text of a location's number and a space, made once and copied for every frame. It is small, so that
 * all of them stay in the cache. A number with more digits is formatted each time. */
struct id_text {
    char text[7];
    uint8_t len; /* 0: too long */
};

static void raw_locations(void *context, size_t first, size_t end, struct buf *out)
{
    const struct profile *p = context;
    for (size_t i = first; i < end; i++) raw_location(p, &p->locations[i], out);
}

enum { MAX_ID_TEXT = 22 };

struct raw_writing {
    struct report *r;
    struct id_text *ids; /* by location */
};

static struct id_text id_text(uint64_t id)
{
    struct id_text t = {0};
    char text[24];
    int len = snprintf(text, sizeof text, "%llu ", (unsigned long long)id);
    if ((size_t)len > sizeof t.text) return t;
    memcpy(t.text, text, (size_t)len);
    t.len = (uint8_t)len;
    return t;
}

static void raw_samples(void *context, size_t first, size_t end, struct buf *out)
{
    struct raw_writing *w = context;
    const struct profile *p = w->r->p;
    for (size_t s = first; s < end; s++) {
        const int64_t *values = profile_sample_values(p, s);
        const uint32_t *frames = profile_sample_frames(p, s);
        for (size_t i = 0; i < p->n_sample_types; i++) {
            buf_char(out, ' ');
            pad_number(out, values[i], 10);
        }
        buf_str(out, ": ");
        size_t depth = profile_sample_depth(p, s);
        buf_reserve(out, depth * MAX_ID_TEXT);
        char *at = out->data + out->len;
        for (size_t i = 0; i < depth; i++) {
            const struct id_text *id = &w->ids[frames[i]];
            memcpy(at, id, sizeof *id); /* a fixed size is the fastest copy; the next one overwrites what is
                                           too much */
            at += id->len
                      ? id->len
                      : snprintf(at, MAX_ID_TEXT, "%llu ", (unsigned long long)p->locations[frames[i]].id);
        }
        out->len = (size_t)(at - out->data);
        buf_char(out, '\n');
        if (p->sample_label_start[s] == p->sample_label_start[s + 1]) continue;
        raw_labels(w->r, s, false, out);
        raw_labels(w->r, s, true, out);
    }
}

int report_raw(struct report *r, struct buf *out, struct err *err)
{
    (void)err;
    const struct profile *p = r->p;
    raw_head(r, out);
    buf_str(out, "Samples:\n");
    for (size_t i = 0; i < p->n_sample_types; i++) {
        const struct value_type *t = &p->sample_types[i];
        bool is_default =
            p->default_sample_type ? t->type == p->default_sample_type : !*profile_text(p, t->type);
        buf_printf(out, "%s%s/%s%s", i ? " " : "", profile_text(p, t->type), profile_text(p, t->unit),
                   is_default ? "[dflt]" : "");
    }
    buf_char(out, '\n');
    struct raw_writing w = {.r = r, .ids = mem_array(p->n_locations, sizeof *w.ids)};
    for (size_t i = 0; i < p->n_locations; i++) w.ids[i] = id_text(p->locations[i].id);
    parallel_write(out, p->n_samples, raw_samples, &w);
    mem_free(w.ids);
    buf_str(out, "Locations\n");
    parallel_write(out, p->n_locations, raw_locations, (void *)p);
    buf_str(out, "Mappings\n");
    for (size_t i = 0; i < p->n_mappings; i++) {
        const struct mapping *m = &p->mappings[i];
        buf_printf(out, "%llu: 0x%llx/0x%llx/0x%llx %s %s %s%s%s%s\n", (unsigned long long)m->id,
                   (unsigned long long)m->start, (unsigned long long)m->limit,
                   (unsigned long long)m->file_offset, profile_text(p, m->filename),
                   profile_text(p, m->build_id), m->has_functions ? "[FN]" : "",
                   m->has_filenames ? "[FL]" : "", m->has_line_numbers ? "[LN]" : "",
                   m->has_inline_frames ? "[IN]" : "");
    }
    return 0;
}

/* ---- traces ---- */

static void trace_text_label(struct report *r, size_t s, uint32_t key, struct buf *out)
{
    struct profile *p = r->p;
    buf_printf(out, "%10s: ", profile_text(p, key));
    for (uint64_t i = p->sample_label_start[s]; i < p->sample_label_start[s + 1]; i++)
        if (p->labels[i].key == key && p->labels[i].str)
            buf_printf(out, " %s", profile_text(p, p->labels[i].str));
    buf_char(out, '\n');
}

static void trace_number_label(struct report *r, size_t s, uint32_t key, struct buf *out)
{
    struct profile *p = r->p;
    const char *unit = report_unit_of_key(r, key);
    char value[UNIT_LABEL_BYTES];
    buf_printf(out, "%10s: ", profile_text(p, key));
    for (uint64_t i = p->sample_label_start[s]; i < p->sample_label_start[s + 1]; i++)
        if (p->labels[i].key == key && !p->labels[i].str)
            buf_printf(out, " %s", unit_label(p->labels[i].num, unit, "auto", value));
    buf_char(out, '\n');
}

static const char *frame_text(struct report *r, const struct location *l, const struct line *line,
                              struct arena *memory)
{
    struct buf text = {0};
    struct node_info info = graph_frame_info(r->p, l, line);
    node_info_print(r->p, &info, profile_text(r->p, info.name), profile_text(r->p, info.file), " ", &text);
    const char *name = arena_strndup(memory, text.data ? text.data : "", text.len);
    buf_free(&text);
    return name;
}

int report_traces(struct report *r, struct buf *out, struct err *err)
{
    (void)err;
    static const char separator[] = "-----------+-------------------------------------------------------\n";
    struct profile *p = r->p;
    struct arena memory = {0};
    const char **names = mem_zalloc((p->n_lines + p->n_locations) * sizeof *names);
    report_profile_lines(r, out);
    for (size_t s = 0; s < p->n_samples; s++) {
        const uint32_t *frames = profile_sample_frames(p, s);
        size_t depth = profile_sample_depth(p, s), n;
        if (!depth) continue;
        buf_str(out, separator);
        for (int numbers = 0; numbers < 2; numbers++) {
            char **lines = label_lines(r, s, numbers, numbers ? trace_number_label : trace_text_label, &n);
            for (size_t i = 0; i < n; i++) buf_str(out, lines[i]);
            free_lines(lines, n);
        }
        const int64_t *values = profile_sample_values(p, s);
        int64_t v = values[r->sample_index];
        if (r->o.mean && values[0]) v /= values[0];
        char value[UNIT_LABEL_BYTES];
        report_value(r, v, value);
        for (size_t i = 0; i < depth; i++) {
            const struct location *l = &p->locations[frames[i]];
            for (uint32_t k = 0; k < (l->n_lines ? l->n_lines : 1); k++) {
                const char **name = l->n_lines ? &names[l->first_line + k] : &names[p->n_lines + frames[i]];
                if (!*name)
                    *name = frame_text(r, l, l->n_lines ? &p->lines[l->first_line + k] : NULL, &memory);
                size_t width = strlen(value);
                if (width < 10) buf_fill(out, ' ', 10 - width);
                buf_add(out, value, width);
                buf_str(out, "   ");
                buf_str(out, *name);
                buf_str(out, l->n_lines && k + 1 < l->n_lines ? " (inline)\n" : "\n");
                value[0] = '\0';
            }
        }
    }
    buf_str(out, separator);
    mem_free(names);
    arena_free(&memory);
    return 0;
}

/* ---- collapsed ---- */

/* Replaces semicolons and line breaks, which would end a frame or the stack. */
static uint32_t add_frame_name(struct strtab *names, const char *name)
{
    size_t n = strlen(name);
    char *text = mem_strndup(name, n);
    for (char *c = text; (c = strpbrk(c, ";\n\r")); c++) *c = *c == ';' ? ':' : ' ';
    uint32_t id = strtab_add(names, text, n);
    mem_free(text);
    return id;
}

/* Writes a line for each distinct stack of names, in the order of first occurrence. Stacks that differ
 * only in labels, lines or addresses are added up. */
int report_collapsed(struct report *r, struct buf *out, struct err *err)
{
    (void)err;
    struct profile *p = r->p;
    struct arena memory = {0};
    struct strtab names = {0}, stacks = {0}; /* a stack is the string of the ids of its names, root first */
    uint32_t *name_of = mem_zalloc((p->n_lines + p->n_locations) * sizeof *name_of); /* + 1 */
    uint32_t *ids = NULL;
    int64_t *sums = NULL;
    size_t n_ids, cap_ids = 0, cap_sums = 0;
    for (size_t s = 0; s < p->n_samples; s++) {
        int64_t value = profile_sample_values(p, s)[r->sample_index];
        const uint32_t *frames = profile_sample_frames(p, s);
        if (!value) continue;
        n_ids = 0;
        for (size_t i = profile_sample_depth(p, s); i > 0; i--) {
            const struct location *l = &p->locations[frames[i - 1]];
            for (uint32_t k = l->n_lines ? l->n_lines : 1; k > 0; k--) {
                uint32_t *name = &name_of[l->n_lines ? l->first_line + k - 1 : p->n_lines + frames[i - 1]];
                if (!*name) {
                    const struct line *line = l->n_lines ? &p->lines[l->first_line + k - 1] : NULL;
                    *name = add_frame_name(&names, frame_text(r, l, line, &memory)) + 1;
                }
                *VEC_PUSH(ids, n_ids, cap_ids) = *name - 1;
            }
        }
        size_t n_before = stacks.n_items;
        uint32_t stack = strtab_add(&stacks, ids ? (const char *)ids : "", n_ids * sizeof *ids);
        sums = mem_grow(sums, &cap_sums, stacks.n_items, sizeof *sums);
        for (size_t i = n_before; i < stacks.n_items; i++) sums[i] = 0;
        sums[stack] += value;
    }
    for (uint32_t stack = 0; stack < stacks.n_items; stack++) {
        struct str text = strtab_get(&stacks, stack);
        if (!sums[stack]) continue;
        for (size_t at = 0; at < text.len; at += sizeof *ids) {
            uint32_t name;
            memcpy(&name, text.s + at, sizeof name);
            if (at) buf_char(out, ';');
            buf_add(out, strtab_get(&names, name).s, strtab_get(&names, name).len);
        }
        buf_char(out, ' ');
        buf_i64(out, sums[stack]);
        buf_char(out, '\n');
    }
    mem_free(ids);
    mem_free(sums);
    mem_free(name_of);
    strtab_free(&names);
    strtab_free(&stacks);
    arena_free(&memory);
    return 0;
}

/* ---- tags ---- */

struct tag_sum {
    uint32_t key, value; /* strings */
    int64_t sum;
};

struct tag_sums {
    struct profile *p;
    struct tag_sum *items;
    size_t n, cap;
    struct idmap index;
};

static int compare_sums(const void *pa, const void *pb, void *context)
{
    const struct tag_sum *a = pa, *b = pb;
    const struct profile *p = context;
    int c = strcmp(profile_text(p, a->key), profile_text(p, b->key));
    if (c) return c;
    int64_t x = llabs(a->sum), y = llabs(b->sum);
    if (x != y) return x > y ? -1 : 1;
    return strcmp(profile_text(p, a->value), profile_text(p, b->value));
}

static void tag_group(struct report *r, const struct tag_sum *items, size_t n, struct buf *out)
{
    char value[UNIT_LABEL_BYTES], total[UNIT_LABEL_BYTES], percent[16];
    const char *key = profile_text(r->p, items[0].key);
    int64_t sum = 0;
    size_t width = 0, key_width = utf8_count(key) + 1;
    char **cells = mem_array(n, sizeof *cells);
    for (size_t i = 0; i < n; i++) {
        sum += items[i].sum;
        report_value(r, items[i].sum, value);
        cells[i] = r->total > 0
                       ? mem_printf("%s (%s):", value, unit_percentage(items[i].sum, r->total, percent))
                       : mem_printf("%s:", value);
        if (utf8_count(cells[i]) > width) width = utf8_count(cells[i]);
    }
    buf_printf(out, " %s: Total %s of %s", key, report_value(r, sum, value),
               report_value(r, r->total, total));
    if (r->total > 0) buf_printf(out, " (%s)", unit_percentage(sum, r->total, percent));
    buf_char(out, '\n');
    for (size_t i = 0; i < n; i++) {
        buf_fill(out, ' ', key_width + 1);
        buf_fill(out, ' ', width + 1 - utf8_count(cells[i]));
        buf_printf(out, "%s %s\n", cells[i], profile_text(r->p, items[i].value));
        mem_free(cells[i]);
    }
    buf_char(out, '\n');
    mem_free(cells);
}

int report_tags(struct report *r, struct buf *out, struct err *err)
{
    (void)err;
    struct profile *p = r->p;
    struct tag_sums sums = {.p = p};
    for (size_t s = 0; s < p->n_samples; s++) {
        int64_t v = profile_sample_values(p, s)[r->sample_index];
        for (uint64_t i = p->sample_label_start[s]; i < p->sample_label_start[s + 1]; i++) {
            const struct label l = p->labels[i];
            uint32_t value = l.str;
            if (!value) {
                char text[UNIT_LABEL_BYTES];
                value =
                    profile_cstr(p, unit_label(l.num, report_unit_of_key(r, l.key), r->output_unit, text));
            }
            bool is_new;
            uint32_t *at = idmap_slot(&sums.index, (uint64_t)l.key << 32 | value, &is_new);
            if (is_new) {
                *at = (uint32_t)sums.n;
                *VEC_PUSH(sums.items, sums.n, sums.cap) = (struct tag_sum){l.key, value, 0};
            }
            sums.items[*at].sum += v;
        }
    }
    if (sums.n) qsort_r(sums.items, sums.n, sizeof *sums.items, compare_sums, p);
    for (size_t i = 0, end; i < sums.n; i = end) {
        for (end = i; end < sums.n && sums.items[end].key == sums.items[i].key;) end++;
        tag_group(r, sums.items + i, end - i, out);
    }
    mem_free(sums.items);
    idmap_free(&sums.index);
    return 0;
}
