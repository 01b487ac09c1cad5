/* jfr_pools.c - finds the entries of a chunk's constant pools, and resolves an entry when an event needs it;
 * see jfr.h. */
#include <string.h>

#include "base/mem.h"
#include "format/jfr/jfr.h"

/* Slots of the programs below. */
enum { CLASS_NAME = 0 };
enum { METHOD_CLASS, METHOD_NAME, METHOD_DESCRIPTOR };
enum { THREAD_OS_NAME, THREAD_JAVA_NAME };
enum { TEXT };

static const struct jfr_want want_text[] = {
    {"string", TEXT, JFR_TEXT}, {"description", TEXT, JFR_TEXT}, {"name", TEXT, JFR_TEXT}, {0}};
static const struct jfr_want want_class[] = {{"name", CLASS_NAME, JFR_NUMBER}, {0}};
static const struct jfr_want want_method[] = {{"type", METHOD_CLASS, JFR_NUMBER},
                                              {"name", METHOD_NAME, JFR_NUMBER},
                                              {"descriptor", METHOD_DESCRIPTOR, JFR_NUMBER},
                                              {0}};
static const struct jfr_want want_stack[] = {
    {"truncated", JFR_STACK_TRUNCATED, JFR_NUMBER}, {"frames", JFR_STACK_FRAMES, JFR_FRAMES}, {0}};
static const struct jfr_want want_frame[] = {{"method", JFR_FRAME_METHOD, JFR_NUMBER},
                                             {"lineNumber", JFR_FRAME_LINE, JFR_NUMBER},
                                             {"type", JFR_FRAME_TYPE, JFR_NUMBER},
                                             {0}};
static const struct jfr_want want_thread[] = {
    {"osName", THREAD_OS_NAME, JFR_TEXT}, {"javaName", THREAD_JAVA_NAME, JFR_TEXT}, {0}};

static const struct {
    const char *type;
    const struct jfr_want *wanted;
} pool_types[JFR_N_POOLS] = {
    [JFR_POOL_STRING] = {"java.lang.String", NULL},
    [JFR_POOL_SYMBOL] = {"jdk.types.Symbol", want_text},
    [JFR_POOL_CLASS] = {"java.lang.Class", want_class},
    [JFR_POOL_METHOD] = {"jdk.types.Method", want_method},
    [JFR_POOL_STACK] = {"jdk.types.StackTrace", want_stack},
    [JFR_POOL_THREAD] = {"java.lang.Thread", want_thread},
    [JFR_POOL_FRAME_TYPE] = {"jdk.types.FrameType", want_text},
    [JFR_POOL_THREAD_STATE] = {"jdk.types.ThreadState", want_text},
};

void jfr_pools_begin(struct jfr_pools *pools, struct jfr_types *types, const uint8_t *chunk_end)
{
    pools->types = types;
    pools->end = chunk_end;
    for (int kind = 0; kind < JFR_N_POOLS; kind++) {
        const struct jfr_type *type = jfr_type_by_name(types, pool_types[kind].type);
        if (type && pool_types[kind].wanted)
            pools->pools[kind].program = jfr_compile(types, type, pool_types[kind].wanted, false);
    }
    const struct jfr_type *frame = jfr_type_by_name(types, "jdk.types.StackFrame");
    if (frame) pools->frame_program = jfr_compile(types, frame, want_frame, true);
    jfr_stacks_begin(pools);
}

static int pool_of(const struct jfr_type *type)
{
    for (int kind = 0; kind < JFR_N_POOLS; kind++)
        if (!strcmp(type->name, pool_types[kind].type)) return kind;
    return -1;
}

static struct jfr_entry *slot_of(const struct jfr_pool *pool, uint64_t key)
{
    size_t mask = pool->n_slots - 1, i = jfr_pool_slot(pool, key);
    while (pool->entries[i].at && pool->entries[i].key != key) i = (i + 1) & mask;
    return &pool->entries[i];
}

static void grow(struct jfr_pool *pool)
{
    struct jfr_pool old = *pool;
    pool->n_slots = old.n_slots ? old.n_slots * 2 : 64;
    pool->entries = mem_zalloc(pool->n_slots * sizeof *pool->entries);
    for (size_t i = 0; i < old.n_slots; i++)
        if (old.entries[i].at) *slot_of(pool, old.entries[i].key) = old.entries[i];
    mem_free(old.entries);
}

