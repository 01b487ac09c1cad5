/* proto_read.c - profile.proto in.
 *
 * Two passes over the top-level fields: the first counts (so that every array is allocated once, at its
 * size), the second fills. Strings, mappings, functions and locations are filled before samples, wherever
 * they stand in the file; ids become indexes through a direct table when they are dense (they nearly always
 * are) and a hash map when they are not. Unknown fields are skipped.
 */
#include <string.h>

#include "base/idmap.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/rd.h"
#include "format/format.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct field {
    uint32_t number;
    unsigned wire;
    uint64_t value;  /* VARINT, FIXED */
    struct rd bytes; /* BYTES */
};

static bool next_field_slow(struct rd *r, struct field *f)
{
    if (r->p >= r->end) return false;
    uint64_t tag = rd_varint(r);
    f->number = (uint32_t)(tag >> 3);
    f->wire = tag & 7;
    f->value = 0;
    switch (f->wire) {
    case VARINT:
        f->value = rd_varint(r);
        break;
    case FIXED64:
        f->value = rd_u64(r);
        break;
    case FIXED32:
        f->value = rd_u32(r);
        break;
    case BYTES:
        f->bytes = rd_sub(r, rd_varint(r));
        break;
    default:
        rd_fail(r);
    }
    if (!f->number || tag >> 3 > 0x1fffffff) rd_fail(r);
    return !r->bad;
}

/* Reads one field. Returns false at the end, or with r->bad set if the bytes are invalid. Nearly all
 * fields have a number below 16 and a value or length of at most three bytes, which the inline code reads. */
static inline bool next_field(struct rd *r, struct field *f)
{
    const uint8_t *p = r->p;
    size_t left = (size_t)(r->end - p);
    if (left < 4 || p[0] >= 0x80 || p[0] < 8) return next_field_slow(r, f);
    uint64_t value = p[1];
    size_t used = 2;
    if (value >= 0x80) {
        value = (value & 0x7f) | (uint64_t)p[2] << 7;
        used = 3;
        if (p[2] >= 0x80) {
            value = (value & 0x3fff) | (uint64_t)p[3] << 14;
            used = 4;
            if (p[3] >= 0x80) return next_field_slow(r, f);
        }
    }
    if ((p[0] & 7) == VARINT) {
        f->value = value;
        r->p = p + used;
    } else if ((p[0] & 7) == BYTES && value <= left - used) {
        f->value = 0;
        f->bytes = (struct rd){.p = p + used, .end = p + used + value};
        r->p = p + used + value;
    } else {
        return next_field_slow(r, f);
    }
    f->number = p[0] >> 3;
    f->wire = p[0] & 7;
    return true;
}

struct id_index {     /* id -> index of a record */
    uint32_t *direct; /* index + 1, for ids below n_direct */
    uint64_t n_direct;
    struct idmap rest;
};

static void id_index_init(struct id_index *x, size_t n_records)
{
    x->n_direct = (uint64_t)n_records * 2 + 16;
    x->direct = mem_zalloc(x->n_direct * sizeof *x->direct);
}

static void id_index_free(struct id_index *x)
{
    mem_free(x->direct);
    idmap_free(&x->rest);
}

static bool id_index_add(struct id_index *x, uint64_t id, uint32_t index)
{
    if (id < x->n_direct) {
        if (x->direct[id]) return false;
        x->direct[id] = index + 1;
        return true;
    }
    bool is_new;
    *idmap_slot(&x->rest, id, &is_new) = index;
    return is_new;
}

static inline bool id_index_find(const struct id_index *x, uint64_t id, uint32_t *ret_index)
{
    if (id < x->n_direct) {
        *ret_index = x->direct[id] - 1;
        return x->direct[id] != 0;
    }
    return idmap_find(&x->rest, id, ret_index);
}

struct proto {
    struct profile *p;
    struct err *err;
    uint32_t *strings; /* string index in the file -> id in the profile */
    size_t n_strings;
    struct id_index mappings, functions, locations;
    size_t n_samples, n_mappings, n_functions, n_locations, n_frames, n_labels;
    size_t sample, next_frame, next_label; /* where the next sample goes */
    struct part *parts;
    size_t n_parts, cap_parts;
    const uint8_t *run_begin, *run_end; /* the first contiguous run of samples, which is most of the file */
};

/* Several threads read the samples in parts. Each part has the start of its bytes and of its share of the
 * arrays, so the threads write to separate ranges. */
enum { PART_SAMPLES = 8192 };

