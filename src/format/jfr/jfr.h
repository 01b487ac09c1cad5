/* jfr.h - the inside of the JFR reader: what its files share. Others use format_jfr (format.h).
 *
 * A JFR file is a row of chunks; each is read by itself and then forgotten:
 *
 *   jfr_types.c   its own description of its records (metadata) -> types, and programs to decode them
 *   jfr_events.c  events -> counted by the numbers that the chunk has for stacks, threads and classes:
 *   jfr_counts.c  once per distinct (kind, stack, thread, state, class)
 *   jfr_pools.c   constant pools: methods, classes, threads; found, and resolved when asked for
 *   jfr_stacks.c  stack traces, of which only those that were counted are taken, each distinct one once
 *   jfr_naming.c  counts of a chunk -> counts of the file, by names
 *   jfr_join.c    what several threads read of one file, put together
 *   jfr_chunk.c   a chunk, by these; its events on several threads where it is large
 *   jfr.c         chunks in, and all of it into a profile
 *
 * Nothing depends on type numbers or on the order of fields: async-profiler, JDK 11 to 25 and others differ
 * in both.
 */
#ifndef FORMAT_JFR_JFR_H
#define FORMAT_JFR_JFR_H

#include "base/arena.h"
#include "base/idmap.h"
#include "base/rd.h"
#include "format/format.h"

/* ---- numbers and strings ---- */

uint64_t jfr_varint_slow(struct rd *r);

/* LEB128 of at most nine bytes, of which the ninth counts whole. */
static inline uint64_t jfr_varint(struct rd *r)
{
    if (r->p < r->end && *r->p < 0x80) return *r->p++;
    if (r->end - r->p > 1 && r->p[1] < 0x80) {
        r->p += 2;
        return (uint64_t)(r->p[-2] & 0x7f) | (uint64_t)r->p[-1] << 7;
    }
    return jfr_varint_slow(r);
}

enum {
    JFR_STRING_NULL,
    JFR_STRING_EMPTY,
    JFR_STRING_POOL,
    JFR_STRING_UTF8,
    JFR_STRING_CHARS,
    JFR_STRING_LATIN1
};

struct jfr_string {
    int form;         /* as above */
    uint64_t pool_id; /* JFR_STRING_POOL */
    const uint8_t *bytes;
    size_t n; /* bytes; of JFR_STRING_CHARS: characters */
};
struct jfr_string jfr_read_string(struct rd *r);
uint32_t jfr_intern(struct profile *p, struct jfr_string s); /* as UTF-8; JFR_STRING_POOL is "" */

/* The record at r: its type and what is behind it; moves to the next. false at the end, or when it is not
 * complete. */
static inline bool jfr_next_record(struct rd *r, uint64_t *ret_type, struct rd *ret_record)
{
    const uint8_t *start = r->p;
    uint64_t size = jfr_varint(r);
    size_t head = (size_t)(r->p - start);
    if (r->bad || size <= head || size - head > rd_left(r)) return false;
    *ret_record = rd_over(r->p, (size_t)size - head);
    r->p += size - head;
    *ret_type = jfr_varint(ret_record);
    return true;
}

/* ---- types ---- */

enum jfr_op_kind { JFR_OP_VARINT, JFR_OP_BYTE, JFR_OP_4, JFR_OP_8, JFR_OP_STRING, JFR_OP_STRUCT };

struct jfr_field {
    const char *name;
    uint32_t type; /* index of types */
    uint8_t op;    /* jfr_op_kind; a reference into a pool is a varint */
    bool is_array;
};

struct jfr_type {
    uint64_t id;
    const char *name;
    uint32_t first_field, n_fields;
    uint32_t n_values; /* with those of inner structs; 0: takes no bytes */
    bool is_measured;
};
enum { JFR_TOO_LARGE = 4096 }; /* n_values of a type that cannot be right */

