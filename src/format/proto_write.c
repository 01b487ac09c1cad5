/* proto_write.c - writes profile.proto as google/pprof does, with fields in the order of their numbers and
 * packed integers. */
#include <string.h>

#include "base/compress/pack.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "format/format.h"

static void put_int(struct buf *out, unsigned field, uint64_t value)
{
    if (!value) return;
    buf_varint(out, field << 3);
    buf_varint(out, value);
}

static void put_bytes(struct buf *out, unsigned field, const char *bytes, size_t n)
{
    buf_varint(out, field << 3 | 2);
    buf_varint(out, n);
    buf_add(out, bytes, n);
}

/* Appends the message collected in `part` as a field, and empties it. */
static void put_message(struct buf *out, unsigned field, struct buf *part)
{
    put_bytes(out, field, part->data, part->len);
    part->len = 0;
}

static void put_value_type(struct buf *out, unsigned field, struct value_type t, struct buf *part)
{
    put_int(part, 1, t.type);
    put_int(part, 2, t.unit);
    put_message(out, field, part);
}

/* Most of a profile is frames, so the bytes of each location's id are encoded once. */
struct id_bytes {
    uint64_t bytes; /* the first eight bytes, in memory order */
    uint8_t n;      /* 0: more than eight */
};

struct writing {
    const struct profile *p;
    struct id_bytes *ids; /* by location */
    /* of format_write_proto_gzip: */
    int level;
    const uint32_t *piece_starts; /* first sample of each piece; one entry more than there are pieces */
    size_t n_pieces;
};

static struct id_bytes *make_id_bytes(const struct profile *p)
{
    struct id_bytes *ids = mem_array(p->n_locations, sizeof *ids);
    for (size_t i = 0; i < p->n_locations; i++) {
        uint8_t bytes[8] = {0}, n = 0;
        uint64_t id = p->locations[i].id;
        for (; id >= 0x80 && n < 7; id >>= 7) bytes[n++] = (uint8_t)(id | 0x80);
        bytes[n++] = (uint8_t)id;
        ids[i].n = id < 0x80 ? n : 0;
        memcpy(&ids[i].bytes, bytes, sizeof bytes);
    }
    return ids;
}

static void put_frames(const struct writing *w, size_t s, struct buf *out)
{
    const uint32_t *frames = profile_sample_frames(w->p, s);
    size_t depth = profile_sample_depth(w->p, s);
    buf_reserve(out, depth * 10 + 8);
    char *at = out->data + out->len;
    for (size_t i = 0; i < depth; i++) {
        const struct id_bytes *id = &w->ids[frames[i]];
        if (id->n) {
            memcpy(at, &id->bytes, sizeof id->bytes);
            at += id->n;
        } else {
            uint64_t left = w->p->locations[frames[i]].id;
            for (; left >= 0x80; left >>= 7) *at++ = (char)(left | 0x80);
            *at++ = (char)left;
        }
    }
    out->len = (size_t)(at - out->data);
}

static void put_sample(const struct writing *w, size_t s, struct buf *out, struct buf *part,
                       struct buf *inner)
{
    const struct profile *p = w->p;
    put_frames(w, s, inner);
    if (inner->len) put_message(part, 1, inner);
    for (size_t i = 0; i < p->n_sample_types; i++)
        buf_varint(inner, (uint64_t)profile_sample_values(p, s)[i]);
    if (inner->len) put_message(part, 2, inner);
    for (uint64_t i = p->sample_label_start[s]; i < p->sample_label_start[s + 1]; i++) {
        const struct label *l = &p->labels[i];
        put_int(inner, 1, l->key);
        put_int(inner, 2, l->str);
        put_int(inner, 3, (uint64_t)l->num);
        put_int(inner, 4, l->unit);
        put_message(part, 3, inner);
    }
    put_message(out, 2, part);
}

static void put_samples(void *context, size_t first, size_t end, struct buf *out)
{
    struct buf part = {0}, inner = {0};
    for (size_t s = first; s < end; s++) put_sample(context, s, out, &part, &inner);
    buf_free(&part);
    buf_free(&inner);
}

static void put_mapping(const struct mapping *m, struct buf *out, struct buf *part)
{
    put_int(part, 1, m->id);
    put_int(part, 2, m->start);
    put_int(part, 3, m->limit);
    put_int(part, 4, m->file_offset);
    put_int(part, 5, m->filename);
    put_int(part, 6, m->build_id);
    put_int(part, 7, m->has_functions);
    put_int(part, 8, m->has_filenames);
    put_int(part, 9, m->has_line_numbers);
    put_int(part, 10, m->has_inline_frames);
    put_message(out, 3, part);
}

