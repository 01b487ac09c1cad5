/* The unwinder on real code: against glibc's backtrace(), through libc frames, signal frames, alternate
 * stacks, realigned frames, and on memory that is not there. Built with -O2 -fomit-frame-pointer. */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "agent/hot/untabled_code.h"
#include "agent/hot/unwind.h"
#include "agent/unwind/tables.h"

#include "../../t.h"
#define NEEDS_PLAIN_STACKS
#include "../needs_hooks.h"

static uintptr_t ours[UNWIND_MAX_FRAMES];
static void *theirs[UNWIND_MAX_FRAMES];
static unsigned n_ours, n_theirs;
static bool complete;
static volatile int sink;

/* Both from one call site, so that everything but the first frame must agree. */
__attribute__((noinline)) static void take_both(void)
{
    n_ours = unwind_here(ours, UNWIND_MAX_FRAMES, 1);
    n_theirs = (unsigned)backtrace(theirs, UNWIND_MAX_FRAMES);
    sink++;
}

/* backtrace() begins in take_both, ours in its caller. It may add a frame at address 0 end. */
static void compare(void)
{
    CHECK(n_theirs >= 2);
    CHECK_INT(n_ours, n_theirs - 1);
    for (unsigned i = 0; i < n_ours && i + 1 < n_theirs; i++)
        if (ours[i] != (uintptr_t)theirs[i + 1])
            T_FAIL("frame %u: %#lx, backtrace says %p", i, (long)ours[i], theirs[i + 1]);
}

__attribute__((noinline)) static int recurse(int depth, volatile char *buffer)
{
    char local[64];
    for (int i = 0; i < 64; i++) local[i] = (char)(depth + buffer[i]);
    if (depth == 0)
        take_both();
    else
        sink += recurse(depth - 1, local);
    return local[depth & 63];
}

TEST(agrees_with_backtrace_in_plain_code)
{
    REQUIRE(tables_hold(NULL) == 0);
    char buffer[64] = {0};
    recurse(40, buffer);
    CHECK(n_ours > 41);
    compare();
}

static int by_take(const void *a, const void *b)
{
    if (!n_ours) take_both();
    return *(const int *)a - *(const int *)b;
}

TEST(goes_through_libc)
{
    REQUIRE(tables_hold(NULL) == 0);
    int numbers[100];
    for (int i = 0; i < 100; i++) numbers[i] = 100 - i;
    qsort(numbers, 100, sizeof *numbers, by_take);
    CHECK(n_ours > 3);
    compare();
}

/* A frame that gcc realigns: its CFA is an expression. */
__attribute__((noinline)) static int realigned(int n)
{
    _Alignas(64) volatile int big[16];
    volatile char *variable = __builtin_alloca((size_t)n);
    variable[0] = 1;
    big[0] = n;
    take_both();
    return big[0] + variable[0];
}

TEST(goes_through_realigned_frames)
{
    REQUIRE(tables_hold(NULL) == 0);
    sink = realigned(100);
    compare();
}

static void *in_thread(void *argument)
{
    (void)argument;
    take_both();
    return NULL;
}

TEST(ends_in_a_thread)
{
    REQUIRE(tables_hold(NULL) == 0);
    pthread_t thread;
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    CHECK(n_ours >= 2);
    compare();
}

static void on_signal(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number, (void)info;
    n_ours = unwind_context(context, ours, UNWIND_MAX_FRAMES, &complete);
    n_theirs = (unsigned)backtrace(theirs, UNWIND_MAX_FRAMES);
}

/* backtrace() in the handler goes: handler, __restore_rt, interrupted code ...: its tail must be ours. */
static void compare_tail(void)
{
    REQUIRE(n_theirs > n_ours);
    for (unsigned i = 0; i < n_ours; i++) {
        uintptr_t other = (uintptr_t)theirs[n_theirs - n_ours + i];
        if (ours[i] != other) T_FAIL("frame %u: %#lx, backtrace says %#lx", i, (long)ours[i], (long)other);
    }
}

__attribute__((noinline)) static int interrupt_me(int depth)
{
    if (depth) return interrupt_me(depth - 1) + 1;
    raise(SIGUSR1);
    return sink;
}

TEST(starts_from_a_signal)
{
    REQUIRE(tables_hold(NULL) == 0);
    backtrace(theirs, 4);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, NULL);
    sink = interrupt_me(5);
    CHECK(complete);
    CHECK(n_ours >= 3);
    compare_tail();
}

TEST(starts_from_a_signal_on_another_stack)
{
    REQUIRE(tables_hold(NULL) == 0);
    backtrace(theirs, 4);
    stack_t other = {.ss_sp = malloc(1 << 17), .ss_size = 1 << 17};
    sigaltstack(&other, NULL);
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    sink = interrupt_me(5);
    CHECK(complete);
    compare_tail();
}

/* The stack for signals that Rust gives each thread, with a page below that must not be touched; and what the
 * sampler has on it. */
static void on_small_stack(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number, (void)info;
    uintptr_t pcs[UNWIND_MAX_FRAMES];
    n_ours = unwind_context(context, pcs, UNWIND_MAX_FRAMES, &complete);
    for (unsigned i = 0; i < n_ours; i++) ours[i] = pcs[i];
}

