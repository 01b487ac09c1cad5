/* jfr_events.c - counts the events of a chunk per distinct place, by the chunk's ids of stacks, threads and
 * classes. Events with equal bytes are combined, so that only distinct events are decoded. See jfr.h. */
#include <endian.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/jfr/jfr.h"

enum {
    THREAD,
    STACK,
    STATE,
    CLASS,
    SIZE,
    WEIGHT,
    SAMPLES,
    TIME_SPAN,
    ADDRESS,
    PERIOD,
    FAILED,
    TIME,
    DURATION,
    ID,
    NAME,
    VALUE
};

struct jfr_handler {
    uint64_t type;
    void (*take)(struct jfr_events *e, const struct jfr_handler *handler, union jfr_slot *slots);
    struct jfr_program program;
    struct jfr_program behind_time; /* the same without the first field, the time */
    bool may_repeat;                /* two events of the same place differ only in their time */
    bool is_left_out;               /* the caller does not need this kind */
    enum jfr_kind kind;
    uint16_t index;
    union jfr_slot slots[JFR_MAX_SLOTS]; /* of the current event; fields that the type lacks stay 0 */
};

enum { N_WEIGHTS = 1024, N_REPEATS = 8192, SMALL_TYPES = 16384, ROW = 64 };

struct jfr_weight { /* what one sampled object stands for */
    int64_t size, bytes;
    double n;
};

struct jfr_repeat { /* the bytes of an event; see "events that differ only in their time" */
    uint64_t bytes[2];
    uint16_t n_bytes, handler;
    uint32_t unused;  /* makes two of these fill a cache line */
    uint64_t n_times; /* 0 if the entry is free */
};

enum jfr_action { JFR_PASS_OVER, JFR_REPEAT, JFR_TAKE };
struct jfr_record_type {    /* what to do with records of a type */
    uint32_t left_out_seen; /* bit of its kind if that is left out, else 0 */
    uint16_t handler;       /* index in handlers + 1; 0 if none */
    uint8_t action;         /* enum jfr_action */
    bool is_setting;
};

struct jfr_row {                          /* events whose handler has may_repeat */
    const uint8_t *begin[ROW], *end[ROW]; /* after size and type */
    uint16_t handler[ROW];
    size_t n;
};

struct jfr_event_tables {
    struct jfr_weight weights[N_WEIGHTS];
    struct jfr_repeat repeats[N_REPEATS];        /* empty between chunks */
    struct jfr_record_type by_type[SMALL_TYPES]; /* for type ids below SMALL_TYPES; all 0 between chunks */
};

struct jfr_event_tables *jfr_event_tables_new(void)
{
    return mem_zalloc(sizeof(struct jfr_event_tables));
}

void jfr_event_tables_free(struct jfr_event_tables *tables)
{
    mem_free(tables);
}

static inline void count(struct jfr_events *e, const struct jfr_handler *h, const union jfr_slot *slots,
                         double n, int64_t value)
{
    struct jfr_count key = {.stack = slots[STACK].number,
                            .thread = slots[THREAD].number,
                            .class_id = slots[CLASS].number,
                            .kind = h->kind,
                            .state =
                                h->program.found & 1u << STATE ? (uint32_t)slots[STATE].number : JFR_NO_STATE,
                            .n = n * (double)e->n_times,
                            .value = value};
    if (e->n_times > 1 && __builtin_mul_overflow(value, e->n_times, &key.value)) key.value = INT64_MAX;
    jfr_count_add(e->counts, &key);
}

static inline int64_t positive(uint64_t value)
{
    return value > INT64_MAX ? 0 : (int64_t)value;
}

/* ---- what an event stands for ---- */

static void take_sample(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    count(e, h, slots, 1, 0);
}

static int64_t ns_of_ticks(const struct jfr_events *e, uint64_t ticks)
{
    return jfr_rounded((double)positive(ticks) * e->ns_per_tick);
}

static void take_cpu_time(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    if (slots[FAILED].number) {
        e->n_failed += (size_t)e->n_times;
        slots[STACK].number = 0;
    }
    count(e, h, slots, 1, ns_of_ticks(e, slots[PERIOD].number));
}

