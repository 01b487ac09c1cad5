/* lock_resolve.c - finds the functions behind the lock hooks, and switches the hooks on and off.
 *
 * Condition variables have two versions in x86-64's libc, with different layouts. Today's programs use
 * GLIBC_2.3.2, but the plain dlsym of some loaders finds the older version, so the version is given by name.
 *
 * An allocator may take a lock before anything is initialised, even our constructor (StarRocks#12753). The
 * look-up then runs inside that call and must not allocate. It does not: the names exist, and the loader
 * allocates only to report a failure. Names that an older libc may not have are looked up by the constructor
 * alone.
 */
#include "agent/hooks/lock_resolve.h"

#include <dlfcn.h>
#include <errno.h>

#include "agent/hooks/call_slots.h"
#include "agent/hot/heap_hook.h" /* HOOKS_ARE_EXPORTED */
#include "agent/hot/lock_hook.h"

struct lock_functions lock_real;
struct lock_tries lock_tries;

#if defined(__x86_64__)
#define COND_VERSION "GLIBC_2.3.2"
#else
#define COND_VERSION "GLIBC_2.17"
#endif

static void *find(const char *name)
{
    int saved = errno;
    void *found = NULL;
    if (HOOKS_ARE_EXPORTED && /* a sanitizer's functions have no version */
        (!__builtin_strcmp(name, "pthread_cond_wait") || !__builtin_strcmp(name, "pthread_cond_timedwait")))
        found = dlvsym(RTLD_NEXT, name, COND_VERSION);
    if (!found) found = dlsym(RTLD_NEXT, name);
    errno = saved;
    return found;
}

/* The first call of each function looks up that function; the constructor looks up the rest. */
#define FIRST(name, type, arguments, values)                                                                 \
    static type first_##name arguments                                                                       \
    {                                                                                                        \
        if (!lock_real.name) lock_real.name = (type(*) arguments)find(#name);                                \
        return lock_real.name values;                                                                        \
    }
LOCK_IN_C(FIRST)
#if defined(__x86_64__)
#define first_syscall lock_bare_syscall
#endif

#define START(name, type, arguments, values) .name = first_##name,
struct lock_routes lock_routes = {LOCK_ALL(START)};

#define LOOK_UP(name, type, arguments, values)                                                               \
    if (!lock_real.name) lock_real.name = (type(*) arguments)find(#name);

/* Do the host's calls come through our functions? One call is tried, for the reasons given in
 * heap_resolve.c. */
static __thread bool probe_came_by;
static bool sees_calls = true, is_found_first = true;

static int probed_lock(pthread_mutex_t *m)
{
    probe_came_by = true;
    return lock_real.pthread_mutex_lock(m);
}

static void probe_calls(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    int (*found)(pthread_mutex_t *) = (int (*)(pthread_mutex_t *))dlsym(RTLD_DEFAULT, "pthread_mutex_lock");
    if (!HOOKS_ARE_EXPORTED || !found) return;
    int (*route)(pthread_mutex_t *) = atomic_exchange(&lock_routes.pthread_mutex_lock, probed_lock);
    if (!found(&mutex)) pthread_mutex_unlock(&mutex);
    atomic_store(&lock_routes.pthread_mutex_lock, route);
    sees_calls = probe_came_by;
    is_found_first = found == lock_exported.pthread_mutex_lock;
}

bool lock_sees_calls(void)
{
    return sees_calls;
}

static void switch_to(bool locks, bool waits, enum slots slots);

__attribute__((constructor(101))) void lock_resolve(void)
{
    static _Atomic bool done;
    if (atomic_load(&done)) return;
    LOCK_ALL(LOOK_UP)
    lock_tries.mutex = (int (*)(pthread_mutex_t *))find("pthread_mutex_trylock");
    lock_tries.read = (int (*)(pthread_rwlock_t *))find("pthread_rwlock_tryrdlock");
    lock_tries.write = (int (*)(pthread_rwlock_t *))find("pthread_rwlock_trywrlock");
    lock_tries.sem = (int (*)(sem_t *))find("sem_trywait");
    lock_tries.test_cancel = (void (*)(void))find("pthread_testcancel");
    atomic_store(&done, true);
    probe_calls();
    switch_to(false, false, is_found_first ? SLOTS_ALL : sees_calls ? SLOTS_BOUND : SLOTS_NONE);
}

#define SWITCH(function, on)                                                                                 \
    if (lock_real.function) {                                                                                \
        atomic_store_explicit(&lock_routes.function, (on) ? lock_counting.function : lock_real.function,     \
                              memory_order_release);                                                         \
        targets[n++] = (struct slot_target){                                                                 \
            .name = #function,                                                                               \
            .exported = (const void *)lock_exported.function,                                                \
            .real = (const void *)lock_real.function,                                                        \
            .counting = (const void *)lock_counting.function,                                                \
            .wanted = (on) ? (const void *)lock_counting.function : (const void *)lock_real.function,        \
        };                                                                                                   \
    }
#define SWITCH_LOCK(name, type, arguments, values) SWITCH(name, locks)
#define SWITCH_WAIT(name, type, arguments, values) SWITCH(name, waits)

static void switch_to(bool locks, bool waits, enum slots slots)
{
    struct slot_target targets[SLOTS_MAX_TARGETS];
    unsigned n = 0;
    LOCK_LOCKS(SWITCH_LOCK)
    LOCK_WAITS(SWITCH_WAIT)
    LOCK_SYSCALL(SWITCH_WAIT)
    if (slots && HOOKS_ARE_EXPORTED) call_slots_apply(targets, n, slots == SLOTS_ALL);
}

void lock_switch(bool locks, bool waits)
{
    switch_to(locks, waits, sees_calls ? SLOTS_BOUND : SLOTS_NONE);
}

void lock_switch_forked(void)
{
    switch_to(false, false, SLOTS_NONE);
}
