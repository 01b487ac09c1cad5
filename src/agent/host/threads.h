/* threads.h - the threads of this process: found in /proc/self/task, and told of at once when they start
 * (pthread_create is ours when we are preloaded or linked before libc). */
#ifndef AGENT_HOST_THREADS_H
#define AGENT_HOST_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define THREAD_NAME_BYTES 16
#define THREADS_MAX_TIDS  ((size_t)1 << 22) /* the kernel's limit */

/* Calls back for each thread but the library's own. Uses no malloc. -1 when /proc cannot be read. */
int threads_each(void (*each)(uint32_t tid, void *context), void *context);

bool threads_name(uint32_t tid, char name[THREAD_NAME_BYTES]); /* false (and "") when it is gone */

/* 'R' running, 'S' sleeping, 'D' waiting for a disk ...; 0 when it is gone. */
char threads_state(uint32_t tid);

/* The CPU time of one thread: the kernel's name for its clock, and what it shows now; -1 when it is gone. */
clockid_t threads_clock(uint32_t tid);
int64_t threads_cpu_ns(uint32_t tid);

/* What its status file says; false when it is gone. The file is read into `text`: not onto the stack, of
 * which a thread of the host that begins may have little. */
#define THREADS_STATUS_BYTES 4096
struct threads_status {
    uint64_t blocked; /* signals, the lowest bit is signal 1. Who blocks a signal is never sent it */
    bool has_filter;  /* a sandbox (seccomp) looks at its system calls; others may have none */
};
bool threads_status(uint32_t tid, char text[THREADS_STATUS_BYTES], struct threads_status *ret_status);

static inline bool threads_blocks(uint64_t blocked, int signal_number)
{
    return blocked >> (signal_number - 1) & 1;
}

/* A sleeping thread's stack pointer and program counter, from the system call it is in; false when it runs or
 * may not be asked. */
bool threads_sleeping_at(uint32_t tid, uintptr_t *ret_sp, uintptr_t *ret_pc);

/* This thread belongs to the library: it is in no profile. */
void threads_own_begin(void);
void threads_own_end(void);
bool threads_is_own(uint32_t tid);

/* A thread of the library: all signals blocked, 256 KiB of stack beside the host's thread variables,
 * detached. */
int threads_start_own(void *(*run)(void *), void *argument, const char *name);

/* First in a function that works on a thread of the host: until it returns, the thread is not cancelled. It
 * would end at our next read or write, with our locks taken. */
#define THREADS_NOT_CANCELLED                                                                                \
    __attribute__((cleanup(threads_cancel_again), unused)) int cancel_state_before = threads_cancel_off()
int threads_cancel_off(void);
void threads_cancel_again(const int *state_before);

/* Who wants to know about a new thread, in that thread, before its code runs (at most 4; may not be taken
 * back). */
void threads_on_start(void (*started)(uint32_t tid));

/* Who wants to know at its end (one), when its function has returned; not when it leaves by pthread_exit: the
 * scan finds out. */
struct threads_end {
    const void *function; /* the host's */
    uintptr_t caller_pc;  /* in the frame that called it, which is still there */
};
void threads_on_end(void (*ended)(uint32_t tid, const struct threads_end *end));

extern _Atomic int threads_watched; /* above 0: new threads tell; a capture counts itself in */
void threads_tell_start(void);      /* from a new thread */
/* From one that ends, in the frame that called its function. */
void threads_tell_end(const void *function);

void threads_forked(void);

#endif
