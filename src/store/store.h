/* store.h - stores profiles as files, lists them quickly, and deletes them when they exceed the limits. A
 * profile is published completely or not at all.
 *
 * The files decide which profiles exist. The index (SQLite, read completely at the start) adds what a file
 * name does not have: the id, the exact time, the duration of the capture, the content. The two may disagree
 * at the start, because the program was killed between two changes, or because another program added or
 * removed a file. The index is then changed to match the files.
 *
 * Each node has one folder. Other programs (bin/collect_be_profile.sh, a StarRocks frontend) may share a
 * folder. The store reads such a folder again whenever it changed.
 *
 * Any thread may call any function. Results are copies.
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

/* The sum over all samples of the profile's default sample type: bytes in use, CPU time, time waited. */
struct store_total {
    int64_t value;
    char type[48]; /* "inuse_space/bytes"; "": unknown (the record is of an older version) */
};

struct store_profile {
    int64_t id;
    int32_t node;
    enum profile_type type;
    enum profile_form form; /* PROFILE_PPROF or PROFILE_ARCHIVE */
    int64_t time_ms;        /* when the capture began */
    int64_t duration_ms;    /* 0: unknown */
    int64_t size_bytes;     /* of the file, without the derived file */
    int64_t samples;        /* -1: unknown */
    bool has_data;          /* it can be decoded; false: an archive with only a page */
    char stamp[PROFILE_STAMP_LEN + 1];
    char file[PROFILE_NAME_MAX];
    char sample_types[128]; /* "samples/count,cpu/nanoseconds"; "": unknown */
    struct store_total total;
};

struct store_options {
    /* Has the index and, in folders named after the nodes' ids, the profiles of all nodes for which
     * store_node_dir was not called. */
    const char *dir;
    const char *index_dir;   /* the folder of index.db; NULL: dir */
    int64_t (*now_ms)(void); /* returns the current time; NULL: the clock of the machine */
    bool durable;            /* wait for the disk at each publish, so that a power cut loses nothing */
};

/* Opens the store and creates missing folders and files. Returns ERR_BUSY if another process has it open. The
 * caller closes it with store_close, which accepts NULL and ends the retention thread. */
int store_open(const struct store_options *options, struct store **ret_store, struct err *err);
void store_close(struct store *s);

/* Sets the folder of a node's profiles and creates it if it is missing. If is_shared is true, other programs
 * may change the folder too. Call this before the node's first publish. */
int store_node_dir(struct store *s, int32_t node, const char *dir, bool is_shared, struct err *err);

/* Returns the path of a profile's file. The caller must have checked the file name, and frees the result with
 * mem_free. */
char *store_path(struct store *s, int32_t node, const char *file);

/* Reads all folders and changes the index to match them. Call this once, after store_node_dir and before all
 * other functions. */
int store_load(struct store *s, struct err *err);

/* Reads the shared folders that changed; quick if none did. The retention thread calls this too. */
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
    const void *data; /* the content of the file */
    size_t len;
};

/* Writes a profile's file and lists it. On failure neither the file nor the listing exists. If a file of that
 * second exists already, the next free second within two minutes is used. */
int store_publish(struct store *s, const struct store_new *p, struct store_profile *ret_profile,
                  struct err *err);

/* Stores and reads the derived file of a profile: a page made from it, which can be made again. The derived
 * file counts for retention and is deleted with its profile. store_get_derived returns ERR_NOT_FOUND if there
 * is none; the caller frees its bytes with bytes_free. */
int store_put_derived(struct store *s, int64_t id, const void *data, size_t len, struct err *err);
int store_get_derived(struct store *s, int64_t id, struct bytes *ret_bytes, struct err *err);

/* Records what decoding found in a profile that another program wrote. */
void store_describe(struct store *s, int64_t id, int64_t duration_ms, int64_t samples,
                    const char *sample_types, const struct store_total *total);

