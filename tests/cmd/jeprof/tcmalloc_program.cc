// Allocates under tcmalloc. "PREFIX": the heap profiler's dumps, nothing sampled. "FILE sample": GetHeapSample's.
#include <stdio.h>
#include <stdlib.h>

#include <string>

#include <gperftools/heap-profiler.h>
#include <gperftools/malloc_extension.h>

static void *kept[10000];
static int n_kept;

__attribute__((noinline)) void rows(int n)
{
    for (int i = 0; i < n; i++) kept[n_kept++] = malloc(3000);
}

__attribute__((noinline)) void index_pages(int n)
{
    for (int i = 0; i < n; i++) kept[n_kept++] = malloc(70000);
}

__attribute__((noinline)) void load(int n)
{
    rows(n);
    index_pages(n / 4);
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        load(3000);
        std::string text;
        MallocExtension::instance()->GetHeapSample(&text);
        FILE *f = fopen(argv[1], "w");
        fwrite(text.data(), 1, text.size(), f);
        return fclose(f);
    }
    HeapProfilerStart(argv[1]);
    load(800);
    free(kept[0]); /* what is allocated and what is in use differ in both dumps */
    HeapProfilerDump("one");
    rows(500);
    for (int i = 1; i < 100; i++) free(kept[i]);
    HeapProfilerDump("two");
    HeapProfilerStop();
    return 0;
}
