/* heap_text.c - see heap_text.h. */
#include "format/heap_text.h"

#include "base/mem.h"
#include "format/format.h"
#include "format/legacy.h"
#include "format/maps.h"

/* "n: bytes [n: bytes]" at the start of *p. */
static enum text_number take_counts(struct piece *p, struct heap_counts *ret_counts)
{
    struct piece rest = *p;
    int64_t v[4];
    enum text_number worst = TEXT_GOOD;
    for (size_t i = 0; i < 4; i++) {
        piece_skip_blanks(&rest);
        if (i == 2 && !piece_take(&rest, "[")) return TEXT_NONE;
        piece_skip_blanks(&rest);
        enum text_number got = text_take_i64(&rest, &v[i]);
        if (got == TEXT_NONE) return got;
        if (got == TEXT_TOO_LARGE) worst = got;
        if (i % 2 == 0 && !piece_take(&rest, ":")) return TEXT_NONE;
    }
    piece_skip_blanks(&rest);
    if (!piece_take(&rest, "]")) return TEXT_NONE;
    *ret_counts = (struct heap_counts){v[0], v[1], v[2], v[3]};
    *p = rest;
    return worst;
}

/* Parses the text after "@" in the header. */
static int take_type(struct piece type, struct heap_header *h, struct err *err)
{
    struct piece name = {type.s, 0};
    while (name.n < type.n && type.s[name.n] != '/' && !text_is_blank(type.s[name.n])) name.n++;
    struct piece rate = {type.s + name.n, type.n - name.n};
    if (piece_take(&rate, "/") && text_take_i64(&rate, &h->rate) == TEXT_TOO_LARGE)
        return err_set(err, ERR_INPUT, "line 1: the sampling rate does not fit in 64 bits");
    h->has_type = name.n > 0;
    if (piece_is(name, "heap_v2") || piece_is(name, "heapz_v2")) {
        h->version = 2;
    } else if (piece_is(name, "heap")) {
        h->version = 1;
    } else if (piece_is(name, "heapprofile")) {
        h->kind = HEAP_EXACT;
    } else if (piece_is(name, "growth") || piece_is(name, "growthz")) {
        h->kind = HEAP_GROWTH;
    } else if (piece_is(name, "fragmentation") || piece_is(name, "fragmentationz")) {
        h->kind = HEAP_FRAGMENTATION;
    } else if (name.n) {
        return err_set(err, ERR_INPUT, "line 1: a heap profile of the kind \"%.*s\" is not known",
                       name.n > 40 ? 40 : (int)name.n, name.s);
    } else {
        /* The file is too old to name its version. Equal pairs of numbers mean sampling with the linear
         * rule. */
        const struct heap_counts *t = &h->total;
        h->kind =
            t->inuse_count == t->alloc_count && t->inuse_bytes == t->alloc_bytes ? HEAP_SAMPLED : HEAP_EXACT;
        h->version = h->kind == HEAP_SAMPLED ? 1 : 0;
    }
    return 0;
}

struct reading {
    struct piece all, rest;
    const struct heap_handler *handler;
    struct heap_header *header;
    struct err *err;
    uint64_t *addresses;
    size_t n_addresses, cap_addresses;
};

static bool is_comment(struct piece trimmed)
{
    return !trimmed.n || trimmed.s[0] == '#';
}

static int read_lines(struct reading *r)
{
    struct piece line;
    while (text_line(&r->rest, &line)) {
        struct piece trimmed = piece_trim(line), rest = trimmed;
        if (is_comment(trimmed)) continue;
        if (maps_is_sentinel(trimmed)) return 0;
        struct heap_record record = {.thread = HEAP_ALL_THREADS};
        enum text_number got = take_counts(&rest, &record.counts);
        piece_skip_blanks(&rest);
        if (got == TEXT_NONE || !piece_take(&rest, "@")) {
            if (r->handler->lenient) continue;
            return legacy_bad_line(r->err, r->all, line, "not a record of a heap profile");
        }
        r->n_addresses = 0;
        if (got == TEXT_TOO_LARGE ||
            !legacy_take_addresses(rest, &r->addresses, &r->n_addresses, &r->cap_addresses))
            return legacy_bad_line(r->err, r->all, line, "a number that does not fit in 64 bits");
        record.addresses = r->addresses;
        record.n_addresses = r->n_addresses;
        int rc = r->handler->record(r->handler->context, r->header, &record);
        if (rc) return rc;
    }
    r->rest = (struct piece){"", 0};
    return 0;
}

