/* store.h - stored profiles: published whole or not at all, listed quickly, deleted when they exceed the
 * limits.
 *
 * The files are the truth; the index (SQLite, read whole at the start) adds what a name does not say: the id,
 * the exact time, how long the capture was, what is inside. Where they disagree at the start, because the
 * program was killed in between or because another program put a file there or took one away, the index
 * follows the files.
 *
 * Each node has one folder. A folder may be shared with other programs (bin/collect_be_profile.sh, a
 * StarRocks frontend): it is looked through again whenever it changed.
 *
 * Every function may be called by any thread. Results are copies.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "store/profile_name.h"

struct store;

/* The sum of the sample type that a profile shows unless asked for another: bytes in use, CPU time, time
 * waited. */
struct store_total {
    int64_t value;
    char type[48]; /* "inuse_space/bytes"; "": not known (the record is of an older version) */
};

struct store_profile {
    int64_t id;
    int32_t node;
    enum profile_type type;
    enum profile_form form; /* PROFILE_PPROF or PROFILE_ARCHIVE */
    int64_t time_ms;        /* when the capture began */
    int64_t duration_ms;    /* 0: not known */
    int64_t size_bytes;     /* of the file itself */
    int64_t samples;        /* -1: not known */
    bool has_data;          /* can be decoded; false: an archive with only a page */
    char stamp[PROFILE_STAMP_LEN + 1];
    char file[PROFILE_NAME_MAX];
    char sample_types[128]; /* "samples/count,cpu/nanoseconds"; "": not known */
    struct store_total total;
};

struct store_options {
    const char *dir; /* the index and, in folders named after their ids, the profiles of all nodes without a
                        folder of their own */
    const char *index_dir;   /* where index.db is; NULL: dir */
    int64_t (*now_ms)(void); /* NULL: the clock of the machine */
    bool durable;            /* survive a power cut, not only a crash: waits for the disk at each publish */
};

/* Makes what is missing. ERR_BUSY when another process has it open. */
int store_open(const struct store_options *options, struct store **ret_store, struct err *err);
void store_close(struct store *s); /* NULL is fine */

/* The node's profiles are in this folder from now on (made when missing); is_shared: others may change it
 * too. Call before its first publish. */
int store_node_dir(struct store *s, int32_t node, const char *dir, bool is_shared, struct err *err);
char *store_path(struct store *s, int32_t node, const char *file); /* of a checked name; mem_free */

/* Reads all folders and brings the index in line; once, after store_node_dir, before anything else. */
int store_load(struct store *s, struct err *err);
/* Looks through shared folders that changed; quick when none did. Called by the retention thread too. */
void store_refresh(struct store *s);

struct store_new {
    int32_t node;
    enum profile_type type;
    enum profile_form form;
    int64_t time_ms, duration_ms;
    int64_t samples;
    const char *sample_types; /* may be NULL */
    struct store_total total;
    bool has_data;
    const void *data; /* the file, as it is to be */
    size_t len;
};
/* Either the whole file is there and listed, or nothing is. When a profile of that second exists already, the
 * next free second is taken. */
int store_publish(struct store *s, const struct store_new *p, struct store_profile *ret_profile,
                  struct err *err);

/* Something made from a profile, kept beside it; counts for retention and goes with it. Losing it does not
 * matter. */
int store_put_derived(struct store *s, int64_t id, const void *data, size_t len, struct err *err);
int store_get_derived(struct store *s, int64_t id, struct bytes *ret_bytes,
                      struct err *err); /* ERR_NOT_FOUND */

/* Records what decoding found in a profile that another program wrote. */
void store_describe(struct store *s, int64_t id, int64_t duration_ms, int64_t samples,
                    const char *sample_types, const struct store_total *total, bool has_data);

struct store_query {
    const int32_t *nodes; /* NULL: all */
    size_t n_nodes;
    unsigned type_mask;       /* 1 << PROFILE_CPU | ...; 0: all */
    int64_t from_ms, to_ms;   /* [from, to); 0: open */
    int64_t before_id;        /* 0: from the newest; else those after this one in the list */
    size_t limit;             /* 0: all */
    bool newest_of_each_node; /* one for each node (a gauge) */
};
/* Newest first. *ret_total (may be NULL): how many there are without limit and before_id. mem_free the
 * result. */
size_t store_list(struct store *s, const struct store_query *query, struct store_profile **ret_profiles,
                  size_t *ret_total);
/* When the first and the last of those began; false: there are none. limit and the like do not count. */
bool store_span(struct store *s, const struct store_query *query, int64_t *ret_first_ms,
                int64_t *ret_last_ms);
int store_get(struct store *s, int64_t id, struct store_profile *ret_profile); /* or ERR_NOT_FOUND */
size_t store_get_many(struct store *s, const int64_t *ids, size_t n_ids,
                      struct store_profile **ret_profiles); /* those that exist */
int store_find(struct store *s, int32_t node, const char *file, struct store_profile *ret_profile);

/* Reads the file. ERR_NOT_FOUND when another program has removed it. */
int store_read(struct store *s, int64_t id, struct bytes *ret_bytes, struct err *err);
int store_remove(struct store *s, int64_t id, struct err *err);

struct store_bucket {
    int32_t node;
    enum profile_type type;
    int64_t t_ms, profiles, samples, bytes;
    struct store_total total; /* of a gauge (heap) the newest, of all others the sum, as when they are merged;
                                 none when one of them is not known */
};
/* Counts by time; buckets without profiles are left out. mem_free. */
size_t store_timeline(struct store *s, const struct store_query *query, int64_t bucket_ms,
                      struct store_bucket **ret_buckets);

/* ---- retention ---- */

struct store_limits {
    int64_t max_age_ms; /* a profile older than this goes; 0: all go but what is being written; negative: no
                           limit */
    int64_t max_bytes;  /* all files together, with what was derived from them; negative: no limit */
};
/* Deletes what is too old, then the oldest until all fits. A file that cannot be deleted goes on counting.
 * Returns how many went; *ret_next_ms (may be NULL) is when the next one will be too old, 0: nothing there.
 */
size_t store_retain(struct store *s, const struct store_limits *limits, int64_t *ret_next_ms);

/* The same for a folder without a store (bin/collect_be_profile.sh): by the time in the names. */
size_t store_retain_folder(const char *dir, const struct store_limits *limits, int64_t now_ms);

/* Starts a thread that calls store_retain when a profile is due. It calls limits() before each round. */
int store_retention_start(struct store *s, struct store_limits (*limits)(void *context), void *context,
                          struct err *err);
void store_retention_wake(struct store *s); /* limits changed */

struct store_state {
    size_t n_profiles;
    int64_t bytes; /* with what was derived */
    uint64_t n_published, n_removed, n_remove_failed, n_publish_failed;
    char problem[200]; /* why nothing can be written; "": all is well */
};
void store_state(struct store *s, struct store_state *ret_state);

enum store_event { STORE_ADDED, STORE_REMOVED };
/* The thread that added or removed a profile calls the watcher without holding a lock. There is one watcher;
 * set it before other threads start. */
void store_watch(struct store *s,
                 void (*watcher)(void *context, enum store_event event, const struct store_profile *p),
                 void *context);

#endif