static void take_wall(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    double n = h->program.found & 1u << SAMPLES ? (double)positive(slots[SAMPLES].number) : 1;
    count(e, h, slots, n, ns_of_ticks(e, slots[TIME_SPAN].number));
}

/* Returns how many bytes a sampled object of `size` bytes stands for. The JVM samples at random distances of
 * `interval` bytes on average, so it finds an object with the probability 1 - exp(-size / interval). The size
 * is divided by this probability. */
static double bytes_represented(double size, double interval)
{
    if (size <= 0) return interval;
    if (interval <= 1) return size;
    return size / -expm1(-size / interval);
}

static void take_bytes(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots,
                       double weight)
{
    double size = (double)positive(slots[SIZE].number);
    count(e, h, slots, size > 0 ? weight / size : 1, jfr_rounded(weight));
}

/* Caches the weight by object size, because few sizes occur many times. */
static const struct jfr_weight *weight_of(struct jfr_events *e, int64_t size)
{
    struct jfr_weight *w = &e->tables->weights[(size >> 3 ^ size >> 13) & (N_WEIGHTS - 1)];
    if (w->size == size && w->n > 0) return w;
    double bytes = bytes_represented((double)size, e->settings->alloc_bytes);
    *w = (struct jfr_weight){size, jfr_rounded(bytes), size > 0 ? bytes / (double)size : 1};
    return w;
}

static void take_sampled(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    const struct jfr_weight *w = weight_of(e, positive(slots[SIZE].number));
    count(e, h, slots, w->n, w->bytes);
}

static void take_alloc(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    int64_t size = positive(slots[SIZE].number), interval = (int64_t)e->settings->alloc_bytes;
    int64_t recorded = h->program.found & 1u << WEIGHT ? positive(slots[WEIGHT].number) : size;
    if (e->as_recorded)
        count(e, h, slots, 1, recorded);
    else if (interval > 0 &&
             recorded ==
                 (size > interval ? size : interval)) /* async-profiler records a sampled object this way */
        take_sampled(e, h, slots);
    else /* a new allocation buffer of a thread: count all of it, whatever the object's size */
        take_bytes(e, h, slots, (double)(recorded > size ? recorded : size));
}

static void take_alloc_sample(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    /* jdk.ObjectAllocationSample has a weight but no size, so the number of objects is unknown. */
    count(e, h, slots, 1, positive(slots[WEIGHT].number));
}

static void take_live(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    int64_t size = positive(slots[SIZE].number);
    e->n_live_objects += (size_t)e->n_times;
    if (e->as_recorded)
        count(e, h, slots, 1, size);
    else
        take_sampled(e, h, slots);
}

/* Waits are sampled in proportion to their length, so a wait shorter than the interval stands for one whole
 * interval. */
static void take_wait(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    double ns = (double)ns_of_ticks(e, slots[DURATION].number);
    double interval_ns = h->kind == JFR_NATIVE_LOCK ? e->settings->native_lock_ns : e->settings->lock_ns;
    if (e->as_recorded || ns >= interval_ns || ns <= 0)
        count(e, h, slots, 1, (int64_t)ns);
    else
        count(e, h, slots, interval_ns / ns, (int64_t)interval_ns);
}

static void add_block(struct jfr_events *e, const struct jfr_block *block)
{
    if (e->too_many_blocks) return;
    if (atomic_fetch_add_explicit(e->n_chunk_blocks, 1, memory_order_relaxed) < JFR_MAX_BLOCKS) {
        *VEC_PUSH(e->blocks, e->n_blocks, e->cap_blocks) = *block;
        return;
    }
    e->too_many_blocks = true;
    mem_free(e->blocks);
    e->blocks = NULL;
    e->n_blocks = e->cap_blocks = 0;
}

