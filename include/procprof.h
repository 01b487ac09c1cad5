/* procprof.h - a profiler inside a native server.
 *
 * Link libprocprof and call pp_agent_start once. Then ask the process at any time where its CPU time, memory
 * and lock waits go, at http://127.0.0.1:8060/debug/pprof/ (with a browser, go tool pprof, jeprof,
 * google-pprof, curl or procprof), or with the functions below. Nothing is measured until then, unless the
 * settings say so.
 *
 * A program that cannot be rebuilt needs no function of this header:
 *
 *     LD_PRELOAD=libprocprof.so PROCPROF="listen=127.0.0.1:8060" program
 *
 * Language: C99; may be included from C++ and called from Rust. The library needs libc only.
 *
 * Threads: every function may be called from any thread at any time, but not from a signal handler. No
 * function may be left by longjmp or siglongjmp (out of a signal handler of the host): what the call holds
 * would never be released. No function is a cancellation point.
 *
 * Memory: the library never calls the host's malloc. The caller owns what a function returns and frees it
 * with the function named there.
 *
 * Errors: functions that return int return 0, or a negative code of enum pp_error. pp_error_text() is then
 * the sentence for people.
 *
 * The host: errno, signal masks, the exit code and existing signal handlers do not change. From the first
 * capture on, the library uses one free real-time signal, and SIGSTKFLT (or a free SIGPROF) where perf events
 * are available. The child of a fork is not profiled, unless the setting fork=1 is given. docs/agent.md lists
 * the settings and what the library does to its host.
 */
#ifndef PROCPROF_H
#define PROCPROF_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pp_error {
    PP_ERROR_INPUT = -1,       /* an argument or a setting is wrong */
    PP_ERROR_LIMIT = -2,       /* memory, threads or another limit ran out */
    PP_ERROR_IO = -3,          /* the system refused a file or a socket */
    PP_ERROR_NOT_FOUND = -4,   /* this process has no such profile, or the profile no such verb */
    PP_ERROR_UNSUPPORTED = -5, /* not possible in this process, or the library is not started */
    PP_ERROR_BUSY = -7,        /* try again later */
    PP_ERROR_DENIED = -8       /* refused for safety, such as a public address without a token */
};

/* How to start the library. A struct that is zero except for its size means the defaults.
 *
 * Later versions add members at the end, and size tells the library which members the caller knows. So a
 * program built with an older header works with a newer library, and one built with a newer header works with
 * an older library as long as the members which that library does not know are zero. The same holds for
 * struct pp_capture. */
struct pp_options {
    size_t size;        /* sizeof(struct pp_options) */
    const char *listen; /* "127.0.0.1:8060" or "unix:/path"; NULL: no HTTP server, only the functions below */
    const char *token;  /* clients send Authorization: Bearer TOKEN; NULL: none. Required when other machines
                           can reach the address */
    const char *settings; /* more settings, "key=value,key=value"; NULL: none */
};

/* Starts the library and its one thread. options may be NULL. The strings are copied. Returns PP_ERROR_BUSY
 * when the library is running already or is still stopping. After pp_agent_stop it may be started again. */
int pp_agent_start(const struct pp_options *options);

/* Stops the library. Running captures are cut short (pp_profile returns what it has so far), heap and lock
 * profiling are switched off and their counts are lost, and the address is free again. Does nothing when the
 * library is not running.
 *
 * It waits until all of this is done, but at most five seconds. Profilers cannot be switched off while a
 * thread of the host keeps the loader's lock (in a callback of dl_iterate_phdr, for example); in that case
 * the library's thread does it later. */
void pp_agent_stop(void);

/* Returns the port at which the library listens, useful with listen "127.0.0.1:0"; 0 when it does not listen,
 * or listens at a unix socket. */
int pp_agent_port(void);

/* Which profile to take. */
struct pp_capture {
    size_t size;      /* sizeof(struct pp_capture) */
    const char *kind; /* "profile" (CPU time), "wall", "threads", "heap", "allocs", "growth", "contention",
                         "mutex" or "block" */
    double seconds; /* "profile", "wall": how long to sample. Heap and locks: 0 for everything counted so far,
                       more for the change in that time. At most 1,000,000 */
    unsigned frequency; /* samples per second; 0: the default */
    const char *format; /* "proto" (gzipped profile.proto) or NULL, "legacy" (gperftools, jemalloc), "text" */
};

/* Takes a profile and blocks until it is complete. On success, *bytes and *n_bytes are the profile, which the
 * caller frees with pp_free; on failure they do not change. The calling thread appears in no profile
 * meanwhile. The library must be started. At most 1,024 calls can run at the same time. */
int pp_profile(const struct pp_capture *capture, void **bytes, size_t *n_bytes);

/* Takes a profile and writes it to a file with mode 0600. The file appears under its name only when it is
 * complete; an existing file is replaced. */
int pp_profile_to_file(const struct pp_capture *capture, const char *path);

/* Frees a profile of pp_profile. n_bytes is the value that pp_profile returned; bytes may be NULL. */
void pp_free(void *bytes, size_t n_bytes);

/* Switches a profiler that counts all the time, as the endpoint .../KIND/VERB does over HTTP.
 *
 * - kind is "heap", "allocs", "growth", "contention", "mutex" or "block".
 * - verb is "enable", "disable", "status" or "reset"; for heap, allocs and growth also "dump", which writes
 *   the profile to a file and replies its path, and "dumps", which lists the files that jemalloc wrote by
 *   itself.
 * - query is "interval=64k" (bytes between samples of the heap), "interval=1ms" (waiting time between samples
 *   of locks) or NULL.
 *
 * The reply is copied to reply[size], cut off if it is longer and always terminated; reply may be NULL. The
 * library must be started. */
int pp_control(const char *kind, const char *verb, const char *query, char *reply, size_t size);

/* Labels the calling thread with what it is working on, such as a query. Every CPU and wall-clock sample of
 * the thread carries its labels. A value of NULL removes the label. Key and value are copied, at most 127
 * bytes of each. Returns PP_ERROR_LIMIT when the thread would have more than 8 labels, or when the process
 * has used 16,383 different sets of labels. */
int pp_label_set(const char *key, const char *value);

/* Returns one sentence about the last failure in the calling thread: what failed, on what, what to do. Never
 * NULL. Valid until the thread's next call of a function of this header. */
const char *pp_error_text(void);

/* Returns the version of the library, such as "0.1.0". */
const char *pp_version(void);

#ifdef __cplusplus
}
#endif
#endif
