/* jfr.h - declarations shared by the files of the JFR reader. Code outside this folder uses format_jfr
 * (format.h).
 *
 * A JFR file is a sequence of chunks. The reader takes one chunk at a time and keeps only its counts:
 *
 *   jfr_types.c   reads the chunk's metadata, which describes its records, and compiles programs that decode
 *                 them
 *   jfr_events.c  reads the events and counts them by the chunk's own ids of stacks, threads and classes
 *   jfr_counts.c  stores one count per distinct (kind, stack, thread, state, class)
 *   jfr_pools.c   finds the entries of the constant pools (methods, classes, threads) and resolves an entry
 *                 the first time it is needed
 *   jfr_stacks.c  reads the stack traces that events refer to, and keeps each distinct stack once
 *   jfr_naming.c  turns the counts of a chunk, by ids, into counts of the file, by names
 *   jfr_join.c    merges what several threads read from one file
 *   jfr_chunk.c   runs these steps on one chunk, and reads the events of a large chunk on several threads
 *   jfr.c         finds the chunks of a file and builds the profile
 *
 * Nothing depends on type ids or on the order of fields, because async-profiler, the JDK releases 11 to 25
 * and other recorders differ in both.
 */
#ifndef FORMAT_JFR_JFR_H
#define FORMAT_JFR_JFR_H

#include "base/arena.h"
#include "base/idmap.h"
#include "base/rd.h"
#include "format/format.h"

/* ---- numbers and strings ---- */

uint64_t jfr_varint_slow(struct rd *r);

/* Reads a LEB128 number of at most nine bytes. The ninth byte contributes all eight of its bits. */
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
    int form;         /* JFR_STRING_... */
    uint64_t pool_id; /* set if form is JFR_STRING_POOL */
    const uint8_t *bytes;
    size_t n; /* in bytes; in characters if form is JFR_STRING_CHARS */
};
struct jfr_string jfr_read_string(struct rd *r);
/* Adds the string to the profile as UTF-8 and returns its id. JFR_STRING_POOL becomes the empty string. */
uint32_t jfr_intern(struct profile *p, struct jfr_string s);

/* Reads the head of the record at r. Stores its type and the bytes after the type, and moves r to the next
 * record. Returns false at the end, or if the record is incomplete. */
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
    uint32_t type; /* index in jfr_types.types */
    uint8_t op;    /* jfr_op_kind; a reference into a pool is a varint */
    bool is_array;
};

struct jfr_type {
    uint64_t id;
    const char *name;
    uint32_t first_field, n_fields;
    uint32_t n_values; /* including the values of inner structs; 0 if a value takes no bytes */
    bool is_measured;
};
enum { JFR_TOO_LARGE = 4096 }; /* n_values of a type that is recursive or too large to be valid */

struct jfr_types { /* the types of a chunk, and of later chunks with the same metadata bytes */
    struct arena arena, programs;
    const uint8_t *described_by; /* a copy of the metadata, n_described bytes */
    size_t n_described;
    struct jfr_type *types;
    size_t n_types, cap_types;
    struct jfr_field *fields;
    size_t n_fields, cap_fields;
    struct idmap by_id;
    uint32_t *by_name; /* indices of types, sorted by name */
};

/* Reads a metadata record; r is positioned after its size and type. Returns false if the record is invalid.
 * types may hold the types of the previous chunk, and is left unchanged if the metadata bytes are equal. */
bool jfr_types_read(struct jfr_types *types, struct rd r);
/* Both return NULL if the chunk has no such type. */
const struct jfr_type *jfr_type_by_id(const struct jfr_types *types, uint64_t id);
const struct jfr_type *jfr_type_by_name(const struct jfr_types *types, const char *name);
void jfr_programs_free(struct jfr_types *types); /* call it at the end of a chunk */
void jfr_types_free(struct jfr_types *types);

/* Moves r past one value of the type. */
void jfr_skip_struct(const struct jfr_types *types, const struct jfr_type *type, struct rd *r);

