/* profile.h - the one model in the middle. Every input becomes it once; every output is made from it.
 *
 * It says what profile.proto can say, and nothing a profile.proto cannot carry. It is kept flat: arrays of
 * small records that refer to each other by index, never by pointer, so that a profile of millions of frames
 * is a few blocks of memory.
 *
 *   sample s:  frames   sample_locations[sample_location_start[s] .. sample_location_start[s+1])   leaf first
 *              values   sample_values[s * n_sample_types ..]
 *              labels   labels[sample_label_start[s] .. sample_label_start[s+1])
 *   location:  lines    lines[first_line .. first_line + n_lines)                                  innermost
 * inlined callee first
 *
 * Strings are ids of `strings` (equal text, equal id; 0 is ""). Mapping references are index+1, 0 is none.
 * Everything else is a plain index. A profile is not safe for use by two threads while one of them changes
 * it.
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/strtab.h"

struct value_type {
    uint32_t type, unit; /* strings, e.g. "cpu", "nanoseconds" */
};

struct label {
    uint32_t key;  /* string */
    uint32_t str;  /* string; when not 0 the label is text and num is unused */
    int64_t num;   /* numeric value when str is 0 */
    uint32_t unit; /* string, for numeric labels; 0 if none */
};

struct mapping {
    uint64_t id; /* as in the file, 1..; unique, never 0 */
    uint64_t start, limit, file_offset;
    uint32_t filename, build_id; /* strings */
    bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct line {
    uint32_t function; /* index of functions */
    int64_t line, column;
};

struct location {
    uint64_t id; /* as in the file; unique, never 0 */
    uint64_t address;
    uint32_t mapping; /* index in mappings + 1; 0 if none */
    uint32_t first_line, n_lines;
    bool is_folded;
};

struct function {
    uint64_t id;                          /* as in the file; unique, never 0 */
    uint32_t name, system_name, filename; /* strings */
    int64_t start_line;
};

struct profile {
    struct strtab strings;

    struct value_type *sample_types;
    size_t n_sample_types, cap_sample_types;

    size_t n_samples;
    uint64_t *sample_location_start; /* n_samples + 1 */
    uint32_t *sample_locations;      /* indexes of locations */
    int64_t *sample_values;          /* n_samples * n_sample_types */
    uint64_t *sample_label_start;    /* n_samples + 1 */
    struct label *labels;
    size_t cap_samples, cap_sample_locations, cap_labels;

    struct mapping *mappings;
    size_t n_mappings, cap_mappings;
    struct location *locations;
    size_t n_locations, cap_locations;
    struct line *lines;
    size_t n_lines, cap_lines;
    struct function *functions;
    size_t n_functions, cap_functions;

