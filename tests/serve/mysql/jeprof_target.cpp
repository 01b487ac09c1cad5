// A server of sorts for jeprof.test: a few ways to hold memory, with names that need shortening.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define KEEP __attribute__((noinline))

namespace storage {
struct Page {
    char bytes[4096];
};

template <typename T> class Cache {
  public:
    KEEP void fill(size_t n)
    {
        for (size_t i = 0; i < n; i++) items.push_back(new T());
        asm volatile("" ::: "memory");
    }
    std::vector<T *> items;
};

class Index {
  public:
    KEEP void insert(const std::string &key, int times)
    {
        for (int i = 0; i < times; i++) keys.push_back(key + std::to_string(i) + std::string(400, 'x'));
        asm volatile("" ::: "memory");
    }
    std::vector<std::string> keys;
};
} // namespace storage

KEEP static void *read_block(size_t n)
{
    void *p = malloc(n);
    memset(p, 1, n);
    asm volatile("" ::: "memory");
    return p;
}

KEEP static void recurse(int depth, std::vector<void *> &out)
{
    out.push_back(read_block(30000));
    if (depth) recurse(depth - 1, out);
    asm volatile("" ::: "memory");
}

int main()
{
    static storage::Cache<storage::Page> cache;
    static storage::Index index;
    static std::vector<void *> blocks;
    char line[16];
    while (fgets(line, sizeof line, stdin)) { // each line: some more
        cache.fill(3000);
        index.insert("key", 10000);
        recurse(40, blocks);
        for (int i = 0; i < 20; i++) blocks.push_back(read_block(100000));
        puts("done");
        fflush(stdout);
    }
    return 0;
}
