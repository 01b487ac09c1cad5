/* store_int.h - the inside of struct store, for store*.c only. */
#ifndef STORE_STORE_INT_H
#define STORE_STORE_INT_H

#include <pthread.h>
#include <time.h>

#include "base/strtab.h"
#include "store/db.h"
#include "store/store.h"

struct record {
    int64_t id, time_ms, duration_ms, size_bytes, derived_bytes, samples, total;
    int32_t node;
    uint32_t sample_types, total_type; /* strings */
    uint8_t type, form;
    bool has_data, cannot_delete;
    char stamp[PROFILE_STAMP_LEN + 1];
};

struct id_place {
    int64_t id, time_ms; /* record_place finds the record by both */
};

struct folder {
    int32_t node;
    char *dir;
    bool is_shared;
    struct timespec seen; /* the folder's mtime when the store last read it */
};

struct store {
    /* In the order of their ranks (base/lock_rank.h). */
    pthread_mutex_t change;  /* held while files and index change: one publish, removal or scan at a time */
    pthread_mutex_t lock;    /* guards the records; held for a short time, never during disk access */
    pthread_mutex_t db_lock; /* guards the SQLite handle */
    struct db db;
    int lock_fd;
    char *dir;
    int64_t (*now_ms)(void);
    bool durable;

    struct record *records; /* sorted by time, then id; a part of room, which has space at both ends */
    struct record *room;
    size_t n_records, cap_room, n_cannot_delete;
    struct id_place *ids; /* sorted by id; ids of removed records stay until they are half of the array */
    size_t n_ids, cap_ids;
    struct strtab texts;
    int64_t total_bytes, last_id;
    struct folder *folders;
    size_t n_folders, cap_folders;
    struct store_state counts;
    uint64_t n_temporary;

    void (*watcher)(void *context, enum store_event event, const struct store_profile *p);
    void *watcher_context;

    pthread_t retention;
    bool retention_runs, retention_stops, retention_woken;
    pthread_cond_t retention_wake;
    struct store_limits (*limits)(void *context);
    void *limits_context;
};

/* The caller of a record_ function holds `lock`. */

/* Returns the record with this id, or NULL. */
struct record *record_by_id(struct store *s, int64_t id);

/* Adds a record. Its id must be larger than all others. */
void record_insert(struct store *s, const struct record *r);

/* Returns the index of the first record that is not before (time_ms, id). */
size_t record_place(const struct store *s, int64_t time_ms, int64_t id);

/* Adds a record behind the last one and returns it without content. */
struct record *record_push(struct store *s);

/* Builds the ids again, after records were pushed and sorted. */
void record_index(struct store *s);
void record_copy(struct store *s, const struct record *r, struct store_profile *out);
bool record_remove(struct store *s, int64_t id, struct store_profile *ret_removed);
int64_t record_new_id(struct store *s);

/* Checks, in builds that check invariants, that the records are in order, that each is found by its id, and
 * that the sum of sizes is right. */
void record_check(struct store *s);

/* Calls the watcher. The caller holds no lock. */
void store_tell(struct store *s, enum store_event event, const struct store_profile *p);

/* Returns the folder of a node, and creates it if make is true. The caller frees the result with mem_free. */
char *folder_of(struct store *s, int32_t node, bool make, struct err *err);

void index_insert(struct store *s, const struct record *r, const char *sample_types, const char *total_type);
void index_remove(struct store *s, int64_t id);

/* Deletes a profile's file and its derived file. Returns 0 or an errno. */
int unlink_profile(struct store *s, const struct store_profile *p);

#endif
