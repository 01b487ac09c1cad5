/* folded.c - see folded.h. It also has the reader that makes a profile from folded stacks. */
#include "format/folded.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "format/format.h"
#include "format/legacy.h"

/* ---- lines ---- */

/* Splits "stack value" at its last blank. Returns false if there is no value. */
static bool parse_line(struct piece line, struct folded_line *ret_line)
{
    while (line.n && text_is_blank(line.s[line.n - 1])) line.n--;
    size_t end = line.n, at = end;
    while (at && ((line.s[at - 1] >= '0' && line.s[at - 1] <= '9') || line.s[at - 1] == '.')) at--;
    if (at == end || at < 2 || (line.s[at - 1] != ' ' && line.s[at - 1] != '\t')) return false;
    struct piece number = {line.s + at, end - at};
    uint64_t value;
    if (text_take_u64(&number, &value) != TEXT_GOOD || value > INT64_MAX) return false;
    if (piece_take(&number, ".")) { /* the first digit of a fraction rounds the value */
        if (number.n && number.s[0] >= '5' && value < INT64_MAX) value++;
        while (number.n && number.s[0] != '.') number.s++, number.n--;
    }
    if (number.n) return false;
    while (at && text_is_blank(line.s[at - 1])) at--;
    if (!at || at > UINT32_MAX) return false;
    *ret_line = (struct folded_line){line.s, (uint32_t)at, (int64_t)value};
    return true;
}

bool folded_next(struct folded *f, struct folded_line *ret_line)
{
    struct piece line;
    while (text_line(&f->rest, &line)) {
        if (!line.n || *line.s == '#') continue;
        if (parse_line(line, ret_line)) return true;
        if (!piece_trim(line).n) continue;
        if (!f->n_bad++) f->first_bad = line;
    }
    return false;
}

struct share { /* of the text, whole lines */
    struct folded f;
    struct folded_line *lines;
    size_t n, cap;
};

static void take_share(void *context, size_t i, unsigned worker)
{
    (void)worker;
    struct share *s = (struct share *)context + i;
    struct folded_line line;
    while (folded_next(&s->f, &line)) *VEC_PUSH(s->lines, s->n, s->cap) = line;
}

enum { SHARE_BYTES = 8 << 20 };

struct folded_line *folded_lines(struct piece text, size_t *ret_n, struct folded *ret_end)
{
    struct share *shares = NULL;
    size_t n_shares = 0, cap_shares = 0, n = 0;
    while (text.n || !n_shares) {
        size_t end = text.n < SHARE_BYTES ? text.n : SHARE_BYTES;
        const char *newline = end < text.n ? memchr(text.s + end, '\n', text.n - end) : NULL;
        end = newline ? (size_t)(newline - text.s) + 1 : text.n;
        *VEC_PUSH(shares, n_shares, cap_shares) = (struct share){.f.rest = {text.s, end}};
        text.s += end;
        text.n -= end;
    }
    parallel_for(n_shares, parallel_width(), take_share, shares);
    struct folded_line *lines = shares[0].lines;
    struct folded all = shares[0].f;
    for (size_t i = 0; i < n_shares; i++) n += shares[i].n;
    if (n_shares > 1) lines = mem_array(n, sizeof *lines);
    n = 0;
    for (size_t i = 0; i < n_shares; i++) {
        const struct share *s = &shares[i];
        if (n_shares > 1 && s->n) memcpy(lines + n, s->lines, s->n * sizeof *lines);
        if (i && s->f.n_bad && !all.n_bad) all.first_bad = s->f.first_bad;
        if (i) all.n_bad += s->f.n_bad;
        n += s->n;
        if (n_shares > 1) mem_free(s->lines);
    }
    mem_free(shares);
    *ret_n = n;
    if (ret_end) *ret_end = all;
    return lines;
}

/* ---- into a profile ---- */

struct building {
    struct profile *p;
    uint32_t *location_of; /* by string: location + 1 */
    size_t n_location_of;
    uint32_t *frames; /* frames of the previous line, root first */
    uint32_t *ends;   /* where each frame ends in that line */
    size_t n_frames, cap_frames, cap_ends;
    uint32_t *leaf_first;
    size_t cap_leaf_first;
};