struct part {
    const uint8_t *at;
    size_t next_frame, next_label, end_label;
    int rc;
    struct err err;
};

/* Reads the next field that is not a sample. It jumps over the run of samples without reading their bytes. */
static inline bool next_other_field(const struct proto *m, struct rd *r, struct field *f)
{
    if (r->p == m->run_begin) r->p = m->run_end;
    return next_field(r, f);
}

static int bad_string(struct proto *m, const char *where, uint64_t number)
{
    return err_set(m->err, ERR_INPUT, "malformed profile: %s refers to string %llu, but there are %zu", where,
                   (unsigned long long)number, m->n_strings);
}

static int get_string(struct proto *m, const char *where, uint64_t number, uint32_t *ret_id)
{
    if (number >= m->n_strings) return bad_string(m, where, number);
    *ret_id = m->strings[number];
    return 0;
}

static int cut(struct proto *m, const char *what, size_t number)
{
    return err_set(m->err, ERR_INPUT, "malformed profile: %s %zu is cut short or damaged", what, number);
}

static inline uint64_t ends_in(uint64_t word)
{
    return (~word & 0x8080808080808080u) >> 7;
}

/* Returns the number of packed integers, each of which ends with a byte below 0x80. The last word is read
 * as the last eight bytes, and the bytes that were already counted are shifted out. This avoids a loop
 * whose length the processor cannot predict. */
static inline size_t count_packed(struct rd r)
{
    size_t n = 0, left = rd_left(&r);
    uint64_t word, sums = 0;
    if (left < 8) {
        for (; r.p < r.end; r.p++) n += *r.p < 0x80;
        return n;
    }
    for (; rd_left(&r) >= 8; r.p += 8) {
        memcpy(&word, r.p, 8);
        sums = ends_in(word);
        n += sums * 0x0101010101010101u >> 56;
    }
    left %= 8;
    memcpy(&word, r.end - 8, 8);
    sums = left ? ends_in(word) >> (8 - left) * 8 : 0;
    return n + (sums * 0x0101010101010101u >> 56);
}

/* Counts the frames and labels of the sample that begins at `at`, so that each array is allocated once.
 * Every PART_SAMPLES samples a new part begins. */
static void count_sample(struct proto *m, const uint8_t *at, struct rd r)
{
    struct field f;
    if (m->n_samples++ % PART_SAMPLES == 0)
        *VEC_PUSH(m->parts, m->n_parts, m->cap_parts) =
            (struct part){.at = at, .next_frame = m->n_frames, .next_label = m->n_labels};
    while (next_field(&r, &f)) {
        if (f.number == 1) m->n_frames += f.wire == BYTES ? count_packed(f.bytes) : 1;
        if (f.number == 3) m->n_labels++;
    }
}

/* The first pass counts the records and checks that the bytes are a profile. */
static int count(struct proto *m, struct rd r)
{
    struct field f;
    for (const uint8_t *at = r.p; next_field(&r, &f); at = r.p) {
        bool is_message = f.number <= 6 || f.number == 11;
        if (is_message && f.wire != BYTES) return FORMAT_NOT_MINE;
        switch (f.number) {
        case 2:
            if (!m->run_begin) m->run_begin = m->run_end = at;
            if (m->run_end == at) m->run_end = r.p;
            count_sample(m, at, f.bytes);
            break;
        case 3:
            m->n_mappings++;
            break;
        case 4:
            m->n_locations++;
            break;
        case 5:
            m->n_functions++;
            break;
        case 6:
            if (m->n_strings == 0 && rd_left(&f.bytes) != 0)
                return err_set(m->err, ERR_INPUT, "string_table[0] must be ''");
            m->n_strings++;
            break;
        default:
            break;
        }
    }
    if (r.bad) return FORMAT_NOT_MINE;
    if (m->n_samples > UINT32_MAX - 2 || m->n_locations > UINT32_MAX - 2 || m->n_strings > UINT32_MAX - 2)
        return err_set(m->err, ERR_LIMIT, "more than 4 billion records");
    return 0;
}

static int read_value_type(struct proto *m, struct rd r, struct value_type *ret)
{
    struct field f;
    struct value_type t = {0};
    int rc = 0;
    while (!rc && next_field(&r, &f)) {
        if (f.number == 1) rc = get_string(m, "a sample type", f.value, &t.type);
        if (f.number == 2) rc = get_string(m, "a sample type", f.value, &t.unit);
    }
    if (!rc && r.bad) rc = err_set(m->err, ERR_INPUT, "malformed profile: a sample type is cut short");
    if (!rc) *ret = t;
    return rc;
}

