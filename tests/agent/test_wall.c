/* "wall" and "threads" look at the same threads through the same capture: who comes second waits, or is
 * refused, until the first has told what it saw. */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "agent/kinds.h"

#include "../t.h"
#include "needs_hooks.h"

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
        int status = kind_capture(k, &options, NULL, &o, &err);
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

TEST_MAIN()
