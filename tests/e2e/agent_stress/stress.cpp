// stress.cpp - everything at once that has ever broken a profiler's host: many threads, threads that come and
// go, objects loaded and unloaded, fork, exec, exceptions, longjmp, signals on other stacks, small stacks,
// system calls that a signal may interrupt. Checks on the way that nothing it can see was changed, and says
// so when it ends.
//
//   stress SECONDS PLUGIN
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

static std::atomic<bool> stopping;
static std::atomic<unsigned long> n_rounds[10], n_own_profs, n_own_alarms;
static volatile std::uint64_t sink;

[[noreturn]] static void die(const char *what)
{
    char line[200];
    int n = std::snprintf(line, sizeof line, "stress: %s (errno %d)\n", what, errno);
    if (write(2, line, static_cast<size_t>(n)) < 0) {
    }
    abort();
}

static std::uint64_t next(std::uint64_t &seed)
{
    return seed = seed * 6364136223846793005u + 1442695040888963407u;
}

__attribute__((noinline)) static void spin(unsigned n)
{
    std::uint64_t x = n;
    for (unsigned i = 0; i < n; i++) x = x * 31 + i;
    sink = x;
}

// errno must survive signals that come while it is being used.
static void *keep_errno(void *)
{
    while (!stopping) {
        for (int e = 1; e < 120; e++) {
            errno = e;
            spin(2000);
            if (errno != e) die("errno was changed");
        }
        n_rounds[0]++;
    }
    return nullptr;
}

__attribute__((noinline)) static void throw_at(unsigned depth, std::string held)
{
    if (depth == 0) throw std::runtime_error(held);
    throw_at(depth - 1, held + "x");
}

static void *exceptions(void *)
{
    while (!stopping) {
        try {
            throw_at(30, "start");
            die("no exception came");
        } catch (const std::runtime_error &e) {
            if (std::strlen(e.what()) != 35) die("the exception is not the one thrown");
        }
        n_rounds[1]++;
    }
    return nullptr;
}

static thread_local jmp_buf back;
__attribute__((noinline)) static void jump_at(unsigned depth)
{
    volatile char frame[200];
    frame[depth] = 1;
    if (depth == 0) longjmp(back, 7);
    jump_at(depth - 1);
    sink = sink + static_cast<std::uint64_t>(frame[depth]);
}

static void *jumps(void *)
{
    while (!stopping) {
        if (setjmp(back) == 0) jump_at(40);
        n_rounds[2]++;
        spin(500);
    }
    return nullptr;
}

static const char *plugin_path;
static void *plugins(void *)
{
    while (!stopping) {
        void *plugin = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
        if (!plugin) die(dlerror());
        auto work = reinterpret_cast<std::uint64_t (*)(unsigned)>(dlsym(plugin, "plugin_work"));
        sink = sink + work(20000);
        dlclose(plugin);
        n_rounds[3]++;
    }
    return nullptr;
}

static void *forks(void *)
{
    while (!stopping) {
        pid_t child = fork();
        if (child == 0) {
            spin(100000);
            void *p = malloc(100000); // works in the child, whatever the parent's threads held
            std::memset(p, 1, 100000);
            free(p);
            std::vector<std::string> words(100, "child");
            _exit(words.size() == 100 ? 42 : 1);
        }
        if (child < 0) die("fork");
        int status;
        pid_t got;
        while ((got = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
        }
        if (got != child || !WIFEXITED(status) || WEXITSTATUS(status) != 42)
            die("a child did not end as it should");
        if (n_rounds[4] % 4 == 0) {
            FILE *f = popen("echo hello", "r"); // vfork, exec
            char line[20] = "";
            if (!f || !fgets(line, sizeof line, f) || std::strcmp(line, "hello\n") || pclose(f)) die("popen");
        }
        n_rounds[4]++;
        usleep(20000);
    }
    return nullptr;
}

static void *short_life(void *argument)
{
    char frame[2000]; // on a small stack there is not much more
    std::memset(frame, 1, sizeof frame);
    spin(20000);
    sink = sink + static_cast<std::uint64_t>(frame[100]);
    return argument;
}

static void *churn(void *)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, static_cast<size_t>(sysconf(_SC_THREAD_STACK_MIN)) + 16384);
    while (!stopping) {
        pthread_t threads[4];
        for (auto &t : threads)
            if (pthread_create(&t, &small, short_life, &t)) die("pthread_create");
        for (auto &t : threads) {
            void *result;
            if (pthread_join(t, &result) || result != &t) die("a thread did not return what it should");
        }
        n_rounds[5]++;
    }
    return nullptr;
}

// The host's own signals: SIGPROF by setitimer, and SIGUSR1 on a stack of its own.
static void on_prof(int)
{
    n_own_profs++;
}
static void on_usr1(int, siginfo_t *info, void *)
{
    char frame[1000];
    std::memset(frame, info->si_signo, sizeof frame);
    spin(3000);
    if (frame[999] != SIGUSR1) die("a frame of a handler was overwritten");
    n_own_alarms++;
}