static int read_mapping(struct proto *m, struct rd r)
{
    struct mapping map = {0};
    struct field f;
    int rc = 0;
    while (!rc && next_field(&r, &f)) {
        switch (f.number) {
        case 1:
            map.id = f.value;
            break;
        case 2:
            map.start = f.value;
            break;
        case 3:
            map.limit = f.value;
            break;
        case 4:
            map.file_offset = f.value;
            break;
        case 5:
            rc = get_string(m, "a mapping", f.value, &map.filename);
            break;
        case 6:
            rc = get_string(m, "a mapping", f.value, &map.build_id);
            break;
        case 7:
            map.has_functions = f.value != 0;
            break;
        case 8:
            map.has_filenames = f.value != 0;
            break;
        case 9:
            map.has_line_numbers = f.value != 0;
            break;
        case 10:
            map.has_inline_frames = f.value != 0;
            break;
        default:
            break;
        }
    }
    size_t index = m->p->n_mappings;
    if (rc) return rc;
    if (r.bad) return cut(m, "mapping", index);
    if (!map.id) return err_set(m->err, ERR_INPUT, "found mapping with reserved ID=0");
    if (!id_index_add(&m->mappings, map.id, (uint32_t)index))
        return err_set(m->err, ERR_INPUT, "multiple mappings with same id: %llu", (unsigned long long)map.id);
    *VEC_PUSH(m->p->mappings, m->p->n_mappings, m->p->cap_mappings) = map;
    return 0;
}

static int read_function(struct proto *m, struct rd r)
{
    struct function fn = {0};
    struct field f;
    int rc = 0;
    while (!rc && next_field(&r, &f)) {
        switch (f.number) {
        case 1:
            fn.id = f.value;
            break;
        case 2:
            rc = get_string(m, "a function", f.value, &fn.name);
            break;
        case 3:
            rc = get_string(m, "a function", f.value, &fn.system_name);
            break;
        case 4:
            rc = get_string(m, "a function", f.value, &fn.filename);
            break;
        case 5:
            fn.start_line = (int64_t)f.value;
            break;
        default:
            break;
        }
    }
    size_t index = m->p->n_functions;
    if (rc) return rc;
    if (r.bad) return cut(m, "function", index);
    if (!fn.id) return err_set(m->err, ERR_INPUT, "found function with reserved ID=0");
    if (!id_index_add(&m->functions, fn.id, (uint32_t)index))
        return err_set(m->err, ERR_INPUT, "multiple functions with same id: %llu", (unsigned long long)fn.id);
    *VEC_PUSH(m->p->functions, m->p->n_functions, m->p->cap_functions) = fn;
    return 0;
}

static int read_line(struct proto *m, struct rd r, struct rd location)
{
    uint64_t function_id = 0, location_id = 0;
    struct line line = {0};
    struct field f;
    while (next_field(&r, &f)) {
        if (f.number == 1) function_id = f.value;
        if (f.number == 2) line.line = (int64_t)f.value;
        if (f.number == 3) line.column = (int64_t)f.value;
    }
    if (!r.bad && function_id && id_index_find(&m->functions, function_id, &line.function)) {
        *VEC_PUSH(m->p->lines, m->p->n_lines, m->p->cap_lines) = line;
        return 0;
    }
    while (next_field(&location, &f))
        if (f.number == 1) location_id = f.value;
    if (r.bad)
        return err_set(m->err, ERR_INPUT, "malformed profile: a line of location %llu is cut short",
                       (unsigned long long)location_id);
    return err_set(m->err, ERR_INPUT, "location id: %llu has a line with nil function",
                   (unsigned long long)location_id);
}