TEST(a_small_stack_for_signals_is_enough_even_for_code_without_a_table)
{
    enum { GUARD = 4096, STACK = 8192 };
    REQUIRE(tables_hold(NULL) == 0);
    if (!atomic_load(&untabled_find)) SKIP("the loader of this libc cannot be asked");
    char *memory = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    mprotect(memory, GUARD, PROT_NONE);
    stack_t other = {.ss_sp = memory + GUARD, .ss_size = STACK};
    if (sigaltstack(&other, NULL)) SKIP("this machine's signal frames are larger than that");
    struct sigaction action = {.sa_sigaction = on_small_stack, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    const struct unwind_tables *published = atomic_exchange(&unwind_published, NULL);
    sink = interrupt_me(5);
    CHECK(n_ours >= 1);
    atomic_store(&unwind_published, published);
    sink = interrupt_me(5);
    CHECK(complete);
}

static void take_in_handler(int signal_number)
{
    (void)signal_number;
    take_both();
}

/* An emulator of other processors may have none; what signals return through is described nowhere then. */
static bool has_vdso(void)
{
    return getauxval(AT_SYSINFO_EHDR) != 0;
}

TEST(goes_through_a_signal_frame)
{
    if (!has_vdso()) SKIP("no vdso here");
    REQUIRE(tables_hold(NULL) == 0);
    backtrace(theirs, 4);
    signal(SIGUSR2, take_in_handler);
    raise(SIGUSR2);
    CHECK(n_ours > 5);
    compare();
}

#if defined(__x86_64__)
/* Code that nobody described, as in the linkage tables that lld writes; and a frame pointer that is already
 * another function's, as in the last instructions of libgcc's unwinder. */
void stop_undescribed(void);
__asm__(".text\n.globl stop_undescribed\nstop_undescribed:\n    int3\n    ret\n");

static uintptr_t false_fp;

static void on_trap(int signal_number, siginfo_t *info, void *context)
{
    (void)signal_number, (void)info;
    ucontext_t *uc = context;
    greg_t fp = uc->uc_mcontext.gregs[REG_RBP];
    if (false_fp) uc->uc_mcontext.gregs[REG_RBP] = (greg_t)false_fp;
    n_ours = unwind_context(context, ours, UNWIND_MAX_FRAMES, &complete);
    uc->uc_mcontext.gregs[REG_RBP] = fp;
    n_theirs = (unsigned)backtrace(theirs, UNWIND_MAX_FRAMES);
}

__attribute__((noinline)) static int stop_with_frame_pointer(int n)
{
    volatile char *variable = __builtin_alloca((size_t)n); /* needs one */
    variable[0] = 1;
    __asm__ volatile("int3");
    sink++;
    return variable[0];
}

TEST(a_leaf_that_nobody_described_is_returned_from)
{
    REQUIRE(tables_hold(NULL) == 0);
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    for (unsigned i = 0; i < 2; i++) {
        false_fp = i ? 0x1234567 : 0;
        stop_undescribed();
        sink++;
        CHECK(complete);
        CHECK(n_ours >= 4);
    }
}

TEST(a_false_frame_pointer_is_survived)
{
    REQUIRE(tables_hold(NULL) == 0);
    backtrace(theirs, 4);
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    uintptr_t bad[] = {0, 0x1234567, 8, (uintptr_t)1 << 62};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        false_fp = bad[i];
        sink += stop_with_frame_pointer(100 + sink % 2);
        CHECK(complete);
        compare_tail();
    }
}
#endif

static void *load_elsewhere(void *argument)
{
    char *pages = argument;
    uintptr_t here[1024] = {7}, got = 0, top = (uintptr_t)__builtin_thread_pointer() & ~(uintptr_t)4095;
    struct safe_memory m = {0};
    CHECK(safe_load(&m, (uintptr_t)here, &got) && got == 7);
    CHECK(safe_load(&m, (uintptr_t)&here[1023], &got));
    CHECK(!safe_load(&m, (uintptr_t)pages, &got));
    CHECK(safe_load(&m, top, &got)); /* large frames lie between: their pages are asked for */
    CHECK(!safe_load(&m, top + 4096, &got));
    CHECK(m.hi == top + 4096 && m.lo <= (uintptr_t)here);
    struct safe_memory up_to_hole = {0};
    CHECK(safe_load(&up_to_hole, (uintptr_t)pages, &got));
    CHECK(!safe_load(&up_to_hole, (uintptr_t)pages + 2 * 4096, &got));
    return NULL;
}

/* Another thread might unmap it between the question and the load. */
TEST(memory_that_is_not_the_stack_is_not_read)
{
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + 4096, 4096);
    pthread_t thread;
    pthread_create(&thread, NULL, load_elsewhere, pages);
    pthread_join(thread, NULL);
    munmap(pages, 4096);
    munmap(pages + 2 * 4096, 4096);
}

