/* jvm_threads.h - the threads of a JVM: what each is called, what it does, and how much CPU it takes at this
 * moment.
 *
 * Joins two views that people join by hand (top -H and jstack): CPU time per kernel thread from /proc over an
 * interval, and the JVM's own thread dump, by the native thread id.
 */
#ifndef COLLECT_JVM_THREADS_H
#define COLLECT_JVM_THREADS_H

#include "collect/jvm_attach.h"

struct jvm_thread {
    int tid;          /* as this host sees it; 0: a virtual thread, or one without a native id */
    char name[128];   /* Java's name, else the kernel's */
    char state[32];   /* RUNNABLE, WAITING, ...; "native" for threads of the VM itself */
    char top[256];    /* "java.lang.Object.wait(Native Method)"; empty when there is no Java frame */
    double cpu_share; /* 1.0 is one core */
};

struct jvm_threads { /* all zero: none; most CPU first */
    struct jvm_thread *items;
    size_t n_items, cap_items;
    struct buf dump; /* the JVM's text */
};

int jvm_threads_read(const struct jvm_proc *proc, double interval_s, const struct jvm_attach_options *options,
                     struct jvm_threads *ret_threads, struct err *err);
void jvm_threads_free(struct jvm_threads *threads);

/* Parses a thread dump into items (cpu_share 0); for tests and for dumps that came from elsewhere. */
void jvm_threads_parse(const char *dump, struct jvm_threads *threads);

#endif