static int read_location(struct proto *m, struct rd r)
{
    struct location l = {.first_line = (uint32_t)m->p->n_lines};
    struct rd whole = r;
    struct field f;
    int rc = 0;
    size_t index = m->p->n_locations;
    while (!rc && next_field(&r, &f)) {
        switch (f.number) {
        case 1:
            l.id = f.value;
            break;
        case 2:
            if (f.value) {
                uint32_t mapping;
                if (!id_index_find(&m->mappings, f.value, &mapping))
                    return err_set(
                        m->err, ERR_INPUT,
                        "malformed profile: location %zu refers to mapping %llu, which does not exist", index,
                        (unsigned long long)f.value);
                l.mapping = mapping + 1;
            }
            break;
        case 3:
            l.address = f.value;
            break;
        case 4:
            if (f.wire == BYTES) rc = read_line(m, f.bytes, whole);
            break;
        case 5:
            l.is_folded = f.value != 0;
            break;
        default:
            break;
        }
    }
    if (rc) return rc;
    if (r.bad) return cut(m, "location", index);
    if (!l.id) return err_set(m->err, ERR_INPUT, "found location with reserved id=0");
    if (m->p->n_lines >= UINT32_MAX) return err_set(m->err, ERR_LIMIT, "more than 4 billion lines");
    l.n_lines = (uint32_t)(m->p->n_lines - l.first_line);
    if (!id_index_add(&m->locations, l.id, (uint32_t)index))
        return err_set(m->err, ERR_INPUT, "multiple locations with same id: %llu", (unsigned long long)l.id);
    *VEC_PUSH(m->p->locations, m->p->n_locations, m->p->cap_locations) = l;
    return 0;
}

static int read_label(struct proto *m, struct rd r)
{
    struct label label = {0};
    struct field f;
    int rc = 0;
    while (!rc && next_field(&r, &f)) {
        switch (f.number) {
        case 1:
            rc = get_string(m, "a label", f.value, &label.key);
            break;
        case 2:
            rc = get_string(m, "a label", f.value, &label.str);
            break;
        case 3:
            label.num = (int64_t)f.value;
            break;
        case 4:
            rc = get_string(m, "a label", f.value, &label.unit);
            break;
        default:
            break;
        }
    }
    if (rc) return rc;
    if (r.bad) return err_set(m->err, ERR_INPUT, "malformed profile: a label is cut short");
    if (label.str) {
        label.num = 0;
        label.unit = 0;
    } else if (!label.num && !label.unit) {
        return 0; /* says nothing */
    }
    m->p->labels[m->next_label++] = label;
    return 0;
}

static int add_frame(struct proto *m, uint64_t id)
{
    uint32_t index;
    if (!id_index_find(&m->locations, id, &index))
        return err_set(m->err, ERR_INPUT,
                       "malformed profile: sample %zu refers to location %llu, which does not exist",
                       m->sample, (unsigned long long)id);
    m->p->sample_locations[m->next_frame++] = index;
    return 0;
}

/* Decodes an integer of at most three bytes at the start of word. The processor cannot predict the length
 * of the next integer, so the code does not branch on it. */
struct short_varint {
    uint32_t value;
    unsigned n_bits; /* 8, 16 or 24; 0: it is longer */
};

static inline struct short_varint short_varint(uint32_t word)
{
    uint32_t ends = ~word & 0x808080;
    if (!ends) return (struct short_varint){0};
    unsigned n_bits = (unsigned)__builtin_ctz(ends) + 1;
    word &= ~0u >> (32 - n_bits);
    return (struct short_varint){(word & 0x7f) | (word >> 1 & 0x3f80) | (word >> 2 & 0x1fc000), n_bits};
}

/* Reads the packed frames of a sample. This is the hottest loop of the reader. Nearly every id is dense
 * and at most three bytes long, and such ids are read in pairs. */
static int add_frames(struct proto *m, struct rd r)
{
    uint32_t *into = m->p->sample_locations + m->next_frame;
    const uint32_t *direct = m->locations.direct;
    uint64_t n_direct = m->locations.n_direct, word;
    while (r.end - r.p >= 8) {
        memcpy(&word, r.p, 8);
        struct short_varint a = short_varint((uint32_t)word), b = short_varint((uint32_t)(word >> a.n_bits));
        if (!a.n_bits || !b.n_bits || a.value >= n_direct || b.value >= n_direct) break;
        if (!direct[a.value] || !direct[b.value]) break;
        *into++ = direct[a.value] - 1;
        *into++ = direct[b.value] - 1;
        r.p += (a.n_bits + b.n_bits) / 8;
    }
    m->next_frame = (size_t)(into - m->p->sample_locations);
    while (r.p < r.end) { /* the last ids, a sparse id, or an id that does not exist */
        uint64_t id = rd_varint(&r);
        if (r.bad) return cut(m, "sample", m->sample);
        int rc = add_frame(m, id);
        if (rc) return rc;
    }
    return 0;
}

