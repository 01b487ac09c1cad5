/* Each reader with its Nth allocation failing, for N = 1, 2, ...: it reports an error, manages without that
 * memory, or the program ends with the message of base/mem. It never crashes and never hangs.
 *
 * The inputs are files of the fuzz corpora. Each attempt runs in a child of its own. malloc and its relatives
 * of this program replace those of libc, for the libraries too. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../t.h"
#include "base/file.h"
#include "base/mem.h"
#include "format/format.h"
#include "symbol/demangle/demangle.h"
#include "symbol/dwarf/dwarf_int.h"
#include "symbol/elf/elf.h"
#include "symbol/elf/symtab.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || !defined __GLIBC__
#define CAN_FAIL 0
static struct {
    atomic_long n, fail_at;
} * counter;
#else
#define CAN_FAIL 1

void *__libc_malloc(size_t n_bytes);
void *__libc_calloc(size_t n, size_t item_bytes);
void *__libc_realloc(void *old, size_t n_bytes);
void *__libc_memalign(size_t alignment, size_t n_bytes);

/* Shared with the parent, which learns from it how many allocations an input needs. */
static struct {
    atomic_long n, fail_at; /* fail_at -1: count nothing; 0: count, let all succeed */
} * counter;

static bool fails(void)
{
    if (!counter || atomic_load(&counter->fail_at) < 0) return false;
    if (atomic_fetch_add(&counter->n, 1) + 1 != atomic_load(&counter->fail_at)) return false;
    errno = ENOMEM;
    return true;
}

#define HOOK __attribute__((visibility("default")))

HOOK void *malloc(size_t n_bytes)
{
    return fails() ? NULL : __libc_malloc(n_bytes);
}

HOOK void *calloc(size_t n, size_t item_bytes)
{
    return fails() ? NULL : __libc_calloc(n, item_bytes);
}

HOOK void *realloc(void *old, size_t n_bytes)
{
    return fails() ? NULL : __libc_realloc(old, n_bytes);
}

HOOK int posix_memalign(void **ret, size_t alignment, size_t n_bytes)
{
    void *p = fails() ? NULL : __libc_memalign(alignment, n_bytes);
    if (!p) return ENOMEM;
    *ret = p;
    return 0;
}
#endif

/* ---- what reads ---- */

static void read_profile(const struct bytes *in)
{
    struct profile *p = NULL;
    struct err err = {0};
    int rc = format_read(in->data, in->len, "input", &(struct format_options){0}, &p, &err);
    if (rc && !err.text[0]) _exit(3);
    if (!rc && profile_check(p, &err)) _exit(4);
    if (!rc) profile_free(p);
}

static void read_object(const struct bytes *in)
{
    struct bytes copy = {.data = mem_alloc(in->len), .len = in->len};
    memcpy(copy.data, in->data, in->len);
    struct elf *elf = NULL;
    struct err err = {0};
    if (elf_open_bytes(&copy, "input", &elf, &err)) return;
    struct symtab table = {0};
    symtab_read(elf, &table);
    symtab_free(&table);
    struct names *names = names_new();
    struct dwarf *d = NULL;
    if (!dwarf_open(elf, &(struct debugfile_places){.root = "/nonexistent"}, 1, names, &d, &err)) {
        uint64_t addresses[4];
        struct hit hits[4] = {0};
        for (size_t i = 0; i < 4; i++) addresses[i] = d->main->code_min + i * 7;
        dwarf_lookup(d, addresses, 4, hits);
    }
    dwarf_close(d);
    names_free(names);
    elf_close(elf);
}

static void read_linkage_name(const struct bytes *in)
{
    struct buf out = {0};
    buf_str(&out, "name: ");
    demangle((const char *)in->data, in->len, &out);
    buf_free(&out);
}

/* ---- one input ---- */

enum { MAX_ATTEMPTS = 30, MAX_INPUTS = 3, MAX_INPUT_BYTES = 64 << 10 };

/* Runs the reader in a child whose allocation number `fail_at` fails. Returns false when it ended neither
 * well nor with the message. */
static bool attempt(void (*reader)(const struct bytes *), const struct bytes *in, long fail_at)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return false;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        alarm(10);
        atomic_store(&counter->n, 0);
        atomic_store(&counter->fail_at, fail_at);
        reader(in);
        _exit(0);
    }
    close(ends[1]);
    char text[400] = "";
    ssize_t n = read(ends[0], text, sizeof text - 1);
    close(ends[0]);
    int status = 0;
    if (waitpid(child, &status, 0) != child) return false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    bool clean = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && n > 0 && strstr(text, "out of memory");
    if (!clean) T_FAIL("allocation %ld: wait status %#x, stderr: %s", fail_at, (unsigned)status, text);
    return clean;
}

static void try_input(void (*reader)(const struct bytes *), const char *path)
{
    struct bytes in;
    struct err err;
    if (file_read(path, MAX_INPUT_BYTES, &in, &err)) return;
    REQUIRE(attempt(reader, &in, 0));
    long n_allocations = atomic_load(&counter->n), n_bad = 0;
    REQUIRE(n_allocations > 0);
    long step = n_allocations / MAX_ATTEMPTS + 1;
    for (long i = 1; i <= n_allocations && n_bad < 3; i += i < 8 ? 1 : step)
        n_bad += !attempt(reader, &in, i);
    if (n_bad) printf("# %s (%ld allocations)\n", path, n_allocations);
    bytes_free(&in);
}

/* The largest files of the corpus that are small enough: they reach the most code. */
static void try_corpus(void (*reader)(const struct bytes *), const char *name)
{
    if (!CAN_FAIL) SKIP("a sanitizer replaces malloc itself, or this is not glibc");
    counter = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(counter != MAP_FAILED);
    atomic_store(&counter->fail_at, -1);
    char folder[100], best[MAX_INPUTS][400] = {{0}};
    long best_bytes[MAX_INPUTS] = {0};
    snprintf(folder, sizeof folder, "fuzz/%s", name);
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, NULL, alphasort);
    REQUIRE(n > 2);
    for (int i = 0; i < n; i++) {
        char path[400];
        struct stat st;
        snprintf(path, sizeof path, "%s/%.250s", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] == '.' || stat(path, &st) || st.st_size > MAX_INPUT_BYTES) continue;
        int least = 0;
        for (int k = 1; k < MAX_INPUTS; k++)
            if (best_bytes[k] < best_bytes[least]) least = k;
        if (st.st_size <= best_bytes[least]) continue;
        best_bytes[least] = st.st_size;
        memcpy(best[least], path, sizeof path);
    }
    for (int k = 0; k < MAX_INPUTS; k++)
        if (best_bytes[k]) try_input(reader, best[k]);
}

#define TEST_CORPUS(name, reader)                                                                            \
    TEST(name)                                                                                               \
    {                                                                                                        \
        try_corpus(reader, #name);                                                                           \
    }

TEST_CORPUS(proto, read_profile)
TEST_CORPUS(cpu, read_profile)
TEST_CORPUS(heap, read_profile)
TEST_CORPUS(jfr, read_profile)
TEST_CORPUS(go_count, read_profile)
TEST_CORPUS(threadz, read_profile)
TEST_CORPUS(java, read_profile)
TEST_CORPUS(contention, read_profile)
TEST_CORPUS(symbolized, read_profile)
TEST_CORPUS(perf_script, read_profile)
TEST_CORPUS(folded, read_profile)
TEST_CORPUS(elf, read_object)
TEST_CORPUS(dwarf, read_object)
TEST_CORPUS(demangle, read_linkage_name)

TEST_MAIN()
