/* lock_rank.h - the order in which a thread may take locks, checked in builds that check invariants.
 *
 * Two threads that take the same two locks in different orders can wait for each other forever. Therefore all
 * locks that are ever held together have a rank, and a thread takes a lock only while every lock that it
 * holds has a lower rank. A lock that never encloses another one needs no rank.
 *
 * In builds with ASSERT=1 or a sanitizer the linker replaces pthread_mutex_lock and pthread_mutex_unlock of
 * this program with functions that keep the ranks that each thread holds. When a thread breaks the order,
 * one line with both names goes to stderr and the process aborts. In other builds lock_rank_init is
 * pthread_mutex_init and nothing else is different.
 */
#ifndef BASE_LOCK_RANK_H
#define BASE_LOCK_RANK_H

#include <pthread.h>

#include "base/assert.h"

enum lock_rank { /* in the order in which they may be taken */
                 LOCK_NONE,
                 LOCK_LISTENERS,     /* serve/server: the HTTP and MySQL listeners */
                 LOCK_MYSQL,         /* serve/mysql: the connections */
                 LOCK_HTTP,          /* serve/http: the sockets */
                 LOCK_COLLECTOR,     /* serve/collector: jobs and states of nodes */
                 LOCK_CLUSTER,       /* serve/cluster: settings, nodes, users */
                 LOCK_SESSIONS,      /* serve/http: who is logged in */
                 LOCK_VIEWS,         /* serve/view: the cache of reports */
                 LOCK_STORE_CHANGE,  /* store: files and index change together */
                 LOCK_STORE_RECORDS, /* store: the records in memory */
                 LOCK_STORE_INDEX,   /* store: the SQLite handle */
                 LOCK_PULL,          /* collect/pull: transfers that wait to begin */
                 LOCK_SYMBOLIZER,    /* symbol: the list of objects */
                 LOCK_OBJECT,        /* symbol: one object's sections and debug information */
                 LOCK_SYMTAB,        /* symbol: one object's symbol table */
                 LOCK_DWARF,         /* symbol/dwarf: tables made on first use */
                 LOCK_SCOPE_NAMES,   /* symbol/dwarf: names of scopes */
                 LOCK_EVENTS,        /* serve/http: the events that browsers follow */
                 LOCK_N_RANKS
};

/* Initialises a mutex of this rank. attributes as in pthread_mutex_init; a recursive mutex may be taken again
 * by the thread that holds it. */
#if ASSERT_ON
void lock_rank_init(pthread_mutex_t *mutex, enum lock_rank rank, const pthread_mutexattr_t *attributes);
#else
static inline void lock_rank_init(pthread_mutex_t *mutex, enum lock_rank rank,
                                  const pthread_mutexattr_t *attributes)
{
    (void)rank;
    pthread_mutex_init(mutex, attributes);
}
#endif

#endif
