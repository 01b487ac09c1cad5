/* threads.h - the threads of this process. A scan of /proc/self/task finds all of them. A thread that starts
 * reports itself at once when our pthread_create is in use, that is when the library is preloaded or linked
 * before libc. */
#ifndef AGENT_HOST_THREADS_H
#define AGENT_HOST_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define THREAD_NAME_BYTES 16
#define THREADS_MAX_TIDS  ((size_t)1 << 22) /* the kernel's limit */

/* Calls each() for every thread except the library's own. Does not call malloc. Returns -1 when /proc cannot
 * be read. */
int threads_each(void (*each)(uint32_t tid, void *context), void *context);

/* In the functions below, a thread "is gone" when it has ended. */
bool threads_name(uint32_t tid, char name[THREAD_NAME_BYTES]); /* false, and "", when it is gone */

/* The kernel's letter: 'R' running, 'S' sleeping, 'D' waiting for a disk ...; 0 when the thread is gone. */
char threads_state(uint32_t tid);

/* The kernel's clock id for the CPU time of one thread, and that time; -1 when the thread is gone. */
clockid_t threads_clock(uint32_t tid);
int64_t threads_cpu_ns(uint32_t tid);

/* Reads the thread's status file; false when it is gone. The file goes into the caller's `text` and not onto
 * the stack, because a starting thread of the host may have little stack. */
#define THREADS_STATUS_BYTES 4096
struct threads_status {
    uint64_t blocked; /* signals that the thread blocks; the lowest bit is signal 1 */
    bool has_filter;  /* a seccomp filter checks this thread's system calls; each thread has its own */
};
bool threads_status(uint32_t tid, char text[THREADS_STATUS_BYTES], struct threads_status *ret_status);

static inline bool threads_blocks(uint64_t blocked, int signal_number)
{
    return blocked >> (signal_number - 1) & 1;
}

/* The stack pointer and program counter of a thread that sleeps in a system call. False when it runs, or when
 * the kernel does not permit the question. */
bool threads_sleeping_at(uint32_t tid, uintptr_t *ret_sp, uintptr_t *ret_pc);

/* Between these two calls the calling thread counts as the library's own and appears in no profile. */
void threads_own_begin(void);
void threads_own_end(void);
bool threads_is_own(uint32_t tid);

/* Starts a detached thread of the library with all signals blocked and 256 KiB of stack, not counting what
 * the host's thread-local variables take. Returns 0 or -1. */
int threads_start_own(void *(*run)(void *), void *argument, const char *name);

/* Goes first in a function that runs on a thread of the host. Until the function returns, pthread_cancel has
 * no effect on the thread; otherwise the thread could end at the library's next read or write and leave the
 * library's locks taken. */
#define THREADS_NOT_CANCELLED                                                                                \
    __attribute__((cleanup(threads_cancel_restore), unused)) int cancel_state_before = threads_cancel_off()
int threads_cancel_off(void);
void threads_cancel_restore(const int *state_before);

/* Registers a function that every new thread calls before the host's code runs. At most 4; there is no way to
 * unregister. */
void threads_on_start(void (*started)(uint32_t tid));

/* Registers the one function that a thread calls after its function has returned. A thread that leaves by
 * pthread_exit does not call it; the next scan of /proc notices that it is gone. */
struct threads_end {
    const void *function; /* the host's thread function */
    uintptr_t caller_pc;  /* a return address in the frame that called it; that frame still exists */
};
void threads_on_end(void (*ended)(uint32_t tid, const struct threads_end *end));

/* While above 0, new threads report themselves. Each capture that needs this adds 1 for its duration. */
extern _Atomic int threads_watched;
void threads_report_start(void); /* called by a new thread */
/* Called by a thread that ends, from the frame that called its function. */
void threads_report_end(const void *function);

void threads_forked(void); /* in the child of a fork */

#endif