/* A program decodes records of one type into numbered slots. It has one step per field, and a step names the
 * slot that receives the field, if any. */
enum { JFR_MAX_SLOTS = 16 };
struct jfr_step {
    uint8_t op, slot; /* slot is JFR_MAX_SLOTS if the field is skipped */
    bool is_array;
    uint32_t type;
};
struct jfr_program {
    struct jfr_step *steps;
    uint32_t n_steps; /* the last step is the last wanted field, or the last field if compiled with whole */
    uint32_t found;   /* bit per slot for which the type has a field */
    bool is_plain;    /* all steps read numbers, so that jfr_run_plain can run the program */
};
enum jfr_want_kind { JFR_NUMBER, JFR_TEXT, JFR_FRAMES };
struct jfr_want {
    const char *field;
    uint8_t slot, kind;
};
/* Compiles a program for the fields in `wanted`, which ends with {0}. Wanted fields that the type does not
 * have, or has in another kind, are ignored. If whole is set, the program reads to the end of the record. The
 * steps live until jfr_programs_free. */
struct jfr_program jfr_compile(struct jfr_types *types, const struct jfr_type *type,
                               const struct jfr_want *wanted, bool whole);

/* A slot receives a number, or for text and frames the address where they start. */
union jfr_slot {
    uint64_t number;
    const uint8_t *at;
};
void jfr_run(const struct jfr_types *types, const struct jfr_program *program, struct rd *r,
             union jfr_slot *slots);

/* Returns how many bytes must be readable at the address that jfr_run_plain starts from. */
static inline size_t jfr_plain_reach(const struct jfr_program *program)
{
    return (size_t)program->n_steps * 9 + 8;
}
/* Runs a plain program, faster than jfr_run. It does not check where the record ends: it returns the address
 * after the last step, and the caller must compare that with the end of the record. */
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
    const uint8_t *at; /* the bytes of the value; NULL if this slot is free */
    uint64_t hash_a;   /* stacks and symbols: hash of the bytes; classes: symbol id of the name */
    uint32_t hash_b;
    uint32_t result; /* id in the profile or the world; JFR_UNRESOLVED until it is first needed */
};

struct jfr_pool {
    struct jfr_entry *entries; /* open addressing by key; entries do not move once all pools are read */
    size_t n_entries, n_slots;
    struct jfr_program program;
};

enum frame_kind { /* the profile shows the kind as the name of the frame's mapping */
                  FRAME_INTERPRETED,
                  FRAME_JIT,
                  FRAME_INLINED,
                  FRAME_C1,
                  FRAME_JAVA_NATIVE,
                  FRAME_NATIVE, /* the mapping is named after the library */
                  FRAME_KERNEL,
                  FRAME_OTHER,
                  N_FRAME_KINDS
};

/* The stacks of earlier chunks, by a hash of their bytes. Recorders keep the ids of methods from chunk to
 * chunk, so a stack usually has the same bytes in the next chunk. For each chunk the reader compares what the
 * method ids mean, and empties the memo if an id has changed its meaning. */
struct jfr_memo {
    struct idmap methods; /* method id -> index in meanings */
    uint64_t *meanings;   /* hashes of class, name and descriptor */
    size_t n_meanings, cap_meanings;
    uint64_t layout; /* hash of the fields of a frame and of the frame kinds */
    struct jfr_memo_entry {
        uint64_t hash_a; /* hash of the bytes */
        uint32_t hash_b;
        uint32_t stack; /* stack + 1; 0 if the entry is free */
    } * entries;
    size_t n_entries, n_slots;
};
void jfr_memo_free(struct jfr_memo *memo);

