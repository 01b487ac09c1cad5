/* views.h - profiles of the store as something to look at: flame data, tables, graphs, source, files to keep.
 *
 * Made once, kept packed in memory (least recently used goes first), so that the second look is quick. A
 * profile never changes, so neither does what was made from it: the tag of a view is made from the ids and
 * needs no work.
 */
#ifndef SERVE_VIEW_VIEWS_H
#define SERVE_VIEW_VIEWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "profile/profile.h"
#include "store/store.h"

struct views;

struct views_options {
    struct store *store;
    const char *const *symbol_search; /* folders, NULL-ended; may be NULL */
    size_t cache_bytes;               /* 0: 256 MiB */
    /* Whether the files named in a profile of that node may be those of this machine; NULL: they are. */
    bool (*is_local)(void *context, int32_t node);
    /* What people call a node; NULL: its number. mem_free the answer. */
    char *(*node_name)(void *context, int32_t node);
    void *context;
    const char
        *binary; /* of the main mapping, for profiles that do not say (procprof ui --binary); may be NULL */
};

struct views *views_new(const struct views_options *options);
void views_free(struct views *v);

enum view_kind {
    VIEW_FLAME,
    VIEW_TOP,
    VIEW_DOT,
    VIEW_SOURCE,
    VIEW_PPROF,
    VIEW_FOLDED,
    VIEW_SVG,
    VIEW_HTML,
    VIEW_CSV,
    VIEW_SPEEDSCOPE,
    VIEW_N_KINDS
};
const char *view_content_type(enum view_kind kind);
const char *view_file_ending(enum view_kind kind);
bool view_export_parse(const char *format, enum view_kind *ret_kind); /* "pprof", "folded" ... */

struct view_request {
    enum view_kind kind;
    const struct store_profile *profiles; /* merged; at least one */
    size_t n_profiles;
    const struct store_profile *base; /* compared with; may be none */
    size_t n_base;
    const char *sample;   /* NULL: the profile's default */
    const char *function; /* VIEW_SOURCE: a regular expression */
    size_t n_rows;        /* VIEW_TOP */
};

struct view { /* shared and counted: view_done it */
    char *key;
    void *data; /* gzip when is_packed */
    size_t len;
    size_t plain_len;
    bool is_packed;
    unsigned n_users;
    struct view *newer, *older;
};

/* 32 hex digits that stand for exactly this view. */
void view_tag(const struct view_request *r, char tag[33]);

int views_get(struct views *v, const struct view_request *r, const struct view **ret_view, struct err *err);
void view_done(struct views *v, const struct view *view);

/* The profiles as one, less the base when there is one, with simple names: what pprof makes its reports of.
 */
int views_profile(struct views *v, const struct store_profile *list, size_t n,
                  const struct store_profile *base, size_t n_base, bool want_lines,
                  struct profile **ret_profile, struct err *err);
struct symbolizer *views_symbolizer(struct views *v);

/* Any profile's bytes, not of the store (dropped into the page), as flame data or as a file to keep. */
int views_open(struct views *v, const void *data, size_t len, const char *name, enum view_kind kind,
               struct buf *out, struct err *err);

struct views_state {
    uint64_t n_hits, n_misses;
    size_t bytes, n_views;
};
void views_state(struct views *v, struct views_state *ret_state);

#endif
