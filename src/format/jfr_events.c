/* jfr_events.c - events of a chunk, counted once per distinct place, by the numbers the chunk uses for
 * stacks, threads and classes; names come later, once for each place. See jfr.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/jfr.h"

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
    enum jfr_kind kind;
};

/* ---- counting ---- */

static inline uint64_t hash_place(const struct jfr_count *c)
{
    uint64_t h = (c->stack ^ (uint64_t)c->kind << 56) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32 ^ c->thread) * 0xd6e8feb86659fd93u;
    h = (h ^ h >> 32 ^ c->class_id ^ (uint64_t)c->state << 48) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

static void grow_counts(struct jfr_counts *counts)
{
    size_t n_slots = counts->n_slots ? counts->n_slots * 2 : 1024;
    mem_free(counts->slots);
    counts->slots = mem_zalloc(n_slots * sizeof *counts->slots);
    counts->n_slots = n_slots;
    for (size_t k = 0; k < counts->n_items; k++) {
        size_t i = hash_place(&counts->items[k]) & (n_slots - 1);
        while (counts->slots[i]) i = (i + 1) & (n_slots - 1);
        counts->slots[i] = (uint32_t)k + 1;
    }
}

struct jfr_count *jfr_count_slot(struct jfr_counts *counts, const struct jfr_count *key)
{
    if (counts->n_items * 2 >= counts->n_slots) grow_counts(counts);
    size_t mask = counts->n_slots - 1, i = hash_place(key) & mask;
    for (; counts->slots[i]; i = (i + 1) & mask) {
        struct jfr_count *c = &counts->items[counts->slots[i] - 1];
        if (c->stack == key->stack && c->thread == key->thread && c->class_id == key->class_id &&
            c->kind == key->kind && c->state == key->state)
            return c;
    }
    counts->slots[i] = (uint32_t)counts->n_items + 1;
    struct jfr_count *c = VEC_PUSH(counts->items, counts->n_items, counts->cap_items);
    *c = *key;
    c->n = 0;
    c->value = 0;
    return c;
}

void jfr_count_add(struct jfr_counts *counts, const struct jfr_count *key, double n, int64_t value)
{
    struct jfr_count *into = jfr_count_slot(counts, key);
    into->n += n;
    if (__builtin_add_overflow(into->value, value, &into->value)) into->value = INT64_MAX;
}

void jfr_counts_free(struct jfr_counts *counts)
{
    mem_free(counts->items);
    mem_free(counts->slots);
    *counts = (struct jfr_counts){0};
}

