/* needs_hooks.h - for tests of what stands in for malloc and the lock functions, or that count on plain
 * stacks and signals.
 *
 * A sanitizer stands in for the same functions itself. AddressSanitizer: these tests are left out, and with
 * ThreadSanitizer those that define NEEDS_PLAIN_STACKS.
 * ThreadSanitizer: calls of the file that includes this go through our hooks by their table, and on to the
 * sanitizer's functions, so that it sees the hooks, the handlers and the threads of the library at work. It
 * holds signals back until the thread calls one of its functions, and makes everything slow: how much was
 * counted is not checked then (IS_EXACT), only that nothing races and nothing breaks.
 */
#ifndef TESTS_AGENT_NEEDS_HOOKS_H
#define TESTS_AGENT_NEEDS_HOOKS_H

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || (defined(__SANITIZE_THREAD__) && defined(NEEDS_PLAIN_STACKS))
__attribute__((constructor)) static void skip_all(void)
{
    printf("1..0 # skip with a sanitizer\n");
    fflush(stdout);
    _exit(0);
}
#endif

#if defined(__SANITIZE_THREAD__) && !defined(NEEDS_PLAIN_STACKS)
#include "agent/host/libc_real.h"
#include "agent/hot/heap_hook.h"
#include "agent/hot/lock_hook.h"

#define IS_EXACT 0

__attribute__((unused)) static long hooked_syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (unsigned i = 0; i < 6; i++) a[i] = va_arg(list, long);
    va_end(list);
    return lock_exported.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

const char *__tsan_default_options(void);
__attribute__((visibility("default"))) const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

#define syscall(...) hooked_syscall(__VA_ARGS__)

#define malloc(size)                        heap_exported.malloc(size)
#define calloc(n, size)                     heap_exported.calloc(n, size)
#define realloc(p, size)                    heap_exported.realloc(p, size)
#define free(p)                             heap_exported.free(p)
#define memalign(alignment, size)           heap_exported.memalign(alignment, size)
#define aligned_alloc(alignment, size)      heap_exported.aligned_alloc(alignment, size)
#define posix_memalign(p, alignment, size)  heap_exported.posix_memalign(p, alignment, size)
#define valloc(size)                        heap_exported.valloc(size)
#define pthread_create(t, a, run, argument) watched_pthread_create(t, a, run, argument)
#define pthread_mutex_lock(m)               lock_exported.pthread_mutex_lock(m)
#define pthread_mutex_timedlock(m, t)       lock_exported.pthread_mutex_timedlock(m, t)
#define pthread_mutex_clocklock(m, c, t)    lock_exported.pthread_mutex_clocklock(m, c, t)
#define pthread_rwlock_rdlock(l)            lock_exported.pthread_rwlock_rdlock(l)
#define pthread_rwlock_wrlock(l)            lock_exported.pthread_rwlock_wrlock(l)
#define pthread_rwlock_timedrdlock(l, t)    lock_exported.pthread_rwlock_timedrdlock(l, t)
#define pthread_rwlock_timedwrlock(l, t)    lock_exported.pthread_rwlock_timedwrlock(l, t)
#define pthread_cond_wait(c, m)             lock_exported.pthread_cond_wait(c, m)
#define pthread_cond_timedwait(c, m, t)     lock_exported.pthread_cond_timedwait(c, m, t)
#define sem_wait(s)                         lock_exported.sem_wait(s)
#define sem_timedwait(s, t)                 lock_exported.sem_timedwait(s, t)
#else
#define IS_EXACT 1
#endif

#endif