TEST(a_load_that_would_fault_ends_the_stack)
{
    REQUIRE(tables_hold(NULL) == 0);
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + 4096, 4096);
    uintptr_t pcs[16];
    /* frame pointers into the hole, to nowhere, unaligned; no table knows the pc */
    uintptr_t bad[] = {(uintptr_t)pages + 4096,
                       (uintptr_t)pages + 4096 - 8,
                       0,
                       1,
                       8,
                       (uintptr_t)pages + 3,
                       UINTPTR_MAX,
                       UINTPTR_MAX - 15,
                       (uintptr_t)1 << 47,
                       (uintptr_t)1 << 62};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct unwind_source s = {.address_mask = ~(uintptr_t)0};
        struct unwind_registers r = {
            .pc = (uintptr_t)pages, .sp = bad[i] & ~(uintptr_t)15, .fp = bad[i], .pc_is_exact = true};
        bool done = true;
        CHECK_INT(unwind_walk(&s, &r, pcs, 16, &done), 1);
        CHECK(!done);
    }
}

TEST(a_loop_of_frames_ends)
{
    uintptr_t stack[4], pcs[64];
    stack[0] = (uintptr_t)stack;
    stack[1] = 0x123456;
    struct unwind_source s = {.address_mask = ~(uintptr_t)0};
    struct unwind_registers r = {.pc = 0x123456, .sp = (uintptr_t)stack, .fp = (uintptr_t)stack};
    CHECK_INT(unwind_walk(&s, &r, pcs, 64, NULL), 2);
}

TEST(the_vdso_and_every_library_have_rules)
{
    REQUIRE(tables_hold(NULL) == 0);
    struct tables_status status;
    tables_status(&status);
    printf("# %u modules, %u without rules, %lu rows, %lu bytes, %.1f ms\n", status.n_modules,
           status.n_without_rules, status.n_rows, status.n_bytes, status.last_build_ms);
    CHECK(status.n_modules >= 3u + has_vdso()); /* program, libc, loader */
    CHECK_INT(status.n_without_rules, 0);
}

/* ---- code that has no table yet */

static unsigned n_compared, n_different, n_unknown;

static int compare_rules(struct dl_phdr_info *info, size_t size, void *into)
{
    (void)size, (void)into;
    const struct unwind_tables *tables = atomic_load(&unwind_published);
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        uintptr_t begin = info->dlpi_addr + p->p_vaddr;
        for (uintptr_t pc = begin; pc < begin + p->p_memsz; pc += 29) {
            struct unwind_rule young, table = *unwind_find_rule(tables, pc);
            bool has_young = untabled_rule(pc, &young);
            if (table.cfa == UNWIND_CFA_NONE) {
                n_different += has_young;
                continue;
            }
            n_compared++;
            if (!has_young)
                n_unknown++;
            else if (memcmp(&young, &table, sizeof young))
                n_different++;
        }
    }
    return 0;
}

TEST(a_rule_looked_up_alone_is_the_one_in_the_table)
{
    REQUIRE(tables_hold(NULL) == 0);
    if (!atomic_load(&untabled_find)) SKIP("the loader of this libc cannot be asked");
    dl_iterate_phdr(compare_rules, NULL);
    printf("# %u rules, %u not found (their entries are too long), %u differ\n", n_compared, n_unknown,
           n_different);
    CHECK(n_compared > 20000);
    CHECK_INT(n_different, 0);
    CHECK(n_unknown < n_compared / 50);
}

/* A library that nothing has loaded before, with a function that calls back. */
typedef int step_fn(void *context, void *argument);
typedef int walk_fn(step_fn *callback, void *argument);

static int step_called_back(void *context, void *argument)
{
    (void)context;
    if (!n_ours) n_ours = unwind_here(ours, UNWIND_MAX_FRAMES, 0);
    return ++*(int *)argument > 3;
}

TEST(an_object_is_walked_through_as_soon_as_it_is_loaded)
{
    REQUIRE(tables_hold(NULL) == 0);
    if (!atomic_load(&untabled_find)) SKIP("the loader of this libc cannot be asked");
    if (dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_NOLOAD)) SKIP("libgcc_s is here from the start");
    void *handle = dlopen("libgcc_s.so.1", RTLD_NOW);
    walk_fn *walk = NULL;
    if (handle) *(void **)&walk = dlsym(handle, "_Unwind_Backtrace");
    if (!walk) SKIP("no libgcc_s here");
    uintptr_t before[UNWIND_MAX_FRAMES];
    unsigned n_before = 0;
    for (volatile int round = 0; round < 2; round++) { /* volatile: one call, not one for each round */
        int n = 0;
        n_ours = 0;
        walk(step_called_back, &n);
        REQUIRE(n_ours > 4);
        if (round) break;
        CHECK(unwind_find_rule(atomic_load(&unwind_published), ours[1])->cfa == UNWIND_CFA_NONE);
        n_before = n_ours;
        memcpy(before, ours, sizeof ours);
        tables_refresh(); /* and now by its table */
        CHECK(unwind_find_rule(atomic_load(&unwind_published), ours[1])->cfa != UNWIND_CFA_NONE);
    }
    CHECK_INT(n_before, n_ours);
    CHECK(!memcmp(before, ours, n_ours * sizeof *ours));
}

TEST_MAIN()
