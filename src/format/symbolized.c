/* symbolized.c - see symbolized.h. It also has the reader that makes a profile from such a file. */
#include "format/symbolized.h"

#include "base/idmap.h"
#include "base/mem.h"
#include "format/format.h"
#include "format/legacy.h"

bool symbolized_next(struct piece *names, uint64_t *ret_address, struct piece *ret_names)
{
    struct piece line;
    while (text_line(names, &line)) {
        if (!piece_take(&line, "0x") || text_take_hex(&line, ret_address) != TEXT_GOOD ||
            !piece_skip_blanks(&line))
            continue;
        *ret_names = piece_trim(line);
        if (ret_names->n) return true;
    }
    return false;
}

bool symbolized_split(struct piece text, struct symbolized *ret)
{
    struct piece rest = legacy_skip_commands(text), line;
    if (!text_line(&rest, &line) || !piece_take(&line, "---")) return false;
    piece_skip(&line, " ");
    if (!piece_starts(line, "symbol")) return false;
    struct symbolized s = {.binary = {"", 0}, .names = rest};
    while (text_line(&rest, &line) && !piece_starts(line, "---")) {
        s.names.n = (size_t)(line.s + line.n - s.names.s);
        if (piece_take(&line, "binary=")) s.binary = piece_trim(line);
    }
    /* A body with its own header follows "--- heap" and "--- growth", and binary data follows "---
     * profile". "--- contention" is the header of its body and often occurs twice. */
    struct piece marker = rest;
    if (text_line(&marker, &line) && piece_take(&line, "---")) {
        piece_skip(&line, " ");
        if (piece_starts(line, "heap") || piece_starts(line, "growth") || piece_starts(line, "profile"))
            rest = marker;
    }
    s.body = rest;
    *ret = s;
    return true;
}

/* Adds the lines for "outer--inner". A profile lists the innermost frame first. */
static void add_names(struct profile *p, struct location *l, struct piece names, struct idmap *functions)
{
    l->first_line = (uint32_t)p->n_lines;
    while (names.n) {
        size_t start = names.n;
        while (start > 0 && !(start >= 2 && names.s[start - 1] == '-' && names.s[start - 2] == '-')) start--;
        struct piece name = {names.s + start, names.n - start};
        names.n = start >= 2 ? start - 2 : 0;
        if (!name.n) continue;
        bool is_new;
        uint32_t string = profile_string(p, name.s, name.n),
                 *function = idmap_slot(functions, string, &is_new);
        if (is_new) *function = profile_add_function(p, string, string, 0, 0);
        *VEC_PUSH(p->lines, p->n_lines, p->cap_lines) = (struct line){.function = *function};
        l->n_lines++;
    }
}

static void name_locations(struct profile *p, struct piece names)
{
    struct idmap by_address = {0}, functions = {0};
    struct piece *found = NULL, text;
    size_t n = 0, cap = 0;
    uint64_t address;
    while (symbolized_next(&names, &address, &text)) {
        *idmap_slot(&by_address, address, NULL) = (uint32_t)n;
        *VEC_PUSH(found, n, cap) = text;
    }
    for (size_t i = 0; i < p->n_locations; i++) {
        struct location *l = &p->locations[i];
        uint32_t index;
        /* jeprof looks up the recorded leaf address in heap profiles and the address minus one in CPU
         * profiles. This profile stores them the other way round. */
        if (!idmap_find(&by_address, l->address, &index) &&
            !idmap_find(&by_address, l->address + 1, &index) &&
            !idmap_find(&by_address, l->address - 1, &index))
            continue;
        add_names(p, l, found[index], &functions);
        if (l->mapping) p->mappings[l->mapping - 1].has_functions = true;
    }
    mem_free(found);
    idmap_free(&by_address);
    idmap_free(&functions);
}

static int read_symbolized(const void *data, size_t len, const struct format_options *options,
                           struct profile *into, struct err *err)
{
    struct symbolized s;
    if (!symbolized_split((struct piece){data, len}, &s)) return FORMAT_NOT_MINE;
    const struct format_reader *const readers[] = {&format_cpu, &format_heap, &format_contention};
    int rc = FORMAT_NOT_MINE;
    for (size_t i = 0; rc == FORMAT_NOT_MINE && i < sizeof readers / sizeof *readers; i++)
        rc = readers[i]->read(s.body.s, s.body.n, options, into, err);
    if (rc == FORMAT_NOT_MINE)
        return err_set(err, ERR_INPUT, "there is no profile we know after the list of symbols");
    if (rc) return rc;
    name_locations(into, s.names);
    if (s.binary.n && into->n_mappings && !into->mappings[0].filename)
        into->mappings[0].filename = profile_string(into, s.binary.s, s.binary.n);
    return 0;
}

const struct format_reader format_symbolized = {"jeprof --raw", read_symbolized};