static void take_malloc(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    int64_t size = positive(slots[SIZE].number), weight = size;
    if (!e->as_recorded && weight < (int64_t)e->settings->malloc_bytes)
        weight = (int64_t)e->settings->malloc_bytes;
    double n = e->as_recorded || !size ? 1 : (double)weight / (double)size;
    count(e, h, slots, n, weight);
    add_block(e, &(struct jfr_block){slots[TIME].number, slots[ADDRESS].number, slots[STACK].number,
                                     slots[THREAD].number, n, weight});
}

static void take_free(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    (void)h;
    add_block(e,
              &(struct jfr_block){.time = slots[TIME].number, .address = slots[ADDRESS].number, .bytes = -1});
}

/* ---- settings: the sampling intervals ---- */

/* Limits the reader to the longest encoding of n characters, because many settings may refer to one very long
 * string. */
static struct rd short_text_at(const struct jfr_events *e, const uint8_t *at, size_t n)
{
    size_t reach = 1 + 9 + n * 9, left = (size_t)(e->end - at);
    return rd_over(at, left < reach ? left : reach);
}

/* Copies a text of fewer than `size` characters; a longer text becomes empty or is cut. Returns false if the
 * text is a reference to a missing pool entry. */
static bool text_into(struct jfr_events *e, const uint8_t *at, char *into, size_t size)
{
    struct rd r = short_text_at(e, at, size);
    struct jfr_string s = jfr_read_string(&r);
    if (s.form == JFR_STRING_POOL) {
        const struct jfr_pools *pools = e->get_pools(e->context);
        const struct jfr_entry *entry = jfr_pool_find(&pools->pools[JFR_POOL_STRING], s.pool_id);
        if (!entry) return false;
        r = short_text_at(e, entry->at, size);
        s = jfr_read_string(&r);
    }
    size_t n = 0;
    if (s.form == JFR_STRING_UTF8 || s.form == JFR_STRING_LATIN1) {
        n = s.n < size ? s.n : size - 1;
        memcpy(into, s.bytes, n);
    } else if (s.form == JFR_STRING_CHARS) {
        r = (struct rd){.p = s.bytes, .end = e->end};
        for (; n < s.n && n + 1 < size; n++) into[n] = (char)jfr_varint(&r);
    }
    into[n] = 0;
    return true;
}

/* Parses "20 ms", "1 s" or "10000000" into nanoseconds, or into the plain number without a unit. Returns 0 if
 * the text is not an amount or is out of range. */
static double parse_amount(const char *text)
{
    const double most = 1e18; /* more than thirty years in nanoseconds, and fits into 64 bits */
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    char *end;
    double value = strtod(text, &end);
    if (end == text || !(value >= 0) || value > most) return 0;
    while (*end == ' ') end++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(end, units[i].unit)) return value * units[i].factor > most ? 0 : value * units[i].factor;
    return *end ? 0 : value;
}

/* Whether this is the JDK's sampling interval. */
static bool is_period(const char *name, const char *type)
{
    return !strcmp(name, "period") && !strcmp(type, "jdk.ExecutionSample");
}

/* Stores the event that async-profiler sampled by, or "" if it is a clock. */
static void set_event(struct jfr_settings *s, const char *event)
{
    static const char *const clocks[] = {"cpu", "ctimer", "itimer", "wall", "cpu-clock", "task-clock"};
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
        if (!strcmp(event, clocks[i])) event = "";
    char column[sizeof s->event];
    snprintf(column, sizeof column, "%s", event);
    for (char *c = column; *c; c++)
        if (*c <= ' ' || *c > '~') *c = '_';
    if (!strcmp(s->event, column)) return;
    memcpy(s->event, column, sizeof column);
    s->n_changes++;
}

/* Returns the setting with this name; type is the event type that it belongs to. Returns NULL for a setting
 * that the reader does not use. */
static double *setting_named(struct jfr_settings *s, const char *name, const char *type)
{
    if (!strcmp(name, "interval") || is_period(name, type)) return &s->cpu_ns;
    if (!strcmp(name, "wall")) return &s->wall_ns;
    if (!strcmp(name, "alloc")) return &s->alloc_bytes;
    if (!strcmp(name, "lock")) return &s->lock_ns;
    if (!strcmp(name, "nativelock")) return &s->native_lock_ns;
    if (!strcmp(name, "nativemem")) return &s->malloc_bytes;
    return NULL;
}

