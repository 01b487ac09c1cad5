/* jfr_types.c - reads the metadata in which a chunk describes its own records; see jfr.h. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/jfr/jfr.h"

enum { MAX_STRINGS = 1 << 20, MAX_TYPES = 1 << 16, MAX_DEPTH = 12 };

uint64_t jfr_varint_slow(struct rd *r)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 9; i++) {
        uint8_t byte = rd_u8(r);
        if (i == 8) return value | (uint64_t)byte << 56;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) break;
    }
    return value;
}

struct jfr_string jfr_read_string(struct rd *r)
{
    struct jfr_string s = {.form = rd_u8(r), .bytes = (const uint8_t *)""};
    switch (s.form) {
    case JFR_STRING_NULL:
    case JFR_STRING_EMPTY:
        break;
    case JFR_STRING_POOL:
        s.pool_id = jfr_varint(r);
        break;
    case JFR_STRING_UTF8:
    case JFR_STRING_LATIN1: {
        uint64_t n = jfr_varint(r);
        const uint8_t *bytes = rd_bytes(r, n);
        if (bytes) s.bytes = bytes, s.n = (size_t)n;
        break;
    }
    case JFR_STRING_CHARS: {
        uint64_t n = jfr_varint(r);
        s.bytes = r->p;
        s.n = n <= rd_left(r) ? (size_t)n : 0;
        if (n > rd_left(r)) rd_fail(r);
        for (uint64_t i = 0; i < n && !r->bad; i++) (void)jfr_varint(r);
        if (r->bad) s.n = 0;
        break;
    }
    default:
        rd_fail(r);
    }
    return s;
}

/* Appends Latin-1 characters or UTF-16 units as UTF-8. */
static void decode_chars(struct jfr_string s, struct buf *out)
{
    struct rd r = {.p = s.bytes, .end = s.bytes + (s.form == JFR_STRING_LATIN1 ? s.n : s.n * 9)};
    uint32_t high = 0;
    for (size_t i = 0; i < s.n; i++) {
        uint32_t c = s.form == JFR_STRING_LATIN1 ? rd_u8(&r) : (uint32_t)(jfr_varint(&r) & 0xffff);
        if (c >= 0xd800 && c < 0xdc00) {
            high = c;
            continue;
        }
        if (c >= 0xdc00 && c < 0xe000) c = high ? 0x10000 + ((high - 0xd800) << 10) + (c - 0xdc00) : 0xfffd;
        high = 0;
        buf_utf8(out, c);
    }
}

uint32_t jfr_intern(struct profile *p, struct jfr_string s)
{
    if (s.form == JFR_STRING_UTF8) return profile_string(p, (const char *)s.bytes, s.n);
    if ((s.form != JFR_STRING_CHARS && s.form != JFR_STRING_LATIN1) || !s.n) return 0;
    struct buf text = {0};
    decode_chars(s, &text);
    uint32_t id = profile_string(p, text.data, text.len);
    buf_free(&text);
    return id;
}

/* ---- metadata: a table of strings and a tree of elements ---- */

struct reading {
    struct jfr_types *types;
    const char **strings;
    size_t n_strings;
    struct rd r;
    uint64_t *field_type_ids; /* parallel to types->fields, until all types are known */
    size_t cap_field_type_ids;
    bool *field_in_pool;
    size_t cap_field_in_pool;
};

static const char *string_at(struct reading *m, uint64_t index)
{
    if (index < m->n_strings) return m->strings[index];
    rd_fail(&m->r);
    return "";
}

static bool parse_id(const char *text, uint64_t *ret_id)
{
    uint64_t id = 0;
    if (!*text) return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        id = id * 10 + (uint64_t)(*text - '0');
    }
    *ret_id = id;
    return true;
}

static void add_field(struct reading *m, const char *name, uint64_t type_id, bool in_pool, bool is_array)
{
    struct jfr_types *t = m->types;
    m->field_type_ids =
        mem_grow(m->field_type_ids, &m->cap_field_type_ids, t->n_fields + 1, sizeof *m->field_type_ids);
    m->field_in_pool =
        mem_grow(m->field_in_pool, &m->cap_field_in_pool, t->n_fields + 1, sizeof *m->field_in_pool);
    m->field_type_ids[t->n_fields] = type_id;
    m->field_in_pool[t->n_fields] = in_pool;
    *VEC_PUSH(t->fields, t->n_fields, t->cap_fields) = (struct jfr_field){.name = name, .is_array = is_array};
}

/* Reads an element and its children. `type` is the index of the enclosing class, or SIZE_MAX outside a class.
 */
