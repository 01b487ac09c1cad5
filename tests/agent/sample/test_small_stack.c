/* Threads that have little of their stack left when they are sampled: what fits is taken, what does not is
 * counted as lost, and no thread dies of it that would live through any signal. */
#define NEEDS_PLAIN_STACKS
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include "agent/host/config.h"
#include "agent/host/threads.h"
#include "agent/hot/sampler.h"
#include "agent/sample/capture.h"

#include "../../t.h"
#include "../needs_hooks.h"
#include "undescribed_leaf.h"

#if defined(__x86_64__)

#define STACK_BYTES (64 << 10)
#define GUARD_BYTES 4096
#define BURN_MS     8

static char *stack; /* its lowest byte; a page that cannot be touched is below */
static void (*undescribed_leaf)(void);
static _Atomic bool must_end;

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void burn(bool in_leaf)
{
    for (int64_t end_ns = cpu_ns() + BURN_MS * 1000000LL; cpu_ns() < end_ns;)
        if (in_leaf)
            undescribed_leaf();
        else
            for (volatile unsigned i = 0; i < 10000; i++) continue;
}

/* Runs with so many bytes of stack left. */
struct asked {
    size_t left;
    bool in_leaf;
};

static void *run_low(void *argument)
{
    const struct asked *asked = argument;
    size_t unused = (size_t)((char *)__builtin_frame_address(0) - stack) - asked->left;
    volatile char *held = __builtin_alloca(unused);
    held[0] = held[unused - 1] = 1;
    burn(asked->in_leaf);
    return (void *)(uintptr_t)held[0];
}

static void run_with(size_t left, bool in_leaf)
{
    pthread_attr_t attributes;
    pthread_t thread;
    struct asked asked = {left, in_leaf};
    pthread_attr_init(&attributes);
    CHECK_INT(pthread_attr_setstack(&attributes, stack, STACK_BYTES), 0);
    CHECK_INT(pthread_create(&thread, &attributes, run_low, &asked), 0);
    pthread_join(thread, NULL);
}

static unsigned rate_hz = 2000;
static struct output taken;
static void *take(void *argument)
{
    struct kind_options options = {.seconds = 50, .rate = rate_hz, .has_seconds = true, .query = ""};
    struct err err = {0};
    if (capture_take(kind_find("profile", 7), &options, &must_end, &taken, &err)) T_FAIL("%s", err.text);
    return argument;
}

static bool has_comment(const struct output *o, const char *words)
{
    for (unsigned i = 0; i < o->n_comments; i++)
        if (strstr(o->comments[i], words)) return true;
    return false;
}

/* What the kernel puts on the stack for a signal, which depends on the processor. */
static volatile size_t frame_bytes;
static void measure_frame(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    const ucontext_t *uc = context;
    frame_bytes = (size_t)uc->uc_mcontext.gregs[REG_RSP] - (size_t)__builtin_frame_address(0);
}

static void make_stack(void)
{
    char *memory =
        mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED && !mprotect(memory, GUARD_BYTES, PROT_NONE));
    stack = memory + GUARD_BYTES;
}

static void begin_capture(const char *settings, pthread_t *ret_taker)
{
    struct err err = {0};
    REQUIRE(!config_load(settings, &err));
    atomic_store(&must_end, false);
    memset(&taken, 0, sizeof taken);
    pthread_create(ret_taker, NULL, take, NULL);
    while (!atomic_load(&sampler_of[SAMPLER_CPU].table) || !atomic_load(&threads_watched))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void sample_low_threads(const char *settings, size_t beyond_frame_from, size_t beyond_frame_to,
                               bool *ret_has_lost)
{
    pthread_t taker;
    *(void **)&undescribed_leaf = make_undescribed_leaf(0x10000);
    REQUIRE(undescribed_leaf != NULL);
    make_stack();
    struct sigaction action = {.sa_sigaction = measure_frame, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    printf("# the kernel's frame takes %zu bytes\n", frame_bytes);
    begin_capture(settings, &taker);
    for (size_t beyond = beyond_frame_from; beyond <= beyond_frame_to; beyond += 512)
        for (int in_leaf = 0; in_leaf < 2; in_leaf++) run_with(frame_bytes + beyond, in_leaf);
    atomic_store(&must_end, true);
    pthread_join(taker, NULL);
    CHECK(output_n_samples(&taken) > 0 || taken.n_lost > 0);
    *ret_has_lost = has_comment(&taken, "near the end of their stack");
    output_free(&taken);
}

/* Beyond the kernel's frame: what a handler takes at least (our first 300 bytes, and the frames of burn). */
TEST(near_the_end)
{
    bool has_lost;
    sample_low_threads("perf=0", 1024, 5120, &has_lost);
}

TEST(near_the_end_by_events)
{
    bool has_lost;
    sample_low_threads("", 1024, 5120, &has_lost);
}

TEST(too_near_is_counted_as_lost)
{
    bool has_lost = false;
    /* On a busy machine the few signals may all come elsewhere. */
    for (int attempt = 0; attempt < 5 && !has_lost; attempt++) sample_low_threads("", 768, 1024, &has_lost);
    CHECK(has_lost);
}

TEST(enough_is_not_lost)
{
    bool has_lost = true;
    sample_low_threads("", 2560, 3072, &has_lost);
    CHECK(!has_lost);
}

/* ---- threads that begin with little */

static size_t used_before; /* of its stack, when the thread's function begins: libc's part */

static void *end_at_once(void *unused)
{
    used_before = (size_t)(stack + STACK_BYTES - (char *)__builtin_frame_address(0));
    return unused;
}

/* So rarely is it sampled that no signal comes. */
static void begin_with_little(const char *settings)
{
    pthread_attr_t attributes;
    pthread_t taker, thread;
    make_stack();
    pthread_attr_init(&attributes);
    CHECK_INT(pthread_attr_setstack(&attributes, stack, STACK_BYTES), 0);
    CHECK_INT(pthread_create(&thread, &attributes, end_at_once, NULL), 0);
    pthread_join(thread, NULL);
    size_t least = (used_before + 2048 + GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES;
    rate_hz = 1;
    begin_capture(settings, &taker);
    for (size_t bytes = least; bytes <= least + 2 * GUARD_BYTES; bytes += GUARD_BYTES) {
        REQUIRE(!mprotect(stack, STACK_BYTES - bytes, PROT_NONE));
        for (int i = 0; i < 20; i++) {
            CHECK_INT(pthread_create(&thread, &attributes, end_at_once, NULL), 0);
            pthread_join(thread, NULL);
        }
        REQUIRE(!mprotect(stack, STACK_BYTES, PROT_READ | PROT_WRITE));
    }
    printf("# %zu bytes and more, %zu of them used by libc\n", least, used_before);
    atomic_store(&must_end, true);
    pthread_join(taker, NULL);
    output_free(&taken);
}

TEST(begins_with_little)
{
    begin_with_little("perf=0");
}

TEST(begins_with_little_by_events)
{
    begin_with_little("");
}

#else

TEST(near_the_end)
{
    SKIP("needs machine code of x86-64");
}

#endif

TEST_MAIN()
