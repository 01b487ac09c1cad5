/* jvm_attach.h - sends commands to the attach listener of a running HotSpot JVM, as jcmd and jstack do.
 *
 * The JVM listens at a socket /tmp/.java_pidN in its own file system. If the socket does not exist, a file
 * .attach_pidN and SIGQUIT make the JVM create it. SIGQUIT kills a process that does not expect it, so it is
 * sent only to a process that has libjvm mapped and a handler for the signal. JVMs in containers are reached
 * through /proc/PID/root without entering a namespace, so any thread may call these functions.
 *
 * A connection carries one command. The JVM's listener is a single thread: while it runs a long command,
 * others wait.
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
    size_t max_reply_bytes;              /* 0: 256 MiB; a longer reply is ERR_LIMIT */
    bool (*is_cancelled)(void *context); /* called about every 50 ms; may be NULL */
    void *context;
};

/* Sends one command and reads the whole reply. *ret_result is the JVM's result code; 0 means success. More
 * than three arguments, or an argument of more than 1024 bytes, need JDK 24 or newer; an older JVM gives
 * ERR_LIMIT.
 *
 * ERR_NOT_FOUND: there is no such process. ERR_INPUT: it is not a JVM. ERR_UNSUPPORTED: it is not a HotSpot
 * JVM. ERR_DENIED: it belongs to another user, attaching is switched off in it, or it did not react to
 * SIGQUIT within the last hour. ERR_TIMEOUT: it did not answer, or the call was cancelled. */
int jvm_attach(const struct jvm_proc *proc, const char *command, const char *const *arguments,
               size_t n_arguments, const struct jvm_attach_options *options, struct buf *reply,
               int *ret_result, struct err *err);

/* Runs a diagnostic command ("Thread.print -l") and returns its text. ERR_INPUT, with the JVM's own words:
 * the JVM refused the command. ERR_BUSY: the JVM does not know the command but was started less than a minute
 * ago; a JVM registers its commands (those of the flight recorder last) after it has begun to listen. */
int jvm_jcmd(const struct jvm_proc *proc, const char *command, const struct jvm_attach_options *options,
             struct buf *reply, struct err *err);

/* Loads a native agent and gives it options. path is the agent's path as the JVM sees it. *ret_result is the
 * value that its Agent_OnAttach returned. */
int jvm_load_agent(const struct jvm_proc *proc, const char *path, const char *agent_options,
                   const struct jvm_attach_options *options, int *ret_result, struct err *err);

enum { JVM_MAX_ARGUMENT_BYTES = 1024 }; /* accepted by every JDK */

#endif