static void *alarms(void *)
{
    std::vector<char> memory(65536);
    stack_t other = {};
    other.ss_sp = memory.data();
    other.ss_size = memory.size();
    if (sigaltstack(&other, nullptr)) die("sigaltstack");
    while (!stopping) {
        pthread_kill(pthread_self(), SIGUSR1);
        spin(3000);
        n_rounds[6]++;
    }
    other.ss_flags = SS_DISABLE;
    sigaltstack(&other, nullptr);
    return nullptr;
}

static void *allocate(void *argument)
{
    std::uint64_t seed = reinterpret_cast<std::uintptr_t>(argument);
    std::vector<std::pair<char *, size_t>> held(256);
    while (!stopping) {
        auto &slot = held[next(seed) >> 56];
        for (size_t i = 0; i < slot.second; i += 512)
            if (slot.first[i] != static_cast<char>(slot.second)) die("memory was overwritten");
        size_t size = (next(seed) >> 33) % (next(seed) >> 60 ? 2000 : 300000) + 1;
        switch (next(seed) >> 62) {
        case 0:
            free(slot.first);
            slot.first = static_cast<char *>(calloc(1, size));
            break;
        case 1:
            slot.first = static_cast<char *>(realloc(slot.first, size));
            break;
        default:
            free(slot.first);
            slot.first = static_cast<char *>(aligned_alloc(64, (size + 63) & ~static_cast<size_t>(63)));
        }
        if (!slot.first) die("no memory");
        slot.second = size;
        std::memset(slot.first, static_cast<char>(size), size);
        n_rounds[7]++;
    }
    for (auto &slot : held) free(slot.first);
    return nullptr;
}

static std::mutex mutexes[4];
static unsigned long counted[4];
static std::atomic<unsigned long> expected[4];
static void *contend(void *argument)
{
    std::uint64_t seed = reinterpret_cast<std::uintptr_t>(argument);
    while (!stopping) {
        unsigned i = next(seed) >> 62;
        std::lock_guard<std::mutex> guard(mutexes[i]);
        counted[i]++;
        expected[i]++;
        spin(300);
        n_rounds[8]++;
    }
    return nullptr;
}

// Calls that sleep: a profiler may end them early (EINTR) but not otherwise change what they do.
static void *sleepers(void *)
{
    int pipe_fds[2];
    if (pipe(pipe_fds)) die("pipe");
    while (!stopping) {
        pollfd fd = {pipe_fds[0], POLLIN, 0};
        int n = poll(&fd, 1, 20);
        if (n > 0 || (n < 0 && errno != EINTR)) die("poll");
        if (write(pipe_fds[1], "x", 1) != 1) die("write");
        char c = 0;
        ssize_t got = read(pipe_fds[0], &c, 1); // restarted by the kernel when a signal comes
        if (got != 1 || c != 'x') die("read");
        n_rounds[9]++;
    }
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    return nullptr;
}

int main(int, char **argv)
{
    int seconds = std::atoi(argv[1]);
    plugin_path = argv[2];
    struct sigaction action = {};
    action.sa_handler = on_prof;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    struct sigaction usr1 = {};
    usr1.sa_sigaction = on_usr1;
    usr1.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigaction(SIGUSR1, &usr1, nullptr);
    itimerval every = {{0, 10000}, {0, 10000}};
    setitimer(ITIMER_PROF, &every, nullptr);

    void *(*const kinds[])(void *) = {keep_errno, exceptions, jumps,    plugins, forks,
                                      churn,      alarms,     allocate, contend, sleepers};
    std::vector<pthread_t> threads;
    for (unsigned i = 0; i < 64; i++) {
        // One that forks is enough; of the others as many as it takes.
        auto kind = i == 4 ? forks : kinds[i % 10 == 4 ? 7 : i % 10];
        pthread_t t;
        if (pthread_create(&t, nullptr, kind, reinterpret_cast<void *>(static_cast<std::uintptr_t>(i + 1))))
            die("pthread_create");
        threads.push_back(t);
    }
    timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        usleep(50000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec < seconds);
    stopping = true;
    for (pthread_t t : threads) pthread_join(t, nullptr);

    for (unsigned i = 0; i < 4; i++)
        if (counted[i] != expected[i]) die("a mutex let two in");
    struct sigaction after;
    sigaction(SIGPROF, nullptr, &after);
    if (after.sa_handler != on_prof) die("the host's SIGPROF handler was replaced");
    if (!n_own_profs || !n_own_alarms) die("the host's own signals did not come");
    static const char *const names[] = {"errno",        "exceptions", "longjmp",     "dlopen", "fork",
                                        "thread churn", "signals",    "allocations", "locks",  "sleeps"};
    for (unsigned i = 0; i < 10; i++) {
        if (!n_rounds[i]) die(names[i]);
        std::printf("%s %lu\n", names[i], n_rounds[i].load());
    }
    std::printf("intact\n");
}