static int read_sample(struct proto *m, struct rd r)
{
    struct profile *p = m->p;
    struct field f;
    size_t s = m->sample, n_values = 0;
    int rc = 0;
    int64_t *values = p->sample_values + s * p->n_sample_types;
    while (!rc && next_field(&r, &f)) {
        if (f.number == 1 && f.wire == BYTES) {
            rc = add_frames(m, f.bytes);
        } else if (f.number == 1) {
            rc = add_frame(m, f.value);
        } else if (f.number == 2 && f.wire == BYTES) {
            while (f.bytes.p < f.bytes.end) {
                int64_t value = (int64_t)rd_varint(&f.bytes);
                if (n_values < p->n_sample_types) values[n_values] = value;
                n_values++;
            }
            if (f.bytes.bad) r.bad = true;
        } else if (f.number == 2) {
            if (n_values < p->n_sample_types) values[n_values] = (int64_t)f.value;
            n_values++;
        } else if (f.number == 3 && f.wire == BYTES) {
            rc = read_label(m, f.bytes);
        }
    }
    if (rc) return rc;
    if (r.bad) return cut(m, "sample", s);
    if (n_values != p->n_sample_types)
        return err_set(m->err, ERR_INPUT, "mismatch: sample has %zu values vs. %zu types", n_values,
                       p->n_sample_types);
    p->sample_location_start[s + 1] = m->next_frame;
    p->sample_label_start[s + 1] = m->next_label;
    m->sample++;
    return 0;
}

struct reading {
    const struct proto *m;
    const uint8_t *end;
    struct part *parts;
};

static int read_strings(struct proto *m, struct rd r)
{
    struct field f;
    size_t n = 0;
    m->strings = mem_array(m->n_strings, sizeof *m->strings);
    strtab_reserve(&m->p->strings, m->n_strings + 1);
    while (next_other_field(m, &r, &f)) {
        if (f.number != 6) continue;
        if (rd_left(&f.bytes) > 64u << 20)
            return err_set(m->err, ERR_LIMIT, "a string of %zu bytes", rd_left(&f.bytes));
        m->strings[n++] = profile_string(m->p, (const char *)f.bytes.p, rd_left(&f.bytes));
    }
    return 0;
}

static int read_header_field(struct proto *m, const struct field *f)
{
    struct profile *p = m->p;
    struct value_type t;
    uint32_t id = 0;
    int rc = 0;
    switch (f->number) {
    case 1:
        rc = read_value_type(m, f->bytes, &t);
        if (!rc) *VEC_PUSH(p->sample_types, p->n_sample_types, p->cap_sample_types) = t;
        return rc;
    case 7:
        return get_string(m, "drop_frames", f->value, &p->drop_frames);
    case 8:
        return get_string(m, "keep_frames", f->value, &p->keep_frames);
    case 9:
        if (p->time_ns && f->value) return err_set(m->err, ERR_INPUT, "concatenated profiles detected");
        p->time_ns = (int64_t)f->value;
        return 0;
    case 10:
        p->duration_ns = (int64_t)f->value;
        return 0;
    case 11:
        return read_value_type(m, f->bytes, &p->period_type);
    case 12:
        p->period = (int64_t)f->value;
        return 0;
    case 13: {
        struct rd numbers = f->bytes;
        if (f->wire != BYTES) {
            rc = get_string(m, "a comment", f->value, &id);
            if (!rc) *VEC_PUSH(p->comments, p->n_comments, p->cap_comments) = id;
            return rc;
        }
        while (!rc && numbers.p < numbers.end) {
            rc = get_string(m, "a comment", rd_varint(&numbers), &id);
            if (!rc) *VEC_PUSH(p->comments, p->n_comments, p->cap_comments) = id;
        }
        return rc;
    }
    case 14:
        return get_string(m, "default_sample_type", f->value, &p->default_sample_type);
    case 15:
        return get_string(m, "doc_url", f->value, &p->doc_url);
    default:
        return 0;
    }
}

static void allocate_samples(struct proto *m)
{
    struct profile *p = m->p;
    p->cap_samples = m->n_samples + 1;
    p->sample_location_start = mem_array(m->n_samples + 2, sizeof *p->sample_location_start);
    p->sample_label_start = mem_array(m->n_samples + 2, sizeof *p->sample_label_start);
    p->sample_location_start[0] = p->sample_label_start[0] = 0;
    p->sample_values = mem_array((m->n_samples + 1) * p->n_sample_types, sizeof *p->sample_values);
    p->sample_locations = mem_array(m->n_frames, sizeof *p->sample_locations);
    p->labels = mem_array(m->n_labels, sizeof *p->labels);
    p->cap_sample_locations = m->n_frames;
    p->cap_labels = m->n_labels;
}

