/* jeprof_stacks.c - see jeprof_stacks.h. */
#include "report/jeprof_stacks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void jeprof_stacks_begin(struct jeprof_stacks *s, double count)
{
    *VEC_PUSH(s->starts, s->n_starts, s->cap_starts) = s->n_frames;
    *VEC_PUSH(s->counts, s->n_counts, s->cap_counts) = count;
    s->n_stacks++;
}

void jeprof_stacks_frame_id(struct jeprof_stacks *s, uint32_t name)
{
    *VEC_PUSH(s->frames, s->n_frames, s->cap_frames) = name;
}

void jeprof_stacks_free(struct jeprof_stacks *s)
{
    strtab_free(&s->names);
    mem_free(s->frames);
    mem_free(s->starts);
    mem_free(s->counts);
    *s = (struct jeprof_stacks){0};
}

/* ---- names ---- */

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Removes every balanced pair of brackets with its content, in one pass with a stack of the open ones. A
 * bracket without its partner stays. */
static size_t strip_pairs(char *text, size_t n, char open, char close, bool also_const)
{
    size_t *opened = NULL, n_opened = 0, cap = 0, to = 0;
    for (size_t i = 0; i < n; i++) {
        text[to++] = text[i];
        if (text[i] == open) {
            *VEC_PUSH(opened, n_opened, cap) = to - 1;
        } else if (text[i] == close && n_opened) {
            to = opened[--n_opened];
            if (!also_const) continue;
            size_t blank = i + 1;
            while (blank < n && (text[blank] == ' ' || text[blank] == '\t')) blank++;
            if (n - blank >= 5 && !memcmp(text + blank, "const", 5)) i = blank + 4;
        }
    }
    mem_free(opened);
    return to;
}

char *jeprof_short_name(const char *name, size_t len)
{
    char *text = mem_strndup(name, len);
    size_t n = strip_pairs(text, len, '(', ')', true);
    n = strip_pairs(text, n, '<', '>', false);
    /* "type Class::method" loses its type: everything up to the last blank before a "word::". */
    for (size_t i = n; i-- > 0;) {
        if (text[i] != ' ' && text[i] != '\t') continue;
        size_t word = i + 1;
        while (word < n && is_word(text[word])) word++;
        if (word == i + 1 || n - word < 2 || text[word] != ':' || text[word + 1] != ':') continue;
        memmove(text, text + i + 1, n - i - 1);
        n -= i + 1;
        break;
    }
    text[n] = '\0';
    return text;
}

/* The names of one location, innermost first, as ids of s->names. */
struct shown {
    uint32_t first, n;
};

void jeprof_stacks_from_profile(const struct profile *p, size_t sample_index,
                                struct jeprof_stacks *ret_stacks)
{
    struct jeprof_stacks s = {0};
    strtab_add(&s.names, "", 0);
    struct shown *of_location = mem_array(p->n_locations + 1, sizeof *of_location);
    uint32_t *ids = NULL;
    size_t n_ids = 0, cap_ids = 0;
    for (size_t i = 0; i < p->n_locations; i++) {
        const struct location *l = &p->locations[i];
        of_location[i] = (struct shown){(uint32_t)n_ids, l->n_lines ? l->n_lines : 1};
        for (uint32_t k = 0; k < l->n_lines; k++) {
            struct str full = profile_str(p, p->functions[p->lines[l->first_line + k].function].name);
            char *name = jeprof_short_name(full.s, full.len);
            char *shown = k + 1 < l->n_lines ? mem_printf("%s (inline)", name) : mem_strdup(name);
            *VEC_PUSH(ids, n_ids, cap_ids) = strtab_add_cstr(&s.names, shown);
            mem_free(shown);
            mem_free(name);
        }
        if (!l->n_lines) {
            char address[24];
            int n = snprintf(address, sizeof address, "%016llx", (unsigned long long)l->address);
            *VEC_PUSH(ids, n_ids, cap_ids) = strtab_add(&s.names, address, (size_t)n);
        }
    }
    for (size_t sample = 0; sample < p->n_samples; sample++) {
        jeprof_stacks_begin(&s, (double)profile_sample_values(p, sample)[sample_index]);
        const uint32_t *frames = profile_sample_frames(p, sample);
        for (size_t f = 0; f < profile_sample_depth(p, sample); f++)
            for (uint32_t k = 0; k < of_location[frames[f]].n; k++)
                jeprof_stacks_frame_id(&s, ids[of_location[frames[f]].first + k]);
    }
    mem_free(of_location);
    mem_free(ids);
    *ret_stacks = s;
}

/* ---- numbers ---- */

const char *jeprof_unit_name(enum jeprof_unit unit)
{
    static const char *const names[] = {"samples", "objects", "B", "MB", "seconds"};
    return names[unit];
}

enum jeprof_unit jeprof_unit_of(const struct profile *p, size_t sample_index)
{
    const char *type = profile_text(p, p->sample_types[sample_index].type),
               *unit = profile_text(p, p->sample_types[sample_index].unit);
    if (!strcmp(unit, "bytes")) return JEPROF_MEGABYTES;
    if (strstr(type, "objects")) return JEPROF_OBJECTS;
    return !strcmp(unit, "nanoseconds") && !strcmp(type, "delay") ? JEPROF_SECONDS : JEPROF_SAMPLES;
}

