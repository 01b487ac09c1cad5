/* kinds.h - the kinds of profile: each is one entry of a table that the HTTP server and the API look up.
 *
 * A profiler registers at file scope, in any file of the library:
 *     static const struct kind heap_kind = {.name = "heap", ...};
 *     KIND_REGISTER(heap_kind);
 * A capture kind (cpu, wall) samples between start and stop. A counter kind (heap, contention) counts as long
 * as it is enabled, and a snapshot may be taken at any time; ?seconds=N gives the difference of two snapshots
 * (capture.h).
 *
 * Threads of the library call these functions, and threads of the host that are in pp_profile or pp_control;
 * those count as the library's own for that time and are not cancelled. No handler calls them. Functions of a
 * capture kind, except tick, are called by one thread at a time, those of a counter kind by several. The
 * library's thread calls agent_stopped.
 */
#ifndef AGENT_SAMPLE_KINDS_H
#define AGENT_SAMPLE_KINDS_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/write/output.h"
#include "base/err.h"

struct kind_options {
    double seconds;   /* how long the capture lasts; 0: read at once */
    unsigned rate;    /* samples a second; 0: the kind's default */
    bool has_seconds; /* the client gave seconds */
    bool legacy;      /* the client reads the legacy formats */
    bool raw;  /* the client wants the text of the profiler that is driven (jemalloc's dump), where there is
                  one */
    int debug; /* ?debug= */
    const char *query; /* everything after '?', undecoded; never NULL */
    const struct capture_mark
        *since; /* snapshot of a capture kind: leave out what was counted before this mark; NULL: nothing */
};

struct kind {
    const char *name;       /* in URLs */
    const char *title;      /* one line for the index page */
    bool is_capture;        /* start and stop surround it; seconds is needed */
    double default_seconds; /* when the client names none */
    bool (*available)(
        void); /* NULL: always. When false, the kind is not in the index and is answered with 404 */

    /* A counter kind may have start and stop too. They surround ?seconds=N, so that counting can be
     * switched on for that long. */
    int (*start)(const struct kind_options *options, struct err *err);
    void (*tick)(void); /* capture kinds: called about every 20 ms while one runs; may be NULL */
    void (*stop)(void); /* after it, snapshot */
    int (*snapshot)(const struct kind_options *options, struct output *output,
                    struct err *err); /* *output is zeroed */

    /* GET|POST .../NAME/VERB: enable, disable, status, reset, dump ... Appends a plain sentence or a JSON
     * object to reply and returns 0; ERR_NOT_FOUND for an unknown verb. NULL: there are no verbs. */
    int (*control)(const char *verb, const struct kind_options *options, struct pages_buf *reply,
                   struct err *err);
    void (*free_capture)(void); /* after the last snapshot of a capture kind: give memory back; may be NULL */

    /* For capture kinds that several readers may share (both, or NULL). fits says whether the running
     * capture gives a reader with these options what it wants. mark notes what has been counted so far,
     * where that reader's part begins; NULL when there is no memory. */
    bool (*fits)(const struct kind_options *options);
    struct capture_mark *(*mark)(void);

    void (*agent_started)(
        void); /* when the agent starts: reads config.h and switches on what it asks for; may be NULL */
    void (*agent_stopped)(
        void);            /* when the agent ends: switches off what the library switched on; may be NULL */
    void (*forked)(void); /* in the child of a fork, before the host's code runs on: may only do
                             async-signal-safe things; may be NULL */
};

#define KIND_REGISTER(kind_)                                                                                 \
    static const struct kind *const kind_##_entry                                                            \
        __attribute__((section("procprof_kinds"), used, aligned(sizeof(void *)))) = &kind_

/* A text query parameter, percent-decoded, into value[size]; false when it is not there (value is then "").
 */
bool kind_query(const char *query, const char *name, char *value, size_t size);

const struct kind *kind_find(const char *name, size_t length); /* NULL: no such kind, or not available */
const struct kind *kind_next(const struct kind *previous);     /* NULL starts; in the order of registration */

#define KINDS_MAX 32
unsigned kind_number(const struct kind *kind); /* index in the table, below KINDS_MAX */

/* The agent calls these; each calls the function of that name of every kind. */
void kinds_agent_started(void);
void kinds_agent_stopped(void);
void kinds_forked(void);

#endif