struct jfr_types { /* of one chunk, and of those behind it that are described by the same bytes */
    struct arena arena, programs;
    const uint8_t *described_by; /* the metadata; n_described bytes */
    size_t n_described;
    struct jfr_type *types;
    size_t n_types, cap_types;
    struct jfr_field *fields;
    size_t n_fields, cap_fields;
    struct idmap by_id;
    uint32_t *by_name; /* types in the order of their names */
};

/* r stands behind the size and type of a metadata record. false: it cannot be understood. types may be those
 * of the chunk before: when nothing has changed, they stay as they are. */
bool jfr_types_read(struct jfr_types *types, struct rd r);
const struct jfr_type *jfr_type_by_id(const struct jfr_types *types, uint64_t id); /* NULL: none */
const struct jfr_type *jfr_type_by_name(const struct jfr_types *types, const char *name);
void jfr_programs_free(struct jfr_types *types); /* at the end of a chunk */
void jfr_types_free(struct jfr_types *types);

/* Moves over one value of the type. */
void jfr_skip_struct(const struct jfr_types *types, const struct jfr_type *type, struct rd *r);

/* A record decoded into numbered slots: the fields of a type, those that somebody wants with the slot they go
 * to. */
enum { JFR_MAX_SLOTS = 16 };
struct jfr_step {
    uint8_t op, slot; /* slot JFR_MAX_SLOTS: nobody wants it */
    bool is_array;
    uint32_t type;
};
struct jfr_program {
    struct jfr_step *steps;
    uint32_t n_steps; /* up to the last that is wanted, unless the whole record was asked for */
    uint32_t found;   /* bit per slot that the type has */
    bool is_plain;    /* only numbers: steps can be taken by jfr_run_plain */
};
enum jfr_want_kind { JFR_NUMBER, JFR_TEXT, JFR_FRAMES };
struct jfr_want {
    const char *field;
    uint8_t slot, kind;
};
/* Of the wanted names ({0}-ended) those that the type has in the wanted kind; others are passed over. The
 * steps live until jfr_programs_free. whole: decode to the end. */
struct jfr_program jfr_compile(struct jfr_types *types, const struct jfr_type *type,
                               const struct jfr_want *wanted, bool whole);

/* Numbers into slots[]; of a text and of frames the place where they start. */
union jfr_slot {
    uint64_t number;
    const uint8_t *at;
};
void jfr_run(const struct jfr_types *types, const struct jfr_program *program, struct rd *r,
             union jfr_slot *slots);

/* How many bytes must be readable from where jfr_run_plain starts. */
static inline size_t jfr_plain_reach(const struct jfr_program *program)
{
    return (size_t)program->n_steps * 9 + 8;
}
/* The same for a plain program, quicker. Does not look where the record ends: the caller sees from what is
 * returned, the place behind the last step, whether it was inside. */
const uint8_t *jfr_run_plain(const struct jfr_program *program, const uint8_t *at, union jfr_slot *slots);

/* ---- constant pools ---- */

enum jfr_pool_kind {
    JFR_POOL_STRING,
    JFR_POOL_SYMBOL,
    JFR_POOL_CLASS,
    JFR_POOL_METHOD,
    JFR_POOL_STACK,
    JFR_POOL_THREAD,
    JFR_POOL_FRAME_TYPE,
    JFR_POOL_THREAD_STATE,
    JFR_N_POOLS
};

#define JFR_UNRESOLVED UINT32_MAX

struct jfr_hash {
    uint64_t a;
    uint32_t b;
};
struct jfr_hash jfr_hash_of(const uint8_t *bytes, size_t n);

struct jfr_entry {
    uint64_t key;
    const uint8_t *at; /* where the value is; NULL: no entry here */
    uint64_t hash_a;   /* of its bytes; of stacks and symbols. Of a class: the number of its name */
    uint32_t hash_b;
    uint32_t result; /* what it became in the profile; JFR_UNRESOLVED: not asked for yet */
};

struct jfr_pool {
    struct jfr_entry *entries; /* open addressing by key; they stay where they are once all pools are read */
    size_t n_entries, n_slots;
    struct jfr_program program;
};