/* The names, frames and stacks of the profile, which outlive the chunks they were read from. */
struct jfr_world {
    struct profile *p;
    bool as_recorded;             /* keep the names of generated classes as recorded */
    struct strtab function_names; /* a function is identified by class, name and descriptor */
    uint32_t *function_of;        /* id in function_names -> function of the profile */
    size_t cap_function_of;
    struct strtab mapping_names;
    struct idmap locations; /* function, line, kind -> location */
    uint32_t *stack_frames; /* the locations of all stacks, leaf first */
    size_t n_stack_frames, cap_stack_frames;
    uint64_t *stack_start; /* n_stacks + 1 indices in stack_frames */
    size_t n_stacks, cap_stacks;
    uint32_t *stack_slots; /* open addressing: stack + 1 */
    size_t n_stack_slots;
    uint32_t *frames_scratch;
    size_t cap_frames_scratch;
    size_t n_truncated, n_unresolved;
    size_t n_long_bytes; /* length of all long symbols, added each time one is used */
    struct jfr_memo memo;
};
void jfr_world_begin(struct jfr_world *world); /* adds "java" as the main mapping of the profile */
void jfr_world_free(struct jfr_world *world);
/* Returns a stack of one artificial frame with this name. */
uint32_t jfr_stack_of_text(struct jfr_world *world, const char *name);

/* A Bloom filter of the stacks that events refer to. The pool reader skips all other stacks. A stack without
 * events may pass the filter, a stack with events always does. */
struct jfr_filter {
    uint64_t *words;
    size_t n_words; /* a power of two; 0 if no stack is wanted */
};
static inline uint64_t jfr_filter_bit(const struct jfr_filter *filter, uint64_t key, size_t *ret_word)
{
    uint64_t hash = key * 0x9e3779b97f4a7c15u;
    *ret_word = hash >> 32 & (filter->n_words - 1);
    return (uint64_t)1 << (hash >> 26 & 63);
}
void jfr_filter_begin(struct jfr_filter *filter, size_t n_keys); /* empties it and makes room for n_keys */
static inline void jfr_filter_add(struct jfr_filter *filter, uint64_t key)
{
    size_t word;
    uint64_t bit = jfr_filter_bit(filter, key, &word);
    filter->words[word] |= bit;
}

struct jfr_pools { /* the constant pools of one chunk */
    struct jfr_types *types;
    const uint8_t *end;       /* end of the chunk */
    struct jfr_filter stacks; /* the stacks to read */
    struct jfr_pool pools[JFR_N_POOLS];
    struct jfr_program frame_program;
    bool is_async_profiler; /* "Native" frames are then in libraries; otherwise they are native methods */
    bool frame_types_known;
    uint8_t kind_of_frame_type[16];
    unsigned n_plain_frame_fields; /* varints per frame, if a frame has only varints; otherwise 0 */
    bool memo_checked;
};
/* Returns the slot where the search for a key begins. Recorders assign consecutive ids, so sixteen
 * consecutive keys are kept next to each other in memory. */
static inline size_t jfr_pool_slot(const struct jfr_pool *pool, uint64_t key)
{
    uint64_t hash = (key >> 4) * 0x9e3779b97f4a7c15u;
    return (hash ^ hash >> 32 ^ (key & 15)) & (pool->n_slots - 1);
}
struct jfr_entry *jfr_pool_find(const struct jfr_pool *pool, uint64_t key); /* NULL if there is none */
void jfr_learn_frame_types(struct jfr_pools *pools, struct jfr_world *w);
uint32_t jfr_function_named(struct jfr_world *w, const char *name); /* a function outside any class */
uint32_t jfr_location_of(struct jfr_pools *pools, struct jfr_world *w, uint64_t method_key,
                         uint64_t line_number, uint64_t type);

/* Slots of the programs for stacks and frames. */
enum { JFR_STACK_TRUNCATED, JFR_STACK_FRAMES };
enum { JFR_FRAME_METHOD, JFR_FRAME_LINE, JFR_FRAME_TYPE };

/* Returns a hash of the method's class, name and descriptor. */
uint64_t jfr_method_meaning(const struct jfr_pools *pools, const struct jfr_entry *method);

uint32_t jfr_intern_stack(struct jfr_world *w, const uint32_t *frames, size_t n);
/* Returns the index of the mapping + 1, as locations refer to it; 0 if n is 0. */
uint32_t jfr_mapping_named(struct jfr_world *w, const char *name, size_t n);

