/* Old things are given back when no reader is left, and not before; also when several writers wait at once.
 */
#include <pthread.h>
#include <string.h>

#include "agent/hot/epoch.h"

#include "../../t.h"

static struct epoch epoch;

TEST(a_reader_keeps_the_writer_waiting)
{
    memset(&epoch, 0, sizeof epoch);
    CHECK(epoch_drain(&epoch, 1));
    unsigned outer = epoch_enter(&epoch), inner = epoch_enter(&epoch); /* malloc interrupted by a signal */
    CHECK(!epoch_drain(&epoch, 1));
    epoch_leave(&epoch, inner);
    CHECK(!epoch_drain(&epoch, 1));
    epoch_leave(&epoch, outer);
    CHECK(epoch_drain(&epoch, 1));
}

#define N_DRAINS 40000

static void *drain_often(void *argument)
{
    unsigned long n_wrong = 0;
    (void)argument;
    for (unsigned i = 0; i < N_DRAINS; i++) n_wrong += epoch_drain(&epoch, 0);
    return (void *)n_wrong;
}

/* Whichever phase the reader is in, no writer may overlook it. */
TEST(several_writers)
{
    for (unsigned round = 0; round < 4; round++) {
        memset(&epoch, 0, sizeof epoch);
        atomic_store(&epoch.phase, round & 1);
        unsigned ticket = epoch_enter(&epoch);
        pthread_t threads[4];
        for (unsigned i = 0; i < 4; i++) pthread_create(&threads[i], NULL, drain_often, NULL);
        unsigned long n_wrong = 0;
        for (unsigned i = 0; i < 4; i++) {
            void *result;
            pthread_join(threads[i], &result);
            n_wrong += (unsigned long)result;
        }
        CHECK_INT(n_wrong, 0);
        epoch_leave(&epoch, ticket);
        CHECK(epoch_drain(&epoch, 1));
    }
}

TEST_MAIN()
