/* proto_write.c - profile.proto out: fields in number order, integers packed, as google/pprof writes it. */
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

static void put_sample(const struct profile *p, size_t s, struct buf *out, struct buf *part,
                       struct buf *inner)
{
    const uint32_t *frames = profile_sample_frames(p, s);
    size_t depth = profile_sample_depth(p, s);
    buf_reserve(inner, depth * 10);
    for (size_t i = 0; i < depth; i++) {
        uint64_t id = p->locations[frames[i]].id;
        while (id >= 0x80) {
            inner->data[inner->len++] = (char)(id | 0x80);
            id >>= 7;
        }
        inner->data[inner->len++] = (char)id;
    }
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

void format_write_proto(const struct profile *p, struct buf *out)
{
    struct buf part = {0}, inner = {0};
    for (size_t i = 0; i < p->n_sample_types; i++) put_value_type(out, 1, p->sample_types[i], &part);
    parallel_write(out, p->n_samples, put_samples, (void *)p);
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
