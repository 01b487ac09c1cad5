/* jvm_attach.h - talks to the attach listener of a running HotSpot JVM, as jcmd and jstack do.
 *
 * The way in: a socket /tmp/.java_pidN of the JVM's own world. When it is not there, a file .attach_pidN and
 * SIGQUIT ask the JVM to make it. SIGQUIT ends a process that does not expect it, so it is only ever sent to
 * a process that has libjvm mapped and a handler installed. Containers are reached through /proc/PID/root;
 * nothing enters a namespace, so any thread may call this.
 *
 * One connection carries one command. The listener of the JVM is a single thread: a long command makes the
 * next one wait.
 */
#ifndef COLLECT_JVM_ATTACH_H
#define COLLECT_JVM_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/jvm_proc.h"

struct jvm_attach_options {              /* all zero: the defaults */
    double timeout_s;                    /* for the whole call; 0: 10 */
    size_t max_reply_bytes;              /* 0: 256 MiB; more is ERR_LIMIT */
    bool (*is_cancelled)(void *context); /* asked every 50 ms or so; may be NULL */
    void *context;
};

/* Sends one command with up to three arguments (NULL or fewer: the rest is empty) and reads the whole answer.
 * *ret_result is the JVM's own number: 0 is good. Arguments over 1024 bytes need a JDK 24 or newer: ERR_LIMIT
 * otherwise. ERR_NOT_FOUND no such process; ERR_INPUT not a JVM; ERR_UNSUPPORTED not a HotSpot; ERR_DENIED
 * wrong user, or attaching is switched off, or it did not answer SIGQUIT within the last hour; ERR_TIMEOUT no
 * answer. */
int jvm_attach(const struct jvm_proc *proc, const char *command, const char *const *arguments,
               size_t n_arguments, const struct jvm_attach_options *options, struct buf *reply,
               int *ret_result, struct err *err);

/* A diagnostic command ("Thread.print -l") and its text. A command the JVM refuses is ERR_INPUT with the
 * JVM's own words. ERR_BUSY: it does not know the command, but is so young that it may only not know it yet;
 * it registers them (those of the flight recorder last) after it has begun to listen. */
int jvm_jcmd(const struct jvm_proc *proc, const char *command, const struct jvm_attach_options *options,
             struct buf *reply, struct err *err);

/* Loads a native agent by its path (as the JVM sees it) and gives it options. *ret_result is what its
 * Agent_OnAttach returned. */
int jvm_load_agent(const struct jvm_proc *proc, const char *path, const char *agent_options,
                   const struct jvm_attach_options *options, int *ret_result, struct err *err);

enum { JVM_MAX_ARGUMENT_BYTES = 1024 }; /* what every JDK takes */

#endif
