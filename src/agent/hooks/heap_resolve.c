/* heap_resolve.c - finds the functions behind the allocation hooks, and switches the hooks on and off.
 *
 * The routes start at `first_...`: the first call of each function looks up all of them and goes on. Looking
 * up may itself allocate, because old loaders keep their error text on the heap. Those few bytes come from a
 * small arena here, and free must recognise them for ever.
 *
 * C++: libstdc++'s operators call malloc and free, which are hooked, so the operators are passed straight on.
 * The operators of an allocator (jemalloc, tcmalloc) do not call malloc, so there the operators count.
 * Operators of any other origin are passed on uncounted, since it is unknown which memory they hand out.
 * libstdc++ may be loaded late (dlopen), so it is looked up at first use.
 */
#include "agent/hooks/heap_resolve.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/hooks/call_slots.h"
#include "agent/host/loader.h"
#include "agent/hot/heap_hook.h"

struct heap_real heap_real;

static void switch_to(bool count, bool watch_frees, enum slots slots);

static __thread bool looking_up;
static _Atomic bool looked_up, counting, watching, operators_count;
static char allocator_file[256];

/* ---- the arena of the first moments */
static _Alignas(16) char arena[16 << 10];
static _Atomic size_t arena_used;

static void *arena_alloc(size_t size)
{
    size_t need = (size + 31) & ~(size_t)15; /* the 16 bytes in front hold the size, for realloc */
    size_t at = atomic_fetch_add(&arena_used, need);
    if (size > sizeof arena || at + need > sizeof arena) return NULL;
    memcpy(arena + at, &size, sizeof size);
    return arena + at + 16;
}

static bool arena_owns(const void *p)
{
    return (const char *)p >= arena && (const char *)p < arena + sizeof arena;
}

static void guarded_free(void *p)
{
    if (p && !arena_owns(p)) heap_counting.free(p);
}

static void *guarded_realloc(void *p, size_t size)
{
    if (!p || !arena_owns(p)) return heap_counting.realloc(p, size);
    size_t old;
    memcpy(&old, (char *)p - 16, sizeof old);
    void *moved = heap_real.malloc(size);
    if (moved) memcpy(moved, p, old < size ? old : size);
    return moved;
}

/* ---- first calls */
static void *first_malloc(size_t size)
{
    if (looking_up) return arena_alloc(size);
    heap_resolve();
    return heap_routes.malloc(size);
}

static void *first_calloc(size_t n, size_t size)
{
    if (looking_up)
        return size && n > sizeof arena / size
                   ? NULL
                   : arena_alloc(n * size); /* arena memory is used once only, so it is still zero */
    heap_resolve();
    return heap_routes.calloc(n, size);
}

static void first_free(void *p)
{
    if (!p || arena_owns(p) || looking_up) return;
    heap_resolve();
    heap_routes.free(p);
}

static void *first_realloc(void *p, size_t size)
{
    if (looking_up && !p) return arena_alloc(size);
    heap_resolve();
    return guarded_realloc(p, size);
}

#define FIRST(name, type, arguments, values)                                                                 \
    static type first_##name arguments                                                                       \
    {                                                                                                        \
        heap_resolve();                                                                                      \
        if (!heap_real.name) abort();                                                                        \
        return heap_routes.name values;                                                                      \
    }
FIRST(memalign, void *, (size_t alignment, size_t size), (alignment, size))
FIRST(aligned_alloc, void *, (size_t alignment, size_t size), (alignment, size))
FIRST(posix_memalign, int, (void **ret, size_t alignment, size_t size), (ret, alignment, size))
FIRST(valloc, void *, (size_t size), (size))
FIRST(pvalloc, void *, (size_t size), (size))

/* Looked up only when it is called: C++ may be loaded later than this library. */
static void *find_operator(const char *name, const void *caller)
{
    void *found = dlsym(RTLD_NEXT, name);
    void *library = found ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    Dl_info from;
    if (!found && library) found = dlsym(library, name);
    if (!found && dladdr(caller, &from) && (library = dlopen(from.dli_fname, RTLD_LAZY | RTLD_NOLOAD)))
        found = dlsym(library, name); /* libstdc++ inside the calling library */
    return found;
}