enum frame_kind { /* and the name of the mapping that tells it */
                  FRAME_INTERPRETED,
                  FRAME_JIT,
                  FRAME_INLINED,
                  FRAME_C1,
                  FRAME_JAVA_NATIVE,
                  FRAME_NATIVE, /* the mapping is the library */
                  FRAME_KERNEL,
                  FRAME_OTHER,
                  N_FRAME_KINDS
};

/* Stacks met in earlier chunks, by their bytes: recorders go on with the same numbers for methods, so the
 * same stack has the same bytes in the next chunk. What the numbers mean is compared chunk by chunk; when one
 * means something else, all is forgotten. */
struct jfr_memo {
    struct idmap methods; /* key -> meanings */
    uint64_t *meanings;   /* a hash of class, name and descriptor */
    size_t n_meanings, cap_meanings;
    uint64_t layout; /* of a frame, and of the kinds of frames */
    struct jfr_memo_entry {
        uint64_t hash_a; /* of the bytes */
        uint32_t hash_b;
        uint32_t stack; /* + 1; 0: free */
    } * entries;
    size_t n_entries, n_slots;
};
void jfr_memo_free(struct jfr_memo *memo);

/* What outlives a chunk: the names, frames and stacks that the profile will have. */
struct jfr_world {
    struct profile *p;
    bool as_recorded; /* names too */
    struct strtab
        function_names; /* identity of a function: its class, name and descriptor; id -> functions */
    uint32_t *function_of;
    size_t cap_function_of;
    struct strtab mapping_names;
    struct idmap locations; /* function, line, kind -> location */
    uint32_t *stack_frames; /* all stacks, leaf first */
    size_t n_stack_frames, cap_stack_frames;
    uint64_t *stack_start; /* n_stacks + 1 */
    size_t n_stacks, cap_stacks;
    uint32_t *stack_slots; /* open addressing: stack + 1 */
    size_t n_stack_slots;
    uint32_t *frames_scratch;
    size_t cap_frames_scratch;
    size_t n_truncated, n_unresolved;
    size_t n_long_bytes; /* of long symbols, each time one was used */
    struct jfr_memo memo;
};
void jfr_world_begin(struct jfr_world *world); /* the profile has its main mapping then: java */
void jfr_world_free(struct jfr_world *world);
uint32_t jfr_stack_of_text(struct jfr_world *world, const char *name); /* a stack of one made-up frame */

/* Which stacks somebody asks for, the others are passed over. May let one through that nobody wants. */
struct jfr_filter {
    uint64_t *words;
    size_t n_words; /* a power of two; 0: nothing is wanted */
};
static inline uint64_t jfr_filter_bit(const struct jfr_filter *filter, uint64_t key, size_t *ret_word)
{
    uint64_t hash = key * 0x9e3779b97f4a7c15u;
    *ret_word = hash >> 32 & (filter->n_words - 1);
    return (uint64_t)1 << (hash >> 26 & 63);
}
void jfr_filter_begin(struct jfr_filter *filter, size_t n_keys); /* empty, with room for so many */
static inline void jfr_filter_add(struct jfr_filter *filter, uint64_t key)
{
    size_t word;
    uint64_t bit = jfr_filter_bit(filter, key, &word);
    filter->words[word] |= bit;
}

struct jfr_pools { /* of one chunk */
    struct jfr_types *types;
    const uint8_t *end;       /* of the chunk */
    struct jfr_filter stacks; /* those to take */
    struct jfr_pool pools[JFR_N_POOLS];
    struct jfr_program frame_program;
    bool is_async_profiler; /* wrote it: "Native" frames are of libraries, not Java's native methods */
    bool frame_types_known;
    uint8_t kind_of_frame_type[16];
    unsigned n_plain_frame_fields; /* frames are rows of so many varints; 0: they are more than that */
    bool memo_checked;
};
/* Where the search begins. Recorders number as they go: sixteen keys in a row are neighbours in memory too.
 */
