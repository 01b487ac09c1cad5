/* legacy.c - see legacy.h. */
#include "format/legacy.h"

#include <math.h>

#include "base/mem.h"

void legacy_frame(struct legacy *l, uint64_t address)
{
    bool is_new;
    uint32_t *location = idmap_slot(&l->by_address, address, &is_new);
    if (is_new) *location = profile_add_location(l->p, address, 0);
    *VEC_PUSH(l->frames, l->n_frames, l->cap_frames) = *location;
}

void legacy_sample(struct legacy *l, const int64_t *values)
{
    profile_add_sample(l->p, l->frames, l->n_frames, values);
    l->n_frames = 0;
}

void legacy_free(struct legacy *l)
{
    idmap_free(&l->by_address);
    mem_free(l->frames);
}

void legacy_finish(struct legacy *l, struct piece maps_text, enum legacy_kind kind)
{
    struct maps maps = {0};
    maps_parse(&maps, maps_text);
    maps_massage(&maps);
    maps_apply(&maps, l->p);
    maps_free(&maps);
    legacy_set_frame_filters(l->p, kind);
}

/* Frames of the profiler and the allocator, by the names that google/pprof uses, so that google/pprof
 * shows our files in the same way. */
static const char alloc_frames[] =
    "calloc|cfree|malloc|free|memalign|do_memalign|(__)?posix_memalign|pvalloc|valloc|realloc|"
    "tcmalloc::.*|tc_calloc|tc_cfree|tc_malloc|tc_free|tc_memalign|tc_posix_memalign|tc_pvalloc|tc_valloc|tc_"
    "realloc|"
    "tc_new|tc_delete|tc_newarray|tc_deletearray|tc_new_nothrow|tc_newarray_nothrow|"
    "malloc_zone_malloc|malloc_zone_calloc|malloc_zone_valloc|malloc_zone_realloc|malloc_zone_memalign|"
    "malloc_zone_free|"
    "runtime\\..*|BaseArena::.*|(::)?do_malloc_no_errno|(::)?do_malloc_pages|(::)?do_malloc|"
    "DoSampledAllocation|"
    "MallocedMemBlock::MallocedMemBlock|_M_allocate|__builtin_(vec_)?delete|__builtin_(vec_)?new|"
    "__gnu_cxx::new_allocator::allocate|__libc_malloc|__malloc_alloc_template::allocate|allocate|cpp_alloc|"
    "operator new(\\[\\])?|"
    "simple_alloc::allocate";
static const char jemalloc_frames[] =
    "|(je_|_rjem_(je_)?|jemalloc_)?(prof_backtrace|prof_tctx_create|prof_alloc_prep|malloc|calloc|realloc|"
    "memalign|"
    "aligned_alloc|posix_memalign|valloc|mallocx|rallocx|xallocx|malloc_default|realloc_hook)";
static const char alloc_kept_frames[] = "runtime\\.panic|runtime\\.reflectcall|runtime\\.call[0-9]*";
static const char lock_frames[] = "RecordLockProfileData|(base::)?RecordLockProfileData.*|(base::)?"
                                  "SubmitMutexProfileData.*|(base::)?SubmitSpinLockProfileData.*|"
                                  "(base::Mutex::)?AwaitCommon.*|(base::Mutex::)?Unlock.*|(base::Mutex::)?"
                                  "UnlockSlow.*|(base::Mutex::)?ReaderUnlock.*|"
                                  "(base::MutexLock::)?~MutexLock.*|(Mutex::)?AwaitCommon.*|(Mutex::)?Unlock."
                                  "*|(Mutex::)?UnlockSlow.*|(Mutex::)?ReaderUnlock.*|"
                                  "(MutexLock::)?~MutexLock.*|(SpinLock::)?Unlock.*|(SpinLock::)?SlowUnlock.*"
                                  "|(SpinLockHolder::)?~SpinLockHolder.*";
static const char signal_frames[] =
    "ProfileData::Add|ProfileData::prof_handler|CpuProfiler::prof_handler|__pthread_sighandler|__restore";

void legacy_set_frame_filters(struct profile *p, enum legacy_kind kind)
{
    char *drop = mem_printf("%s%s",
                            kind == LEGACY_CONTENTION ? lock_frames
                            : kind == LEGACY_OTHER    ? signal_frames
                                                      : alloc_frames,
                            kind == LEGACY_JEMALLOC ? jemalloc_frames : "");
    p->drop_frames = profile_cstr(p, drop);
    p->keep_frames = kind == LEGACY_HEAP || kind == LEGACY_JEMALLOC ? profile_cstr(p, alloc_kept_frames) : 0;
    mem_free(drop);
}

bool legacy_take_addresses(struct piece text, uint64_t **addresses, size_t *n, size_t *cap)
{
    while (text.n) {
        const char *zero = memchr(text.s, '0', text.n);
        if (!zero) break;
        text.n -= (size_t)(zero - text.s);
        text.s = zero;
        struct piece digits = text;
        uint64_t address;
        enum text_number got = piece_take(&digits, "0x") ? text_take_hex(&digits, &address) : TEXT_NONE;
        if (got == TEXT_TOO_LARGE) return false;
        if (got == TEXT_NONE) {
            text.s++;
            text.n--;
            continue;
        }
        if (*n == *cap) *addresses = mem_grow(*addresses, cap, *n + 1, sizeof **addresses);
        (*addresses)[(*n)++] = address;
        text = digits;
    }
    return true;
}

int legacy_bad_line(struct err *err, struct piece all, struct piece line, const char *what)
{
    size_t number = 1;
    for (const char *at = all.s; at < line.s && (at = memchr(at, '\n', (size_t)(line.s - at))); at++)
        number++;
    char shown[61];
    size_t n = 0;
    for (; n < line.n && n < sizeof shown - 1; n++)
        shown[n] = line.s[n] >= ' ' && line.s[n] < 127 ? line.s[n] : '?';
    shown[n] = '\0';
    return err_set(err, ERR_INPUT, "line %zu: %s: \"%s%s\"", number, what, shown, n < line.n ? "..." : "");
}

struct piece legacy_skip_commands(struct piece text)
{
    struct piece rest = text, line;
    while (rest.n && *rest.s == '%' && text_line(&rest, &line)) text = rest;
    return text;
}

void legacy_unsample(int64_t *count, int64_t *bytes, int64_t rate)
{
    if (!*count || !*bytes) {
        *count = *bytes = 0;
        return;
    }
    if (rate <= 1) return;
    double average = (double)*bytes / (double)*count, scale = 1 / (1 - exp(-average / (double)rate));
    *count = text_clamp_i64((double)*count * scale);
    *bytes = text_clamp_i64((double)*bytes * scale);
}
