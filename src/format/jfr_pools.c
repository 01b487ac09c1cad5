/* jfr_pools.c - the constant pools of a chunk: found first, resolved when an event asks for them; see jfr.h.
 */
#include <string.h>

#include "base/mem.h"
#include "format/jfr.h"

enum { UNKNOWN = UINT32_MAX, MAX_FRAMES = 65536 };

/* Slots of the programs below. */
enum { CLASS_NAME = 0 };
enum { METHOD_CLASS, METHOD_NAME, METHOD_DESCRIPTOR };
enum { STACK_TRUNCATED, STACK_FRAMES };
enum { FRAME_METHOD, FRAME_LINE, FRAME_TYPE };
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
    {"truncated", STACK_TRUNCATED, JFR_NUMBER}, {"frames", STACK_FRAMES, JFR_FRAMES}, {0}};
static const struct jfr_want want_frame[] = {{"method", FRAME_METHOD, JFR_NUMBER},
                                             {"lineNumber", FRAME_LINE, JFR_NUMBER},
                                             {"type", FRAME_TYPE, JFR_NUMBER},
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
}

static int pool_of(const struct jfr_type *type)
{
    for (int kind = 0; kind < JFR_N_POOLS; kind++)
        if (!strcmp(type->name, pool_types[kind].type)) return kind;
    return -1;
}

static void add_entry(struct jfr_pool *pool, uint64_t key, const uint8_t *at)
{
    bool is_new;
    uint32_t *slot = idmap_slot(&pool->by_key, key, &is_new);
    if (!is_new) return; /* said again in a later record: the same */
    *slot = (uint32_t)pool->n;
    pool->result = mem_grow(pool->result, &pool->cap_result, pool->n + 1, sizeof *pool->result);
    pool->result[pool->n] = UNKNOWN;
    *VEC_PUSH(pool->at, pool->n, pool->cap) = at;
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
            else
                jfr_skip_struct(pools->types, type, &r);
            if (kind >= 0 && !r.bad) add_entry(&pools->pools[kind], key, at);
        }
        /* What was taken is whole: it ends inside the record. */
    }
    return !r.bad;
}

void jfr_pools_free(struct jfr_pools *pools)
{
    for (int kind = 0; kind < JFR_N_POOLS; kind++) {
        idmap_free(&pools->pools[kind].by_key);
        mem_free(pools->pools[kind].at);
        mem_free(pools->pools[kind].result);
    }
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
    *w = (struct jfr_world){0};
}

/* ---- from a key to what it means ---- */

/* A value that was found whole before: it is decoded now that somebody wants it. */
static struct rd value_at(const struct jfr_pools *pools, const uint8_t *at)
{
    return (struct rd){.p = at, .end = pools->end};
}

/* The entry's index, or UNKNOWN. */
static uint32_t find_entry(const struct jfr_pool *pool, uint64_t key)
{
    uint32_t index;
    return idmap_find(&pool->by_key, key, &index) ? index : UNKNOWN;
}

/* A string in place, or one of the pool of strings. */
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
    uint32_t index = find_entry(pool, key);
    if (index == UNKNOWN) return 0;
    if (pool->result[index] != UNKNOWN) return pool->result[index];
    struct rd r = value_at(pools, pool->at[index]);
    uint32_t id = 0;
    if (kind == JFR_POOL_STRING) {
        struct jfr_string s =
            jfr_read_string(&r); /* one that refers to another is not followed: it could be to itself */
        id = jfr_intern(w->p, s);
    } else if (pool->program.found & 1u << TEXT) {
        union jfr_slot slots[JFR_MAX_SLOTS] = {0};
        jfr_run(pools->types, &pool->program, &r, slots);
        id = text_at(pools, w, slots[TEXT].at);
    }
    return pool->result[index] = id;
}

