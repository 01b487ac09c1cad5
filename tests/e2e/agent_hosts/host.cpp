// host.cpp - a C++ program that knows nothing of the profiler: exceptions through many frames, work in a plugin that was
// loaded late, another copy of it loaded and unloaded over and over. Prints its CPU time by kind of work when it ends: the
// truth to compare with.
//   host PLUGIN COPY-OF-PLUGIN
#include <dlfcn.h>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <thread>
#include <vector>

static volatile std::sig_atomic_t is_stopping;
static volatile std::uint64_t sink;

static double cpu_seconds()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

__attribute__((noinline)) static void spin(unsigned n)
{
    std::uint64_t x = n;
    for (unsigned i = 0; i < n; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
}

// Different code each, so that the linker does not fold them.
__attribute__((noinline)) static void parse_statement() { spin(600000); sink = sink + 1; }
__attribute__((noinline)) static void plan_statement() { spin(300000); sink = sink + 2; }

__attribute__((noinline)) static void throw_at(unsigned depth)
{
    std::vector<int> held(8, static_cast<int>(depth)); // has a destructor: every frame is cleaned up on the way
    if (depth == 0) throw std::runtime_error("no such table");
    throw_at(depth - 1);
    sink = sink + static_cast<std::uint64_t>(held[0]);
}

__attribute__((noinline)) static void fail_statement()
{
    for (unsigned i = 0; i < 20; i++) try {
            throw_at(20);
        } catch (const std::runtime_error &) {
            sink = sink + 3;
        }
}

using work_function = std::uint64_t (*)(unsigned);

static work_function open_plugin(const char *path, void **handle)
{
    *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*handle) std::fprintf(stderr, "%s\n", dlerror()), std::abort();
    return reinterpret_cast<work_function>(dlsym(*handle, "plugin_work"));
}

__attribute__((noinline)) static void call_plugin(work_function work) { sink = sink + work(600000); }

static double totals[5][8];

// Objects come and go while stacks are taken.
__attribute__((noinline)) static void churn(const char *path)
{
    while (!is_stopping) {
        void *handle;
        sink = sink + open_plugin(path, &handle)(200000); // as long as it takes to be met in it
        dlclose(handle);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        totals[4][0] = cpu_seconds();
    }
}

static void worker(unsigned index, const char *path)
{
    void *handle;
    work_function plugin = open_plugin(path, &handle);
    while (!is_stopping) {
        double at[5];
        at[0] = cpu_seconds();
        parse_statement();
        at[1] = cpu_seconds();
        plan_statement();
        at[2] = cpu_seconds();
        fail_statement();
        at[3] = cpu_seconds();
        call_plugin(plugin);
        at[4] = cpu_seconds();
        for (unsigned k = 0; k < 4; k++) totals[k][index] += at[k + 1] - at[k];
    }
}

int main(int, char **argv)
{
    std::signal(SIGTERM, [](int) { is_stopping = 1; });
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; i++) threads.emplace_back(worker, i, argv[1]);
    threads.emplace_back(churn, argv[2]);
    for (auto &t : threads) t.join();
    const char *names[] = {"parse_statement", "plan_statement", "fail_statement", "call_plugin", "churn"};
    for (unsigned k = 0; k < 5; k++) {
        double sum = 0;
        for (double s : totals[k]) sum += s;
        std::printf("truth %s %f\n", names[k], sum);
    }
}
