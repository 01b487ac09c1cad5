/* A thread that has shut itself into a sandbox (seccomp, not the others): no capture makes a call in it that
 * the sandbox would end the process over. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/host/threads.h"
#include "agent/hot/sampler.h"
#include "agent/hot/untabled_code.h"
#include "agent/sample/capture.h"

#include "../../t.h"
#include "../needs_hooks.h"
#include "undescribed_leaf.h"

#if defined(__x86_64__)

static _Atomic bool must_end;
static _Atomic int is_shut_in; /* 1: yes; -1: not allowed here */
static void (*undescribed_leaf)(void);

static void *run_shut_in(void *argument)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    bool done =
        !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    atomic_store(&is_shut_in, done ? 1 : -1);
    while (done && !atomic_load(&must_end)) undescribed_leaf();
    return argument;
}

TEST(a_thread_in_a_sandbox_of_its_own)
{
    *(void **)&undescribed_leaf = make_undescribed_leaf(0x100000);
    REQUIRE(undescribed_leaf != NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, run_shut_in, NULL);
    while (!atomic_load(&is_shut_in)) sched_yield();
    if (atomic_load(&is_shut_in) < 0) SKIP("a thread may not filter its system calls here");
    const struct kind *k = kind_find("profile", 7);
    REQUIRE(k != NULL);
    struct kind_options options = {.seconds = 0.3, .rate = 1000, .has_seconds = true, .query = ""};
    struct output o;
    CHECK_INT(capture_take(k, &options, NULL, &o, NULL), 0);
    CHECK(o.samples.size > 0);
    CHECK(atomic_load(&untabled_find) == NULL);
    output_free(&o);
    atomic_store(&must_end, true);
    pthread_join(thread, NULL);
}

#else

TEST(a_thread_in_a_sandbox_of_its_own)
{
    SKIP("nothing is guessed on this machine (hot/guess_caller.c)");
}

#endif

/* ---- a thread that stands still in the middle of its end: its sandbox asks us about the call it makes there
 */

static _Atomic int asks_by; /* the descriptor; -1: not allowed here */

static void *end_when_allowed(void *argument)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x80000000u, 0, 1), /* the clock of a thread by its number */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    atomic_store(&asks_by, fd > 0 ? (int)fd : -1);
    return argument;
}

static _Atomic bool must_stop;
static void *take(void *argument)
{
    struct kind_options options = {.seconds = 50, .rate = 10, .has_seconds = true, .query = ""};
    struct output o;
    struct err err = {0};
    if (capture_take(kind_find("profile", 7), &options, &must_stop, &o, &err)) T_FAIL("%s", err.text);
    output_free(&o);
    return argument;
}

static void begin_capture(pthread_t *ret_taker)
{
    atomic_store(&must_stop, false);
    pthread_create(ret_taker, NULL, take, NULL);
    while (!atomic_load(&sampler_of[SAMPLER_CPU].table) || !atomic_load(&threads_watched))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* The capture waits for it two seconds, ends, and is freed; the thread goes on. */
TEST(a_thread_that_ends_and_is_given_no_cpu_until_the_capture_is_gone)
{
    pthread_t taker, thread;
    begin_capture(&taker);
    pthread_create(&thread, NULL, end_when_allowed, NULL);
    while (!atomic_load(&asks_by)) sched_yield();
    struct seccomp_notif asked = {0};
    bool stands = atomic_load(&asks_by) > 0 && !ioctl(asks_by, SECCOMP_IOCTL_NOTIF_RECV, &asked);
    atomic_store(&must_stop, true);
    pthread_join(taker, NULL);
    if (stands) {
        struct seccomp_notif_resp answer = {.id = asked.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        CHECK_INT(ioctl(asks_by, SECCOMP_IOCTL_NOTIF_SEND, &answer), 0);
    }
    pthread_join(thread, NULL);
    begin_capture(&taker);
    atomic_store(&must_stop, true);
    pthread_join(taker, NULL);
}

TEST_MAIN()