static void add_entry(struct jfr_pool *pool, uint64_t key, const uint8_t *at, struct jfr_hash hash)
{
    if (pool->n_entries * 2 >= pool->n_slots) grow(pool);
    struct jfr_entry *entry = slot_of(pool, key);
    if (entry->at) return; /* a later record repeats the same entry */
    *entry = (struct jfr_entry){key, at, hash.a, hash.b, JFR_UNRESOLVED};
    pool->n_entries++;
}

void jfr_filter_begin(struct jfr_filter *filter, size_t n_keys)
{
    size_t n_words = 1;
    while (n_words * 8 < n_keys) n_words *= 2; /* at most an eighth of the bits is set */
    if (filter->n_words != n_words) {          /* n_words may be 0 although memory is allocated */
        mem_free(filter->words);
        filter->words = mem_array(n_words, sizeof *filter->words);
        filter->n_words = n_words;
    }
    memset(filter->words, 0, n_words * sizeof *filter->words);
}

static inline bool is_wanted(const struct jfr_filter *filter, uint64_t key)
{
    if (!filter->n_words) return false;
    size_t word;
    uint64_t bit = jfr_filter_bit(filter, key, &word);
    return filter->words[word] & bit;
}

/* Returns the symbol id of a class's name. */
static uint64_t class_name_at(const struct jfr_pools *pools, const uint8_t *at)
{
    union jfr_slot slots[JFR_MAX_SLOTS] = {0};
    struct rd r = {.p = at, .end = pools->end};
    jfr_run(pools->types, &pools->pools[JFR_POOL_CLASS].program, &r, slots);
    return slots[CLASS_NAME].number;
}

bool jfr_pools_read(struct jfr_pools *pools, struct rd r, int64_t *ret_delta)
{
    (void)jfr_varint(&r); /* start */
    (void)jfr_varint(&r); /* duration */
    *ret_delta = (int64_t)jfr_varint(&r);
    rd_skip(&r, 1); /* flags */
    uint64_t n_pools = jfr_varint(&r);
    for (uint64_t i = 0; i < n_pools && !r.bad; i++) {
        const struct jfr_type *type = jfr_type_by_id(pools->types, jfr_varint(&r));
        uint64_t n = jfr_varint(&r);
        if (r.bad || !type || n > rd_left(&r)) return false;
        int kind = pool_of(type);
        bool is_text = !strcmp(type->name, "java.lang.String");
        for (uint64_t k = 0; k < n && !r.bad; k++) {
            uint64_t key = jfr_varint(&r);
            const uint8_t *at = r.p;
            if (is_text)
                (void)jfr_read_string(&r);
            else if (kind == JFR_POOL_STACK && pools->n_plain_frame_fields)
                jfr_skip_plain_stack(pools, &r);
            else
                jfr_skip_struct(pools->types, type, &r);
            if (kind < 0 || r.bad || (kind == JFR_POOL_STACK && !is_wanted(&pools->stacks, key))) continue;
            struct jfr_hash hash = {0};
            if (kind == JFR_POOL_CLASS) hash.a = class_name_at(pools, at);
            if (kind == JFR_POOL_STACK || kind == JFR_POOL_SYMBOL) hash = jfr_hash_of(at, (size_t)(r.p - at));
            add_entry(&pools->pools[kind], key, at, hash);
        }
        /* Every entry that was added ends inside the record. */
    }
    return !r.bad;
}

void jfr_pools_clear(struct jfr_pools *pools)
{
    struct jfr_pools old = *pools;
    *pools = (struct jfr_pools){.stacks = old.stacks};
    for (int kind = 0; kind < JFR_N_POOLS; kind++) {
        struct jfr_pool *pool = &old.pools[kind];
        if (pool->n_entries <
            pool->n_slots / 16) { /* clearing a large table for each of many small chunks would be slow */
            mem_free(pool->entries);
            continue;
        }
        if (pool->n_entries) memset(pool->entries, 0, pool->n_slots * sizeof *pool->entries);
        pools->pools[kind] = (struct jfr_pool){.entries = pool->entries, .n_slots = pool->n_slots};
    }
}

void jfr_pools_free(struct jfr_pools *pools)
{
    for (int kind = 0; kind < JFR_N_POOLS; kind++) mem_free(pools->pools[kind].entries);
    mem_free(pools->stacks.words);
    *pools = (struct jfr_pools){0};
}

