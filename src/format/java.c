/* java.c - old java profiles: "--- heapz 1 ---" and "--- contentionz 1 ---" with "format = java". (Its CPU
 * profile: see cpu.c.) */
#include "format/java.h"

#include "base/mem.h"
#include "format/format.h"

/* ---- names ---- */

struct name {
    struct piece function, file;
    int64_t line;
};

/* Splits "before (inside)". Returns false if the text does not end like this. */
static bool split_parenthesis(struct piece text, struct piece *ret_before, struct piece *ret_inside)
{
    if (text.n < 4 || text.s[text.n - 1] != ')') return false;
    for (size_t i = text.n - 1; i-- > 1;) {
        if (text.s[i] != '(' || !text_is_blank(text.s[i - 1])) continue;
        *ret_before = piece_trim((struct piece){text.s, i - 1});
        *ret_inside = (struct piece){text.s + i + 1, text.n - i - 2};
        return true;
    }
    return false;
}

/* "function (file:line)", "function (path of a library)", "... generated stub/JIT ...", or a bare word like
 * GC. */
static struct name parse_name(struct piece text)
{
    struct name name = {.function = text, .file = {"", 0}};
    struct piece before, inside;
    if (split_parenthesis(text, &before, &inside)) {
        size_t colon = inside.n;
        while (colon > 0 && inside.s[colon - 1] != ':') colon--;
        struct piece digits = {inside.s + colon, inside.n - colon};
        int64_t line;
        name.function = before;
        if (colon > 1 && text_take_i64(&digits, &line) == TEXT_GOOD && !digits.n) {
            name.file = (struct piece){inside.s, colon - 1};
            name.line = line > 0 ? line : 0;
        } else {
            size_t slash = inside.n;
            while (slash > 0 && inside.s[slash - 1] != '/') slash--;
            name.file = (struct piece){inside.s + slash, inside.n - slash};
        }
    } else if (piece_has(text, "generated stub/JIT")) {
        name.function = PIECE("STUB");
    }
    return name;
}

void java_read_names(struct legacy *l, struct piece text)
{
    struct profile *p = l->p;
    struct name *names = mem_zalloc((p->n_locations + 1) * sizeof *names);
    bool *named = mem_zalloc(p->n_locations + 1);
    struct idmap files = {0}; /* function name -> file of its first mention + 1 */
    struct piece line;
    while (text_line(&text, &line)) {
        uint64_t address;
        uint32_t location;
        line = piece_trim(line);
        if (!piece_take(&line, "0x") || text_take_hex(&line, &address) != TEXT_GOOD ||
            !piece_skip_blanks(&line))
            continue;
        if (!idmap_find(&l->by_address, address, &location)) continue;
        struct name name = parse_name(piece_trim(line));
        bool is_new;
        uint32_t *file = idmap_slot(&files, profile_string(p, name.function.s, name.function.n), &is_new);
        if (is_new) *file = profile_string(p, name.file.s, name.file.n);
        names[location] = name;
        named[location] = true;
    }
    struct idmap functions = {0};
    for (uint32_t i = 0; i < p->n_locations; i++) {
        p->locations[i].first_line = (uint32_t)p->n_lines;
        if (!named[i]) continue;
        bool is_new;
        uint32_t string = profile_string(p, names[i].function.s, names[i].function.n), file = 0;
        uint32_t *function = idmap_slot(&functions, string, &is_new);
        idmap_find(&files, string, &file);
        if (is_new) *function = profile_add_function(p, string, string, file, 0);
        *VEC_PUSH(p->lines, p->n_lines, p->cap_lines) =
            (struct line){.function = *function, .line = names[i].line};
        p->locations[i].n_lines = 1;
        p->locations[i].address = 0;
    }
    struct maps none = {0};
    maps_apply(&none, p);
    for (size_t i = 0; i < p->n_locations; i++) p->locations[i].address = 0;
    idmap_free(&functions);
    idmap_free(&files);
    mem_free(names);
    mem_free(named);
}

/* ---- heapz and contentionz ---- */

struct java_header {
    bool heap, is_java;
    struct piece unit;
    int64_t period, duration_ms;
};

static bool number_of(struct piece value, int64_t *ret)
{
    return text_take_i64(&value, ret) == TEXT_GOOD && !value.n;
}

