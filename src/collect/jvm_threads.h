/* jvm_threads.h - the threads of a JVM: the name of each, what it does, and how much CPU it uses now.
 *
 * It joins two views that people otherwise join by hand (top -H and jstack) by the native thread id: the CPU
 * time of each kernel thread over an interval, from /proc, and the JVM's own thread dump.
 */
#ifndef COLLECT_JVM_THREADS_H
#define COLLECT_JVM_THREADS_H

#include "collect/jvm_attach.h"

struct jvm_thread {
    int tid;          /* on this host; 0: a virtual thread, or one without a native id */
    char name[128];   /* Java's name, or else the kernel's */
    char state[32];   /* RUNNABLE, WAITING, ...; "native" for threads of the VM itself */
    char top[256];    /* "java.lang.Object.wait(Native Method)"; empty when there is no Java frame */
    double cpu_share; /* 1.0 is one core */
};

struct jvm_threads { /* most CPU first; all zero: empty */
    struct jvm_thread *items;
    size_t n_items, cap_items;
    struct buf dump; /* the JVM's text */
};

/* Measures for interval_s (0: cpu_share is 0) and takes a thread dump. Errors are those of jvm_jcmd. The
 * caller frees ret_threads. */
int jvm_threads_read(const struct jvm_proc *proc, double interval_s, const struct jvm_attach_options *options,
                     struct jvm_threads *ret_threads, struct err *err);
void jvm_threads_free(struct jvm_threads *threads);

/* Adds the threads of a thread dump to items, with cpu_share 0. For tests, and for dumps from elsewhere. */
void jvm_threads_parse(const char *dump, struct jvm_threads *threads);

#endif
