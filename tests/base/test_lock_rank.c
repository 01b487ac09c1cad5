#include "base/lock_rank.h"

#include <fcntl.h>
#include <pthread.h>

#include "../t.h"

static pthread_mutex_t cluster, records, again;

static void init_locks(void)
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    lock_rank_init(&cluster, LOCK_CLUSTER, NULL);
    lock_rank_init(&records, LOCK_STORE_RECORDS, NULL);
    lock_rank_init(&again, LOCK_DWARF, &recursive);
}

TEST(the_right_order_is_silent)
{
    init_locks();
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&cluster);
        pthread_mutex_lock(&records);
        pthread_mutex_lock(&again);
        pthread_mutex_lock(&again);
        pthread_mutex_unlock(&cluster); /* the order of unlocking is free */
        pthread_mutex_unlock(&again);
        pthread_mutex_unlock(&records);
        pthread_mutex_unlock(&again);
    }
    pthread_mutex_lock(&records);
    pthread_mutex_unlock(&records);
    pthread_mutex_lock(&cluster);
    pthread_mutex_unlock(&cluster);
}

TEST(the_wrong_order_aborts_with_both_names)
{
    if (!ASSERT_ON) SKIP("this build does not check invariants; ASSERT=1 does");
    init_locks();
    int ends[2];
    REQUIRE(!pipe2(ends, O_CLOEXEC));
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        pthread_mutex_lock(&records);
        pthread_mutex_lock(&cluster);
        _exit(0);
    }
    close(ends[1]);
    char text[400] = "";
    CHECK(read(ends[0], text, sizeof text - 1) > 0);
    CHECK(strstr(text, "holds 'store records' takes 'cluster'"));
    int status = t_wait(child, 10);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

TEST(a_destroyed_mutex_has_no_rank)
{
    init_locks();
    pthread_mutex_destroy(&cluster);
    pthread_mutex_init(&cluster, NULL);
    pthread_mutex_lock(&records);
    pthread_mutex_lock(&cluster);
    pthread_mutex_unlock(&cluster);
    pthread_mutex_unlock(&records);
}

TEST_MAIN()