static void read_element(struct reading *m, unsigned depth, size_t type)
{
    if (depth > MAX_DEPTH) {
        rd_fail(&m->r);
        return;
    }
    const char *element = string_at(m, jfr_varint(&m->r)), *name = "";
    uint64_t n_attributes = jfr_varint(&m->r), id = 0, class_id = 0;
    bool has_id = false, in_pool = false, is_array = false;
    for (uint64_t i = 0; i < n_attributes && !m->r.bad; i++) {
        const char *key = string_at(m, jfr_varint(&m->r)), *value = string_at(m, jfr_varint(&m->r));
        if (!strcmp(key, "name")) name = value;
        if (!strcmp(key, "id")) has_id = parse_id(value, &id);
        if (!strcmp(key, "class")) (void)parse_id(value, &class_id);
        if (!strcmp(key, "constantPool")) in_pool = !strcmp(value, "true");
        if (!strcmp(key, "dimension")) is_array = strcmp(value, "0") != 0;
    }
    size_t inner = SIZE_MAX;
    if (!strcmp(element, "class") && has_id && m->types->n_types < MAX_TYPES) {
        struct jfr_types *t = m->types;
        inner = t->n_types;
        *VEC_PUSH(t->types, t->n_types, t->cap_types) =
            (struct jfr_type){.id = id, .name = name, .first_field = (uint32_t)t->n_fields};
    } else if (!strcmp(element, "field") && type != SIZE_MAX) {
        add_field(m, name, class_id, in_pool, is_array);
        m->types->types[type].n_fields = (uint32_t)m->types->n_fields - m->types->types[type].first_field;
    }
    uint64_t n_children = jfr_varint(&m->r);
    for (uint64_t i = 0; i < n_children && !m->r.bad; i++) read_element(m, depth + 1, inner);
}

static uint8_t op_of(const struct jfr_type *type, bool in_pool)
{
    static const struct {
        const char *name;
        uint8_t op;
    } simple[] = {{"long", JFR_OP_VARINT}, {"int", JFR_OP_VARINT}, {"short", JFR_OP_VARINT},
                  {"char", JFR_OP_VARINT}, {"byte", JFR_OP_BYTE},  {"boolean", JFR_OP_BYTE},
                  {"float", JFR_OP_4},     {"double", JFR_OP_8},   {"java.lang.String", JFR_OP_STRING}};
    if (in_pool) return JFR_OP_VARINT;
    for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
        if (!strcmp(type->name, simple[i].name)) return simple[i].op;
    return JFR_OP_STRUCT;
}

/* Returns how many values one value of the type consists of, including those of inner structs. This bounds
 * the work of skipping it. A type that contains itself or is too large gets JFR_TOO_LARGE, and its values are
 * never read. */
static uint32_t measure(struct jfr_types *t, uint32_t index, unsigned depth)
{
    struct jfr_type *type = &t->types[index];
    if (type->is_measured) return type->n_values;
    if (depth > MAX_DEPTH) return JFR_TOO_LARGE;
    uint64_t n = 0;
    bool is_empty = true;
    for (uint32_t i = 0; i < type->n_fields && n < JFR_TOO_LARGE; i++) {
        const struct jfr_field *f = &t->fields[type->first_field + i];
        n += 1 + (f->op == JFR_OP_STRUCT ? measure(t, f->type, depth + 1) : 0);
        if (f->op != JFR_OP_STRUCT || f->is_array || t->types[f->type].n_values) is_empty = false;
    }
    type = &t->types[index];
    type->n_values = n >= JFR_TOO_LARGE ? JFR_TOO_LARGE : is_empty ? 0 : (uint32_t)n;
    type->is_measured = true;
    return type->n_values;
}

/* Removes fields of empty types, and replaces an array of an empty type by its count. Afterwards each field
 * takes at least one byte, so all work is bounded by the size of the input. */
static void leave_out_empty(struct jfr_types *t)
{
    for (size_t i = 0; i < t->n_types; i++) {
        struct jfr_type *type = &t->types[i];
        uint32_t n_kept = 0;
        for (uint32_t k = 0; k < type->n_fields; k++) {
            struct jfr_field f = t->fields[type->first_field + k];
            if (f.op == JFR_OP_STRUCT && !t->types[f.type].n_values) {
                if (!f.is_array) continue;
                f.op = JFR_OP_VARINT;
                f.is_array = false;
            }
            t->fields[type->first_field + n_kept++] = f;
        }
        type->n_fields = n_kept;
    }
}

/* Replaces the type ids of fields by indices. Called once all types are read. */
static bool link_fields(struct reading *m)
{
    struct jfr_types *t = m->types;
    for (size_t i = 0; i < t->n_types; i++) {
        bool is_new;
        uint32_t *slot = idmap_slot(&t->by_id, t->types[i].id, &is_new);
        if (is_new) *slot = (uint32_t)i;
    }
    for (size_t i = 0; i < t->n_fields; i++) {
        if (!idmap_find(&t->by_id, m->field_type_ids[i], &t->fields[i].type)) return false;
        t->fields[i].op = op_of(&t->types[t->fields[i].type], m->field_in_pool[i]);
    }
    for (size_t i = 0; i < t->n_types; i++) (void)measure(t, (uint32_t)i, 0);
    leave_out_empty(t);
    return true;
}