static inline size_t jfr_pool_slot(const struct jfr_pool *pool, uint64_t key)
{
    uint64_t hash = (key >> 4) * 0x9e3779b97f4a7c15u;
    return (hash ^ hash >> 32 ^ (key & 15)) & (pool->n_slots - 1);
}
struct jfr_entry *jfr_pool_find(const struct jfr_pool *pool, uint64_t key); /* NULL: none */
void jfr_learn_frame_types(struct jfr_pools *pools, struct jfr_world *w);
uint32_t jfr_function_named(struct jfr_world *w, const char *name); /* one that no class has */
uint32_t jfr_location_of(struct jfr_pools *pools, struct jfr_world *w, uint64_t method_key,
                         uint64_t line_number, uint64_t type);

/* Slots of the programs for stacks and frames. */
enum { JFR_STACK_TRUNCATED, JFR_STACK_FRAMES };
enum { JFR_FRAME_METHOD, JFR_FRAME_LINE, JFR_FRAME_TYPE };

uint64_t jfr_method_meaning(const struct jfr_pools *pools,
                            const struct jfr_entry *method); /* a hash of class, name and descriptor */

uint32_t jfr_intern_stack(struct jfr_world *w, const uint32_t *frames, size_t n);
uint32_t jfr_mapping_named(struct jfr_world *w, const char *name,
                           size_t n); /* index + 1, as locations refer to it */

void jfr_stacks_begin(struct jfr_pools *pools);
void jfr_skip_plain_stack(const struct jfr_pools *pools, struct rd *r);

/* After the types are known. */
void jfr_pools_begin(struct jfr_pools *pools, struct jfr_types *types, const uint8_t *chunk_end);
/* r stands behind the size and type of a constant pool record; takes what it understands. *ret_delta: where
 * the one before it is. */
bool jfr_pools_read(struct jfr_pools *pools, struct rd r, int64_t *ret_delta);
void jfr_pools_clear(struct jfr_pools *pools); /* for the next chunk; most of the memory stays */
void jfr_pools_free(struct jfr_pools *pools);

uint32_t jfr_pool_string(struct jfr_pools *pools, struct jfr_world *w, enum jfr_pool_kind kind,
                         uint64_t key); /* profile string */
uint32_t jfr_pool_class(struct jfr_pools *pools, struct jfr_world *w,
                        uint64_t key); /* its name, a profile string */
uint32_t jfr_pool_thread(struct jfr_pools *pools, struct jfr_world *w,
                         uint64_t key); /* its name, a profile string */
uint32_t jfr_pool_stack(struct jfr_pools *pools, struct jfr_world *w,
                        uint64_t key); /* a stack of the world */
/* The same for several at once, which is quicker. */
enum { JFR_MAX_AHEAD = 32 };
struct jfr_count;
void jfr_pool_stacks(struct jfr_pools *pools, struct jfr_world *w, const struct jfr_count *counts, size_t n,
                     uint32_t *ret_stacks); /* JFR_UNRESOLVED: it is not there */

/* ---- events ---- */

enum jfr_kind {
    JFR_CPU,      /* jdk.ExecutionSample */
    JFR_EVENT,    /* the same, of a recording that counted an event (page faults, cache misses), not time */
    JFR_CPU_TIME, /* jdk.CPUTimeSample */
    JFR_NATIVE,   /* jdk.NativeMethodSample: a thread in native code, working or waiting */
    JFR_WALL,
    JFR_ALLOC,
    JFR_LIVE,
    JFR_LOCK,
    JFR_PARK, /* jdk.ThreadPark: waits for a lock are JFR_LOCK in the end, the others are threads without work
               */
    JFR_NATIVE_LOCK,
    JFR_MALLOC,
    JFR_MALLOC_LIVE, /* allocated and not freed up to the end */
    JFR_N_KINDS,
    /* Only in the counts of a chunk: jdk.ObjectAllocationSample, which tells the same allocations as the
     * events of JFR_ALLOC. Of a chunk that has both, one is left out; see jfr_naming.c. */
    JFR_ALLOC_SAMPLE = JFR_N_KINDS,
};
/* Under which it is asked for. */
static inline enum jfr_kind jfr_kind_in_profile(enum jfr_kind kind)
{
    return kind == JFR_ALLOC_SAMPLE ? JFR_ALLOC : kind;
}

