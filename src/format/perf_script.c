/* perf_script.c - the text that `perf script` prints, into a profile.
 *
 *   comm  pid/tid [cpu] 123.456789:     250000 cpu-clock:pppH:
 *           7f1234 function+0x12 (/path/of/object)
 *           401136 inlined_callee (inlined)
 *   (a blank line ends the stack)
 *
 * Fields vary with perf's options; what is looked for is: a number (pid or pid/tid) that is followed by [cpu]
 * or a time, and an event name that ends in ':'. Named frames become locations without an address (perf has
 * named them already); unknown ones keep theirs.
 */
#include "base/idmap.h"
#include "base/mem.h"
#include "format/format.h"
#include "format/legacy.h"

struct event {
    struct piece comm, name;
    int64_t pid, tid;  /* -1 if not recorded */
    int64_t period;    /* -1 if not recorded */
    struct piece rest; /* text after the event's name; without call chains it is a stack of one frame */
};

static struct piece take_word(struct piece *p)
{
    piece_skip_blanks(p);
    struct piece word = {p->s, 0};
    while (word.n < p->n && !text_is_blank(p->s[word.n])) word.n++;
    p->s += word.n;
    p->n -= word.n;
    return word;
}

static bool is_cpu(struct piece word) /* [003] */
{
    uint64_t number;
    return piece_take(&word, "[") && text_take_u64(&word, &number) == TEXT_GOOD && piece_is(word, "]");
}

static bool is_time(struct piece word) /* 123.456: */
{
    uint64_t number;
    return text_take_u64(&word, &number) != TEXT_NONE && piece_take(&word, ".") &&
           text_take_u64(&word, &number) != TEXT_NONE && piece_is(word, ":");
}

static bool take_ids(struct piece word, struct event *e) /* 12 or 12/34 */
{
    e->tid = -1;
    if (text_take_i64(&word, &e->pid) != TEXT_GOOD || e->pid < 0) return false;
    if (piece_take(&word, "/") && (text_take_i64(&word, &e->tid) != TEXT_GOOD || e->tid < 0)) return false;
    return !word.n;
}

static bool parse_event(struct piece line, struct event *e)
{
    *e = (struct event){.pid = -1, .tid = -1, .period = -1};
    struct piece rest = line, word = take_word(&rest);
    if (!word.n || word.s != line.s) return false; /* frames are indented, events are not */
    e->comm = word;
    for (;;) { /* the name of a program may contain blanks and numbers */
        word = take_word(&rest);
        if (!word.n) return false;
        struct piece after = rest, next = take_word(&after);
        if ((is_cpu(next) || is_time(next)) && take_ids(word, e)) break;
        if (is_time(word)) break; /* comm,time only */
        e->comm.n = (size_t)(word.s + word.n - e->comm.s);
    }
    do word = take_word(&rest);
    while (is_cpu(word) || is_time(word));
    struct piece digits = word;
    int64_t period;
    if (text_take_i64(&digits, &period) == TEXT_GOOD && !digits.n && period >= 0) {
        e->period = period;
        word = take_word(&rest);
    }
    if (word.n < 2 || word.s[word.n - 1] != ':') return false;
    e->name = (struct piece){word.s, word.n - 1};
    e->rest = piece_trim(rest);
    return true;
}

struct building {
    struct profile *p;
    struct idmap locations, functions, mappings;
    uint32_t *frames;
    size_t n_frames, cap_frames;
    struct piece first_event;
    bool with_period;
};

static bool ends_with(struct piece p, char c)
{
    return p.n && p.s[p.n - 1] == c;
}

