/* views.h - stored profiles as views: flame data, tables, graphs, source, files for download.
 *
 * A view is made once and stays compressed in memory until it is the least recently used one and the cache is
 * full. A stored profile never changes, so a view never becomes outdated, and its tag is computed from the
 * ids of the profiles without making the view. All functions may be called from any thread.
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
    const char *const *symbol_search; /* folders, NULL-terminated; may be NULL */
    size_t cache_bytes;               /* 0: 256 MiB */
    /* Whether the binaries of that node are on this host. NULL means that all are. */
    bool (*is_local)(void *context, int32_t node);
    /* The name of a node, which the caller frees with mem_free. NULL means that nodes are shown by their id.
     */
    char *(*node_name)(void *context, int32_t node);
    void *context;
    const char *binary; /* of the main mapping, for profiles that do not name it (procprof ui --binary); may
                           be NULL */
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
    const struct store_profile *profiles; /* at least one; several are merged */
    size_t n_profiles;
    const struct store_profile *base; /* to compare with; may be empty */
    size_t n_base;
    const char *sample;   /* sample type; NULL for the default of the profile */
    const char *function; /* VIEW_SOURCE: a regular expression */
    size_t n_rows;        /* VIEW_TOP */
};

struct view { /* shared; the caller of views_get must call view_done */
    char *key;
    void *data; /* gzip when is_packed */
    size_t len;
    bool is_packed;
    unsigned n_users;
    struct view *newer, *older;
};

/* 32 hexadecimal digits that identify the view. */
void view_tag(const struct view_request *r, char tag[33]);

int views_get(struct views *v, const struct view_request *r, const struct view **ret_view, struct err *err);
void view_done(struct views *v, const struct view *view);

/* The merged profiles, minus the base when there is one, with simple function names, as the reports of pprof
 * need them. */
int views_profile(struct views *v, const struct store_profile *list, size_t n,
                  const struct store_profile *base, size_t n_base, bool want_lines,
                  struct profile **ret_profile, struct err *err);
struct symbolizer *views_symbolizer(struct views *v);

/* Makes a view of bytes that are not in the store, such as a file that a user dropped into the page. */
int views_open(struct views *v, const void *data, size_t len, const char *name, enum view_kind kind,
               struct buf *out, struct err *err);

struct views_state {
    uint64_t n_hits, n_misses;
    size_t bytes, n_views;
};
void views_state(struct views *v, struct views_state *ret_state);

#endif
