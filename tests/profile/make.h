/* make.h - small profiles for the tests of the model: from collapsed stacks, and back to a text. */
#ifndef TESTS_PROFILE_MAKE_H
#define TESTS_PROFILE_MAKE_H

#include "../t.h"
#include "base/buf.h"
#include "base/regex.h"
#include "format/format.h"
#include "profile/profile.h"

/* "main;work;hash 10\n..." */
static inline struct profile *make(const char *folded)
{
    struct profile *p;
    struct err err;
    REQUIRE(format_read(folded, strlen(folded), "test", NULL, &p, &err) == 0);
    return p;
}

/* "hash<work<main 10;..." with labels {k=v}, leaf first; the first value of each sample. */
static inline const char *show(const struct profile *p, struct buf *out)
{
    out->len = 0;
    for (size_t s = 0; s < p->n_samples; s++) {
        if (s) buf_char(out, ';');
        for (size_t i = 0; i < profile_sample_depth(p, s); i++) {
            const struct location *l = &p->locations[profile_sample_frames(p, s)[i]];
            if (i) buf_char(out, '<');
            for (uint32_t k = 0; k < l->n_lines; k++)
                buf_printf(out, "%s%s", k ? "^" : "",
                           profile_text(p, p->functions[p->lines[l->first_line + k].function].name));
            if (!l->n_lines) buf_printf(out, "%llx", (unsigned long long)l->address);
        }
        for (size_t i = 0; i < p->n_sample_types; i++)
            buf_printf(out, "%c%lld", i ? ',' : ' ', (long long)profile_sample_values(p, s)[i]);
        for (uint64_t i = p->sample_label_start[s]; i < p->sample_label_start[s + 1]; i++) {
            const struct label *l = &p->labels[i];
            if (l->str)
                buf_printf(out, "{%s=%s}", profile_text(p, l->key), profile_text(p, l->str));
            else
                buf_printf(out, "{%s=%lld%s}", profile_text(p, l->key), (long long)l->num,
                           profile_text(p, l->unit));
        }
    }
    return buf_cstr(out);
}

static inline struct regex *re(const char *pattern)
{
    struct regex *r;
    struct err err;
    REQUIRE(regex_compile(pattern, &r, &err) == 0);
    return r;
}

#define CHECK_PROFILE(p_, want_)                                                                             \
    do {                                                                                                     \
        struct buf shown_ = {0};                                                                             \
        struct err why_;                                                                                     \
        CHECK_STR(show((p_), &shown_), (want_));                                                             \
        if (profile_check((p_), &why_)) T_FAIL("not valid: %s", why_.text);                                  \
        buf_free(&shown_);                                                                                   \
    } while (0)

#endif