    uint32_t drop_frames, keep_frames; /* strings: regular expressions */
    int64_t time_ns, duration_ns;
    struct value_type period_type;
    bool has_period_type; /* the file has a period type, even if both strings are empty */
    int64_t period;
    uint32_t *comments; /* strings */
    size_t n_comments, cap_comments;
    uint32_t default_sample_type; /* string; 0: none */
    uint32_t doc_url;             /* string */
};

struct profile *profile_new(void);
void profile_free(struct profile *p); /* NULL is fine */

/* ---- building, for format readers ---- */

uint32_t profile_string(struct profile *p, const char *s, size_t len); /* interns */
uint32_t profile_cstr(struct profile *p, const char *s);
void profile_add_sample_type(struct profile *p, const char *type,
                             const char *unit); /* before the first sample */
void profile_add_comment(struct profile *p, const char *text);

/* Each returns the index of the new record, whose id is index + 1. They do not look for an equal record;
 * see profile_find_*. */
uint32_t profile_add_mapping(struct profile *p, uint64_t start, uint64_t limit, uint64_t file_offset,
                             uint32_t filename, uint32_t build_id);
uint32_t profile_add_function(struct profile *p, uint32_t name, uint32_t system_name, uint32_t filename,
                              int64_t start_line);
uint32_t profile_add_location(struct profile *p, uint64_t address, uint32_t mapping_plus_1);
void profile_add_line(struct profile *p, uint32_t function, int64_t line,
                      int64_t column); /* to the newest location */

/* Replaces the lines of a location by this one function, and notes in its mapping that it has names. */
void profile_name_location(struct profile *p, size_t location, uint32_t function);

/* Adds a sample with its frames (leaf first) and its n_sample_types values. Its labels must be added
 * before the next sample. */
void profile_add_sample(struct profile *p, const uint32_t *locations, size_t n_locations,
                        const int64_t *values);
void profile_add_label_str(struct profile *p, uint32_t key, uint32_t str); /* to the newest sample */
void profile_add_label_num(struct profile *p, uint32_t key, int64_t num,
                           uint32_t unit); /* to the newest sample */

/* ---- looking ---- */

static inline struct str profile_str(const struct profile *p, uint32_t id)
{
    return strtab_get(&p->strings, id);
}

/* Adds a string of another profile and returns its id. */
static inline uint32_t profile_copy_string(struct profile *to, const struct profile *from, uint32_t id)
{
    struct str s = profile_str(from, id);
    return profile_string(to, s.s, s.len);
}

static inline const char *profile_text(const struct profile *p, uint32_t id)
{
    return strtab_get(&p->strings, id).s;
}

static inline size_t profile_sample_depth(const struct profile *p, size_t sample)
{
    return (size_t)(p->sample_location_start[sample + 1] - p->sample_location_start[sample]);
}

static inline const uint32_t *profile_sample_frames(const struct profile *p, size_t sample)
{
    return p->sample_locations + p->sample_location_start[sample];
}

static inline const int64_t *profile_sample_values(const struct profile *p, size_t sample)
{
    return p->sample_values + sample * p->n_sample_types;
}

/* Returns the sum of one sample type over all samples. */
int64_t profile_total(const struct profile *p, size_t sample_index);

/* Returns the sample type that is shown by default: default_sample_type, else the last one. */
size_t profile_default_sample_index(const struct profile *p);

/* Finds a sample type by its name ("alloc_space"), by its name without "inuse_" ("space"), or by its
 * number. Returns -1 if there is none. */
int profile_sample_index(const struct profile *p, const char *name);

/* The same, but "" selects the default. If there is none, returns ERR_INPUT and a message that lists the
 * sample types. */
int profile_choose_sample(const struct profile *p, const char *name, size_t *ret_index, struct err *err);

/* Checks that every index is in range, ids are unique and not 0, frames and labels of samples follow each
 * other without gaps, and string 0 is empty. Returns 0 or ERR_INPUT. Every reader and every function that
 * makes a profile promises this; builds that check invariants call it after reading and after merging. */
int profile_check(const struct profile *p, struct err *err);

/* ---- merging (merge.c) ---- */

/* Merges the samples of all sources into one profile. Equal stacks with equal labels are added up, and
 * equal locations, functions and mappings are stored once. The sample types must be the same; otherwise
 * the function returns ERR_INPUT and a message that names the difference. The sources do not change. The
 * result has the earliest start, the sum of the durations, the largest period and the comments of all
 * sources. */
int profile_merge(struct profile *const *sources, size_t n_sources, struct profile **ret_merged,
                  struct err *err);

/* The same for sources that need not be in memory at the same time. Each source has a place: 0, 1, 2 and
 * so on. Several threads may call these functions. A call waits until all lower places are done, so
 * threads must take the places in order, or they would wait for ever. NULL leaves a place empty. ERR_INPUT
 * means that the sample types differ from those of the first source; nothing of this source is then added.
 * An added source does not change and must live until the end. A taken source is freed as soon as it is
 * not needed. */
struct profile_merger;
struct profile_merger *profile_merger_new(void);
int profile_merger_add(struct profile_merger *merger, size_t place, const struct profile *source,
                       struct err *err);
int profile_merger_take(struct profile_merger *merger, size_t place, struct profile *source, struct err *err);
struct profile *profile_merger_end(struct profile_merger *merger); /* the result; frees the merger */

void profile_scale(struct profile *p, double factor); /* all values */
void profile_scale_each(
    struct profile *p,
    const double *factor_per_type); /* one factor per sample type; drops samples whose values are all zero */

#endif
