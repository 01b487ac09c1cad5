/* jemalloc_text.c - the text of prof.dump, as samples.
 *
 *     heap_v2/524288
 *       t*: 3: 6291456 [0: 0]
 *       ...
 *     @ 0x55d0c0ffee 0x7f0102030405
 *       t*: 3: 6291456 [0: 0]
 *       t0: 3: 6291456 [0: 0]
 *
 *     MAPPED_LIBRARIES:
 *
 * jeprof scales these numbers by 1 / (1 - exp(-mean size / rate)), stack by stack. jemalloc has adjusted them
 * so that this gives the right sum for mixed sizes too (opt.prof_unbias). The same is done here, once, so
 * that samples carry true values.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/heap/jemalloc.h"
#include "agent/hot/heap_poisson.h"

#define MAX_FRAMES 256

struct text {
    const char *p, *end;
};

static bool next_line(struct text *t, struct text *ret_line)
{
    if (t->p == t->end) return false;
    const char *newline = memchr(t->p, '\n', (size_t)(t->end - t->p));
    *ret_line = (struct text){t->p, newline ? newline : t->end};
    t->p = newline ? newline + 1 : t->end;
    return true;
}

static bool take(struct text *t, const char *word)
{
    size_t n = strlen(word);
    while (t->p < t->end && *t->p == ' ' && *word != ' ') t->p++;
    if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n)) return false;
    t->p += n;
    return true;
}

static bool number(struct text *t, unsigned base, uint64_t *ret_value)
{
    uint64_t value = 0;
    bool any = false;
    while (t->p < t->end && *t->p == ' ') t->p++;
    for (; t->p < t->end; t->p++) {
        unsigned c = (unsigned char)*t->p, digit = c - '0' < 10         ? c - '0'
                                                   : (c | 32) - 'a' < 6 ? (c | 32) - 'a' + 10
                                                                        : 99;
        if (digit >= base || value > UINT64_MAX / base) break;
        value = value * base + digit;
        any = true;
    }
    *ret_value = value;
    return any;
}

/* "n: b [N: B]" */
static bool counts(struct text *t, uint64_t v[4])
{
    return number(t, 10, &v[0]) && take(t, ":") && number(t, 10, &v[1]) && take(t, "[") &&
           number(t, 10, &v[2]) && take(t, ":") && number(t, 10, &v[3]) && take(t, "]");
}

static void unbias(uint64_t count, uint64_t bytes, double rate, int64_t *ret_count, int64_t *ret_bytes)
{
    /* jemalloc may round a count to 0 and keep the bytes. One object is the best guess then. */
    double n = count ? (double)count : bytes ? 1 : 0;
    double weight = n > 0 && bytes ? poisson_weight((double)bytes / n, rate) : 1;
    *ret_count = (int64_t)(n * weight + 0.5);
    *ret_bytes = (int64_t)((double)bytes * weight + 0.5);
}

int jemalloc_text_parse(const char *text, size_t n_bytes, struct output *o, struct err *err)
{
    struct text t = {text, text + n_bytes}, line;
    uint64_t rate, pc, v[4];
    uintptr_t pcs[MAX_FRAMES];
    unsigned n_pcs = 0;
    bool has_stack = false, is_whole = false;
    if (!next_line(&t, &line) || !take(&line, "heap_v2/") || !number(&line, 10, &rate))
        return err_set(err, ERR_INPUT, "jemalloc's dump does not start with heap_v2/RATE");
    o->period = (int64_t)rate;
    while (!is_whole && next_line(&t, &line)) {
        if (take(&line, "MAPPED_LIBRARIES")) {
            is_whole = true;
        } else if (take(&line, "@")) {
            for (n_pcs = 0; n_pcs < MAX_FRAMES && take(&line, "0x") && number(&line, 16, &pc); n_pcs++)
                pcs[n_pcs] = (uintptr_t)pc;
            has_stack = true;
        } else if (has_stack && take(&line, "t*:") && counts(&line, v)) {
            int64_t values[4];
            unbias(v[0], v[1], (double)rate, &values[2], &values[3]);
            unbias(v[2], v[3], (double)rate, &values[0], &values[1]);
            if (values[0] | values[1] | values[2] | values[3])
                output_add(o, pcs, n_pcs, true, values, NULL, 0);
            has_stack = false;
        }
    }
    if (!is_whole)
        return err_set(
            err, ERR_INPUT,
            "jemalloc's dump ends before its list of libraries: it is still being written, or was cut");
    return 0;
}