static int compare_names(const void *a, const void *b, void *context)
{
    const struct jfr_type *types = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = strcmp(types[x].name, types[y].name);
    return order ? order : x < y ? -1 : 1;
}

static void sort_by_name(struct jfr_types *t)
{
    t->by_name = arena_array(&t->arena, t->n_types, sizeof *t->by_name);
    for (size_t i = 0; i < t->n_types; i++) t->by_name[i] = (uint32_t)i;
    qsort_r(t->by_name, t->n_types, sizeof *t->by_name, compare_names, t->types);
}

bool jfr_types_read(struct jfr_types *types, struct rd r)
{
    for (int i = 0; i < 3; i++) (void)jfr_varint(&r); /* start, duration, id */
    if (r.bad) return false;
    size_t n_described = rd_left(&r);
    if (types->described_by && types->n_described == n_described &&
        !memcmp(types->described_by, r.p, n_described))
        return true;
    jfr_types_free(types);
    struct reading m = {.types = types, .r = r};
    uint64_t n_strings = jfr_varint(&m.r);
    if (n_strings > MAX_STRINGS || n_strings > rd_left(&m.r)) return false;
    m.strings = arena_array(&types->arena, (size_t)n_strings + 1, sizeof *m.strings);
    for (; m.n_strings < n_strings && !m.r.bad; m.n_strings++) {
        struct jfr_string s = jfr_read_string(&m.r);
        struct buf text = {0};
        if (s.form == JFR_STRING_UTF8)
            buf_add(&text, s.bytes, s.n);
        else if (s.n)
            decode_chars(s, &text);
        m.strings[m.n_strings] = arena_strdup(&types->arena, buf_cstr(&text));
        buf_free(&text);
    }
    if (!m.r.bad) read_element(&m, 0, SIZE_MAX);
    bool good = !m.r.bad && types->n_types && link_fields(&m);
    mem_free(m.field_type_ids);
    mem_free(m.field_in_pool);
    if (good) {
        sort_by_name(types);
        /* This is a copy, because the reader returns the pages of the file to the kernel. */
        types->described_by = memcpy(arena_alloc(&types->arena, n_described), r.p, n_described);
        types->n_described = n_described;
    }
    return good;
}

const struct jfr_type *jfr_type_by_id(const struct jfr_types *types, uint64_t id)
{
    uint32_t index;
    return idmap_find(&types->by_id, id, &index) ? &types->types[index] : NULL;
}

