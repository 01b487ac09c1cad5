/* The kernel refuses the library its Nth mapping, for every N until a run makes fewer. Each run starts the
 * agent and takes one capture in a process of its own: it ends with an error or without one, never by a
 * signal, and the same works as soon as the kernel gives memory again, with the unwind rules of a run that
 * was refused nothing.
 *
 * All memory of the library comes from mmap and mremap in agent/host/pages.c. This program is linked with
 * --wrap for both, so only calls of the library are counted, and none of libc's own.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "agent/hot/raw_clock.h"
#include "agent/hot/unwind.h"
#include "agent/unwind/tables.h"
#include "procprof.h"

#define NEEDS_PLAIN_STACKS
#include "../needs_hooks.h"

#include "../../t.h"

static _Atomic long n_maps, refused_map; /* 0: none is refused */

static bool is_refused(void)
{
    bool refused = atomic_fetch_add(&n_maps, 1) + 1 == atomic_load(&refused_map);
    if (refused) errno = ENOMEM;
    return refused;
}

void *__real_mmap(void *at, size_t n_bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t n_bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t n_bytes, int protection, int flags, int fd, off_t offset)
{
    return is_refused() ? MAP_FAILED : __real_mmap(at, n_bytes, protection, flags, fd, offset);
}

void *__real_mremap(void *old, size_t n_bytes, size_t n_new_bytes, int flags);
void *__wrap_mremap(void *old, size_t n_bytes, size_t n_new_bytes, int flags);
void *__wrap_mremap(void *old, size_t n_bytes, size_t n_new_bytes, int flags)
{
    return is_refused() ? MAP_FAILED : __real_mremap(old, n_bytes, n_new_bytes, flags);
}

/* ---- what the captures see */

static _Atomic bool must_stop;
static pthread_mutex_t wanted = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused)
{
    while (!atomic_load(&must_stop)) {
        pthread_mutex_lock(&wanted);
        for (volatile int i = 0; i < 20000; i++) continue;
        free(malloc(100000));
        pthread_mutex_unlock(&wanted);
    }
    return unused;
}

/* ---- one run */

/* 0, or the code of the error, whose sentence is then there. */
static int start_and_capture(const char *kind, const char *format)
{
    struct pp_options options = {
        .size = sizeof options, .listen = "127.0.0.1:0", .settings = "quiet=1,heap_interval=1k"};
    struct pp_capture capture = {.size = sizeof capture, .kind = kind, .seconds = 0.01, .format = format};
    void *bytes;
    size_t n_bytes;
    int status = pp_agent_start(&options);
    if (status) return status;
    status = pp_label_set("query", "7");
    if (!status) status = pp_profile(&capture, &bytes, &n_bytes);
    if (!status) pp_free(bytes, n_bytes);
    pp_agent_stop();
    return status;
}

enum { FEWER_MAPS = 10, FAILED_LATER = 11, NO_SENTENCE = 12, FEWER_RULES = 13 };

static struct tables_status *undisturbed; /* after a run that was refused nothing; children share it */

static bool has_all_rules(void)
{
    struct tables_status status;
    tables_status(&status);
    return status.n_modules == undisturbed->n_modules && status.n_rows == undisturbed->n_rows &&
           status.n_without_rules == undisturbed->n_without_rules;
}

__attribute__((noreturn)) static void run_child(const char *kind, const char *format, long refused)
{
    pthread_t threads[2];
    alarm(50);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    atomic_store(&n_maps, 0);
    atomic_store(&refused_map, refused);
    int status = start_and_capture(kind, format);
    bool has_sentence = !status || pp_error_text()[0];
    bool fewer = atomic_load(&n_maps) < refused;
    atomic_store(&refused_map, 0);
    int later = start_and_capture(kind, format);
    if (later) printf("# %s, mapping %ld: then %s\n", kind, refused, pp_error_text());
    if (!refused) tables_status(undisturbed);
    bool has_rules = has_all_rules();
    fflush(stdout);
    atomic_store(&must_stop, true);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    _exit(later           ? FAILED_LATER
          : !has_sentence ? NO_SENTENCE
          : !has_rules    ? FEWER_RULES
          : fewer         ? FEWER_MAPS
                          : 0);
}

/* Most of a run is waiting, so several go on at once. */
#define AT_ONCE 16

static bool is_last(pid_t child, const char *kind, long n)
{
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == FEWER_MAPS) return true;
    if (status)
        T_FAIL("%s, mapping %ld refused: %s %d", kind, n, WIFEXITED(status) ? "exit" : "signal",
               WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    return false;
}

static void run_undisturbed(const char *kind, const char *format)
{
    undisturbed =
        __real_mmap(NULL, sizeof *undisturbed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(undisturbed != MAP_FAILED);
    fflush(stdout);
    pid_t child = fork();
    if (!child) run_child(kind, format, 0);
    (void)is_last(child, kind, 0);
}

static void refuse_each(const char *kind, const char *format)
{
    run_undisturbed(kind, format);
    long n = 0;
    for (bool is_done = false; !is_done && n < 2000; n += AT_ONCE) {
        pid_t children[AT_ONCE];
        fflush(stdout);
        for (int i = 0; i < AT_ONCE; i++) {
            children[i] = fork();
            if (!children[i]) run_child(kind, format, n + i + 1);
        }
        for (int i = 0; i < AT_ONCE; i++) is_done |= is_last(children[i], kind, n + i + 1);
    }
    CHECK(n > 10); /* the wrapped calls are those of the library */
    CHECK(n < 2000);
    printf("# %s: less than %ld mappings\n", kind, n);
}

TEST(cpu)
{
    refuse_each("profile", "proto");
}

TEST(wall)
{
    refuse_each("wall", "text");
}

TEST(heap)
{
    refuse_each("heap", "legacy");
}

TEST(lock)
{
    refuse_each("contention", "proto");
}

/* ---- the unwind tables */

#define MAP_OF_A_TABLE 4 /* the first maps the list of objects */

TEST(a_refused_table_is_built_later_but_not_on_every_tick)
{
    run_undisturbed("profile", "proto");
    struct tables_status status;
    atomic_store(&n_maps, 0);
    atomic_store(&refused_map, MAP_OF_A_TABLE);
    REQUIRE(tables_hold(NULL) == 0);
    tables_status(&status);
    CHECK_INT(status.n_without_rules, undisturbed->n_without_rules + 1);
    long n_maps_of_hold = atomic_load(&n_maps);
    for (int i = 0; i < 10; i++) tables_refresh();
    CHECK_INT(atomic_load(&n_maps), n_maps_of_hold);
    int64_t limit = clock_now_ns() + 20000000000;
    while (!has_all_rules() && clock_now_ns() < limit) {
        usleep(20000);
        tables_refresh();
    }
    CHECK(has_all_rules());
}

TEST(without_memory_for_the_list_of_objects_the_old_tables_stay)
{
    REQUIRE(tables_hold(NULL) == 0);
    const struct unwind_tables *old = atomic_load(&unwind_published);
    CHECK(old->n_modules > 0);
    REQUIRE(dlopen("libresolv.so.2", RTLD_NOW)); /* a library of glibc that this program does not need */
    atomic_store(&refused_map, atomic_load(&n_maps) + 1);
    tables_refresh();
    CHECK(atomic_load(&unwind_published) == old);
    uint32_t n_modules = old->n_modules;
    REQUIRE(tables_hold(NULL) == 0);
    CHECK_INT(atomic_load(&unwind_published)->n_modules, n_modules + 1);
}

TEST_MAIN()