void jfr_stacks_begin(struct jfr_pools *pools);
void jfr_skip_plain_stack(const struct jfr_pools *pools, struct rd *r);

/* Call it once the types of the chunk are read. */
void jfr_pools_begin(struct jfr_pools *pools, struct jfr_types *types, const uint8_t *chunk_end);
/* Reads a constant pool record; r is positioned after its size and type. Stores in *ret_delta the distance to
 * the previous constant pool record, which is negative, or 0 if there is none. Returns false if the record is
 * invalid; the entries before the invalid bytes are kept. */
bool jfr_pools_read(struct jfr_pools *pools, struct rd r, int64_t *ret_delta);
void jfr_pools_clear(struct jfr_pools *pools); /* prepares for the next chunk and keeps most of the memory */
void jfr_pools_free(struct jfr_pools *pools);

/* These return the profile's string for a pool entry: its text, or the name of the class or thread. They
 * return 0 if the pool has no such entry. */
uint32_t jfr_pool_string(struct jfr_pools *pools, struct jfr_world *w, enum jfr_pool_kind kind, uint64_t key);
uint32_t jfr_pool_class(struct jfr_pools *pools, struct jfr_world *w, uint64_t key);
uint32_t jfr_pool_thread(struct jfr_pools *pools, struct jfr_world *w, uint64_t key);

/* Returns the stack of the world for a pool entry. Without an entry it is a stack of one frame that says so.
 */
uint32_t jfr_pool_stack(struct jfr_pools *pools, struct jfr_world *w, uint64_t key);
/* Looks up the stacks of n counts, at most JFR_MAX_AHEAD. This is faster than one at a time. A stack that is
 * not in the pool becomes JFR_UNRESOLVED. */
enum { JFR_MAX_AHEAD = 32 };
struct jfr_count;
void jfr_pool_stacks(struct jfr_pools *pools, struct jfr_world *w, const struct jfr_count *counts, size_t n,
                     uint32_t *ret_stacks);

/* ---- events ---- */

enum jfr_kind {
    JFR_CPU,      /* jdk.ExecutionSample */
    JFR_EVENT,    /* jdk.ExecutionSample of a recording that sampled an event (cache misses), not time */
    JFR_CPU_TIME, /* jdk.CPUTimeSample */
    JFR_NATIVE,   /* jdk.NativeMethodSample: a thread in native code, working or waiting */
    JFR_WALL,
    JFR_ALLOC,
    JFR_LIVE,
    JFR_LOCK,
    JFR_PARK, /* jdk.ThreadPark of an idle thread; naming turns waits for a lock into JFR_LOCK */
    JFR_NATIVE_LOCK,
    JFR_MALLOC,
    JFR_MALLOC_LIVE, /* allocated and not freed by the end of the recording */
    JFR_N_KINDS,
    /* jdk.ObjectAllocationSample describes the same allocations as the events of JFR_ALLOC. It occurs only in
     * the counts of a chunk. If a chunk has both kinds, naming drops one of them; see jfr_naming.c. */
    JFR_ALLOC_SAMPLE = JFR_N_KINDS,
};
/* Returns the kind under which the profile shows these events. */
static inline enum jfr_kind jfr_kind_in_profile(enum jfr_kind kind)
{
    return kind == JFR_ALLOC_SAMPLE ? JFR_ALLOC : kind;
}

#define JFR_NO_STATE UINT32_MAX /* the event has no thread state */

struct jfr_count { /* the events of one distinct place */
    uint64_t stack, thread, class_id;
    uint32_t state, kind;
    double n;
    int64_t value;
};

enum { JFR_MAX_WAITING = 32 };
struct jfr_counts {
    struct jfr_count *items; /* complete after jfr_counts_flush */
    size_t n_items, cap_items;
    struct jfr_count_slot { /* open addressing */
        uint32_t tag;       /* upper half of the hash */
        uint32_t item;      /* index in items + 1; 0 if the slot is free */
    } * slots;
    size_t n_slots;
    struct jfr_count waiting[JFR_MAX_WAITING];
    uint64_t hashes[JFR_MAX_WAITING];
    size_t n_waiting;
};
/* Adds n and value to the count of the same place. The addition may wait until jfr_counts_flush. */
void jfr_count_add(struct jfr_counts *counts, const struct jfr_count *count);
void jfr_counts_flush(struct jfr_counts *counts);
void jfr_counts_clear(struct jfr_counts *counts); /* empties it and keeps most of the memory */
void jfr_counts_free(struct jfr_counts *counts);