void jfr_world_free(struct jfr_world *w)
{
    strtab_free(&w->function_names);
    strtab_free(&w->mapping_names);
    mem_free(w->function_of);
    idmap_free(&w->locations);
    mem_free(w->stack_frames);
    mem_free(w->stack_start);
    mem_free(w->stack_slots);
    mem_free(w->frames_scratch);
    jfr_memo_free(&w->memo);
    *w = (struct jfr_world){0};
}

/* ---- from a key to what it means ---- */

/* Returns a reader over a value that jfr_pools_read has found complete. */
static inline struct rd value_at(const struct jfr_pools *pools, const uint8_t *at)
{
    return (struct rd){.p = at, .end = pools->end};
}

struct jfr_entry *jfr_pool_find(const struct jfr_pool *pool, uint64_t key)
{
    if (!pool->n_slots) return NULL;
    struct jfr_entry *entry = slot_of(pool, key);
    return entry->at ? entry : NULL;
}

/* Returns the string stored at `at`, or the string of the pool that it refers to. */
static uint32_t text_at(struct jfr_pools *pools, struct jfr_world *w, const uint8_t *at)
{
    struct rd r = value_at(pools, at);
    struct jfr_string s = jfr_read_string(&r);
    if (s.form != JFR_STRING_POOL) return jfr_intern(w->p, s);
    return jfr_pool_string(pools, w, JFR_POOL_STRING, s.pool_id);
}

uint32_t jfr_pool_string(struct jfr_pools *pools, struct jfr_world *w, enum jfr_pool_kind kind, uint64_t key)
{
    struct jfr_pool *pool = &pools->pools[kind];
    struct jfr_entry *entry = jfr_pool_find(pool, key);
    if (!entry) return 0;
    if (entry->result != JFR_UNRESOLVED) return entry->result;
    struct rd r = value_at(pools, entry->at);
    uint32_t id = 0;
    if (kind == JFR_POOL_STRING) {
        struct jfr_string s =
            jfr_read_string(&r); /* a reference to another string is not followed; it could be circular */
        id = jfr_intern(w->p, s);
    } else if (pool->program.found & 1u << TEXT) {
        union jfr_slot slots[JFR_MAX_SLOTS] = {0};
        jfr_run(pools->types, &pool->program, &r, slots);
        id = text_at(pools, w, slots[TEXT].at);
    }
    return entry->result = id;
}

/* Returns the text of a symbol. Many methods may belong to one class, so a hostile file could make a very
 * long class name fill the memory. Once long names have taken MAX_LONG_BYTES in all, they are cut. */
static struct str symbol_text(struct jfr_pools *pools, struct jfr_world *w, uint64_t key)
{
    enum { LONG_BYTES = 1024, MAX_LONG_BYTES = 64 << 20 };
    struct str text = profile_str(w->p, jfr_pool_string(pools, w, JFR_POOL_SYMBOL, key));
    if (text.len <= LONG_BYTES) return text;
    w->n_long_bytes += text.len;
    if (w->n_long_bytes > MAX_LONG_BYTES) text.len = LONG_BYTES;
    return text;
}

/* "java/lang/String" -> "java.lang.String"; "[Ljava/lang/String;" -> "java.lang.String[]"; "[[I" ->
 * "int[][]". */
static void add_class_name(struct buf *out, const char *name, size_t n)
{
    size_t dimensions = 0;
    while (dimensions < n && name[dimensions] == '[') dimensions++;
    const char *inner = name + dimensions;
    size_t n_inner = n - dimensions;
    if (dimensions && n_inner == 1) {
        static const char *const primitives[][2] = {{"I", "int"},    {"J", "long"},   {"B", "byte"},
                                                    {"C", "char"},   {"S", "short"},  {"F", "float"},
                                                    {"D", "double"}, {"Z", "boolean"}};
        for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++)
            if (*inner == *primitives[i][0]) inner = primitives[i][1], n_inner = strlen(inner), i = 8;
    } else if (dimensions && n_inner > 2 && *inner == 'L' && inner[n_inner - 1] == ';') {
        inner++, n_inner -= 2;
    }
    for (size_t i = 0; i < n_inner; i++) buf_char(out, inner[i] == '/' ? '.' : inner[i]);
    for (size_t i = 0; i < dimensions; i++) buf_str(out, "[]");
}

/* The JVM generates classes whose names contain a number or an address that differs from run to run, such as
 * "Work$$Lambda$32.0x7fd2" or "GeneratedMethodAccessor17". Without that part, profiles of several runs have
 * the same functions. Returns the length of the name without it. */
