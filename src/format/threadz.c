/* threadz.c - reads "--- threadz 1 ---", the stacks of all threads of a server, with or without that first
 * line. */
#include "base/mem.h"
#include "format/format.h"
#include "format/legacy.h"

/* "--- Thread HEX (name: NAME/ID) stack: ---" */
static bool is_thread_line(struct piece line)
{
    const char *at = line.n ? memmem(line.s, line.n, "--- Thread ", 11) : NULL;
    if (!at) return false;
    struct piece rest = {at + 11, (size_t)(line.s + line.n - at - 11)};
    uint64_t ignored;
    return text_take_hex(&rest, &ignored) != TEXT_NONE && piece_take(&rest, " (name: ") &&
           piece_has(rest, ") stack: ---");
}

static bool is_threadz_line(struct piece line)
{
    const char *at = line.n ? memmem(line.s, line.n, "--- threadz ", 12) : NULL;
    if (!at) return false;
    struct piece rest = {at + 12, (size_t)(line.s + line.n - at - 12)};
    uint64_t ignored;
    return text_take_u64(&rest, &ignored) != TEXT_NONE && piece_starts(rest, " ---");
}

static bool is_comment(struct piece line)
{
    struct piece trimmed = piece_trim(line);
    return !trimmed.n || trimmed.s[0] == '#';
}

struct stack {
    uint64_t *addresses;
    size_t n, cap;
    bool same_as_previous;
};

/* Reads the lines of one thread. Afterwards *line is the line after them, or empty at the end of the text. */
static int read_stack(struct piece *rest, struct piece *line, struct stack *s, struct piece all,
                      struct err *err)
{
    s->n = 0;
    s->same_as_previous = false;
    while (text_line(rest, line)) {
        struct piece trimmed = piece_trim(*line);
        if (piece_starts(trimmed, "---")) return 0;
        if (piece_has(trimmed, "same as previous thread"))
            s->same_as_previous = true;
        else if (!legacy_take_addresses(trimmed, &s->addresses, &s->n, &s->cap))
            return legacy_bad_line(err, all, *line, "an address of more than 64 bits");
    }
    *line = (struct piece){"", 0};
    return 0;
}

static void add_stack(struct legacy *l, const struct stack *s)
{
    int64_t one = 1;
    if (s->same_as_previous || !s->n) {
        if (l->p->n_samples) l->p->sample_values[l->p->n_samples - 1]++;
        return;
    }
    legacy_frame(l, s->addresses[0]); /* the current instruction, not a return address */
    /* The first frame may occur twice, from the registers and from the stack. */
    for (size_t i = s->n > 1 && s->addresses[1] == s->addresses[0] ? 2 : 1; i < s->n; i++)
        legacy_frame(l, s->addresses[i] - 1);
    legacy_sample(l, &one);
}

static int read_threadz(const void *data, size_t len, const struct format_options *options,
                        struct profile *into, struct err *err)
{
    (void)options;
    struct piece all = {data, len}, rest = all, line;
    do
        if (!text_line(&rest, &line)) return FORMAT_NOT_MINE;
    while (is_comment(line));
    if (is_threadz_line(line)) {
        bool found = false; /* the first thread, or the map if there are no threads */
        while (!found && text_line(&rest, &line)) found = maps_is_sentinel(line) || piece_starts(line, "-");
        if (!found) line = (struct piece){"", 0};
    } else if (!is_thread_line(line)) {
        return FORMAT_NOT_MINE;
    }

    struct legacy l = {.p = into};
    struct stack stack = {0};
    profile_add_sample_type(into, "thread", "count");
    into->period_type = into->sample_types[0];
    into->period = 1;
    int rc = 0;
    while (!rc && line.n && !maps_is_sentinel(line) && !piece_starts(line, "---- no stack trace for")) {
        if (!is_thread_line(line)) {
            rc = legacy_bad_line(err, all, line, "not the head of a thread's stack");
            break;
        }
        rc = read_stack(&rest, &line, &stack, all, err);
        if (!rc) add_stack(&l, &stack);
    }
    while (!maps_is_sentinel(line) && text_line(&rest, &line)) {
    }
    if (!rc) legacy_finish(&l, rest, LEGACY_OTHER);
    legacy_free(&l);
    mem_free(stack.addresses);
    return rc;
}

const struct format_reader format_threadz = {"threadz", read_threadz};
