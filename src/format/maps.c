/* maps.c - see maps.h. */
#include "format/maps.h"

#include <stdlib.h>

#include "base/mem.h"

enum {
    MAX_LINE_BYTES = 1 << 16
}; /* limit after $name is replaced, because nested definitions could grow without bound */

bool maps_is_sentinel(struct piece line)
{
    return piece_has(line, "--- Memory map: ---") || piece_has(line, "MAPPED_LIBRARIES:");
}

static struct piece take_word(struct piece *p)
{
    struct piece word = {p->s, 0};
    while (word.n < p->n && !text_is_blank(p->s[word.n])) word.n++;
    p->s += word.n;
    p->n -= word.n;
    return word;
}

static bool take_address(struct piece *p, uint64_t *ret_value)
{
    struct piece rest = *p;
    piece_take(&rest, "0x");
    if (text_take_hex(&rest, ret_value) != TEXT_GOOD) return false;
    *p = rest;
    return true;
}

static bool is_permissions(struct piece word)
{
    for (size_t i = 0; i < word.n; i++)
        if (!strchr("-rwxps", word.s[i]) || !word.s[i]) return false;
    return word.n > 0;
}

/* Takes "[offset] major:minor inode [file]". Returns false and leaves *p unchanged if there is none. */
static bool take_proc_rest(struct piece *p, struct maps_entry *e, struct piece *ret_file)
{
    struct piece rest = *p, word = take_word(&rest);
    uint64_t offset = 0, ignored;
    if (!memchr(word.s, ':', word.n)) {
        if (text_take_hex(&word, &offset) != TEXT_GOOD || word.n) return false;
        piece_skip_blanks(&rest);
        word = take_word(&rest);
    }
    if (text_take_hex(&word, &ignored) == TEXT_NONE || !piece_take(&word, ":")) return false;
    if (text_take_hex(&word, &ignored) == TEXT_NONE || word.n) return false;
    piece_skip_blanks(&rest);
    word = take_word(&rest);
    if (text_take_u64(&word, &ignored) == TEXT_NONE || word.n) return false;
    e->offset = offset;
    struct piece file = piece_trim(rest), deleted = PIECE(" (deleted)");
    if (file.n > deleted.n && !memcmp(file.s + file.n - deleted.n, deleted.s, deleted.n)) file.n -= deleted.n;
    *ret_file = file;
    *p = rest;
    return true;
}

/* "[file] [(@offset)] [build-id]" */
static void take_brief_rest(struct piece *p, struct maps_entry *e, struct piece *ret_file,
                            struct piece *ret_build_id)
{
    *ret_file = take_word(p);
    piece_skip_blanks(p);
    struct piece word = take_word(p), rest = word;
    uint64_t offset;
    if (piece_take(&rest, "(@") && text_take_hex(&rest, &offset) == TEXT_GOOD && piece_is(rest, ")")) {
        e->offset = offset;
        piece_skip_blanks(p);
        word = take_word(p);
    }
    for (size_t i = 0; i < word.n; i++)
        if (text_hex_digit(word.s[i]) < 0) return;
    *ret_build_id = word;
}

enum maps_line maps_parse_line(struct piece line, struct maps_entry *ret_entry, struct piece *ret_file,
                               struct piece *ret_build_id)
{
    struct maps_entry e = {.file = "", .build_id = ""};
    *ret_file = *ret_build_id = (struct piece){"", 0};
    piece_skip_blanks(&line);
    if (!take_address(&line, &e.start)) return MAPS_OTHER;
    if (!piece_take(&line, "-") && !piece_skip_blanks(&line)) return MAPS_OTHER;
    piece_skip_blanks(&line);
    if (!take_address(&line, &e.limit)) return MAPS_OTHER;
    piece_take(&line, ":");
    if (line.n && !piece_skip_blanks(&line)) return MAPS_OTHER;

    struct piece rest = line, word = take_word(&rest);
    bool executable = true;
    if (is_permissions(word)) {
        executable = memchr(word.s, 'x', word.n) != NULL;
        piece_skip_blanks(&rest);
        line = rest;
    }
    if (!take_proc_rest(&line, &e, ret_file)) take_brief_rest(&line, &e, ret_file, ret_build_id);
    *ret_entry = e;
    return executable ? MAPS_ENTRY : MAPS_NOT_EXECUTABLE;
}

/* ---- whole maps ---- */

struct definition {
    struct piece name, value; /* name with its $ */
};

struct definitions {
    struct definition *items;
    size_t n_items, cap_items;
};