static void read_part(void *context, size_t i, unsigned worker)
{
    (void)worker;
    struct reading *reading = context;
    struct part *part = &reading->parts[i];
    struct proto m = *reading->m;
    struct rd r = rd_over(part->at, (size_t)(reading->end - part->at));
    struct field f;
    m.err = &part->err;
    m.sample = i * PART_SAMPLES;
    m.next_frame = part->next_frame;
    m.next_label = part->next_label;
    size_t end = m.sample + PART_SAMPLES < m.n_samples ? m.sample + PART_SAMPLES : m.n_samples;
    while (!part->rc && m.sample < end && next_field(&r, &f))
        if (f.number == 2) part->rc = read_sample(&m, f.bytes);
    part->end_label = m.next_label;
}

/* Labels without content were counted but not kept, so each part may end with a gap. Closes the gaps. */
static void close_label_gaps(struct proto *m, const struct part *parts, size_t n_parts)
{
    struct profile *p = m->p;
    size_t to = 0;
    for (size_t i = 0; i < n_parts; i++) {
        size_t n = parts[i].end_label - parts[i].next_label, gap = parts[i].next_label - to;
        size_t first = i * PART_SAMPLES,
               end = first + PART_SAMPLES < m->n_samples ? first + PART_SAMPLES : m->n_samples;
        if (gap) {
            memmove(p->labels + to, p->labels + parts[i].next_label, n * sizeof *p->labels);
            for (size_t s = first; s < end; s++) p->sample_label_start[s + 1] -= gap;
        }
        to += n;
    }
}

static int read_samples(struct proto *m, struct rd r)
{
    struct part *parts = m->parts;
    size_t n_parts = m->n_parts;
    struct reading reading = {.m = m, .end = r.end, .parts = parts};
    int rc = 0;
    allocate_samples(m);
    parallel_for(n_parts, parallel_width(), read_part, &reading);
    for (size_t i = 0; i < n_parts && !rc; i++) {
        rc = parts[i].rc;
        if (rc && m->err) *m->err = parts[i].err;
    }
    if (!rc) {
        close_label_gaps(m, parts, n_parts);
        m->p->n_samples = m->n_samples;
    }
    return rc;
}

/* Reads the top-level fields with one of these numbers. */
static int each(struct proto *m, struct rd r, uint32_t number, int (*read)(struct proto *, struct rd))
{
    struct field f;
    int rc = 0;
    while (!rc && next_other_field(m, &r, &f))
        if (f.number == number) rc = read(m, f.bytes);
    return rc;
}

static int read_all(struct proto *m, struct rd r)
{
    struct field f;
    struct rd header = r;
    int rc = read_strings(m, r);
    while (!rc && next_other_field(m, &header, &f))
        if (f.number < 2 || f.number > 6) rc = read_header_field(m, &f);
    if (rc) return rc;
    if (!m->p->n_sample_types && m->n_samples)
        return err_set(m->err, ERR_INPUT, "missing sample type information");
    if (m->p->n_sample_types > 1024)
        return err_set(m->err, ERR_LIMIT, "%zu sample types", m->p->n_sample_types);
    id_index_init(&m->mappings, m->n_mappings);
    id_index_init(&m->functions, m->n_functions);
    id_index_init(&m->locations, m->n_locations);
    m->p->functions = mem_array(m->n_functions, sizeof *m->p->functions);
    m->p->cap_functions = m->n_functions;
    m->p->locations = mem_array(m->n_locations, sizeof *m->p->locations);
    m->p->cap_locations = m->n_locations;
    rc = each(m, r, 3, read_mapping);
    if (!rc) rc = each(m, r, 5, read_function);
    if (!rc) rc = each(m, r, 4, read_location);
    return rc ? rc : read_samples(m, r);
}

static int read_proto(const void *data, size_t len, const struct format_options *options,
                      struct profile *into, struct err *err)
{
    (void)options;
    struct proto m = {.p = into, .err = err};
    struct rd r = rd_over(data, len);
    int rc = len ? count(&m, r) : FORMAT_NOT_MINE;
    /* Any short text can look like a few unknown fields. A profile has sample types, and strings that name
     * them. */
    if (!rc && !m.n_strings) rc = FORMAT_NOT_MINE;
    into->has_period_type = true; /* an absent string is empty, as in every reader of the format */
    if (!rc) rc = read_all(&m, r);
    mem_free(m.parts);
    mem_free(m.strings);
    id_index_free(&m.mappings);
    id_index_free(&m.functions);
    id_index_free(&m.locations);
    return rc;
}

const struct format_reader format_proto = {"pprof", read_proto};