const struct jfr_type *jfr_type_by_name(const struct jfr_types *types, const char *name)
{
    size_t low = 0, high = types->n_types; /* searches the first type whose name is not less */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(types->types[types->by_name[middle]].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct jfr_type *type = low < types->n_types ? &types->types[types->by_name[low]] : NULL;
    return type && !strcmp(type->name, name) ? type : NULL;
}

void jfr_programs_free(struct jfr_types *types)
{
    arena_free(&types->programs);
}

void jfr_types_free(struct jfr_types *types)
{
    arena_free(&types->arena);
    arena_free(&types->programs);
    mem_free(types->types);
    mem_free(types->fields);
    idmap_free(&types->by_id);
    *types = (struct jfr_types){0};
}

/* ---- values ---- */

static void skip_struct(const struct jfr_types *types, const struct jfr_type *type, struct rd *r,
                        unsigned depth);

static inline void skip_value(const struct jfr_types *types, uint8_t op, uint32_t type, struct rd *r,
                              unsigned depth)
{
    switch (op) {
    case JFR_OP_VARINT:
        (void)jfr_varint(r);
        break;
    case JFR_OP_BYTE:
        rd_skip(r, 1);
        break;
    case JFR_OP_4:
        rd_skip(r, 4);
        break;
    case JFR_OP_8:
        rd_skip(r, 8);
        break;
    case JFR_OP_STRING:
        (void)jfr_read_string(r);
        break;
    default:
        skip_struct(types, &types->types[type], r, depth + 1);
    }
}

static void skip_struct(const struct jfr_types *types, const struct jfr_type *type, struct rd *r,
                        unsigned depth)
{
    if (type->n_values == JFR_TOO_LARGE || depth > MAX_DEPTH) {
        rd_fail(r);
        return;
    }
    for (uint32_t i = 0; i < type->n_fields && !r->bad; i++) {
        const struct jfr_field *f = &types->fields[type->first_field + i];
        uint64_t n = f->is_array ? jfr_varint(r) : 1;
        if (f->is_array && n > rd_left(r)) rd_fail(r);
        for (uint64_t k = 0; k < n && !r->bad; k++) skip_value(types, f->op, f->type, r, depth);
    }
}

void jfr_skip_struct(const struct jfr_types *types, const struct jfr_type *type, struct rd *r)
{
    skip_struct(types, type, r, 0);
}

static bool fits(const struct jfr_types *types, const struct jfr_field *f, uint8_t kind)
{
    if (kind == JFR_TEXT) return f->op == JFR_OP_STRING && !f->is_array;
    if (kind == JFR_NUMBER) return (f->op == JFR_OP_VARINT || f->op == JFR_OP_BYTE) && !f->is_array;
    return f->op == JFR_OP_STRUCT && f->is_array &&
           !strcmp(types->types[f->type].name, "jdk.types.StackFrame");
}

struct jfr_program jfr_compile(struct jfr_types *types, const struct jfr_type *type,
                               const struct jfr_want *wanted, bool whole)
{
    struct jfr_program program = {
        .steps = arena_array(&types->programs, type->n_fields + 1, sizeof *program.steps)};
    for (uint32_t i = 0; i < type->n_fields; i++) {
        const struct jfr_field *f = &types->fields[type->first_field + i];
        struct jfr_step step = {.op = f->op, .slot = JFR_MAX_SLOTS, .is_array = f->is_array, .type = f->type};
        for (const struct jfr_want *w = wanted; w->field; w++) {
            if (strcmp(w->field, f->name) || !fits(types, f, w->kind)) continue;
            step.slot = w->slot;
            program.found |= 1u << w->slot;
        }
        program.steps[i] = step;
        if (whole || step.slot != JFR_MAX_SLOTS) program.n_steps = i + 1;
    }
    program.is_plain = true;
    for (uint32_t i = 0; i < program.n_steps; i++)
        if (program.steps[i].is_array ||
            (program.steps[i].op != JFR_OP_VARINT && program.steps[i].op != JFR_OP_BYTE))
            program.is_plain = false;
    return program;
}

/* Joins the lower seven bits of each of eight bytes. */
static inline uint64_t pack_sevens(uint64_t w)
{
    w = (w & 0x7f007f007f007f00u) >> 1 | (w & 0x007f007f007f007fu);
    w = (w & 0x3fff00003fff0000u) >> 2 | (w & 0x00003fff00003fffu);
    return (w & 0x0fffffff00000000u) >> 4 | (w & 0x000000000fffffffu);
}

const uint8_t *jfr_run_plain(const struct jfr_program *program, const uint8_t *at, union jfr_slot *slots)
{
    /* The processor cannot predict the length of the next number, so the loop does not branch on it. */
    const uint64_t tops = 0x8080808080808080u;
    const struct jfr_step *end = program->steps + program->n_steps;
    for (const struct jfr_step *step = program->steps; step < end; step++) {
        if (step->op == JFR_OP_BYTE) {
            if (step->slot < JFR_MAX_SLOTS) slots[step->slot].number = *at;
            at++;
            continue;
        }
        uint64_t word;
        memcpy(&word, at, 8);
        word = le64toh(word);
        uint64_t ends = ~word & tops;
        if (__builtin_expect(!ends, 0)) {
            if (step->slot < JFR_MAX_SLOTS)
                slots[step->slot].number = pack_sevens(word) | (uint64_t)at[8] << 56;
            at += 9;
            continue;
        }
        at += ((unsigned)__builtin_ctzll(ends) + 1) / 8;
        if (step->slot < JFR_MAX_SLOTS) slots[step->slot].number = pack_sevens(word & (ends ^ (ends - 1)));
    }
    return at;
}

void jfr_run(const struct jfr_types *types, const struct jfr_program *program, struct rd *r,
             union jfr_slot *slots)
{
    for (uint32_t i = 0; i < program->n_steps; i++) {
        const struct jfr_step *step = &program->steps[i];
        if (step->op == JFR_OP_VARINT && !step->is_array) {
            uint64_t value = jfr_varint(r);
            if (step->slot < JFR_MAX_SLOTS) slots[step->slot].number = value;
            continue;
        }
        if (step->slot < JFR_MAX_SLOTS) {
            if (step->op == JFR_OP_BYTE && !step->is_array) {
                slots[step->slot].number = rd_u8(r);
                continue;
            }
            slots[step->slot].at = r->p;
            if (i + 1 == program->n_steps) return;
        }
        uint64_t n = step->is_array ? jfr_varint(r) : 1;
        if (step->is_array && n > rd_left(r)) rd_fail(r);
        for (uint64_t k = 0; k < n && !r->bad; k++) skip_value(types, step->op, step->type, r, 0);
    }
}