struct jfr_settings { /* sampling intervals of the recording in ns or bytes; 0 if not recorded */
    double cpu_ns, wall_ns, alloc_bytes, lock_ns, native_lock_ns, malloc_bytes;
    char event[64];   /* if not "", cpu_ns is the number of these events per sample instead of a time */
    size_t n_changes; /* how often a setting changed, including its first value */
};
/* These return what one sample stands for: nanoseconds, or for jfr_cpu_ns events if settings->event is set.
 */
double jfr_cpu_ns(const struct jfr_settings *settings);
double jfr_wall_ns(const struct jfr_settings *settings);

static inline int64_t jfr_rounded(double value) /* value is not negative */
{
    return value < 9e18 ? (int64_t)(value + 0.5) : INT64_MAX;
}

struct jfr_block { /* the allocation or release of a block of native memory */
    uint64_t time, address, stack, thread;
    double n;
    int64_t bytes; /* -1 if the block is freed */
};

struct jfr_events { /* reads the events of a chunk or of a part of it; one per thread */
    struct jfr_types *types;
    const uint8_t *end;            /* end of the chunk */
    struct jfr_settings *settings; /* the settings of the file read so far */
    bool settings_known;           /* the settings of this chunk are read; setting records are skipped */
    /* Returns the pools of the chunk without its stacks. A setting may refer to a string in them. */
    const struct jfr_pools *(*get_pools)(void *context);
    void *context;
    struct jfr_counts *counts; /* the counts of the chunk, by its ids */
    struct jfr_event_tables *tables;
    double ns_per_tick;
    bool as_recorded;
    uint32_t left_out;      /* bit per jfr_kind whose events the caller does not need */
    uint32_t left_out_seen; /* bit per jfr_kind that is in left_out and occurs in the chunk */
    struct jfr_block *blocks;
    size_t n_blocks, cap_blocks;
    _Atomic size_t *n_chunk_blocks; /* blocks of all threads that read this chunk */
    bool too_many_blocks;           /* more than JFR_MAX_BLOCKS; blocks are no longer collected */
    struct jfr_handler *handlers;
    size_t n_handlers, cap_handlers;
    int64_t n_times; /* number of equal events that the current event represents */
    size_t n_failed, n_live_objects;
};
enum { JFR_MAX_BLOCKS = 4 << 20 }; /* per chunk; they take 200 MB of memory */

/* The tables that a thread keeps from chunk to chunk while it reads events. Each thread needs its own. */
struct jfr_event_tables *jfr_event_tables_new(void);
void jfr_event_tables_free(struct jfr_event_tables *tables);

/* Adds programs to the arena of types, so only one thread at a time may call it. */
void jfr_events_begin(struct jfr_events *e);
/* Reads the records from `at` to the first that begins at or after `until`, and returns where that one
 * begins. If a record does not fit into the chunk, it stops there and returns the start of that record. */
const uint8_t *jfr_events_read(struct jfr_events *e, const uint8_t *at, const uint8_t *until);
/* Reads only the settings in the same way, before the events are read, because a recorder may write settings
 * after the first events. If a setting occurs twice in a chunk, the last value applies to the whole chunk. */
const uint8_t *jfr_settings_read(struct jfr_events *e, const uint8_t *at, const uint8_t *until);
void jfr_events_end(struct jfr_events *e); /* adds the remaining events to counts */
void jfr_events_free(struct jfr_events *e);

/* ---- from the ids of a chunk to names ---- */