static void take_setting(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    char name[32], value[64];
    if (e->settings_known || !(h->program.found & 1u << NAME) || !(h->program.found & 1u << VALUE)) return;
    if (!text_into(e, slots[NAME].at, name, sizeof name) ||
        !text_into(e, slots[VALUE].at, value, sizeof value))
        return;
    const struct jfr_type *about = jfr_type_by_id(e->types, slots[ID].number);
    const char *type = about ? about->name : "";
    if (!strcmp(name, "event") && !strcmp(type, "jdk.ActiveRecording")) set_event(e->settings, value);
    double amount = parse_amount(value), *setting = setting_named(e->settings, name, type);
    if (!setting || (amount <= 0 && strcmp(value, "0")) || *setting == amount)
        return; /* "0" selects the default */
    if (is_period(name, type)) set_event(e->settings, "");
    *setting = amount;
    e->settings->n_changes++;
    memset(e->tables->weights, 0, sizeof e->tables->weights);
}

double jfr_cpu_ns(const struct jfr_settings *settings)
{
    /* The intervals that async-profiler uses by default. It is 1 for events that are not listed. */
    static const struct {
        const char *event;
        double interval;
    } defaults[] = {{"", 10e6},
                    {"cycles", 1e6},
                    {"instructions", 1e6},
                    {"cache-references", 1e6},
                    {"cache-misses", 1e3},
                    {"branch-instructions", 1e6},
                    {"branches", 1e6},
                    {"branch-misses", 1e3},
                    {"bus-cycles", 1e6},
                    {"ref-cycles", 1e6},
                    {"L1-dcache-load-misses", 1e6},
                    {"LLC-load-misses", 1e3},
                    {"dTLB-load-misses", 1e3},
                    {"context-switches", 2}};
    if (settings->cpu_ns > 0) return settings->cpu_ns;
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (!strcmp(settings->event, defaults[i].event)) return defaults[i].interval;
    return 1;
}

double jfr_wall_ns(const struct jfr_settings *settings)
{
    if (settings->wall_ns > 0) return settings->wall_ns;
    return settings->cpu_ns > 0 && !*settings->event ? settings->cpu_ns : 50e6;
}

/* ---- which event is what ---- */

static const struct jfr_want wanted[] = {{"sampledThread", THREAD, JFR_NUMBER},
                                         {"eventThread", THREAD, JFR_NUMBER},
                                         {"stackTrace", STACK, JFR_NUMBER},
                                         {"state", STATE, JFR_NUMBER},
                                         {"objectClass", CLASS, JFR_NUMBER},
                                         {"monitorClass", CLASS, JFR_NUMBER},
                                         {"parkedClass", CLASS, JFR_NUMBER},
                                         {"allocationSize", SIZE, JFR_NUMBER},
                                         {"size", SIZE, JFR_NUMBER},
                                         {"tlabSize", WEIGHT, JFR_NUMBER},
                                         {"weight", WEIGHT, JFR_NUMBER},
                                         {"samples", SAMPLES, JFR_NUMBER},
                                         {"timeSpan", TIME_SPAN, JFR_NUMBER},
                                         {"samplingPeriod", PERIOD, JFR_NUMBER},
                                         {"failed", FAILED, JFR_NUMBER},
                                         {"duration", DURATION, JFR_NUMBER},
                                         {0}};
static const struct jfr_want wanted_block[] = {
    {"startTime", TIME, JFR_NUMBER},  {"eventThread", THREAD, JFR_NUMBER}, {"stackTrace", STACK, JFR_NUMBER},
    {"address", ADDRESS, JFR_NUMBER}, {"size", SIZE, JFR_NUMBER},          {0}};
static const struct jfr_want wanted_setting[] = {
    {"id", ID, JFR_NUMBER}, {"name", NAME, JFR_TEXT}, {"value", VALUE, JFR_TEXT}, {0}};