/* Takes "t*: " or "t12: ". Returns false and leaves *p unchanged if there is none. */
static bool take_thread(struct piece *p, int64_t *ret_thread)
{
    struct piece rest = *p;
    if (!piece_take(&rest, "t")) return false;
    *ret_thread = HEAP_ALL_THREADS;
    uint64_t thread = 0;
    if (!piece_take(&rest, "*")) {
        if (text_take_u64(&rest, &thread) != TEXT_GOOD || thread > INT64_MAX) return false;
        *ret_thread = (int64_t)thread;
    }
    if (!piece_take(&rest, ":")) return false;
    *p = rest;
    return true;
}

static int read_jemalloc(struct reading *r)
{
    struct piece line;
    bool in_stacks = false, fresh = false;
    while (text_line(&r->rest, &line)) {
        struct piece trimmed = piece_trim(line), rest = trimmed;
        struct heap_record record;
        if (is_comment(trimmed)) continue;
        if (maps_is_sentinel(trimmed)) return 0;
        if (piece_take(&rest, "@")) {
            in_stacks = fresh = true;
            r->n_addresses = 0;
            if (!legacy_take_addresses(rest, &r->addresses, &r->n_addresses, &r->cap_addresses))
                return legacy_bad_line(r->err, r->all, line, "an address of more than 64 bits");
            continue;
        }
        enum text_number got =
            take_thread(&rest, &record.thread) ? take_counts(&rest, &record.counts) : TEXT_NONE;
        if (got == TEXT_TOO_LARGE)
            return legacy_bad_line(r->err, r->all, line, "a number that does not fit in 64 bits");
        if (got == TEXT_NONE) {
            if (r->handler->lenient) continue;
            return legacy_bad_line(r->err, r->all, line, "not a record of a jemalloc heap profile");
        }
        if (!in_stacks) {
            rest = piece_trim(rest);
            if (record.thread == HEAP_ALL_THREADS)
                r->header->total = record.counts;
            else if (rest.n && r->handler->thread)
                r->handler->thread(r->handler->context, record.thread, rest);
            continue;
        }
        record.addresses = r->addresses;
        record.n_addresses = r->n_addresses;
        record.same_stack = !fresh;
        fresh = false;
        int rc = r->handler->record(r->handler->context, r->header, &record);
        if (rc) return rc;
    }
    r->rest = (struct piece){"", 0};
    return 0;
}

int heap_text_read(struct piece text, const struct heap_handler *handler, struct heap_header *ret_header,
                   struct piece *ret_maps, struct err *err)
{
    struct heap_header h = {.kind = HEAP_SAMPLED};
    struct piece rest = legacy_skip_commands(text), line;
    if (!text_line(&rest, &line)) return FORMAT_NOT_MINE;
    int rc = 0;
    if (piece_take(&line, "heap profile:")) {
        enum text_number got = take_counts(&line, &h.total);
        if (got == TEXT_NONE) return FORMAT_NOT_MINE; /* Go's "heap profile: total 5" has its own reader */
        if (got == TEXT_TOO_LARGE)
            return err_set(err, ERR_INPUT, "line 1: a number that does not fit in 64 bits");
        line = piece_trim(line);
        if (piece_take(&line, "@")) line = piece_trim(line);
        rc = take_type(line, &h, err);
    } else if (piece_take(&line, "heap_v2/")) {
        h.kind = HEAP_JEMALLOC;
        h.version = 2;
        h.has_type = true;
        if (text_take_i64(&line, &h.rate) != TEXT_GOOD)
            return err_set(err, ERR_INPUT, "line 1: no sampling rate after \"heap_v2/\"");
    } else {
        return FORMAT_NOT_MINE;
    }
    if (rc) return rc;
    struct reading r = {.all = text, .rest = rest, .handler = handler, .header = &h, .err = err};
    rc = h.kind == HEAP_JEMALLOC ? read_jemalloc(&r) : read_lines(&r);
    mem_free(r.addresses);
    if (rc) return rc;
    *ret_header = h;
    *ret_maps = r.rest;
    return 0;
}