#define JFR_NO_STATE UINT32_MAX /* the event has none */

struct jfr_count { /* of one distinct place */
    uint64_t stack, thread, class_id;
    uint32_t state, kind;
    double n;
    int64_t value;
};

enum { JFR_MAX_WAITING = 32 };
struct jfr_counts {
    struct jfr_count *items; /* whole after jfr_counts_settle */
    size_t n_items, cap_items;
    struct jfr_count_slot { /* open addressing */
        uint32_t tag;       /* of the hash */
        uint32_t item;      /* + 1; 0: free */
    } * slots;
    size_t n_slots;
    struct jfr_count waiting[JFR_MAX_WAITING];
    uint64_t hashes[JFR_MAX_WAITING];
    size_t n_waiting;
};
void jfr_count_add(struct jfr_counts *counts, const struct jfr_count *count); /* n and value to its place */
void jfr_counts_settle(struct jfr_counts *counts);
void jfr_counts_clear(struct jfr_counts *counts); /* for the next chunk; most of the memory stays */
void jfr_counts_free(struct jfr_counts *counts);

struct jfr_settings { /* what the recording says about itself; intervals in ns or bytes, 0: not said */
    double cpu_ns, wall_ns, alloc_bytes, lock_ns, native_lock_ns, malloc_bytes;
    char event[64];   /* not "": cpu_ns is not a time, but how many of these a sample stands for */
    size_t n_changes; /* how often one got another value, the first one too */
};
/* What a sample of the CPU (or of another event: in such) or the wall clock stands for. */
double jfr_cpu_ns(const struct jfr_settings *settings);
double jfr_wall_ns(const struct jfr_settings *settings);

struct jfr_block { /* a native block being allocated or freed */
    uint64_t time, address, stack, thread;
    double n;
    int64_t bytes; /* -1: freed */
};

struct jfr_events { /* of one chunk, or of a part of it */
    struct jfr_types *types;
    const uint8_t *end;            /* of the chunk */
    struct jfr_settings *settings; /* of the file, as far as it is read */
    bool settings_known;           /* those of this chunk are read already: the others are passed over */
    /* The pools of the chunk without its stacks, for a setting that is said by reference. */
    const struct jfr_pools *(*get_pools)(void *context);
    void *context;
    struct jfr_counts *counts; /* of the chunk, by its numbers */
    struct jfr_lately *lately;
    double ns_per_tick;
    bool as_recorded;
    uint32_t left_out; /* bit per jfr_kind: its events are not asked for */
    uint32_t met;      /* bit per jfr_kind: was left out, and is in the chunk */
    struct jfr_block *blocks;
    size_t n_blocks, cap_blocks;
    _Atomic size_t *n_chunk_blocks; /* of all who read this chunk */
    bool too_many_blocks;           /* they are not followed */
    struct jfr_handler *handlers;
    size_t n_handlers, cap_handlers;
    int64_t n_times; /* the event at hand stands for so many equal ones */
    size_t n_failed, n_live_objects;
};
enum { JFR_MAX_BLOCKS = 4 << 20 }; /* of one chunk: 200 MB of memory */

/* What a reader of events keeps from chunk to chunk; one for each thread. */
struct jfr_lately *jfr_lately_new(void);
void jfr_lately_free(struct jfr_lately *lately);

void jfr_events_begin(
    struct jfr_events *e); /* may add to the arena of types: not on several threads at once */
/* Takes the records from `at` on, up to the first that begins at or behind `until`. Returns where it stopped:
 * before that when the record there is not whole inside the chunk. */
const uint8_t *jfr_events_read(struct jfr_events *e, const uint8_t *at, const uint8_t *until);
/* The same for the chunk's settings alone, before its events: a recorder may write them behind the first of
 * these. Where a chunk has two of one kind, the last holds for all of it. */