static const struct {
    const char *name;
    enum jfr_kind kind;
    void (*take)(struct jfr_events *e, const struct jfr_handler *handler, union jfr_slot *slots);
    const struct jfr_want *wanted;
} event_types[] = {
    {"jdk.ExecutionSample", JFR_CPU, take_sample, wanted},
    {"jdk.NativeMethodSample", JFR_NATIVE, take_sample, wanted},
    {"jdk.CPUTimeSample", JFR_CPU_TIME, take_cpu_time, wanted},
    {"profiler.WallClockSample", JFR_WALL, take_wall, wanted},
    {"jdk.ObjectAllocationInNewTLAB", JFR_ALLOC, take_alloc, wanted},
    {"jdk.ObjectAllocationOutsideTLAB", JFR_ALLOC, take_alloc, wanted},
    {"jdk.ObjectAllocationSample", JFR_ALLOC_SAMPLE, take_alloc_sample, wanted},
    {"profiler.LiveObject", JFR_LIVE, take_live, wanted},
    {"jdk.JavaMonitorEnter", JFR_LOCK, take_wait, wanted},
    {"jdk.ThreadPark", JFR_PARK, take_wait, wanted},
    {"profiler.NativeLock", JFR_NATIVE_LOCK, take_wait, wanted},
    {"profiler.Malloc", JFR_MALLOC, take_malloc, wanted_block},
    {"profiler.Free", JFR_MALLOC, take_free, wanted_block},
    {"jdk.ActiveSetting", JFR_CPU, take_setting, wanted_setting},
};

/* ---- events that differ only in their time ----
 *
 * Most samples and allocations equal a recent one in all bytes after the time. A table holds the bytes of
 * recent events and counts the repetitions. An event is decoded only when another one takes its entry. */

enum { MAX_REPEAT_BYTES = 16, MAX_REPEAT_STEPS = 12, REPEAT_REACH = 9 + 16 };

static bool is_repeatable(const struct jfr_types *types, const struct jfr_type *type,
                          const struct jfr_handler *h)
{
    const uint32_t never = 1u << TIME | 1u << DURATION | 1u << TIME_SPAN | 1u << ADDRESS;
    return h->program.is_plain && h->program.n_steps > 1 && h->program.n_steps <= MAX_REPEAT_STEPS &&
           !(h->program.found & never) && !strcmp(types->fields[type->first_field].name, "startTime") &&
           h->program.steps[0].op == JFR_OP_VARINT;
}

static void take_repeats(struct jfr_events *e, struct jfr_repeat *repeat)
{
    uint8_t bytes[MAX_REPEAT_BYTES + MAX_REPEAT_STEPS * 9 + 8] = {0};
    struct jfr_handler *h = &e->handlers[repeat->handler];
    memcpy(bytes, repeat->bytes, sizeof repeat->bytes);
    const uint8_t *end = jfr_run_plain(&h->behind_time, bytes, h->slots);
    e->n_times = (int64_t)repeat->n_times;
    if (end <= bytes + repeat->n_bytes) h->take(e, h, h->slots);
    e->n_times = 1;
    repeat->n_times = 0;
}

/* Counts an event of a handler that has may_repeat. REPEAT_REACH bytes must be readable from `at`. Returns
 * false if the event is too long for the table. */