void jeprof_number(struct buf *out, double value, enum jeprof_unit unit)
{
    if (unit == JEPROF_MEGABYTES)
        buf_printf(out, "%.1f", value / 1048576.0);
    else if (unit == JEPROF_SECONDS)
        buf_printf(out, "%.3f", value / 1e9);
    else if (value > -9e18 && value < 9e18)
        buf_i64(out, (int64_t)value);
    else
        buf_printf(out, "%.0f", value);
}

void jeprof_percent(struct buf *out, double value, double total)
{
    if (total != 0)
        buf_printf(out, "%.1f%%", value * 100.0 / total);
    else
        buf_str(out, value == 0 ? "nan" : value > 0 ? "+inf" : "-inf");
}

/* ---- derived ---- */

void jeprof_totals_make(const struct jeprof_stacks *s, struct jeprof_totals *ret_totals)
{
    size_t n = s->names.n_items + 1;
    struct jeprof_totals t = {.flat = mem_zalloc(n * sizeof *t.flat),
                              .cum = mem_zalloc(n * sizeof *t.cum),
                              .seen = mem_zalloc(n),
                              .n_names = n};
    uint64_t *last_stack =
        mem_zalloc(n * sizeof *last_stack); /* stack number + 1 in which the name was counted */
    for (size_t i = 0; i < s->n_stacks; i++) {
        size_t from = s->starts[i], to = i + 1 < s->n_stacks ? s->starts[i + 1] : s->n_frames;
        bool first = true;
        for (size_t f = from; f < to; f++) {
            uint32_t name = s->frames[f];
            if (!name || last_stack[name] == i + 1) continue;
            last_stack[name] = i + 1;
            t.seen[name] = true;
            t.cum[name] += s->counts[i];
            if (first) {
                t.flat[name] += s->counts[i];
                t.total += s->counts[i];
            }
            first = false;
        }
    }
    mem_free(last_stack);
    *ret_totals = t;
}

void jeprof_totals_free(struct jeprof_totals *t)
{
    mem_free(t->flat);
    mem_free(t->cum);
    mem_free(t->seen);
}

struct ranked {
    double key;
    uint32_t name;
    const char *text;
};

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->key != y->key) return x->key > y->key ? -1 : 1;
    return strcmp(x->text, y->text);
}

uint32_t *jeprof_sort_names(const struct jeprof_stacks *s, const struct jeprof_totals *t,
                            enum jeprof_order order, size_t *ret_n)
{
    struct ranked *ranked = mem_array(t->n_names, sizeof *ranked);
    size_t n = 0;
    for (uint32_t i = 0; i < t->n_names; i++) {
        if (!t->seen[i]) continue;
        double key = order == JEPROF_BY_FLAT  ? t->flat[i]
                     : order == JEPROF_BY_CUM ? t->cum[i]
                                              : fabs(t->cum[i]);
        ranked[n++] = (struct ranked){key, i, strtab_get(&s->names, i).s};
    }
    qsort(ranked, n, sizeof *ranked, compare_ranked);
    uint32_t *names = mem_array(n + 1, sizeof *names);
    for (size_t i = 0; i < n; i++) names[i] = ranked[i].name;
    mem_free(ranked);
    *ret_n = n;
    return names;
}

/* Appends a number right-aligned in `width`. */
static void right(struct buf *out, struct buf *scratch, int width)
{
    if (scratch->len < (size_t)width) buf_fill(out, ' ', (size_t)width - scratch->len);
    buf_add(out, scratch->data, scratch->len);
    buf_char(out, ' ');
    scratch->len = 0;
}

void jeprof_text_write(const struct jeprof_stacks *s, enum jeprof_unit unit, bool by_cum, long max_lines,
                       struct buf *out)
{
    struct jeprof_totals t;
    jeprof_totals_make(s, &t);
    size_t n;
    uint32_t *names = jeprof_sort_names(s, &t, by_cum ? JEPROF_BY_CUM : JEPROF_BY_FLAT, &n);
    struct buf field = {0};
    double running = 0;
    for (size_t i = 0; i < n && (max_lines < 0 || i < (size_t)max_lines); i++) {
        double flat = t.flat[names[i]], cum = t.cum[names[i]];
        running += flat;
        if (flat == 0 && cum == 0) continue;
        jeprof_number(&field, flat, unit);
        right(out, &field, 8);
        jeprof_percent(&field, flat, t.total);
        right(out, &field, 6);
        jeprof_percent(&field, running, t.total);
        right(out, &field, 6);
        jeprof_number(&field, cum, unit);
        right(out, &field, 8);
        jeprof_percent(&field, cum, t.total);
        right(out, &field, 6);
        buf_str(out, strtab_get(&s->names, names[i]).s);
        buf_char(out, '\n');
    }
    buf_free(&field);
    mem_free(names);
    jeprof_totals_free(&t);
}
