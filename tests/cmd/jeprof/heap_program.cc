// Allocates on several stacks and in several threads under jemalloc, and dumps twice: PREFIX.a and PREFIX.b.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <map>
#include <string>
#include <vector>

extern "C" int mallctl(const char *, void *, size_t *, void *, size_t);

static void *kept[100000];
static int n_kept;

template <class T> struct Store {
    std::vector<T *> items;
    __attribute__((noinline)) void fill(int n, size_t size)
    {
        for (int i = 0; i < n; i++) items.push_back(static_cast<T *>(malloc(size)));
    }
};

__attribute__((noinline)) void small_blocks(int n)
{
    for (int i = 0; i < n; i++) kept[n_kept++ % 100000] = malloc(100 + (size_t)i % 7 * 300);
}

__attribute__((noinline)) void big_blocks(int n)
{
    for (int i = 0; i < n; i++) kept[n_kept++ % 100000] = malloc(1 << 20);
}

/* Two functions of one name: told apart by where they begin. */
__attribute__((noinline)) void over(int n)
{
    for (int i = 0; i < n; i++) kept[n_kept++ % 100000] = malloc(10000);
}

__attribute__((noinline)) void over(long n)
{
    for (long i = 0; i < n; i++) kept[n_kept++ % 100000] = malloc(20000);
}

__attribute__((noinline)) void recursive(int depth)
{
    if (depth > 0)
        recursive(depth - 1);
    else
        over(40);
    kept[n_kept++ % 100000] = malloc(9000);
}

namespace db
{
class Table
{
  public:
    std::map<int, char *> rows;
    __attribute__((noinline)) void insert(int from, int n)
    {
        for (int i = 0; i < n; i++) rows[from + i] = new char[700];
    }
};
}

static void *thread_main(void *)
{
    Store<char> *store = new Store<char>;
    store->fill(200, 20000);
    small_blocks(500);
    return store;
}

static void dump(const std::string &name)
{
    const char *path = name.c_str();
    if (mallctl("prof.dump", NULL, NULL, &path, sizeof path)) {
        fprintf(stderr, "prof.dump failed\n");
        exit(3);
    }
}

int main(int argc, char **argv)
{
    std::string prefix = argc > 1 ? argv[1] : "out";
    int n_threads = argc > 2 ? atoi(argv[2]) : 0;
    db::Table table;
    table.insert(0, 2000);
    small_blocks(3000);
    recursive(5);
    dump(prefix + ".a");
    big_blocks(12);
    table.insert(10000, 4000);
    over(50L);
    for (int i = 0; i < n_threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, thread_main, NULL);
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < 1000; i++) {
        free(kept[i]);
        kept[i] = NULL;
    }
    dump(prefix + ".b");
    return 0;
}
