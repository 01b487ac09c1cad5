/* "wall" and "threads" look at the same threads through the same capture: who comes second waits, or is
 * refused, until the first has told what it saw. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/sample/capture.h"
#include "agent/sample/labels.h"

#include "../../t.h"
#include "../needs_hooks.h"

#define N_PROFILES 60

struct asker {
    const char *kind;
    double seconds;
    unsigned n_profiles, n_failed, n_empty;
};

static void *ask_often(void *argument)
{
    struct asker *a = argument;
    const struct kind *k = kind_find(a->kind, strlen(a->kind));
    struct kind_options options = {
        .seconds = a->seconds, .rate = 1000, .has_seconds = a->seconds > 0, .query = ""};
    while (a->n_profiles < N_PROFILES && !a->n_failed) {
        struct output o;
        struct err err = {0};
        int status = capture_take(k, &options, NULL, &o, &err);
        if (status == ERR_BUSY) nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
        a->n_failed += status && status != ERR_BUSY;
        if (status) continue;
        a->n_profiles++;
        a->n_empty += !a->seconds && !o.samples.size;
        output_free(&o);
    }
    return NULL;
}

TEST(two_kinds_one_capture)
{
    struct asker askers[] = {{.kind = "wall", .seconds = 0.003}, {.kind = "threads"}};
    pthread_t threads[2];
    for (unsigned i = 0; i < 2; i++) pthread_create(&threads[i], NULL, ask_often, &askers[i]);
    for (unsigned i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 2; i++) {
        CHECK_INT(askers[i].n_failed, 0);
        CHECK_INT(askers[i].n_empty, 0);
    }
}

/* ---- labels */
static _Atomic uint32_t sleeper_tid;
static _Atomic bool may_end;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void *sleep_with_label(void *unused)
{
    (void)unused;
    CHECK_INT(labels_set("query", "Q41"), 0);
    CHECK_INT(labels_set("query", "Q42"), 0);
    pthread_mutex_lock(&mutex);
    sleeper_tid = (uint32_t)syscall(SYS_gettid);
    while (!may_end) pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* Samples of the thread, and how many of them carry query=Q42. */
static void count_labelled(const char *kind, unsigned *ret_n, unsigned *ret_n_labelled)
{
    struct kind_options options = {.seconds = 0.2, .has_seconds = !strcmp(kind, "wall"), .query = ""};
    struct output o;
    struct err err = {0};
    *ret_n = *ret_n_labelled = 0;
    if (capture_take(kind_find(kind, strlen(kind)), &options, NULL, &o, &err)) {
        T_FAIL("%s", err.text);
        return;
    }
    for (unsigned i = 0; i < output_n_samples(&o); i++) {
        const struct output_sample *s = output_sample_at(&o, i);
        bool is_sleeper = false, is_labelled = false;
        for (unsigned k = 0; k < s->n_labels; k++) {
            const struct output_label *l = &output_labels(&o, s)[k];
            is_sleeper |= !strcmp(l->key, "tid") && l->num == sleeper_tid;
            is_labelled |= !strcmp(l->key, "query") && !strcmp(output_label_text(&o, l), "Q42");
        }
        *ret_n += is_sleeper;
        *ret_n_labelled += is_sleeper && is_labelled;
    }
    output_free(&o);
}

TEST(a_sleeping_thread_shows_its_label)
{
    pthread_t thread;
    pthread_create(&thread, NULL, sleep_with_label, NULL);
    while (!sleeper_tid) sched_yield();
    pthread_mutex_lock(&mutex); /* it waits */
    pthread_mutex_unlock(&mutex);
    const char *const kinds[] = {"wall", "threads"};
    for (unsigned i = 0; i < 2; i++) {
        unsigned n, n_labelled;
        count_labelled(kinds[i], &n, &n_labelled);
        CHECK(n > 0);
        CHECK_INT(n_labelled, n);
    }
    CHECK(labels_of(sleeper_tid) != 0);
    pthread_mutex_lock(&mutex);
    may_end = true;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    CHECK_INT(labels_of(sleeper_tid), 0); /* the next thread of this number has its own */
}

TEST_MAIN()
