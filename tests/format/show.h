/* show.h - a profile as a short text, for the tables of the format tests.
 *
 *   types|period|sample;sample|mappings
 *   sample:   values@frames{labels}         frames: hex address, or names (inlined ones joined by '<'), leaf
 * first
 */
#ifndef TESTS_FORMAT_SHOW_H
#define TESTS_FORMAT_SHOW_H

#include "base/buf.h"
#include "format/format.h"
#include "profile/profile.h"

static inline void show_location(const struct profile *p, const struct location *l, struct buf *out)
{
    for (uint32_t i = 0; i < l->n_lines; i++) {
        const struct line *line = &p->lines[l->first_line + i];
        const struct function *f = &p->functions[line->function];
        buf_printf(out, "%s%s", i ? "<" : "", profile_text(p, f->name));
        if (f->filename) buf_printf(out, "(%s:%lld)", profile_text(p, f->filename), (long long)line->line);
    }
    if (!l->n_lines) buf_printf(out, "%llx", (unsigned long long)l->address);
}

static inline const char *show_profile(const struct profile *p, struct buf *out)
{
    for (size_t i = 0; i < p->n_sample_types; i++)
        buf_printf(out, "%s%s/%s", i ? " " : "", profile_text(p, p->sample_types[i].type),
                   profile_text(p, p->sample_types[i].unit));
    buf_printf(out, "|%lld|", (long long)p->period);
    for (size_t s = 0; s < p->n_samples; s++) {
        if (s) buf_char(out, ';');
        for (size_t i = 0; i < p->n_sample_types; i++)
            buf_printf(out, "%s%lld", i ? "," : "", (long long)profile_sample_values(p, s)[i]);
        buf_char(out, '@');
        for (size_t i = 0; i < profile_sample_depth(p, s); i++) {
            if (i) buf_char(out, ' ');
            show_location(p, &p->locations[profile_sample_frames(p, s)[i]], out);
        }
        uint64_t from = p->sample_label_start[s], to = p->sample_label_start[s + 1];
        for (uint64_t i = from; i < to; i++) {
            const struct label *l = &p->labels[i];
            buf_printf(out, "%s%s=", i == from ? "{" : ",", profile_text(p, l->key));
            if (l->str)
                buf_str(out, profile_text(p, l->str));
            else
                buf_i64(out, l->num);
        }
        if (to > from) buf_char(out, '}');
    }
    buf_char(out, '|');
    for (size_t i = 0; i < p->n_mappings; i++) {
        const struct mapping *m = &p->mappings[i];
        buf_printf(out, "%s%llx-%llx+%llx %s%s%s", i ? ";" : "", (unsigned long long)m->start,
                   (unsigned long long)m->limit, (unsigned long long)m->file_offset,
                   profile_text(p, m->filename), m->build_id ? " " : "", profile_text(p, m->build_id));
    }
    return buf_cstr(out);
}

/* What reading gives: the text above, or "error: ...". */
static inline const char *show_read(const void *data, size_t len, const struct format_options *options,
                                    struct buf *out)
{
    struct profile *p;
    struct err err;
    out->len = 0;
    if (format_read(data, len, NULL, options, &p, &err)) {
        buf_printf(out, "error: %s", err.text);
        return buf_cstr(out);
    }
    if (profile_check(p, &err))
        buf_printf(out, "not valid: %s", err.text);
    else
        show_profile(p, out);
    profile_free(p);
    return buf_cstr(out);
}

#endif