static uint32_t location_of(struct building *b, const char *name, size_t len)
{
    uint32_t string = profile_string(b->p, name, len);
    if (string >= b->n_location_of) {
        size_t n = (size_t)string * 2 + 1024;
        b->location_of = mem_realloc(b->location_of, n * sizeof *b->location_of);
        memset(b->location_of + b->n_location_of, 0, (n - b->n_location_of) * sizeof *b->location_of);
        b->n_location_of = n;
    }
    if (!b->location_of[string]) {
        b->location_of[string] = profile_add_location(b->p, 0, 0) + 1;
        profile_add_line(b->p, profile_add_function(b->p, string, string, 0, 0), 0, 0);
    }
    return b->location_of[string] - 1;
}

/* The number of bytes at the start that two stacks share. */
static size_t shared_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t n = a_len < b_len ? a_len : b_len, i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t x, y;
        memcpy(&x, a + i, 8);
        memcpy(&y, b + i, 8);
        if (x != y) return i + (size_t)__builtin_ctzll(htole64(x) ^ htole64(y)) / 8;
    }
    while (i < n && a[i] == b[i]) i++;
    return i;
}

/* Finds the frames of this line. Leading frames that the previous line shares are reused without a lookup. */
static void take_frames(struct building *b, const struct folded_line *line, const struct folded_line *before)
{
    size_t common = shared_bytes(line->stack, line->stack_len, before->stack, before->stack_len), kept = 0;
    if (common == line->stack_len) common++; /* its end is as good as a ';' */
    while (kept < b->n_frames && b->ends[kept] < common &&
           (b->ends[kept] == line->stack_len || line->stack[b->ends[kept]] == ';'))
        kept++;
    size_t at = kept ? b->ends[kept - 1] + 1u : 0;
    b->n_frames = kept;
    while (at <= line->stack_len) {
        const char *semicolon =
            at < line->stack_len ? memchr(line->stack + at, ';', line->stack_len - at) : NULL;
        size_t end = semicolon ? (size_t)(semicolon - line->stack) : line->stack_len;
        if (b->n_frames == b->cap_ends)
            b->ends = mem_grow(b->ends, &b->cap_ends, b->n_frames + 1, sizeof *b->ends);
        b->ends[b->n_frames] = (uint32_t)end;
        uint32_t location = location_of(b, line->stack + at, end - at);
        *VEC_PUSH(b->frames, b->n_frames, b->cap_frames) = location;
        at = end + 1;
    }
}

static void add_line(struct building *b, const struct folded_line *line, const struct folded_line *before)
{
    take_frames(b, line, before);
    if (b->n_frames > b->cap_leaf_first)
        b->leaf_first = mem_grow(b->leaf_first, &b->cap_leaf_first, b->n_frames, sizeof *b->leaf_first);
    size_t n = 0;
    for (size_t i = b->n_frames; i-- > 0;) {
        /* An empty frame (";;", or ';' at the end) is ignored. */
        if (b->ends[i] == (i ? b->ends[i - 1] + 1 : 0)) continue;
        b->leaf_first[n++] = b->frames[i];
    }
    profile_add_sample(b->p, b->leaf_first, n, &line->value);
}

/* Many kinds of text have lines that end in a number. Folded stacks also have a ';' somewhere and no
 * control bytes. */
static bool looks_folded(struct piece text)
{
    if (text.n > 1 << 16) text.n = 1 << 16;
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.s[i] < ' ' && !text_is_blank(text.s[i])) return false;
    struct folded f = {.rest = text};
    struct folded_line line;
    size_t n_lines = 0;
    while (folded_next(&f, &line)) {
        if (f.n_bad) return false;
        if (memchr(line.stack, ';', line.stack_len)) return true;
        n_lines++;
    }
    return n_lines > 1 && !f.n_bad;
}

static int read_folded(const void *data, size_t len, const struct format_options *options,
                       struct profile *into, struct err *err)
{
    (void)options;
    struct piece text = {data, len};
    if (!looks_folded(text)) return FORMAT_NOT_MINE;
    profile_add_sample_type(into, "samples", "count");
    struct building b = {.p = into};
    struct folded f = {.rest = text};
    struct folded_line line, before = {.stack = ""};
    while (folded_next(&f, &line)) {
        add_line(&b, &line, &before);
        before = line;
    }
    mem_free(b.location_of);
    mem_free(b.frames);
    mem_free(b.ends);
    mem_free(b.leaf_first);
    return f.n_bad ? legacy_bad_line(err, text, f.first_bad, "not a stack and a number") : 0;
}

const struct format_reader format_folded = {"collapsed stacks", read_folded};
