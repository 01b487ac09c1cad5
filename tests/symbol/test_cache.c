/* Images and their files: the same answers as from the debug information itself, and no trust in what is
 * damaged. */
#include "../t.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "symbol/cache.h"
#include "symbol/dwarf/dwarf.h"
#include "symbol/image.h"
#include "symbol/symbol.h"

enum { N = 20000 };

static struct elf *self;
static struct dwarf *dwarf;
static struct names *names;

static void open_self(void)
{
    const struct debugfile_places places = {.root = ""};
    struct err err = {0};
    names = names_new();
    REQUIRE(elf_open("/proc/self/exe", &self, &err) == 0);
    REQUIRE(dwarf_open(self, &places, 2, names, &dwarf, &err) == 0);
}

static void close_self(void)
{
    dwarf_close(dwarf);
    names_free(names);
    elf_close(self);
}

static uint64_t *some_addresses(void)
{
    uint64_t low = 0, n = 0, *addresses = mem_array(N, sizeof *addresses);
    for (size_t i = 0; i < self->n_sections; i++)
        if (!strcmp(self->sections[i].name, ".text"))
            low = self->sections[i].address, n = self->sections[i].size_bytes;
    REQUIRE(n > 0);
    for (uint64_t i = 0, x = 12345; i < N; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        addresses[i] = low + (x >> 33) % n;
    }
    return addresses;
}

static bool same(const char *a, const char *b)
{
    return (!a && !b) || (a && b && !strcmp(a, b));
}

/* Addresses whose frames differ from what the debug information says. */
static size_t count_different(const uint64_t *addresses, const struct symbol_result *r,
                              const struct hit *hits)
{
    size_t n_different = 0;
    for (size_t i = 0; i < N; i++) {
        size_t k = r->first_frame[i], end = r->first_frame[i + 1];
        const char *file = hits[i].file;
        uint32_t line = hits[i].line;
        bool equal = hits[i].scope || (end - k == (file != NULL));
        for (const struct scope *s = hits[i].scope; s; s = s->parent, k++) {
            equal = equal && k < end && same(r->frames[k].function, s->function) &&
                    same(r->frames[k].linkage_name, s->linkage_name) && same(r->frames[k].file, file) &&
                    r->frames[k].line == line && r->frames[k].start_line == s->start_line &&
                    r->frames[k].inlined == (s->parent != NULL);
            file = s->call_file;
            line = s->call_line;
        }
        if (equal && (!hits[i].scope || k == end)) continue;
        if (!n_different++)
            printf("# %#llx: %s at %s:%u\n", (unsigned long long)addresses[i],
                   end > r->first_frame[i] ? r->frames[r->first_frame[i]].function : "nothing",
                   hits[i].file ? hits[i].file : "?", hits[i].line);
    }
    return n_different;
}

TEST(an_image_says_what_the_debug_information_says)
{
    open_self();
    uint64_t *addresses = some_addresses();
    struct hit *hits = mem_zalloc(N * sizeof *hits);
    dwarf_lookup(dwarf, addresses, N, hits);
    struct image *image = image_build(dwarf, self->build_id, NULL);
    REQUIRE(image != NULL);
    struct symbol_result r;
    REQUIRE(image_lookup(image, addresses, N, &(struct image_want){.n_threads = 2}, &r));
    size_t n_inlined = 0;
    for (size_t i = 0; i < r.first_frame[N]; i++) n_inlined += r.frames[i].inlined;
    CHECK(n_inlined > 0);
    size_t n_different = count_different(addresses, &r, hits);
    if (n_different) printf("# %zu of %d differ\n", n_different, N);
    CHECK(n_different <= N / 10000);
    struct symbol_result short_one;
    REQUIRE(image_lookup(image, addresses, N, &(struct image_want){.n_threads = 2, .one_name = true},
                         &short_one));
    REQUIRE(short_one.first_frame[N] == r.first_frame[N]);
    size_t n_wrong = 0;
    for (size_t i = 0; i < r.first_frame[N]; i++) {
        const struct symbol_frame *f = &short_one.frames[i];
        n_wrong += !same(f->function, r.frames[i].function) || !same(f->file, r.frames[i].file) ||
                   f->function_bytes != (f->function ? strlen(f->function) : 0) ||
                   f->file_bytes != (f->file ? strlen(f->file) : 0) ||
                   (f->linkage_name && f->function != f->linkage_name);
    }
    CHECK_INT(n_wrong, 0);
    symbol_result_free(&short_one);
    symbol_result_free(&r);
    image_free(image);
    mem_free(hits);
    mem_free(addresses);
    close_self();
}