/* Takes one "key = value" line. Returns false for any other line, where the samples begin. */
static bool take_key(struct piece line, struct java_header *h, int *ret_rc)
{
    const char *equals = memchr(line.s, '=', line.n);
    if (!equals) return false;
    struct piece key = piece_trim((struct piece){line.s, (size_t)(equals - line.s)});
    struct piece value = piece_trim((struct piece){equals + 1, (size_t)(line.s + line.n - equals - 1)});
    bool good = true;
    if (piece_is(key, "format"))
        good = h->is_java = piece_is(value, "java");
    else if (piece_is(key, "resolution"))
        h->unit = value;
    else if (!h->heap && piece_is(key, "sampling period"))
        good = number_of(value, &h->period);
    else if (!h->heap && piece_is(key, "ms since reset"))
        good =
            number_of(value, &h->duration_ms) && h->duration_ms >= 0 && h->duration_ms < INT64_MAX / 1000000;
    else
        good = false;
    if (!good) *ret_rc = FORMAT_NOT_MINE;
    return true;
}

static int add_record(struct legacy *l, const struct java_header *h, int64_t values[2], struct err *err,
                      struct piece all, struct piece line)
{
    int64_t block_bytes = 0;
    if (h->heap) {
        enum { JAVA_SAMPLING_BYTES = 524288 };
        if (!values[0]) return legacy_bad_line(err, all, line, "a record of no objects");
        block_bytes = values[1] / values[0];
        legacy_unsample(&values[0], &values[1], JAVA_SAMPLING_BYTES);
    } else if (h->period) {
        for (int i = 0; i < 2; i++)
            if (__builtin_mul_overflow(values[i], h->period, &values[i])) values[i] = INT64_MAX;
    }
    legacy_sample(l, values);
    if (h->heap) profile_add_label_num(l->p, profile_cstr(l->p, "bytes"), block_bytes, 0);
    return 0;
}

static int read_records(struct legacy *l, const struct java_header *h, struct piece all, struct piece *rest,
                        struct err *err)
{
    uint64_t *addresses = NULL;
    size_t n = 0, cap = 0;
    struct piece line, here = *rest;
    int rc = 0;
    for (; !rc && text_line(rest, &line); here = *rest) {
        struct piece p = piece_trim(line);
        int64_t values[2];
        if (!p.n) continue;
        /* bytes or time come before the count, unlike in all other formats */
        if (text_take_i64(&p, &values[1]) != TEXT_GOOD || !piece_skip_blanks(&p) ||
            text_take_i64(&p, &values[0]) != TEXT_GOOD || !piece_skip_blanks(&p) || !piece_take(&p, "@")) {
            *rest = here; /* the names begin */
            break;
        }
        n = 0;
        if (!legacy_take_addresses(p, &addresses, &n, &cap)) {
            rc = legacy_bad_line(err, all, line, "an address of more than 64 bits");
            break;
        }
        for (size_t i = 0; i < n; i++) legacy_frame(l, addresses[i]);
        rc = add_record(l, h, values, err, all, line);
    }
    mem_free(addresses);
    return rc;
}

static int read_java(const void *data, size_t len, const struct format_options *options, struct profile *into,
                     struct err *err)
{
    (void)options;
    struct piece all = {data, len}, rest = all, line;
    struct java_header h = {.unit = {"", 0}};
    if (!text_line(&rest, &line)) return FORMAT_NOT_MINE;
    h.heap = piece_is(piece_trim(line), "--- heapz 1 ---");
    if (!h.heap && !piece_is(piece_trim(line), "--- contentionz 1 ---")) return FORMAT_NOT_MINE;
    int rc = 0;
    for (struct piece here = rest; !rc && text_line(&rest, &line); here = rest) {
        line = piece_trim(line);
        if (line.n && !take_key(line, &h, &rc)) {
            rest = here;
            break;
        }
    }
    if (rc || !h.is_java || !h.unit.n) return FORMAT_NOT_MINE;

    char *unit = mem_strndup(h.unit.s, h.unit.n);
    profile_add_sample_type(into, h.heap ? "inuse_objects" : "contentions", "count");
    profile_add_sample_type(into, h.heap ? "inuse_space" : "delay", unit);
    mem_free(unit);
    into->has_period_type = true;
    if (h.period) {
        into->period_type = into->sample_types[0];
        into->period = h.period;
    }
    into->duration_ns = h.duration_ms * 1000000;
    struct legacy l = {.p = into};
    rc = read_records(&l, &h, all, &rest, err);
    if (!rc) {
        java_read_names(&l, rest);
        legacy_set_frame_filters(into, h.heap ? LEGACY_HEAP : LEGACY_CONTENTION);
    }
    legacy_free(&l);
    return rc;
}

const struct format_reader format_java = {"java text", read_java};