struct store_query {
    const int32_t *nodes; /* NULL: all */
    size_t n_nodes;
    unsigned type_mask;       /* 1 << PROFILE_CPU | ...; 0: all */
    int64_t from_ms, to_ms;   /* from <= time < to; 0: no bound */
    int64_t before_id;        /* start the list behind this profile; 0: start with the newest */
    size_t limit;             /* 0: all */
    bool newest_of_each_node; /* only the newest profile of each node (for a gauge) */
};

/* Lists profiles, newest first, and returns how many. *ret_total (may be NULL) is their number without limit
 * and before_id. The caller frees *ret_profiles with mem_free. */
size_t store_list(struct store *s, const struct store_query *query, struct store_profile **ret_profiles,
                  size_t *ret_total);
/* Sets the times of the first and the last profile that match the query's nodes, types and times. Returns
 * false if there are none. */
bool store_span(struct store *s, const struct store_query *query, int64_t *ret_first_ms,
                int64_t *ret_last_ms);
/* Finds a profile by its id. Returns ERR_NOT_FOUND if there is none. */
int store_get(struct store *s, int64_t id, struct store_profile *ret_profile);

/* Finds profiles by their ids and returns how many exist. The caller frees *ret_profiles with mem_free. */
size_t store_get_many(struct store *s, const int64_t *ids, size_t n_ids, struct store_profile **ret_profiles);

/* Finds a profile by node and file name. Returns ERR_NOT_FOUND if there is none. */
int store_find(struct store *s, int32_t node, const char *file, struct store_profile *ret_profile);

/* Reads a profile's file. Returns ERR_NOT_FOUND if another program has removed it. The caller frees the bytes
 * with bytes_free. */
int store_read(struct store *s, int64_t id, struct bytes *ret_bytes, struct err *err);

/* Deletes a profile and its derived file. */
int store_remove(struct store *s, int64_t id, struct err *err);

struct store_bucket {
    int32_t node;
    enum profile_type type;
    int64_t t_ms, profiles, samples, bytes;
    /* For a gauge (heap) the newest total, for other types the sum, as in a merged profile. It is empty if
     * the total of one profile is unknown. */
    struct store_total total;
};

/* Counts profiles by node, type and time, in buckets of bucket_ms. Buckets without profiles are left out.
 * Returns how many there are. The caller frees *ret_buckets with mem_free. */
size_t store_timeline(struct store *s, const struct store_query *query, int64_t bucket_ms,
                      struct store_bucket **ret_buckets);

/* ---- retention ---- */

struct store_limits {
    int64_t
        max_age_ms;    /* older profiles are deleted; 0: all except those being written; negative: no limit */
    int64_t max_bytes; /* of all profiles with their derived files; negative: no limit */
};

/* Deletes profiles that are too old, then the oldest ones until the rest fits. A file that cannot be deleted
 * still counts. Returns how many were deleted. *ret_next_ms (may be NULL) is the time at which the next
 * profile becomes too old, or 0 if there is none. */
size_t store_retain(struct store *s, const struct store_limits *limits, int64_t *ret_next_ms);

/* Does the same for a folder without a store (bin/collect_be_profile.sh), by the times in the file names. */
size_t store_retain_folder(const char *dir, const struct store_limits *limits, int64_t now_ms);

/* Starts a thread that calls store_retain when a profile is due. It calls limits() before each round. */
int store_retention_start(struct store *s, struct store_limits (*limits)(void *context), void *context,
                          struct err *err);

/* Wakes the retention thread, because the limits changed. */
void store_retention_wake(struct store *s);

struct store_state {
    size_t n_profiles;
    int64_t bytes; /* of all profiles with their derived files */
    uint64_t n_published, n_removed, n_remove_failed, n_publish_failed;
    char problem[200]; /* why profiles cannot be written; "": they can */
};
void store_state(struct store *s, struct store_state *ret_state);

enum store_event { STORE_ADDED, STORE_REMOVED };
/* The thread that added or removed a profile calls the watcher without holding a lock. There is one watcher;
 * set it before other threads start. */
void store_watch(struct store *s,
                 void (*watcher)(void *context, enum store_event event, const struct store_profile *p),
                 void *context);

#endif