static char *make_folder(char *path)
{
    strcpy(path, "/tmp/procprof-test-XXXXXX");
    REQUIRE(mkdtemp(path));
    return path;
}

TEST(damage_is_seen_and_nothing_else_is_trusted)
{
    static const char id[] = "0123456789abcdef";
    char folder[64];
    struct symbol_cache cache;
    open_self();
    symbol_cache_init(&cache, make_folder(folder));
    uint64_t *addresses = some_addresses();
    struct bytes bytes = {0};
    struct image *image = image_build(dwarf, id, &bytes);
    REQUIRE(image != NULL);
    CHECK(symbol_cache_load(&cache, id) == NULL);
    symbol_cache_store(&cache, id, bytes.data, bytes.len);
    struct image *loaded = symbol_cache_load(&cache, id);
    REQUIRE(loaded != NULL);
    struct symbol_result r, want;
    const struct image_want how = {.n_threads = 1};
    REQUIRE(image_lookup(image, addresses, N, &how, &want));
    REQUIRE(image_lookup(loaded, addresses, N, &how, &r));
    CHECK_INT(r.first_frame[N], want.first_frame[N]);
    symbol_result_free(&r);
    image_free(loaded);
    CHECK(symbol_cache_load(&cache, "fedcba9876543210") == NULL);
    size_t n_seen = 0, n_tries = 200;
    uint8_t *copy = mem_alloc(bytes.len);
    for (size_t i = 0; i < n_tries; i++) {
        size_t at = (i * 2654435761u + i) % bytes.len;
        memcpy(copy, bytes.data, bytes.len);
        copy[at] ^= (uint8_t)(1u << i % 8);
        struct bytes damaged = {.data = mem_alloc(bytes.len), .len = bytes.len};
        memcpy(damaged.data, copy, bytes.len);
        struct image *g = image_open(&damaged, id, NULL);
        bool good = g && image_lookup(g, addresses, N, &how, &r);
        n_seen += !good;
        if (good) { /* the damage is in a block that was not needed: then it changed nothing */
            CHECK_INT(r.first_frame[N], want.first_frame[N]);
            symbol_result_free(&r);
        }
        image_free(g);
    }
    CHECK(n_seen > n_tries / 2);
    for (size_t n = 0; n < bytes.len; n = n * 2 + 7) { /* cut off */
        struct bytes cut = {.data = mem_alloc(n + 1), .len = n};
        memcpy(cut.data, bytes.data, n);
        CHECK(image_open(&cut, id, NULL) == NULL);
    }
    /* A file that is not one is removed, so that the next run makes it anew. */
    symbol_cache_store(&cache, id, "nonsense", 8);
    CHECK(symbol_cache_load(&cache, id) == NULL);
    char path[128];
    snprintf(path, sizeof path, "%s/%s.symbols", folder, id);
    CHECK(access(path, F_OK) != 0);
    mem_free(copy);
    symbol_result_free(&want);
    image_free(image);
    mem_free(addresses);
    symbol_cache_free(&cache);
    rmdir(folder);
    close_self();
}

static bool exists(const char *folder, const char *id)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s.symbols", folder, id);
    return access(path, F_OK) == 0;
}

static void set_age(const char *folder, const char *id, int seconds)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s.symbols", folder, id);
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    utimensat(AT_FDCWD, path, times, 0);
}

TEST(the_oldest_go_first)
{
    char folder[64], block[10000] = {0};
    struct symbol_cache cache;
    symbol_cache_init(&cache, make_folder(folder));
    cache.max_bytes = 35000;
    symbol_cache_store(&cache, "aaaaaaaa11", block, sizeof block);
    symbol_cache_store(&cache, "bbbbbbbb22", block, sizeof block);
    symbol_cache_store(&cache, "cccccccc33", block, sizeof block);
    set_age(folder, "aaaaaaaa11", 10);
    set_age(folder, "bbbbbbbb22", 30);
    set_age(folder, "cccccccc33", 20);
    symbol_cache_store(&cache, "dddddddd44", block, sizeof block);
    CHECK(exists(folder, "aaaaaaaa11"));
    CHECK(!exists(folder, "bbbbbbbb22"));
    CHECK(exists(folder, "cccccccc33"));
    CHECK(exists(folder, "dddddddd44"));
    symbol_cache_store(&cache, "../escape", block, sizeof block);
    symbol_cache_store(&cache, "eeeeeeee55", block, 40000 < sizeof block ? 0 : sizeof block);
    CHECK(!symbol_cache_seen(&cache, "ffffffff66"));
    CHECK(symbol_cache_seen(&cache, "ffffffff66"));
    symbol_cache_free(&cache);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK(system(command) == 0);
}

TEST_MAIN()