/* A reference to a symbol. */
static struct str symbol_text(struct jfr_pools *pools, struct jfr_world *w, uint64_t key)
{
    return profile_str(w->p, jfr_pool_string(pools, w, JFR_POOL_SYMBOL, key));
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

/* Classes that the JVM makes up have a number or an address in their name that differs from run to run,
 * "Work$$Lambda$32.0x7fd2" or "GeneratedMethodAccessor17": without it profiles of several runs have the same
 * functions. Returns how much of it stays. */
static size_t stable_length(const char *name, size_t n)
{
    size_t at = n;
    while (at &&
           ((name[at - 1] >= '0' && name[at - 1] <= '9') || (name[at - 1] >= 'a' && name[at - 1] <= 'f')))
        at--;
    if (at > 3 && name[at - 1] == 'x' && name[at - 2] == '0' && strchr("./+", name[at - 3])) n = at - 3;
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
    uint32_t index = find_entry(pool, key);
    if (index == UNKNOWN || !(pool->program.found & 1u << CLASS_NAME)) return 0;
    if (pool->result[index] != UNKNOWN) return pool->result[index];
    union jfr_slot slots[JFR_MAX_SLOTS] = {0};
    struct rd r = value_at(pools, pool->at[index]);
    jfr_run(pools->types, &pool->program, &r, slots);
    struct str name = symbol_text(pools, w, slots[CLASS_NAME].number);
    struct buf text = {0};
    add_class_name(&text, name.s, w->as_recorded ? name.len : stable_length(name.s, name.len));
    pool->result[index] = profile_string(w->p, text.data ? text.data : "", text.len);
    buf_free(&text);
    return pool->result[index];
}

uint32_t jfr_pool_thread(struct jfr_pools *pools, struct jfr_world *w, uint64_t key)
{
    struct jfr_pool *pool = &pools->pools[JFR_POOL_THREAD];
    uint32_t index = find_entry(pool, key);
    if (index == UNKNOWN) return 0;
    if (pool->result[index] != UNKNOWN) return pool->result[index];
    union jfr_slot slots[JFR_MAX_SLOTS] = {0};
    struct rd r = value_at(pools, pool->at[index]);
    jfr_run(pools->types, &pool->program, &r, slots);
    uint32_t name = slots[THREAD_JAVA_NAME].at ? text_at(pools, w, slots[THREAD_JAVA_NAME].at) : 0;
    if (!name && slots[THREAD_OS_NAME].at) name = text_at(pools, w, slots[THREAD_OS_NAME].at);
    return pool->result[index] = name;
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

static void learn_frame_types(struct jfr_pools *pools, struct jfr_world *w)
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

/* Mapping references are index + 1. */
static uint32_t mapping_named(struct jfr_world *w, const char *name, size_t n)
{
    if (!n) return 0;
    uint32_t id = strtab_add(&w->mapping_names, name, n); /* 1.. in the order they are made */
    if (id > w->p->n_mappings) {
        profile_add_mapping(w->p, 0, 0, 0, profile_string(w->p, name, n), 0);
        struct mapping *m = &w->p->mappings[w->p->n_mappings - 1];
        m->has_functions = m->has_filenames = m->has_line_numbers = m->has_inline_frames = true;
    }
    return id;
}

void jfr_world_begin(struct jfr_world *w)
{
    (void)mapping_named(w, "java", 4);
}

struct names {
    struct str class_name, name, descriptor;
};

static struct names method_names(struct jfr_pools *pools, struct jfr_world *w, uint32_t method)
{
    struct jfr_pool *pool = &pools->pools[JFR_POOL_METHOD], *classes = &pools->pools[JFR_POOL_CLASS];
    union jfr_slot slots[JFR_MAX_SLOTS] = {0}, class_slots[JFR_MAX_SLOTS] = {0};
    struct rd r = value_at(pools, pool->at[method]);
    jfr_run(pools->types, &pool->program, &r, slots);
    struct names names = {.name = symbol_text(pools, w, slots[METHOD_NAME].number),
                          .descriptor = symbol_text(pools, w, slots[METHOD_DESCRIPTOR].number),
                          .class_name = {.s = ""}};
    uint32_t class_index = find_entry(classes, slots[METHOD_CLASS].number);
    if (class_index != UNKNOWN) {
        r = value_at(pools, classes->at[class_index]);
        jfr_run(pools->types, &classes->program, &r, class_slots);
        names.class_name = symbol_text(pools, w, class_slots[CLASS_NAME].number);
    }
    return names;
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

/* What async-profiler says instead of a frame when it cannot walk on. */
static bool is_walkers_remark(struct str name)
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

/* The function of the profile for a method. */
static uint32_t make_function(struct jfr_pools *pools, struct jfr_world *w, uint32_t method,
                              enum frame_kind kind)
{
    bool is_native = kind == FRAME_NATIVE || kind == FRAME_KERNEL;
    /* What the walker says of itself is a frame without a library: [unknown_Java]. */
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
        bool is_remark = kind == FRAME_NATIVE && !n.class_name.len && is_walkers_remark(n.name);
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

/* A function of the profile that no class has. */
static uint32_t function_named(struct jfr_world *w, const char *name)
{
    uint32_t identity = strtab_add_cstr(&w->function_names, name);
    if (identity > w->p->n_functions) {
        w->function_of = mem_grow(w->function_of, &w->cap_function_of, identity + 1, sizeof *w->function_of);
        uint32_t text = profile_cstr(w->p, name);
        w->function_of[identity] = profile_add_function(w->p, text, text, 0, 0);
    }
    return w->function_of[identity];
}

static uint32_t location_of(struct jfr_pools *pools, struct jfr_world *w, const union jfr_slot *frame)
{
    static const char *const kind_mapping[N_FRAME_KINDS] = {[FRAME_INTERPRETED] = "[interpreted]",
                                                            [FRAME_JIT] = "[jit]",
                                                            [FRAME_INLINED] = "[inlined]",
                                                            [FRAME_C1] = "[c1]",
                                                            [FRAME_JAVA_NATIVE] = "[java native]",
                                                            [FRAME_KERNEL] = "[kernel]",
                                                            [FRAME_OTHER] = "java"};
    struct jfr_pool *methods = &pools->pools[JFR_POOL_METHOD];
    uint64_t type = frame[FRAME_TYPE].number;
    enum frame_kind kind = type < 16 ? pools->kind_of_frame_type[type] : FRAME_OTHER;
    bool is_native = kind == FRAME_NATIVE || kind == FRAME_KERNEL;
    uint32_t method = find_entry(methods, frame[FRAME_METHOD].number), function;
    uint64_t line = is_native ? 0 : frame[FRAME_LINE].number & 0xffffffff;
    if (line >= 1 << 24) line = 0; /* -1: not known */
    if (method == UNKNOWN) {
        w->n_unresolved++;
        function = function_named(w, "[unknown method]");
    } else {
        /* The same method may be seen as native and as Java only in a damaged file: the first decides. */
        if (methods->result[method] == UNKNOWN)
            methods->result[method] = make_function(pools, w, method, kind);
        function = methods->result[method];
    }
    bool is_new;
    uint32_t *slot =
        idmap_slot(&w->locations, (uint64_t)function << 32 | line << 8 | (uint64_t)kind, &is_new);
    if (!is_new) return *slot;
    uint32_t mapping = 0;
    if (kind == FRAME_NATIVE && method != UNKNOWN) {
        struct str library = method_names(pools, w, method).class_name;
        mapping = mapping_named(w, library.s, library.len);
    } else if (kind != FRAME_NATIVE) {
        mapping = mapping_named(w, kind_mapping[kind], strlen(kind_mapping[kind]));
    }
    uint32_t location = profile_add_location(w->p, 0, mapping);
    profile_add_line(w->p, function, (int64_t)line, 0);
    return *slot = location;
}

static void grow_stack_slots(struct jfr_world *w);

static uint32_t hash_frames(const uint32_t *frames, size_t n)
{
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) h = (h ^ frames[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
    return (uint32_t)(h ^ h >> 32);
}

static uint32_t intern_stack(struct jfr_world *w, const uint32_t *frames, size_t n)
{
    if (w->n_stacks * 2 >= w->n_stack_slots) grow_stack_slots(w);
    size_t mask = w->n_stack_slots - 1, i = hash_frames(frames, n) & mask;
    for (; w->stack_slots[i]; i = (i + 1) & mask) {
        uint32_t stack = w->stack_slots[i] - 1;
        uint64_t start = w->stack_start[stack];
        if (w->stack_start[stack + 1] - start == n &&
            !memcmp(w->stack_frames + start, frames, n * sizeof *frames))
            return stack;
    }
    w->stack_frames =
        mem_grow(w->stack_frames, &w->cap_stack_frames, w->n_stack_frames + n + 1, sizeof *w->stack_frames);
    w->stack_start = mem_grow(w->stack_start, &w->cap_stacks, w->n_stacks + 2, sizeof *w->stack_start);
    if (!w->n_stacks) w->stack_start[0] = 0;
    if (n) memcpy(w->stack_frames + w->n_stack_frames, frames, n * sizeof *frames);
    w->n_stack_frames += n;
    w->stack_start[w->n_stacks + 1] = w->n_stack_frames;
    w->stack_slots[i] = (uint32_t)++w->n_stacks;
    return (uint32_t)w->n_stacks - 1;
}

static void grow_stack_slots(struct jfr_world *w)
{
    size_t n_slots = w->n_stack_slots ? w->n_stack_slots * 2 : 1024;
    mem_free(w->stack_slots);
    w->stack_slots = mem_zalloc(n_slots * sizeof *w->stack_slots);
    w->n_stack_slots = n_slots;
    for (size_t s = 0; s < w->n_stacks; s++) {
        size_t i =
            hash_frames(w->stack_frames + w->stack_start[s], w->stack_start[s + 1] - w->stack_start[s]) &
            (n_slots - 1);
        while (w->stack_slots[i]) i = (i + 1) & (n_slots - 1);
        w->stack_slots[i] = (uint32_t)s + 1;
    }
}

uint32_t jfr_stack_of_text(struct jfr_world *w, const char *name)
{
    uint32_t function = function_named(w, name);
    bool is_new;
    uint32_t *slot = idmap_slot(&w->locations, (uint64_t)function << 32 | N_FRAME_KINDS, &is_new);
    if (is_new) {
        *slot = profile_add_location(w->p, 0, 0);
        profile_add_line(w->p, function, 0, 0);
    }
    uint32_t location = *slot;
    return intern_stack(w, &location, 1);
}

uint32_t jfr_pool_stack(struct jfr_pools *pools, struct jfr_world *w, uint64_t key)
{
    struct jfr_pool *pool = &pools->pools[JFR_POOL_STACK];
    uint32_t index = find_entry(pool, key);
    if (index == UNKNOWN || !(pool->program.found & 1u << STACK_FRAMES)) {
        if (key) w->n_unresolved++;
        return jfr_stack_of_text(w, key ? "[stack not recorded]" : "[no stack]");
    }
    if (pool->result[index] != UNKNOWN) return pool->result[index];
    if (!pools->frame_types_known) learn_frame_types(pools, w);
    union jfr_slot slots[JFR_MAX_SLOTS] = {0};
    struct rd r = value_at(pools, pool->at[index]);
    jfr_run(pools->types, &pool->program, &r, slots);
    if (slots[STACK_TRUNCATED].number) w->n_truncated++;
    r = value_at(pools, slots[STACK_FRAMES].at);
    uint64_t n = jfr_varint(&r);
    if (n > MAX_FRAMES) n = MAX_FRAMES;
    w->frames_scratch =
        mem_grow(w->frames_scratch, &w->cap_frames_scratch, (size_t)n + 1, sizeof *w->frames_scratch);
    for (uint64_t i = 0; i < n; i++) {
        union jfr_slot frame[JFR_MAX_SLOTS] = {0};
        jfr_run(pools->types, &pools->frame_program, &r, frame);
        w->frames_scratch[i] = location_of(pools, w, frame);
    }
    if (!n) return pool->result[index] = jfr_stack_of_text(w, "[no stack]");
    return pool->result[index] = intern_stack(w, w->frames_scratch, (size_t)n);
}
