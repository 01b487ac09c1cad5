/* threads.c - see threads.h. Reads /proc with plain system calls, because opendir and stdio call malloc. */
#include "agent/host/threads.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/host/libc_real.h"
#include "agent/host/loader.h"
#include "agent/hot/heap_hook.h"
#include "agent/hot/lock_hook.h"

#define MAX_OWN 32
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define OWN_STACK_BYTES (8 << 20) /* sanitizers enlarge every frame */
#else
#define OWN_STACK_BYTES (256 << 10)
#endif

/* The thread ids of the library's own threads; 0: free. Any thread may add or remove its own id and any
 * thread may search, without a lock: each slot is one atomic word, taken by compare-and-exchange. */
static _Atomic uint32_t own[MAX_OWN];

struct linux_dirent64 {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

int threads_each(void (*each)(uint32_t tid, void *context), void *context)
{
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -1;
    _Alignas(8) char entries[8192];
    for (long n; (n = syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0;) {
        for (long at = 0; at < n;) {
            const struct linux_dirent64 *e = (const struct linux_dirent64 *)(const void *)(entries + at);
            at += e->length;
            if (e->name[0] < '0' || e->name[0] > '9') continue;
            uint32_t tid = (uint32_t)strtoul(e->name, NULL, 10);
            if (!threads_is_own(tid)) each(tid, context);
        }
    }
    close(fd);
    return 0;
}

/* Writes "/proc/self/task/TID/FILE". snprintf would take more than 1 KiB of stack, which a starting thread of
 * the host may not have. */
static void path_of(uint32_t tid, const char *file, char path[64])
{
    char digits[10];
    unsigned n = 0;
    do digits[n++] = (char)('0' + tid % 10);
    while (tid /= 10);
    char *at = stpcpy(path, "/proc/self/task/");
    while (n) *at++ = digits[--n];
    *at++ = '/';
    stpcpy(at, file);
}

/* Reads a small file of a thread, NUL-terminated. Returns its length, or -1. */
static ssize_t read_task_file(uint32_t tid, const char *file, char *text, size_t size)
{
    char path[64];
    path_of(tid, file, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    ssize_t n = read(fd, text, size - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    return n;
}

bool threads_name(uint32_t tid, char name[THREAD_NAME_BYTES])
{
    char text[64];
    ssize_t n = read_task_file(tid, "comm", text, sizeof text);
    name[0] = 0;
    if (n <= 0) return false;
    size_t length = strcspn(text, "\n");
    if (length >= THREAD_NAME_BYTES) length = THREAD_NAME_BYTES - 1;
    memcpy(name, text, length);
    name[length] = 0;
    return true;
}

char threads_state(uint32_t tid)
{
    char text[512];
    if (read_task_file(tid, "stat", text, sizeof text) <= 0) return 0;
    const char *close_paren = strrchr(text, ')'); /* the last one: a thread's name may contain ')' too */
    return close_paren && close_paren[1] == ' ' ? close_paren[2] : 0;
}

/* As in the kernel's posix-timers.h: ~tid, then a flag for "per thread" (4) and the scheduler's clock (2). */
clockid_t threads_clock(uint32_t tid)
{
    return (clockid_t)((~(unsigned)tid << 3) | 4 | 2);
}

int64_t threads_cpu_ns(uint32_t tid)
{
    struct timespec t;
    if (syscall(SYS_clock_gettime, threads_clock(tid), &t)) return -1;
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

bool threads_status(uint32_t tid, char text[THREADS_STATUS_BYTES], struct threads_status *ret_status)
{
    *ret_status = (struct threads_status){.blocked = UINT64_MAX};
    if (read_task_file(tid, "status", text, THREADS_STATUS_BYTES) <= 0) return false;
    const char *blocked = strstr(text, "\nSigBlk:"), *filter = strstr(text, "\nSeccomp:");
    if (blocked) ret_status->blocked = strtoull(blocked + 8, NULL, 16);
    ret_status->has_filter = filter && strtoul(filter + 9, NULL, 10) != 0;
    return true;
}

bool threads_sleeping_at(uint32_t tid, uintptr_t *ret_sp, uintptr_t *ret_pc)
{
    char text[256];
    if (read_task_file(tid, "syscall", text, sizeof text) <= 0) return false;
    /* "NUMBER arg0 ... arg5 sp pc", or "-1 sp pc" when it is blocked outside a system call, or "running". */
    char *words[10];
    unsigned n = 0;
    char *save = NULL;
    for (char *w = strtok_r(text, " \n", &save); w && n < 10; w = strtok_r(NULL, " \n", &save))
        words[n++] = w;
    if (n < 3) return false;
    *ret_sp = strtoull(words[n - 2], NULL, 16);
    *ret_pc = strtoull(words[n - 1], NULL, 16);
    return *ret_sp && *ret_pc;
}

static uint32_t own_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

void threads_own_begin(void)
{
    uint32_t tid = own_tid();
    lock_thread.busy = heap_thread.busy = true; /* its lock waits and allocations are not counted either */
    for (unsigned i = 0; i < MAX_OWN; i++) {
        uint32_t none = 0;
        if (atomic_compare_exchange_strong(&own[i], &none, tid)) return;
    }
}

void threads_own_end(void)
{
    uint32_t tid = own_tid();
    lock_thread.busy = heap_thread.busy = false;
    for (unsigned i = 0; i < MAX_OWN; i++)
        if (atomic_load(&own[i]) == tid) atomic_store(&own[i], 0);
}

bool threads_is_own(uint32_t tid)
{
    for (unsigned i = 0; i < MAX_OWN; i++)
        if (atomic_load_explicit(&own[i], memory_order_relaxed) == tid) return true;
    return false;
}

/* How much of each thread's stack libc uses for itself: the thread-local variables of the whole program (a
 * host may have megabytes) and libc's minimum. libc reports it through __pthread_get_minstack, which the JVM
 * and Rust use as well. The constructor asks once: dlsym takes the loader's lock, and before main no other
 * thread holds it. */
static size_t libc_stack_bytes;

__attribute__((constructor(102))) static void measure_libc_stack(void)
{
    pthread_attr_t attributes;
    size_t (*found)(const pthread_attr_t *);
    *(void **)&found = dlsym(RTLD_DEFAULT, "__pthread_get_minstack");
    if (!found) dlerror(); /* clears the error, so that the host's next dlerror does not return it */
    if (!found || pthread_attr_init(&attributes)) return;
    libc_stack_bytes = found(&attributes);
    pthread_attr_destroy(&attributes);
}

struct own_start {
    void *(*run)(void *);
    void *argument;
    char name[THREAD_NAME_BYTES];
    _Atomic int is_copied; /* the new thread no longer needs this struct */
};

static void *own_main(void *argument)
{
    struct own_start *start = argument, mine = {.run = start->run, .argument = start->argument};
    threads_own_begin();
    prctl(PR_SET_NAME, start->name);
    /* The creator waits for this store and then returns, and *start, on its stack, is gone. */
    atomic_store(&start->is_copied, 1);
    void *result = mine.run(mine.argument);
    threads_own_end();
    return result;
}

int threads_start_own(void *(*run)(void *), void *argument, const char *name)
{
    struct own_start start = {.run = run, .argument = argument};
    snprintf(start.name, sizeof start.name, "%s", name);
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, OWN_STACK_BYTES + libc_stack_bytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    loader_begin(); /* libc takes the loader's lock to lay out the thread-local variables of all objects */
    int status = libc_pthread_create()(&thread, &attributes, own_main, &start);
    loader_end();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (status) return -1;
    while (!atomic_load(&start.is_copied)) sched_yield();
    return 0;
}

void threads_forked(void)
{
    for (unsigned i = 0; i < MAX_OWN; i++) atomic_store(&own[i], 0);
}

int threads_cancel_off(void)
{
    int state_before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state_before);
    return state_before;
}

void threads_cancel_restore(const int *state_before)
{
    pthread_setcancelstate(*state_before, NULL);
}

/* ---- pthread_create */

#define MAX_LISTENERS 4
/* Captures register listeners; threads of the host read them when they start and end. Listeners are never
 * removed, so a thread needs no lock to call one. */
static void (*_Atomic at_start[MAX_LISTENERS])(uint32_t tid);
static void (*_Atomic at_end)(uint32_t tid, const struct threads_end *end);

void threads_on_start(void (*started)(uint32_t tid))
{
    for (unsigned i = 0; i < MAX_LISTENERS; i++) {
        void (*none)(uint32_t) = NULL;
        if (atomic_load(&at_start[i]) == started ||
            atomic_compare_exchange_strong(&at_start[i], &none, started))
            return;
    }
}

void threads_on_end(void (*ended)(uint32_t tid, const struct threads_end *end))
{
    atomic_store(&at_end, ended);
}

void threads_report_start(void)
{
    THREADS_NOT_CANCELLED;
    uint32_t tid = own_tid();
    for (unsigned i = 0; i < MAX_LISTENERS; i++) {
        void (*listener)(uint32_t) = atomic_load_explicit(&at_start[i], memory_order_acquire);
        if (listener) listener(tid);
    }
}

void threads_report_end(const void *function)
{
    THREADS_NOT_CANCELLED;
    struct threads_end end = {
        .function = function,
        .caller_pc = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)),
    };
    void (*listener)(uint32_t, const struct threads_end *) =
        atomic_load_explicit(&at_end, memory_order_acquire);
    if (listener) listener(own_tid(), &end);
}