static inline int64_t add_capped(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static inline void count(struct jfr_events *e, const struct jfr_handler *h, const union jfr_slot *slots,
                         double n, int64_t value)
{
    struct jfr_count key = {.stack = slots[STACK].number,
                            .thread = slots[THREAD].number,
                            .class_id = slots[CLASS].number,
                            .kind = h->kind,
                            .state = h->program.found & 1u << STATE ? (uint32_t)slots[STATE].number
                                                                    : JFR_NO_STATE};
    struct jfr_count *c = jfr_count_slot(&e->counts, &key);
    c->n += n;
    c->value = add_capped(c->value, value);
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
    double ns = (double)positive(ticks) * e->ns_per_tick;
    return ns < 9e18 ? (int64_t)(ns + 0.5) : INT64_MAX;
}

static void take_cpu_time(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    if (slots[FAILED].number) {
        e->n_failed++;
        slots[STACK].number = 0;
    }
    count(e, h, slots, 1, ns_of_ticks(e, slots[PERIOD].number));
}

static void take_wall(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    double n = h->program.found & 1u << SAMPLES ? (double)positive(slots[SAMPLES].number) : 1;
    count(e, h, slots, n, ns_of_ticks(e, slots[TIME_SPAN].number));
}

/* How many bytes a sampled object of `size` bytes stands for. The JVM looks at every `interval` bytes on
 * average, at random distances: an object is found with the probability 1 - exp(-size / interval), so that is
 * what its size is divided by. */
static double bytes_stood_for(double size, double interval)
{
    if (size <= 0) return interval;
    if (interval <= 1) return size;
    return size / -expm1(-size / interval);
}

static void take_bytes(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots,
                       double weight)
{
    double size = (double)positive(slots[SIZE].number);
    count(e, h, slots, size > 0 ? weight / size : 1, (int64_t)(weight + 0.5));
}

static void take_alloc(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    int64_t size = positive(slots[SIZE].number), interval = (int64_t)e->settings->alloc_bytes;
    int64_t recorded = h->program.found & 1u << WEIGHT ? positive(slots[WEIGHT].number) : size;
    if (e->as_recorded)
        count(e, h, slots, 1, recorded);
    else if (interval > 0 &&
             recorded ==
                 (size > interval ? size : interval)) /* async-profiler's way of saying it was sampled */
        take_bytes(e, h, slots, bytes_stood_for((double)size, (double)interval));
    else /* a thread's new buffer: the whole of it, whatever the object */
        take_bytes(e, h, slots, (double)(recorded > size ? recorded : size));
}

static void take_alloc_sample(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    /* jdk.ObjectAllocationSample has a weight and no size: how many objects it stands for is not told. */
    count(e, h, slots, 1, positive(slots[WEIGHT].number));
}

static void take_live(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    int64_t size = positive(slots[SIZE].number);
    if (e->as_recorded)
        count(e, h, slots, 1, size);
    else
        take_bytes(e, h, slots, bytes_stood_for((double)size, e->settings->alloc_bytes));
}

/* Waits are sampled in proportion to their length: one shorter than the interval stands for as much as the
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

static void take_malloc(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    int64_t size = positive(slots[SIZE].number), weight = size;
    if (!e->as_recorded && weight < (int64_t)e->settings->malloc_bytes)
        weight = (int64_t)e->settings->malloc_bytes;
    double n = e->as_recorded || !size ? 1 : (double)weight / (double)size;
    count(e, h, slots, n, weight);
    *VEC_PUSH(e->blocks, e->n_blocks, e->cap_blocks) = (struct jfr_block){
        slots[TIME].number, slots[ADDRESS].number, slots[STACK].number, slots[THREAD].number, n, weight};
}

static void take_free(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    (void)h;
    *VEC_PUSH(e->blocks, e->n_blocks, e->cap_blocks) =
        (struct jfr_block){.time = slots[TIME].number, .address = slots[ADDRESS].number, .bytes = -1};
}

/* ---- settings: how often it was sampled ---- */

static bool text_into(struct jfr_events *e, const uint8_t *at, char *into, size_t size)
{
    struct rd r = {.p = at, .end = e->pools->end};
    struct jfr_string s = jfr_read_string(&r);
    if (s.form == JFR_STRING_POOL) {
        uint32_t index;
        const struct jfr_pool *pool = &e->pools->pools[JFR_POOL_STRING];
        if (!idmap_find(&pool->by_key, s.pool_id, &index)) return false;
        r = (struct rd){.p = pool->at[index], .end = e->pools->end};
        s = jfr_read_string(&r);
    }
    size_t n = 0;
    if (s.form == JFR_STRING_UTF8 || s.form == JFR_STRING_LATIN1) {
        n = s.n < size ? s.n : size - 1;
        memcpy(into, s.bytes, n);
    } else if (s.form == JFR_STRING_CHARS) {
        r = (struct rd){.p = s.bytes, .end = e->pools->end};
        for (; n < s.n && n + 1 < size; n++) into[n] = (char)jfr_varint(&r);
    }
    into[n] = 0;
    return true;
}

/* "20 ms", "10000000", "1 s": in nanoseconds (or plain). */
static double parse_amount(const char *text)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
    char *end;
    double value = strtod(text, &end);
    if (end == text || !(value >= 0) || value > 1e15) return 0;
    while (*end == ' ') end++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strcmp(end, units[i].unit)) return value * units[i].factor;
    return *end ? 0 : value;
}