/* Returns the line with every $name replaced. If there is one, the result is a copy in the arena. */
static struct piece substitute(struct piece line, const struct definitions *d, struct arena *text)
{
    if (!d->n_items || !memchr(line.s, '$', line.n)) return line;
    char *out = NULL;
    size_t n = 0, cap = 0;
    while (line.n && n < MAX_LINE_BYTES) {
        size_t i = 0;
        if (*line.s == '$')
            while (i < d->n_items &&
                   !(line.n >= d->items[i].name.n && !memcmp(line.s, d->items[i].name.s, d->items[i].name.n)))
                i++;
        else
            i = d->n_items;
        struct piece add = i < d->n_items ? d->items[i].value : (struct piece){line.s, 1};
        size_t used = i < d->n_items ? d->items[i].name.n : 1;
        if (n + add.n > cap) out = mem_grow(out, &cap, n + add.n, 1);
        if (add.n) memcpy(out + n, add.s, add.n);
        n += add.n;
        line.s += used;
        line.n -= used;
    }
    struct piece made = {"", 0};
    if (n && n < MAX_LINE_BYTES) made = (struct piece){arena_strndup(text, out, n), n};
    mem_free(out);
    return made;
}

/* Removes a prefix "... file:123] ". */
static struct piece without_log_prefix(struct piece line)
{
    const char *bracket = memchr(line.s, ']', line.n), *open = memchr(line.s, '[', line.n);
    if (!bracket || (open && open < bracket)) return line;
    const char *digits = bracket;
    while (digits > line.s && digits[-1] >= '0' && digits[-1] <= '9') digits--;
    if (digits == bracket || digits < line.s + 2 || digits[-1] != ':') return line;
    const char *end = line.s + line.n, *rest = bracket + 1;
    if (rest == end || !text_is_blank(*rest)) return line;
    return (struct piece){rest + 1, (size_t)(end - rest - 1)};
}

static void define(struct definitions *d, struct piece line, struct arena *text)
{
    enum { MAX_DEFINITIONS = 64 };
    const char *equals = memchr(line.s, '=', line.n);
    if (!equals || d->n_items == MAX_DEFINITIONS) return;
    struct piece name = piece_trim((struct piece){line.s, (size_t)(equals - line.s)});
    struct piece value = piece_trim((struct piece){equals + 1, (size_t)(line.s + line.n - equals - 1)});
    if (!name.n) return;
    char *dollar = arena_alloc(text, name.n + 1);
    dollar[0] = '$';
    memcpy(dollar + 1, name.s, name.n);
    *VEC_PUSH(d->items, d->n_items, d->cap_items) = (struct definition){{dollar, name.n + 1}, value};
}

void maps_parse(struct maps *maps, struct piece text)
{
    struct definitions definitions = {0};
    struct piece line;
    while (text_line(&text, &line)) {
        struct maps_entry e;
        struct piece file, build_id;
        line = substitute(without_log_prefix(line), &definitions, &maps->text);
        switch (maps_parse_line(line, &e, &file, &build_id)) {
        case MAPS_ENTRY:
            e.file = file.n ? arena_strndup(&maps->text, file.s, file.n) : "";
            e.build_id = build_id.n ? arena_strndup(&maps->text, build_id.s, build_id.n) : "";
            *VEC_PUSH(maps->entries, maps->n_entries, maps->cap_entries) = e;
            break;
        case MAPS_OTHER:
            define(&definitions, line, &maps->text);
            break;
        case MAPS_NOT_EXECUTABLE:
            break;
        }
    }
    mem_free(definitions.items);
}

void maps_free(struct maps *maps)
{
    mem_free(maps->entries);
    arena_free(&maps->text);
    *maps = (struct maps){0};
}

/* ---- massage ---- */

static bool continues(const struct maps_entry *a, const struct maps_entry *b)
{
    if (*a->file && *b->file && strcmp(a->file, b->file)) return false;
    if (*a->build_id && *b->build_id && strcmp(a->build_id, b->build_id)) return false;
    if (a->limit != b->start) return false;
    return !a->offset || !b->offset || a->offset + (a->limit - a->start) == b->offset;
}

/* Whether the name ends with ".so" or ".so" and a version. */
static bool is_library(const char *file)
{
    for (const char *at = file; (at = strstr(at, ".so")); at += 3) {
        if (!at[3]) return true;
        if ((at[3] == '.' || at[3] == '_') && at[4] >= '0' && at[4] <= '9') return true;
    }
    return false;
}

void maps_massage(struct maps *maps)
{
    size_t n = 0;
    for (size_t i = 0; i < maps->n_entries; i++) {
        struct maps_entry *e = &maps->entries[i], *last = n ? &maps->entries[n - 1] : NULL;
        if (last && continues(last, e)) {
            last->limit = e->limit;
            if (*e->file) last->file = e->file;
            if (*e->build_id) last->build_id = e->build_id;
        } else {
            maps->entries[n++] = *e;
        }
    }
    maps->n_entries = n;
    for (size_t i = 0; i < n; i++) {
        const char *file = maps->entries[i].file;
        if (!*file || *file == '[' || is_library(file)) continue;
        struct maps_entry main_entry = maps->entries[i];
        maps->entries[i] = maps->entries[0];
        maps->entries[0] = main_entry;
        break;
    }
    /* Remove a huge-page copy of the text before the program itself. Then correct a program that is linked
     * at the usual address but listed at a higher one. */
    if (n > 1 && !strncmp(maps->entries[0].file, "/anon_hugepage", 14) &&
        maps->entries[0].limit == maps->entries[1].start) {
        memmove(maps->entries, maps->entries + 1, (n - 1) * sizeof *maps->entries);
        maps->n_entries = --n;
    }
    const uint64_t usual_start = 0x400000;
    if (n && maps->entries[0].start - maps->entries[0].offset == usual_start) {
        maps->entries[0].start = usual_start;
        maps->entries[0].offset = 0;
    }
}