static inline bool count_repeat(struct jfr_events *e, uint16_t handler, const uint8_t *at, const uint8_t *end)
{
    static const uint8_t ones_then_zeros[2 * MAX_REPEAT_BYTES] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                                  255, 255, 255, 255, 255, 255, 255, 255};
    uint64_t a, b, mask_a, mask_b;
    memcpy(&a, at, 8);
    uint64_t ends = ~le64toh(a) & 0x8080808080808080u;
    at += ends ? ((unsigned)__builtin_ctzll(ends) + 1) / 8 : 9;
    if (at > end || end - at > MAX_REPEAT_BYTES) return false;
    size_t n_bytes = (size_t)(end - at);
    const uint8_t *mask = ones_then_zeros + MAX_REPEAT_BYTES - n_bytes;
    memcpy(&a, at, 8);
    memcpy(&b, at + 8, 8);
    memcpy(&mask_a, mask, 8);
    memcpy(&mask_b, mask + 8, 8);
    a &= mask_a, b &= mask_b;
    uint64_t hash = (a ^ handler) * 0x9e3779b97f4a7c15u ^ (b + n_bytes) * 0xd6e8feb86659fd93u;
    struct jfr_repeat *repeat = &e->tables->repeats[(hash ^ hash >> 32) >> 8 & (N_REPEATS - 1)];
    uint64_t other = (repeat->bytes[0] ^ a) | (repeat->bytes[1] ^ b) | (repeat->n_bytes ^ n_bytes) |
                     (repeat->handler ^ handler);
    if (__builtin_expect(!other, 1)) {
        repeat->n_times++;
        return true;
    }
    if (repeat->n_times) take_repeats(e, repeat);
    *repeat =
        (struct jfr_repeat){.bytes = {a, b}, .n_times = 1, .handler = handler, .n_bytes = (uint16_t)n_bytes};
    return true;
}

void jfr_events_begin(struct jfr_events *e)
{
    e->n_times = 1;
    for (size_t i = 0; i < sizeof event_types / sizeof *event_types; i++) {
        const struct jfr_type *type = jfr_type_by_name(e->types, event_types[i].name);
        if (!type) continue;
        struct jfr_handler *h = VEC_PUSH(e->handlers, e->n_handlers, e->cap_handlers);
        *h = (struct jfr_handler){.type = type->id,
                                  .take = event_types[i].take,
                                  .kind = event_types[i].kind,
                                  .index = (uint16_t)(e->n_handlers - 1),
                                  .program = jfr_compile(e->types, type, event_types[i].wanted, false)};
        h->may_repeat = is_repeatable(e->types, type, h);
        uint32_t kind_bit = 1u << jfr_kind_in_profile(h->kind);
        h->is_left_out = e->left_out & kind_bit && h->take != take_setting;
        if (h->may_repeat) {
            h->behind_time = h->program;
            h->behind_time.steps++;
            h->behind_time.n_steps--;
        }
        if (type->id <= 1 || type->id >= SMALL_TYPES) continue;
        struct jfr_record_type *what = &e->tables->by_type[type->id];
        what->handler = (uint16_t)e->n_handlers;
        what->is_setting = h->take == take_setting;
        what->left_out_seen = h->is_left_out ? kind_bit : 0;
        what->action = h->is_left_out ? JFR_PASS_OVER : h->may_repeat ? JFR_REPEAT : JFR_TAKE;
    }
}

static struct jfr_handler *handler_of(const struct jfr_events *e, uint64_t type)
{
    if (type < SMALL_TYPES)
        return e->tables->by_type[type].handler ? &e->handlers[e->tables->by_type[type].handler - 1] : NULL;
    for (size_t i = 0; i < e->n_handlers; i++)
        if (e->handlers[i].type == type) return &e->handlers[i];
    return NULL;
}

/* Takes the event of one record; `at` is after its size and type. */
static inline void take_event(struct jfr_events *e, struct jfr_handler *h, const uint8_t *at,
                              const uint8_t *end)
{
    size_t reach = (size_t)(e->end - at);
    if (h->may_repeat && reach >= REPEAT_REACH && count_repeat(e, h->index, at, end)) return;
    if (h->program.is_plain && reach >= jfr_plain_reach(&h->program)) {
        if (jfr_run_plain(&h->program, at, h->slots) > end) return;
    } else {
        struct rd r = {.p = at, .end = end};
        jfr_run(e->types, &h->program, &r, h->slots);
        if (r.bad) return;
    }
    h->take(e, h, h->slots);
}