struct jfr_naming {
    struct jfr_pools *pools;
    struct jfr_world *world;
    struct jfr_counts *into; /* counts of the file, by strings of the profile and stacks of the world */
    const struct jfr_settings *settings;    /* if not NULL, they give samples their time now */
    bool is_event_counted;                  /* samples are JFR_EVENT, not JFR_CPU */
    double alloc_bytes, alloc_sample_bytes; /* sums of JFR_ALLOC and of JFR_ALLOC_SAMPLE in the chunk */
    struct jfr_count *without_stack;        /* named counts whose stack is not in the chunk */
    size_t n_without_stack, cap_without_stack;
};
/* Sums up the allocations. Call it for all counts of the chunk before jfr_name_counts. */
void jfr_weigh_allocations(struct jfr_naming *naming, const struct jfr_counts *counts);
void jfr_name_counts(struct jfr_naming *naming, const struct jfr_counts *counts);
/* Adds the counts of without_stack with the stacks that the pools of another chunk have for them. A count
 * without a stack in these pools gets a stack of one frame that says so. */
void jfr_add_without_stack(struct jfr_naming *naming, struct jfr_pools *pools);

/* Adds from_counts, which refer to stacks and strings of `from`, to into_counts. */
void jfr_join(struct jfr_world *into, struct jfr_counts *into_counts, const struct jfr_world *from,
              const struct jfr_counts *from_counts);

/* ---- a chunk ---- */

enum { JFR_HEADER_BYTES = 68 };

struct jfr_chunk {
    const uint8_t *data;
    size_t size;
    uint64_t pool_at, metadata_at, start_ns, duration_ns, ticks_per_s;
    bool is_open; /* not closed by its writer, or cut; it then extends to the next chunk */
    bool goes_on; /* continues the recording of the previous chunk in the file */
};

struct jfr_live_block {
    uint32_t stack, thread;
    double n;
    int64_t bytes;
};

struct jfr_worker { /* the state of one thread that reads events */
    struct jfr_event_tables *tables;
    struct jfr_counts counts; /* of the current chunk */
};

/* The result of reading a file, or of the chunks of a file that one thread reads. */
struct jfr_reading {
    const struct format_options *options;
    struct jfr_world world;
    struct jfr_counts counts; /* by ids of the profile; class_id and state are strings */
    struct jfr_types types;   /* of the current chunk, like the pools */
    struct jfr_pools pools;
    struct jfr_worker *workers;
    unsigned n_workers; /* threads that share the events of one chunk */
    struct jfr_settings settings;
    struct idmap blocks_by_address; /* address -> index in live_blocks */
    struct jfr_live_block *live_blocks;
    size_t n_live_blocks, cap_live_blocks;
    bool has_frees, too_many_blocks;
    int64_t first_start_ns, last_end_ns;
    uint32_t left_out, left_out_seen; /* as in struct jfr_events */
    char event[64];                   /* the first event that was sampled instead of time; "" if none */
    bool has_other_events;
    size_t n_chunks, n_open_chunks; /* n_open_chunks counts chunks that are open, cut or damaged */
    size_t n_lost_bytes, n_failed, n_cut_bytes;
    size_t most_live_objects; /* the maximum over the chunks */
    size_t n_doubled_chunks;  /* chunks that record allocations in two ways */
    const uint8_t *dropped;   /* the pages before this address are already returned to the kernel */
};
void jfr_reading_begin(struct jfr_reading *f, const struct format_options *options, uint32_t left_out,
                       unsigned n_workers, struct profile *into);
void jfr_reading_end(struct jfr_reading *f);

/* Reads one chunk. If chunk->goes_on is set, chunk[-1] must be the previous chunk of the file. If
 * settings_first is set, the settings of the chunk apply to all its events, even to those before them. */
void jfr_read_chunk(struct jfr_reading *f, const struct jfr_chunk *chunk, bool settings_first);

/* Returns the pages up to `until` to the kernel if there are at least at_least_bytes of them, so that a
 * recording of many gigabytes is read in little memory. */
void jfr_drop_behind(struct jfr_reading *f, const uint8_t *until, size_t at_least_bytes);

#endif