static size_t stable_length(const char *name, size_t n)
{
    /* "+0x00007f7cb0000a08", to which the JDK appends "/1160460865" */
    size_t at = n, end = n;
    while (at && name[at - 1] >= '0' && name[at - 1] <= '9') at--;
    if (at > 1 && at < n && (name[at - 1] == '/' || name[at - 1] == '.')) end = at - 1;
    for (int round = 0; round < 2; round++, end = n) {
        at = end;
        while (at &&
               ((name[at - 1] >= '0' && name[at - 1] <= '9') || (name[at - 1] >= 'a' && name[at - 1] <= 'f')))
            at--;
        if (at < end && at > 3 && name[at - 1] == 'x' && name[at - 2] == '0' && strchr("./+", name[at - 3])) {
            n = at - 3;
            break;
        }
    }
    at = n;
    while (at && name[at - 1] >= '0' && name[at - 1] <= '9') at--;
    if (at == n) return n;
    static const char *const made_up[] = {"$$Lambda$", "GeneratedMethodAccessor",
                                          "GeneratedConstructorAccessor",
                                          "GeneratedSerializationConstructorAccessor"};
    for (size_t i = 0; i < sizeof made_up / sizeof *made_up; i++) {
        size_t m = strlen(made_up[i]);
        if (at >= m && !memcmp(name + at - m, made_up[i], m)) return i ? at : at - 1;
    }
    return n;
}

uint32_t jfr_pool_class(struct jfr_pools *pools, struct jfr_world *w, uint64_t key)
{
    struct jfr_pool *pool = &pools->pools[JFR_POOL_CLASS];
    struct jfr_entry *entry = jfr_pool_find(pool, key);
    if (!entry || !(pool->program.found & 1u << CLASS_NAME)) return 0;
    if (entry->result != JFR_UNRESOLVED) return entry->result;
    struct str name = symbol_text(pools, w, entry->hash_a);
    struct buf text = {0};
    add_class_name(&text, name.s, w->as_recorded ? name.len : stable_length(name.s, name.len));
    entry->result = profile_string(w->p, text.data ? text.data : "", text.len);
    buf_free(&text);
    return entry->result;
}

uint32_t jfr_pool_thread(struct jfr_pools *pools, struct jfr_world *w, uint64_t key)
{
    struct jfr_pool *pool = &pools->pools[JFR_POOL_THREAD];
    struct jfr_entry *entry = jfr_pool_find(pool, key);
    if (!entry) return 0;
    if (entry->result != JFR_UNRESOLVED) return entry->result;
    union jfr_slot slots[JFR_MAX_SLOTS] = {0};
    struct rd r = value_at(pools, entry->at);
    jfr_run(pools->types, &pool->program, &r, slots);
    uint32_t name = slots[THREAD_JAVA_NAME].at ? text_at(pools, w, slots[THREAD_JAVA_NAME].at) : 0;
    if (!name && slots[THREAD_OS_NAME].at) name = text_at(pools, w, slots[THREAD_OS_NAME].at);
    return entry->result = name;
}

/* ---- frames and stacks ---- */

static enum frame_kind kind_named(const char *name, bool is_async_profiler)
{
    if (!strcmp(name, "Interpreted")) return FRAME_INTERPRETED;
    if (!strcmp(name, "JIT compiled")) return FRAME_JIT;
    if (!strcmp(name, "Inlined")) return FRAME_INLINED;
    if (!strcmp(name, "C1 compiled")) return FRAME_C1;
    if (!strcmp(name, "Native")) return is_async_profiler ? FRAME_NATIVE : FRAME_JAVA_NATIVE;
    if (!strcmp(name, "C++")) return FRAME_NATIVE;
    if (!strcmp(name, "Kernel")) return FRAME_KERNEL;
    return FRAME_OTHER;
}

void jfr_learn_frame_types(struct jfr_pools *pools, struct jfr_world *w)
{
    const char *names[16];
    for (unsigned i = 0; i < 16; i++) {
        names[i] = profile_text(w->p, jfr_pool_string(pools, w, JFR_POOL_FRAME_TYPE, i));
        if (!strcmp(names[i], "Kernel")) pools->is_async_profiler = true;
    }
    for (unsigned i = 0; i < 16; i++)
        pools->kind_of_frame_type[i] = kind_named(names[i], pools->is_async_profiler);
    pools->frame_types_known = true;
}