/* The head of a short record, as nearly all are. 128 bytes must be readable from `at`. */
struct head {
    unsigned type;
    unsigned n_bytes; /* length of size and type; 0 if the record is not short or its type id is large */
};
static inline struct head head_at(const uint8_t *at)
{
    if (at[0] >= 0x80 || at[0] <= 3) return (struct head){0};
    if (at[1] < 0x80) return (struct head){at[1], 2};
    if (at[2] >= 0x80) return (struct head){0};
    return (struct head){(at[1] & 0x7fu) | (unsigned)at[2] << 7, 3};
}
/* Returns the address before which head_at may be called. */
static inline const uint8_t *end_of_fast_reads(const struct jfr_events *e, const uint8_t *at,
                                               const uint8_t *until)
{
    return e->end - until > 128 ? until : e->end - at > 128 ? e->end - 128 : at;
}

const uint8_t *jfr_settings_read(struct jfr_events *e, const uint8_t *at, const uint8_t *until)
{
    const struct jfr_record_type *by_type = e->tables->by_type;
    const uint8_t *quick_until = end_of_fast_reads(e, at, until);
    while (at < until) {
        struct head head;
        while (at < quick_until && (head = head_at(at)).n_bytes && !by_type[head.type].is_setting)
            at += at[0];
        if (at >= until) break;
        struct rd r = {.p = at, .end = e->end}, record;
        uint64_t type;
        if (!jfr_next_record(&r, &type, &record)) return at;
        at = r.p;
        struct jfr_handler *h = type > 1 ? handler_of(e, type) : NULL;
        if (!h || h->take != take_setting) continue;
        jfr_run(e->types, &h->program, &record, h->slots);
        if (!record.bad) take_setting(e, h, h->slots);
    }
    return at;
}

/* Collects repeatable events into the row, up to the first record that must be taken in another way, and
 * skips records of no use. The processor cannot predict the type of the next record, so the loop does not
 * branch on it: every record is written to the row, and n advances only for repeatable ones. */
static inline const uint8_t *gather(struct jfr_events *e, const uint8_t *at, const uint8_t *until,
                                    struct jfr_row *row)
{
    const struct jfr_record_type *by_type = e->tables->by_type;
    uint32_t left_out_seen = 0;
    size_t n = 0;
    while (at < until && n < ROW) {
        struct head head = head_at(at);
        struct jfr_record_type what = by_type[head.type];
        if (!head.n_bytes || what.action == JFR_TAKE) break;
        left_out_seen |= what.left_out_seen;
        row->begin[n] = at + head.n_bytes;
        row->end[n] = at + at[0];
        row->handler[n] = (uint16_t)(what.handler - 1);
        n += what.action;
        at += at[0];
    }
    row->n = n;
    e->left_out_seen |= left_out_seen;
    return at;
}

const uint8_t *jfr_events_read(struct jfr_events *e, const uint8_t *at, const uint8_t *until)
{
    const uint8_t *row_until = end_of_fast_reads(e, at, until);
    struct jfr_row row;
    while (at < until) {
        at = gather(e, at, row_until, &row);
        for (size_t i = 0; i < row.n; i++)
            if (!count_repeat(e, row.handler[i], row.begin[i], row.end[i]))
                take_event(e, &e->handlers[row.handler[i]], row.begin[i], row.end[i]);
        if (row.n == ROW) continue;
        if (at >= until) break;
        struct rd r = {.p = at, .end = e->end}, record;
        uint64_t type;
        if (!jfr_next_record(&r, &type, &record)) return at;
        struct jfr_handler *h = type > 1 ? handler_of(e, type) : NULL;
        if (h && h->is_left_out)
            e->left_out_seen |= 1u << jfr_kind_in_profile(h->kind);
        else if (h)
            take_event(e, h, record.p, record.end);
        at = r.p;
    }
    return at;
}

void jfr_events_end(struct jfr_events *e)
{
    for (size_t i = 0; i < N_REPEATS; i++)
        if (e->tables->repeats[i].n_times) take_repeats(e, &e->tables->repeats[i]);
    jfr_counts_flush(e->counts);
}

void jfr_events_free(struct jfr_events *e)
{
    for (size_t i = 0; i < e->n_handlers; i++)
        if (e->handlers[i].type < SMALL_TYPES)
            e->tables->by_type[e->handlers[i].type] = (struct jfr_record_type){0};
    mem_free(e->blocks);
    mem_free(e->handlers);
}