/* ---- which range holds an address: ranges may overlap, the first in the list wins ---- */

struct cover {
    uint64_t *bounds; /* sorted, unique; segment i is [bounds[i], bounds[i+1]) */
    uint32_t *owner;  /* of each segment: range index + 1, 0 none */
    size_t n_bounds;
};

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t find_bound(const struct cover *c, uint64_t address) /* number of bounds <= address */
{
    size_t low = 0, high = c->n_bounds;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->bounds[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct cover cover_make(const uint64_t (*ranges)[2], size_t n)
{
    struct cover c = {0};
    if (!n) return c;
    c.bounds = mem_array(n * 2, sizeof *c.bounds);
    for (size_t i = 0; i < n; i++) c.bounds[2 * i] = ranges[i][0], c.bounds[2 * i + 1] = ranges[i][1];
    qsort(c.bounds, n * 2, sizeof *c.bounds, compare_u64);
    for (size_t i = 0; i < n * 2; i++)
        if (!c.n_bounds || c.bounds[i] != c.bounds[c.n_bounds - 1]) c.bounds[c.n_bounds++] = c.bounds[i];
    c.owner = mem_zalloc(c.n_bounds * sizeof *c.owner);
    uint32_t *next_free =
        mem_array(c.n_bounds + 1, sizeof *next_free); /* union-find: first unowned segment at or after i */
    for (size_t i = 0; i <= c.n_bounds; i++) next_free[i] = (uint32_t)i;
    for (size_t i = 0; i < n; i++) {
        if (ranges[i][0] >= ranges[i][1]) continue;
        size_t from = find_bound(&c, ranges[i][0]) - 1, to = find_bound(&c, ranges[i][1]) - 1;
        for (;;) {
            size_t root = from;
            while (next_free[root] != root) root = next_free[root];
            for (size_t at = from; at != root;) {
                size_t up = next_free[at];
                next_free[at] = (uint32_t)root;
                at = up;
            }
            if (root >= to) break;
            c.owner[root] = (uint32_t)(i + 1);
            next_free[root] = (uint32_t)(root + 1);
            from = root;
        }
    }
    mem_free(next_free);
    return c;
}

static uint32_t cover_find(const struct cover *c, uint64_t address)
{
    size_t i = find_bound(c, address);
    return i ? c->owner[i - 1] : 0;
}

static void cover_free(struct cover *c)
{
    mem_free(c->bounds);
    mem_free(c->owner);
}

void maps_apply(struct maps *maps, struct profile *p)
{
    size_t n = maps->n_entries;
    uint64_t(*ranges)[2] = mem_array(n + 1, sizeof *ranges), (*before)[2] = mem_array(n + 1, sizeof *before);
    for (size_t i = 0; i < n; i++) {
        struct maps_entry *e = &maps->entries[i];
        ranges[i][0] = e->start, ranges[i][1] = e->limit;
        /* Some writers omit the first part of a file that is mapped in two parts. */
        before[i][0] = e->offset <= e->start ? e->start - e->offset : e->start, before[i][1] = e->start;
    }
    struct cover inside = cover_make((const uint64_t(*)[2])ranges, n),
                 ahead = cover_make((const uint64_t(*)[2])before, n);
    uint32_t first = (uint32_t)p->n_mappings, stray = 0;
    for (size_t i = 0; i < p->n_locations; i++) {
        struct location *l = &p->locations[i];
        if (l->mapping || !l->address) continue;
        uint32_t found = cover_find(&inside, l->address);
        if (!found && (found = cover_find(&ahead, l->address))) {
            struct maps_entry *e = &maps->entries[found - 1];
            e->start -= e->offset;
            e->offset = 0;
        }
        if (!found) found = stray = (uint32_t)n + 1;
        l->mapping = first + found;
    }
    for (size_t i = 0; i < n; i++) {
        const struct maps_entry *e = &maps->entries[i];
        profile_add_mapping(p, e->start, e->limit, e->offset, profile_cstr(p, e->file),
                            profile_cstr(p, e->build_id));
    }
    if (stray) profile_add_mapping(p, 0, UINT64_MAX, 0, 0, 0);
    cover_free(&inside);
    cover_free(&ahead);
    mem_free(ranges);
    mem_free(before);
}