/* The abort is never reached: a C++ program cannot call an operator that exists nowhere. */
#define FIRST_OPERATOR(name, type, arguments, values)                                                        \
    static type first_##name arguments                                                                       \
    {                                                                                                        \
        int saved = errno;                                                                                   \
        heap_resolve();                                                                                      \
        if (!heap_real.name)                                                                                 \
            heap_real.name = (type(*) arguments)find_operator(#name, __builtin_return_address(0));           \
        if (!heap_real.name) abort();                                                                        \
        errno = saved;                                                                                       \
        switch_to(counting, watching, SLOTS_NONE);                                                           \
        return heap_routes.name values;                                                                      \
    }
HEAP_OPERATORS(FIRST_OPERATOR)
HEAP_DELETES(FIRST_OPERATOR)

#define START(name, type, arguments, values) .name = first_##name,
struct heap_routes heap_routes = {HEAP_ALL(START)};

/* ---- looking up */
static const char *file_of(const void *function)
{
    Dl_info info;
    return function && dladdr(function, &info) && info.dli_fname ? info.dli_fname : "";
}

#define LOOK_UP(name, type, arguments, values) heap_real.name = (type(*) arguments)dlsym(RTLD_NEXT, #name);

void heap_resolve(void)
{
    if (atomic_load_explicit(&looked_up, memory_order_acquire) || looking_up) return;
    int saved = errno;
    looking_up = true;
    HEAP_RELEASES(LOOK_UP)
    HEAP_ALLOCATIONS(LOOK_UP)
    const char *file = file_of((const void *)heap_real.malloc);
    strncpy(allocator_file, file, sizeof allocator_file - 1);
    looking_up = false;
    atomic_store_explicit(&looked_up, true, memory_order_release);
    switch_to(counting, watching, SLOTS_NONE);
    errno = saved;
}

const char *heap_allocator_file(void)
{
    return allocator_file;
}

/* ---- do the host's calls come through our functions?
 *
 * One call is tried, because addresses do not show it. dlsym may find a stub in a program that is not
 * position independent and takes malloc's address: that stub is malloc's address for all objects, and it
 * jumps to our function. Or dlsym may find a wrapper that calls the next malloc, which is ours. */
static __thread bool probe_came_by;
static bool sees_calls = true, is_found_first = true;

static void *probed_malloc(size_t size)
{
    probe_came_by = true;
    return heap_real.malloc(size);
}

static void probe_calls(void)
{
    void *(*volatile found_malloc)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
    void (*volatile found_free)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "free");
    if (!HOOKS_ARE_EXPORTED || !found_malloc || !found_free) return;
    void *(*route)(size_t) = atomic_exchange(&heap_routes.malloc, probed_malloc);
    found_free(found_malloc(1));
    atomic_store(&heap_routes.malloc, route);
    sees_calls = probe_came_by;
    is_found_first = found_malloc == heap_exported.malloc;
}

bool heap_sees_calls(void)
{
    return sees_calls;
}

const char *heap_first_file(void)
{
    loader_begin();
    const char *file = file_of(dlsym(RTLD_DEFAULT, "malloc"));
    loader_end();
    return file;
}

#define SWITCH(function, is_on)                                                                              \
    if (heap_real.function) {                                                                                \
        atomic_store_explicit(&heap_routes.function, (is_on) ? heap_counting.function : heap_real.function,  \
                              memory_order_release);                                                         \
        targets[n++] = (struct slot_target){                                                                 \
            .name = #function,                                                                               \
            .exported = (const void *)heap_exported.function,                                                \
            .real = (const void *)heap_real.function,                                                        \
            .counting = (const void *)heap_counting.function,                                                \
            .wanted = (is_on) ? (const void *)heap_counting.function : (const void *)heap_real.function,     \
        };                                                                                                   \
    }
#define SWITCH_RELEASE(name, type, arguments, values)    SWITCH(name, watching)
#define SWITCH_ALLOCATION(name, type, arguments, values) SWITCH(name, counting)
#define SWITCH_OPERATOR(name, type, arguments, values)   SWITCH(name, counting &&operators_count)
#define SWITCH_DELETE(name, type, arguments, values)     SWITCH(name, watching &&operators_count)

static void switch_to(bool count, bool watch_frees, enum slots slots)
{
    struct slot_target targets[SLOTS_MAX_TARGETS];
    unsigned n = 0;
    watching = watch_frees;
    counting = count;
    if (!atomic_load_explicit(&looked_up, memory_order_acquire)) return;
    /* Other threads allocate and free while this runs. The frees are switched first: if a block were
     * sampled before frees are watched, another thread could free it unseen and it would count as in use
     * for ever. */
    if (atomic_load(&arena_used)) {
        atomic_store(&heap_routes.free, guarded_free);
        atomic_store(&heap_routes.realloc, guarded_realloc);
    } else {
        HEAP_RELEASES(SWITCH_RELEASE)
    }
    HEAP_DELETES(SWITCH_DELETE)
    if (slots && HOOKS_ARE_EXPORTED) call_slots_apply(targets, n, slots == SLOTS_ALL);
    n = 0;
    HEAP_ALLOCATIONS(SWITCH_ALLOCATION)
    HEAP_OPERATORS(SWITCH_OPERATOR)
    if (slots && HOOKS_ARE_EXPORTED) call_slots_apply(targets, n, slots == SLOTS_ALL);
}

void heap_switch(bool count, bool watch_frees)
{
    switch_to(count, watch_frees, sees_calls ? SLOTS_BOUND : SLOTS_NONE);
}

void heap_switch_forked(void)
{
    switch_to(false, false, SLOTS_NONE);
}

/* Not part of heap_resolve: a program without C++ has no operators, and a failed look-up allocates. */
static void resolve_operators(void)
{
    int saved = errno;
    if (dlsym(RTLD_NEXT, "_Znwm")) {
        HEAP_OPERATORS(LOOK_UP)
        HEAP_DELETES(LOOK_UP)
        operators_count = !strcmp(file_of((const void *)heap_real._Znwm), allocator_file);
    }
    dlerror(); /* clears the error, so that the host does not find it */
    errno = saved;
}

__attribute__((constructor(101))) static void resolve_at_start(void)
{
    heap_resolve();
    resolve_operators();
    probe_calls();
    switch_to(counting, watching, is_found_first ? SLOTS_ALL : sees_calls ? SLOTS_BOUND : SLOTS_NONE);
}