static void put_location(const struct profile *p, const struct location *l, struct buf *out, struct buf *part,
                         struct buf *inner)
{
    put_int(part, 1, l->id);
    if (l->mapping) put_int(part, 2, p->mappings[l->mapping - 1].id);
    put_int(part, 3, l->address);
    for (uint32_t i = 0; i < l->n_lines; i++) {
        const struct line *line = &p->lines[l->first_line + i];
        put_int(inner, 1, p->functions[line->function].id);
        put_int(inner, 2, (uint64_t)line->line);
        put_int(inner, 3, (uint64_t)line->column);
        put_message(part, 4, inner);
    }
    put_int(part, 5, l->is_folded);
    put_message(out, 4, part);
}

static void put_function(const struct function *f, struct buf *out, struct buf *part)
{
    put_int(part, 1, f->id);
    put_int(part, 2, f->name);
    put_int(part, 3, f->system_name);
    put_int(part, 4, f->filename);
    put_int(part, 5, (uint64_t)f->start_line);
    put_message(out, 5, part);
}

static void put_before_samples(const struct profile *p, struct buf *out)
{
    struct buf part = {0};
    for (size_t i = 0; i < p->n_sample_types; i++) put_value_type(out, 1, p->sample_types[i], &part);
    buf_free(&part);
}

static void put_after_samples(const struct profile *p, struct buf *out)
{
    struct buf part = {0}, inner = {0};
    for (size_t i = 0; i < p->n_mappings; i++) put_mapping(&p->mappings[i], out, &part);
    for (size_t i = 0; i < p->n_locations; i++) put_location(p, &p->locations[i], out, &part, &inner);
    for (size_t i = 0; i < p->n_functions; i++) put_function(&p->functions[i], out, &part);
    for (size_t i = 0; i < p->strings.n_items; i++)
        put_bytes(out, 6, p->strings.items[i].s, p->strings.items[i].len);
    put_int(out, 7, p->drop_frames);
    put_int(out, 8, p->keep_frames);
    put_int(out, 9, (uint64_t)p->time_ns);
    put_int(out, 10, (uint64_t)p->duration_ns);
    if (p->has_period_type || p->period_type.type || p->period_type.unit)
        put_value_type(out, 11, p->period_type, &part);
    put_int(out, 12, (uint64_t)p->period);
    for (size_t i = 0; i < p->n_comments; i++) buf_varint(&inner, p->comments[i]);
    if (inner.len) put_message(out, 13, &inner);
    put_int(out, 14, p->default_sample_type);
    put_int(out, 15, p->doc_url);
    buf_free(&part);
    buf_free(&inner);
}

void format_write_proto(const struct profile *p, struct buf *out)
{
    struct writing w = {.p = p, .ids = make_id_bytes(p)};
    put_before_samples(p, out);
    parallel_write(out, p->n_samples, put_samples, &w);
    put_after_samples(p, out);
    mem_free(w.ids);
}

/* ---- packed ---- */

/* A gzip member is compressed while its bytes are still in the cache of the core that wrote them. A piece
 * of about 2 MB is small enough to distribute and large enough that compressing it separately costs
 * nothing. */
enum { PIECE_FRAMES = 1 << 20, FRAMES_PER_SAMPLE = 8 /* cost of a sample besides its frames */ };

static uint32_t *cut_into_pieces(const struct profile *p, size_t *ret_n)
{
    uint32_t *starts = NULL;
    size_t n = 0, cap = 0;
    uint64_t cost = 0;
    *VEC_PUSH(starts, n, cap) = 0;
    for (size_t s = 0; s < p->n_samples; s++) {
        if (cost >= PIECE_FRAMES) {
            *VEC_PUSH(starts, n, cap) = (uint32_t)s;
            cost = 0;
        }
        cost += profile_sample_depth(p, s) + FRAMES_PER_SAMPLE;
    }
    *VEC_PUSH(starts, n, cap) = (uint32_t)p->n_samples;
    if (n > 2) *VEC_PUSH(starts, n, cap) = (uint32_t)p->n_samples; /* the tables are a separate piece */
    *ret_n = n - 1;
    return starts;
}

static void put_members(void *context, size_t first, size_t end, struct buf *out)
{
    const struct writing *w = context;
    struct buf plain = {0};
    for (size_t i = first; i < end; i++) {
        plain.len = 0;
        if (i == 0) put_before_samples(w->p, &plain);
        put_samples(context, w->piece_starts[i], w->piece_starts[i + 1], &plain);
        if (i + 1 == w->n_pieces) put_after_samples(w->p, &plain);
        pack_gzip_add(plain.data, plain.len, w->level, out);
    }
    buf_free(&plain);
}

void format_write_proto_gzip(const struct profile *p, int level, struct buf *out)
{
    struct writing w = {.p = p, .level = level, .ids = make_id_bytes(p)};
    uint32_t *starts = cut_into_pieces(p, &w.n_pieces);
    w.piece_starts = starts;
    parallel_write_by(out, w.n_pieces, 1, put_members, &w);
    mem_free(starts);
    mem_free(w.ids);
}
