/* contention_text.c - see contention_text.h. */
#include "format/contention_text.h"

#include "base/mem.h"
#include "format/format.h"
#include "format/legacy.h"
#include "format/maps.h"

static bool is_header(struct piece line)
{
    return piece_starts(line, "--- contentionz ") || piece_starts(line, "--- contention:") ||
           piece_starts(line, "--- mutex:") || piece_is(piece_trim(line), "--- contention") ||
           piece_is(piece_trim(line), "--- mutex") || piece_starts(line, "--- Stacks:");
}

static bool parse_number(struct piece value, int64_t *ret_number)
{
    int64_t number;
    if (text_take_i64(&value, &number) != TEXT_GOOD || value.n) return false;
    *ret_number = number;
    return true;
}

static bool take_key(struct piece line, const char *equals, const struct contention_handler *handler,
                     struct contention_header *h)
{
    struct piece key = piece_trim((struct piece){line.s, (size_t)(equals - line.s)});
    struct piece value = piece_trim((struct piece){equals + 1, (size_t)(line.s + line.n - equals - 1)});
    bool good = true;
    if (piece_is(key, "cycles/second"))
        good = parse_number(value, &h->cycles_per_second);
    else if (piece_is(key, "sampling period"))
        good = parse_number(value, &h->sampling_period);
    else if (piece_is(key, "ms since reset"))
        good = parse_number(value, &h->duration_ms) && h->duration_ms >= 0 &&
               h->duration_ms < INT64_MAX / 1000000;
    else if (!piece_is(key, "discarded samples") && handler->unknown_key)
        handler->unknown_key(handler->context, key, value);
    return good;
}

/* "cycles count @ addresses" or "cycles @ addresses". */
static enum text_number take_numbers(struct piece *line, int64_t *ret_cycles, int64_t *ret_count)
{
    *ret_count = -1;
    enum text_number first = text_take_i64(line, ret_cycles), second = TEXT_GOOD;
    if (first == TEXT_NONE || *ret_cycles < 0) return TEXT_NONE;
    piece_skip_blanks(line);
    if (line->n && *line->s != '@') {
        second = text_take_i64(line, ret_count);
        if (second == TEXT_NONE || *ret_count < 0) return TEXT_NONE;
        piece_skip_blanks(line);
    }
    if (!piece_take(line, "@")) return TEXT_NONE;
    return first == TEXT_TOO_LARGE ? first : second;
}

static bool is_maps_line(struct piece line)
{
    struct maps_entry entry;
    struct piece file, build_id;
    return maps_parse_line(line, &entry, &file, &build_id) != MAPS_OTHER && entry.start < entry.limit;
}

int contention_text_read(struct piece text, const struct contention_handler *handler,
                         struct contention_header *ret_header, struct piece *ret_maps, struct err *err)
{
    struct contention_header h = {.sampling_period = 1};
    struct piece rest = legacy_skip_commands(text), line;
    if (!text_line(&rest, &line) || !is_header(line)) return FORMAT_NOT_MINE;
    uint64_t *addresses = NULL;
    size_t n = 0, cap = 0;
    int rc = 0;
    struct piece maps = {"", 0};
    for (struct piece here = rest; !rc && text_line(&rest, &line); here = rest) {
        struct piece numbers = piece_trim(line);
        if (!numbers.n || *numbers.s == '#' || piece_starts(numbers, "slow release")) continue;
        if (piece_starts(numbers,
                         "---")) { /* the memory map, or the header again (a --raw file contains it twice) */
            if (is_header(numbers)) continue;
            while (!maps_is_sentinel(line) && text_line(&rest, &line)) {
            }
            maps = rest;
            break;
        }
        int64_t cycles, count;
        enum text_number got = take_numbers(&numbers, &cycles, &count);
        if (got == TEXT_NONE) {
            if (is_maps_line(line)) { /* no sentinel: brpc */
                maps = here;
                break;
            }
            const char *equals = memchr(line.s, '=', line.n);
            if (!equals || !take_key(line, equals, handler, &h))
                rc = legacy_bad_line(err, text, line, "not a record of a contention profile");
            continue;
        }
        n = 0;
        if (got == TEXT_TOO_LARGE || !legacy_take_addresses(numbers, &addresses, &n, &cap))
            rc = legacy_bad_line(err, text, line, "a number that does not fit in 64 bits");
        else
            rc = handler->record(handler->context, &h, cycles, count, addresses, n);
    }
    mem_free(addresses);
    if (rc) return rc;
    *ret_header = h;
    *ret_maps = maps;
    return 0;
}