uint32_t jfr_mapping_named(struct jfr_world *w, const char *name, size_t n)
{
    if (!n) return 0;
    uint32_t id = strtab_add(&w->mapping_names, name, n); /* from 1, in the order of the mappings */
    if (id > w->p->n_mappings) {
        profile_add_mapping(w->p, 0, 0, 0, profile_string(w->p, name, n), 0);
        struct mapping *m = &w->p->mappings[w->p->n_mappings - 1];
        m->has_functions = m->has_filenames = m->has_line_numbers = m->has_inline_frames = true;
    }
    return id;
}

void jfr_world_begin(struct jfr_world *w)
{
    (void)jfr_mapping_named(w, "java", 4);
}

struct names {
    struct str class_name, name, descriptor;
};

static struct names method_names(struct jfr_pools *pools, struct jfr_world *w, const struct jfr_entry *method)
{
    struct jfr_pool *pool = &pools->pools[JFR_POOL_METHOD], *classes = &pools->pools[JFR_POOL_CLASS];
    union jfr_slot slots[JFR_MAX_SLOTS] = {0};
    struct rd r = value_at(pools, method->at);
    jfr_run(pools->types, &pool->program, &r, slots);
    struct names names = {.name = symbol_text(pools, w, slots[METHOD_NAME].number),
                          .descriptor = symbol_text(pools, w, slots[METHOD_DESCRIPTOR].number),
                          .class_name = {.s = ""}};
    const struct jfr_entry *its_class = jfr_pool_find(classes, slots[METHOD_CLASS].number);
    if (its_class) names.class_name = symbol_text(pools, w, its_class->hash_a);
    return names;
}

/* Returns the hash `meaning` combined with the text of a symbol. */
static uint64_t with_symbol(const struct jfr_pools *pools, uint64_t meaning, uint64_t key)
{
    const struct jfr_pool *pool = &pools->pools[JFR_POOL_SYMBOL];
    const struct jfr_entry *symbol = jfr_pool_find(pool, key);
    if (symbol) {
        meaning ^= symbol->hash_a ^ (uint64_t)symbol->hash_b << 32;
        /* For a reference to another string the address is hashed instead of the text, so that it does not
         * match in the next chunk. */
        if (pool->program.n_steps != 1 || *symbol->at == JFR_STRING_POOL) meaning ^= (uintptr_t)symbol->at;
    }
    meaning *= 0x9e3779b97f4a7c15u;
    return meaning ^ meaning >> 31;
}

uint64_t jfr_method_meaning(const struct jfr_pools *pools, const struct jfr_entry *method)
{
    const struct jfr_pool *pool = &pools->pools[JFR_POOL_METHOD], *classes = &pools->pools[JFR_POOL_CLASS];
    union jfr_slot slots[3] = {0};
    struct rd r = value_at(pools, method->at);
    jfr_run(pools->types, &pool->program, &r, slots);
    const struct jfr_entry *its_class = jfr_pool_find(classes, slots[METHOD_CLASS].number);
    uint64_t meaning = with_symbol(pools, 0, its_class ? its_class->hash_a : 0);
    meaning = with_symbol(pools, meaning, slots[METHOD_NAME].number);
    return with_symbol(pools, meaning, slots[METHOD_DESCRIPTOR].number);
}

/* The source file is not recorded. Java wants a class in a file named after the outermost one, so that is
 * what it is called. */
static uint32_t source_of(struct profile *p, struct str class_name)
{
    const char *dollar = memchr(class_name.s, '$', class_name.len);
    size_t n = dollar && dollar != class_name.s && dollar[-1] != '/' ? (size_t)(dollar - class_name.s)
                                                                     : class_name.len;
    if (!n || *class_name.s == '[') return 0;
    char *text = mem_printf("%.*s.java", (int)n, class_name.s);
    uint32_t id = profile_cstr(p, text);
    mem_free(text);
    return id;
}

/* Whether this is a word that async-profiler writes instead of a frame when it cannot unwind further. */
static bool is_unwinder_message(struct str name)
{
    static const char *const remarks[] = {"unknown",           "unknown_Java",     "no_Java_frame",
                                          "not_walkable_Java", "unknown_nmethod",  "stale_jmethodID",
                                          "truncated",         "storage_overflow", "GC_active",
                                          "deoptimized",       "skipped"};
    if (name.len > 6 && !strncmp(name.s, "break_", 6)) return true;
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
        if (!strcmp(name.s, remarks[i])) return true;
    return false;
}

