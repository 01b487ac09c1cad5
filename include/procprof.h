/* procprof.h - the profiler inside a native server: link libprocprof, call pp_agent_start once, and ask the
 * process at any time what it is doing: http://127.0.0.1:8060/debug/pprof/ (go tool pprof, jeprof,
 * google-pprof, curl, procprof).
 *
 * C99; may be included from C++ and called from Rust. Needs libc only.
 *
 * Threads: every function may be called from any thread, not from signal handlers, except where it says so.
 * None may be left by longjmp or siglongjmp (out of a signal handler of the host): what it holds would stay
 * held.
 *
 * Memory: the library never calls the host's malloc. What it hands out is freed by the function named beside
 * it.
 *
 * Errors: 0, or a negative code of enum pp_error; pp_error_text() is the sentence for people, of this
 * thread's last failure.
 *
 * Host: errno, signal masks, exit codes and existing signal handlers stay as they are. One free real-time
 * signal is used for sampling from the first capture on. The child of a fork is not profiled (setting fork=1:
 * it is, as soon as the port is free).
 *
 * A program that cannot be rebuilt: LD_PRELOAD=libprocprof.so PROCPROF="listen=127.0.0.1:8060" program.
 * Settings are the same, as "key=value,key=value"; docs/agent.md lists them.
 */
#ifndef PROCPROF_H
#define PROCPROF_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pp_error {
    PP_ERROR_INPUT = -1,
    PP_ERROR_LIMIT = -2,
    PP_ERROR_IO = -3,
    PP_ERROR_NOT_FOUND = -4,
    PP_ERROR_UNSUPPORTED = -5,
    PP_ERROR_BUSY = -7,
    PP_ERROR_DENIED = -8
};

/* All zero but size: the defaults. New members come at the end; size tells which ones the caller knows, so a
 * program built with an older header works with a newer library; with an older library too, as long as what
 * that does not know is zero. The same holds for struct pp_capture. */
struct pp_options {
    size_t size;          /* sizeof(struct pp_options) */
    const char *listen;   /* "127.0.0.1:8060"; NULL: no server, only the functions below */
    const char *token;    /* Authorization: Bearer TOKEN; needed when others can reach the address */
    const char *settings; /* more settings, "key=value,..."; may be NULL */
};

/* Starts one thread. Nothing is measured before somebody asks. PP_ERROR_BUSY when it runs already, or has not
 * ended yet. options may be NULL. */
int pp_agent_start(const struct pp_options *options);

/* Ends it: captures under way are cut short (pp_profile returns what it has so far), profilers that count all
 * the time go off and forget, the address is free again. Waits for this, five seconds at most: while the host
 * keeps the loader busy (in a callback of dl_iterate_phdr) profilers cannot go off; they do when it is
 * through. Does nothing when none runs. It may be started again. */
void pp_agent_stop(void);

/* The port it listens at (useful with listen=...:0); 0: none. */
int pp_agent_port(void);

struct pp_capture {
    size_t size;        /* sizeof(struct pp_capture) */
    const char *kind;   /* "profile" (CPU), "wall", "threads", "heap", "allocs", "growth", "contention",
                           "mutex", "block" */
    double seconds;     /* how long; for heap and contention 0 is "now", otherwise the change in that time */
    unsigned frequency; /* samples a second; 0: the default */
    const char *format; /* "proto" (NULL), "legacy", "text" */
};

/* Takes a profile and blocks for it. On success *bytes is the caller's: pp_free. Needs pp_agent_start. */
int pp_profile(const struct pp_capture *capture, void **bytes, size_t *n_bytes);
int pp_profile_to_file(const struct pp_capture *capture,
                       const char *path); /* appears under its name when it is whole, mode 0600 */
void pp_free(void *bytes, size_t n_bytes);

/* Switches of a profiler that counts all the time, as .../KIND/VERB does over HTTP. kind: "heap", "allocs",
 * "contention", "block"; verb: "enable", "disable", "status", "reset", "dump" (heap: into a file, its path is
 * the reply). query: "interval=64k" (bytes between samples of the heap; "interval=1ms" of waiting), or NULL.
 * The reply, cut to size, goes to reply[size]; reply may be NULL. */
int pp_control(const char *kind, const char *verb, const char *query, char *reply, size_t size);

/* Says what the calling thread works on; every CPU and wall-clock sample carries it. value NULL takes the
 * label away. Key and value are copied, 127 bytes count. At most 8 labels a thread; PP_ERROR_LIMIT when there
 * are more, or 16,383 different sets. */
int pp_label_set(const char *key, const char *value);

const char *pp_error_text(void); /* never NULL; valid until this thread's next call */
const char *pp_version(void);    /* "0.1.0" */

#ifdef __cplusplus
}
#endif
#endif