/* "address symbol+0x12 (object)" or "address [unknown] (object)". */
static bool take_frame(struct building *b, struct piece line)
{
    uint64_t address;
    line = piece_trim(line);
    if (text_take_hex(&line, &address) != TEXT_GOOD || !piece_skip_blanks(&line) || !ends_with(line, ')'))
        return false;
    size_t open = line.n - 1;
    while (open > 0 && !(line.s[open] == '(' && (open == 0 || line.s[open - 1] == ' '))) open--;
    struct piece object = {line.s + open + 1, line.n - open - 2},
                 symbol = piece_trim((struct piece){line.s, open});
    if (line.s[open] != '(') return false;
    bool inlined = piece_is(object, "inlined");
    if (inlined || piece_is(object, "[unknown]")) object = (struct piece){"", 0};
    for (size_t i = symbol.n; i-- > 1;) { /* without "+0x12" */
        if (text_hex_digit(symbol.s[i]) >= 0) continue;
        if (symbol.s[i] == 'x' && i >= 2 && symbol.s[i - 1] == '0' && symbol.s[i - 2] == '+' &&
            i + 1 < symbol.n)
            symbol.n = i - 2;
        break;
    }
    struct profile *p = b->p;
    bool known = symbol.n && !piece_is(symbol, "[unknown]"), is_new;
    uint32_t object_string = profile_string(p, object.s, object.n),
             name = known ? profile_string(p, symbol.s, symbol.n) : 0, mapping = 0;
    if (object_string) {
        uint32_t *slot = idmap_slot(&b->mappings, object_string, &is_new);
        if (is_new) *slot = profile_add_mapping(p, 0, 0, 0, object_string, 0) + 1;
        mapping = *slot;
        if (known) p->mappings[mapping - 1].has_functions = true;
    }
    /* A named frame has one location per name and object, an unknown frame one per address and object. The
     * two kinds have separate keys. */
    uint64_t key =
        known ? (uint64_t)name << 32 | mapping : hash_u64(address ^ hash_u64(mapping)) | 1ull << 63;
    uint32_t *location = idmap_slot(&b->locations, key, &is_new);
    if (is_new) {
        *location = profile_add_location(p, known ? 0 : address, mapping);
        if (known) {
            bool new_function;
            uint32_t *function = idmap_slot(&b->functions, name, &new_function);
            if (new_function) *function = profile_add_function(p, name, name, 0, 0);
            profile_add_line(p, *function, 0, 0);
        }
    }
    *VEC_PUSH(b->frames, b->n_frames, b->cap_frames) = *location;
    return true;
}

static void set_types(struct building *b, const struct event *e)
{
    struct profile *p = b->p;
    b->first_event = e->name;
    b->with_period = e->period >= 0;
    profile_add_sample_type(p, "samples", "count");
    if (!b->with_period) return;
    struct piece name = e->name; /* "cycles:ppp" -> "cycles" */
    const char *colon = memchr(name.s, ':', name.n);
    if (colon && colon > name.s && name.s[0] != ':') name.n = (size_t)(colon - name.s);
    char *type = mem_strndup(name.s, name.n);
    bool clock = piece_is(name, "cpu-clock") || piece_is(name, "task-clock");
    profile_add_sample_type(p, clock ? "cpu" : type, clock ? "nanoseconds" : "count");
    p->period_type = p->sample_types[1];
    p->period = e->period;
    mem_free(type);
}

static void end_sample(struct building *b, struct event *e)
{
    if (!e->name.n) return;
    struct profile *p = b->p;
    if (!p->n_sample_types) set_types(b, e);
    int64_t values[2] = {1, e->period >= 0 ? e->period : 0};
    profile_add_sample(p, b->frames, b->n_frames, values);
    profile_add_label_str(p, profile_cstr(p, "thread"), profile_string(p, e->comm.s, e->comm.n));
    if (e->pid >= 0) profile_add_label_num(p, profile_cstr(p, "pid"), e->pid, 0);
    if (e->tid >= 0) profile_add_label_num(p, profile_cstr(p, "tid"), e->tid, 0);
    if (e->name.n != b->first_event.n || memcmp(e->name.s, b->first_event.s, e->name.n))
        profile_add_label_str(p, profile_cstr(p, "event"), profile_string(p, e->name.s, e->name.n));
    b->n_frames = 0;
    *e = (struct event){0};
}

/* The first line that is neither blank nor a comment is an event. */
static bool looks_like_perf(struct piece text)
{
    struct piece line;
    struct event e;
    while (text_line(&text, &line))
        if (piece_trim(line).n && *line.s != '#') return parse_event(line, &e);
    return false;
}

static int read_perf_script(const void *data, size_t len, const struct format_options *options,
                            struct profile *into, struct err *err)
{
    (void)options;
    struct piece all = {data, len}, rest = all, line;
    if (!looks_like_perf(all)) return FORMAT_NOT_MINE;
    struct building b = {.p = into};
    struct event event = {0}, next;
    int rc = 0;
    while (!rc && text_line(&rest, &line)) {
        if (!piece_trim(line).n) {
            end_sample(&b, &event);
        } else if (*line.s == '#') {
            continue;
        } else if (!text_is_blank(*line.s)) {
            end_sample(&b, &event); /* without call chains no blank line separates the events */
            if (!parse_event(line, &next))
                rc = legacy_bad_line(err, all, line, "neither an event nor a frame of perf script");
            else if (event = next, event.rest.n)
                take_frame(&b, event.rest);
        } else if (!event.name.n || !take_frame(&b, line)) {
            rc = legacy_bad_line(err, all, line, "not a frame of perf script");
        }
    }
    if (!rc) end_sample(&b, &event);
    idmap_free(&b.locations);
    idmap_free(&b.functions);
    idmap_free(&b.mappings);
    mem_free(b.frames);
    return rc;
}

const struct format_reader format_perf_script = {"perf script", read_perf_script};