/* Returns the profile's function for a method, and adds it if it is new. */
static uint32_t make_function(struct jfr_pools *pools, struct jfr_world *w, const struct jfr_entry *method,
                              enum frame_kind kind)
{
    bool is_native = kind == FRAME_NATIVE || kind == FRAME_KERNEL;
    /* A remark of async-profiler's stack walker is a frame without a library, shown as [unknown_Java]. */
    struct names n = method_names(pools, w, method);
    if (!is_native && !w->as_recorded)
        n.class_name.len = (uint32_t)stable_length(n.class_name.s, n.class_name.len);
    struct buf full = {0}, shown = {0};
    buf_add(&full, n.class_name.s, n.class_name.len);
    buf_char(&full, is_native ? '!' : '.');
    buf_add(&full, n.name.s, n.name.len);
    if (!is_native) buf_add(&full, n.descriptor.s, n.descriptor.len);
    uint32_t identity = strtab_add(&w->function_names, full.data, full.len);
    if (identity > w->p->n_functions) {
        w->function_of = mem_grow(w->function_of, &w->cap_function_of, identity + 1, sizeof *w->function_of);
        if (!is_native && n.class_name.len) {
            add_class_name(&shown, n.class_name.s, n.class_name.len);
            buf_char(&shown, '.');
        }
        bool is_remark = kind == FRAME_NATIVE && !n.class_name.len && is_unwinder_message(n.name);
        if (is_remark) buf_char(&shown, '[');
        buf_add(&shown, n.name.s, n.name.len);
        if (is_remark) buf_char(&shown, ']');
        uint32_t name = profile_string(w->p, shown.data ? shown.data : "", shown.len);
        uint32_t system_name = is_native ? name : profile_string(w->p, full.data, full.len);
        w->function_of[identity] =
            profile_add_function(w->p, name, system_name, is_native ? 0 : source_of(w->p, n.class_name), 0);
    }
    buf_free(&full);
    buf_free(&shown);
    return w->function_of[identity];
}

uint32_t jfr_function_named(struct jfr_world *w, const char *name)
{
    uint32_t identity = strtab_add_cstr(&w->function_names, name);
    if (identity > w->p->n_functions) {
        w->function_of = mem_grow(w->function_of, &w->cap_function_of, identity + 1, sizeof *w->function_of);
        uint32_t text = profile_cstr(w->p, name);
        w->function_of[identity] = profile_add_function(w->p, text, text, 0, 0);
    }
    return w->function_of[identity];
}

uint32_t jfr_location_of(struct jfr_pools *pools, struct jfr_world *w, uint64_t method_key,
                         uint64_t line_number, uint64_t type)
{
    static const char *const kind_mapping[N_FRAME_KINDS] = {[FRAME_INTERPRETED] = "[interpreted]",
                                                            [FRAME_JIT] = "[jit]",
                                                            [FRAME_INLINED] = "[inlined]",
                                                            [FRAME_C1] = "[c1]",
                                                            [FRAME_JAVA_NATIVE] = "[java native]",
                                                            [FRAME_KERNEL] = "[kernel]",
                                                            [FRAME_OTHER] = "java"};
    struct jfr_pool *methods = &pools->pools[JFR_POOL_METHOD];
    enum frame_kind kind = type < 16 ? pools->kind_of_frame_type[type] : FRAME_OTHER;
    bool is_native = kind == FRAME_NATIVE || kind == FRAME_KERNEL;
    struct jfr_entry *method = jfr_pool_find(methods, method_key);
    uint32_t function;
    uint64_t line = is_native ? 0 : line_number & 0xffffffff;
    if (line >= 1 << 24) line = 0; /* -1 if unknown */
    if (!method) {
        w->n_unresolved++;
        function = jfr_function_named(w, "[unknown method]");
    } else {
        /* Only a damaged file has a method both as native and as Java; the first use decides. */
        if (method->result == JFR_UNRESOLVED) method->result = make_function(pools, w, method, kind);
        function = method->result;
    }
    bool is_new;
    uint32_t *slot =
        idmap_slot(&w->locations, (uint64_t)function << 32 | line << 8 | (uint64_t)kind, &is_new);
    if (!is_new) return *slot;
    uint32_t mapping = 0;
    if (kind == FRAME_NATIVE && method) {
        struct str library = method_names(pools, w, method).class_name;
        mapping = jfr_mapping_named(w, library.s, library.len);
    } else if (kind != FRAME_NATIVE) {
        mapping = jfr_mapping_named(w, kind_mapping[kind], strlen(kind_mapping[kind]));
    }
    uint32_t location = profile_add_location(w->p, 0, mapping);
    profile_add_line(w->p, function, (int64_t)line, 0);
    return *slot = location;
}