const uint8_t *jfr_settings_read(struct jfr_events *e, const uint8_t *at, const uint8_t *until);
void jfr_events_end(struct jfr_events *e); /* all are in counts then */
void jfr_events_free(struct jfr_events *e);

/* ---- from the numbers of a chunk to names ---- */

struct jfr_naming {
    struct jfr_pools *pools;
    struct jfr_world *world;
    struct jfr_counts *into;             /* of the file: by strings of the profile and stacks of the world */
    const struct jfr_settings *settings; /* not NULL: samples are given their time by these now */
    bool is_event_counted;               /* samples are JFR_EVENT, not JFR_CPU */
    double alloc_bytes, alloc_sample_bytes; /* of the chunk, by JFR_ALLOC and by JFR_ALLOC_SAMPLE */
    struct jfr_count *homeless;             /* named, but for their stack: it is not in the chunk */
    size_t n_homeless, cap_homeless;
};
/* For all counts of the chunk, before any are named. */
void jfr_weigh_allocations(struct jfr_naming *naming, const struct jfr_counts *counts);
void jfr_name_counts(struct jfr_naming *naming, const struct jfr_counts *counts);
/* The homeless with stacks of another chunk's pools, or none. */
void jfr_house(struct jfr_naming *naming, struct jfr_pools *pools);

/* Counts of `from` (with stacks and strings of its world) become counts of `into`. */
void jfr_join(struct jfr_world *into, struct jfr_counts *into_counts, const struct jfr_world *from,
              const struct jfr_counts *from_counts);

/* ---- a chunk ---- */

enum { JFR_HEADER_BYTES = 68 };

struct jfr_chunk {
    const uint8_t *data;
    size_t size;
    uint64_t pool_at, metadata_at, start_ns, duration_ns, ticks_per_s;
    bool is_open; /* not closed by its writer, or cut; it goes up to the next chunk then */
    bool goes_on; /* with the recording of the chunk before it in the file */
};

struct jfr_live_block {
    uint32_t stack, thread;
    double n;
    int64_t bytes;
};

struct jfr_worker { /* reads events */
    struct jfr_lately *lately;
    struct jfr_counts counts; /* of the chunk at hand */
};

/* What was read of a file, or of those chunks of it that one thread reads. */
struct jfr_reading {
    const struct format_options *options;
    struct jfr_world world;
    struct jfr_counts counts; /* by what the profile calls them; class_id and state are strings */
    struct jfr_types types;   /* of the chunk at hand, as are the pools */
    struct jfr_pools pools;
    struct jfr_worker *workers;
    unsigned n_workers; /* threads that a chunk is spread over */
    struct jfr_settings settings;
    struct idmap blocks_by_address; /* -> live_blocks */
    struct jfr_live_block *live_blocks;
    size_t n_live_blocks, cap_live_blocks;
    bool has_frees, too_many_blocks;
    int64_t first_start_ns, last_end_ns;
    uint32_t left_out, met; /* as jfr_events has them */
    char event[64];         /* the first that was counted instead of time; "": none */
    bool has_other_events;
    size_t n_chunks, n_open_chunks; /* open: or cut, or its records are not whole up to its end */
    size_t n_lost_bytes, n_failed, n_cut_bytes;
    size_t most_live_objects; /* of a chunk */
    size_t n_doubled_chunks;  /* that tell allocations in two ways */
    const uint8_t *dropped;   /* pages before this are given back already */
};
void jfr_reading_begin(struct jfr_reading *f, const struct format_options *options, uint32_t left_out,
                       unsigned n_workers, struct profile *into);
void jfr_reading_end(struct jfr_reading *f);

/* chunk: its neighbour before it in the file is at chunk[-1], if it goes on. settings_first: events are
 * weighed by the settings of their own chunk, wherever in it they stand. */
void jfr_read_chunk(struct jfr_reading *f, const struct jfr_chunk *chunk, bool settings_first);

/* The bytes up to here are not needed in memory any more, if they are at least so many: a recording of many
 * gigabytes is read in little. */
void jfr_drop_behind(struct jfr_reading *f, const uint8_t *until, size_t at_least_bytes);

#endif