static void take_setting(struct jfr_events *e, const struct jfr_handler *h, union jfr_slot *slots)
{
    char name[32], value[64];
    if (!(h->program.found & 1u << NAME) || !(h->program.found & 1u << VALUE)) return;
    if (!text_into(e, slots[NAME].at, name, sizeof name) ||
        !text_into(e, slots[VALUE].at, value, sizeof value))
        return;
    const struct jfr_type *about = jfr_type_by_id(e->types, slots[ID].number);
    const char *type = about ? about->name : "";
    struct jfr_settings *s = e->settings;
    double amount = parse_amount(value);
    if (amount <= 0) return;
    if (!strcmp(name, "interval") || (!strcmp(name, "period") && !strcmp(type, "jdk.ExecutionSample")))
        s->cpu_ns = amount;
    else if (!strcmp(name, "wall"))
        s->wall_ns = amount;
    else if (!strcmp(name, "alloc"))
        s->alloc_bytes = amount;
    else if (!strcmp(name, "lock"))
        s->lock_ns = amount;
    else if (!strcmp(name, "nativelock"))
        s->native_lock_ns = amount;
    else if (!strcmp(name, "nativemem"))
        s->malloc_bytes = amount;
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
    {"jdk.ObjectAllocationSample", JFR_ALLOC, take_alloc_sample, wanted},
    {"profiler.LiveObject", JFR_LIVE, take_live, wanted},
    {"jdk.JavaMonitorEnter", JFR_LOCK, take_wait, wanted},
    {"jdk.ThreadPark", JFR_PARK, take_wait, wanted},
    {"profiler.NativeLock", JFR_NATIVE_LOCK, take_wait, wanted},
    {"profiler.Malloc", JFR_MALLOC, take_malloc, wanted_block},
    {"profiler.Free", JFR_MALLOC, take_free, wanted_block},
    {"jdk.ActiveSetting", JFR_CPU, take_setting, wanted_setting},
};

enum { SMALL_TYPES = 16384 };

void jfr_events_begin(struct jfr_events *e)
{
    e->by_type = mem_zalloc(SMALL_TYPES * sizeof *e->by_type);
    for (size_t i = 0; i < sizeof event_types / sizeof *event_types; i++) {
        const struct jfr_type *type = jfr_type_by_name(e->types, event_types[i].name);
        if (!type) continue;
        struct jfr_handler *h = VEC_PUSH(e->handlers, e->n_handlers, e->cap_handlers);
        *h = (struct jfr_handler){.type = type->id,
                                  .take = event_types[i].take,
                                  .kind = event_types[i].kind,
                                  .program = jfr_compile(e->types, type, event_types[i].wanted, false)};
        if (type->id < SMALL_TYPES) e->by_type[type->id] = (uint16_t)e->n_handlers;
    }
}

static const struct jfr_handler *handler_of(const struct jfr_events *e, uint64_t type)
{
    if (type < SMALL_TYPES) return e->by_type[type] ? &e->handlers[e->by_type[type] - 1] : NULL;
    for (size_t i = 0; i < e->n_handlers; i++)
        if (e->handlers[i].type == type) return &e->handlers[i];
    return NULL;
}

void jfr_event(struct jfr_events *e, uint64_t type, struct rd r)
{
    const struct jfr_handler *h = handler_of(e, type);
    if (!h) return;
    union jfr_slot slots[JFR_MAX_SLOTS] = {0};
    jfr_run(e->types, &h->program, &r, slots);
    if (!r.bad) h->take(e, h, slots);
}

void jfr_events_free(struct jfr_events *e)
{
    jfr_counts_free(&e->counts);
    mem_free(e->blocks);
    mem_free(e->handlers);
    mem_free(e->by_type);
}
