/* go_count.c - reads Go's old text profiles of counts (goroutine, threadcreate), which have the lines
 * "NAME profile: total N" and "n @ 0x1 0x2". */
#include "base/mem.h"
#include "format/format.h"
#include "format/legacy.h"

static bool take_name(struct piece line, struct piece *ret_name)
{
    const char *at = line.n ? memmem(line.s, line.n, " profile: total ", 16) : NULL;
    if (!at || at == line.s) return false;
    *ret_name = (struct piece){line.s, (size_t)(at - line.s)};
    for (size_t i = 0; i < ret_name->n; i++)
        if (text_is_blank(ret_name->s[i])) return false;
    struct piece rest = {at + 16, (size_t)(line.s + line.n - at - 16)};
    uint64_t ignored;
    return text_take_u64(&rest, &ignored) != TEXT_NONE && !rest.n;
}

static int read_go_count(const void *data, size_t len, const struct format_options *options,
                         struct profile *into, struct err *err)
{
    (void)options;
    struct piece all = {data, len}, rest = all, line, name, trimmed;
    do {
        if (!text_line(&rest, &line)) return FORMAT_NOT_MINE;
        trimmed = piece_trim(line);
    } while (!trimmed.n || trimmed.s[0] == '#');
    if (!take_name(line, &name)) return FORMAT_NOT_MINE;

    char *type = mem_strndup(name.s, name.n);
    profile_add_sample_type(into, type, "count");
    mem_free(type);
    into->period_type = into->sample_types[0];
    into->period = 1;
    struct legacy l = {.p = into};
    uint64_t *addresses = NULL;
    size_t n = 0, cap = 0;
    int rc = 0;
    while (!rc && text_line(&rest, &line)) {
        trimmed = piece_trim(line);
        if (!trimmed.n || trimmed.s[0] == '#') continue;
        if (piece_starts(line, "---")) break;
        int64_t count;
        n = 0;
        if (text_take_i64(&trimmed, &count) != TEXT_GOOD || !piece_take(&trimmed, " @") ||
            !legacy_take_addresses(trimmed, &addresses, &n, &cap)) {
            rc = legacy_bad_line(err, all, line, "not a record of a Go count profile");
            break;
        }
        for (size_t i = 0; i < n; i++) legacy_frame(&l, addresses[i] - 1);
        legacy_sample(&l, &count);
    }
    while (!maps_is_sentinel(line) && text_line(&rest, &line)) {
    }
    if (!rc) legacy_finish(&l, rest, LEGACY_OTHER);
    legacy_free(&l);
    mem_free(addresses);
    return rc;
}

const struct format_reader format_go_count = {"Go count", read_go_count};
