/* The contract of symbol.h on this very program: it is an object with symbols, a build id and known
 * functions. */
#include "../t.h"

#include <dlfcn.h>

#include "base/mem.h"
#include "report/symbolize.h"
#include "symbol/symbol.h"

int known_function(int x);
__attribute__((noinline)) int known_function(int x)
{
    return x * 3 + getpid();
}

static uint64_t own_address(const void *p, uint64_t *ret_start, uint64_t *ret_limit, uint64_t *ret_offset)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    while (fgets(line, sizeof line, maps)) {
        unsigned long start, limit, offset;
        char flags[8];
        if (sscanf(line, "%lx-%lx %7s %lx", &start, &limit, flags, &offset) != 4) continue;
        if ((unsigned long)p < start || (unsigned long)p >= limit) continue;
        *ret_start = start;
        *ret_limit = limit;
        *ret_offset = offset;
    }
    fclose(maps);
    return (uint64_t)(uintptr_t)p;
}

TEST(own_functions_are_found)
{
    for (int table_only = 0; table_only < 2; table_only++) {
        struct symbolizer *s =
            symbolizer_new(&(struct symbol_options){.cache_dir = "", .symbol_table_only = table_only});
        struct symbol_object *o;
        struct err err = {0};
        REQUIRE(symbolizer_open(s, "/proc/self/exe", NULL, &o, &err) == 0);
        uint64_t start = 0, limit = 0, offset = 0;
        uint64_t address = own_address((const void *)known_function, &start, &limit, &offset);
        uint64_t addresses[3] = {symbol_object_address(o, address, start, limit, offset), 0xfffffffffff0, 0};
        addresses[2] = addresses[0] + 1;
        struct symbol_result r;
        symbol_lookup(o, addresses, 3, &r);
        CHECK_INT(r.first_frame[1] - r.first_frame[0], 1);
        CHECK_STR(r.frames[0].function, "known_function");
        CHECK_INT(r.first_frame[2] - r.first_frame[1], 0);
        CHECK_STR(r.frames[r.first_frame[2]].linkage_name, "known_function");
        symbol_result_free(&r);
        symbolizer_free(s);
    }
}

TEST(a_missing_file_and_another_build_are_told)
{
    struct symbolizer *s = symbolizer_new(&(struct symbol_options){.cache_dir = ""});
    struct symbol_object *o;
    struct err err = {0};
    CHECK(symbolizer_open(s, "/no/such/file", NULL, &o, &err) < 0);
    CHECK(strstr(err.text, "/no/such/file") != NULL);
    CHECK(symbolizer_open(s, "/proc/self/exe", "00112233", &o, &err) < 0);
    CHECK(strstr(err.text, "another build") != NULL);
    CHECK(symbolizer_open(s, "/proc/self/maps", NULL, &o, &err) < 0);
    CHECK(strstr(err.text, "not an ELF file") != NULL);
    symbolizer_free(s);
}

TEST(vdso_has_names)
{
    struct symbolizer *s = symbolizer_new(&(struct symbol_options){.cache_dir = ""});
    struct symbol_object *o;
    struct err err = {0};
    if (symbolizer_open(s, "[vdso]", NULL, &o, &err) < 0) SKIP(err.text);
    uint64_t addresses[65536 / 16];
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) addresses[i] = i * 16;
    struct symbol_result r;
    symbol_lookup(o, addresses, sizeof addresses / sizeof *addresses, &r);
    int found = 0;
    for (size_t i = 0; i < r.first_frame[r.n_addresses]; i++)
        found |= strstr(r.frames[i].function, "clock_gettime") != NULL;
    CHECK(found);
    symbol_result_free(&r);
    symbolizer_free(s);
}

TEST(perf_maps_name_jitted_code)
{
    char path[] = "/tmp/procprof-test-XXXXXX", file[64];
    REQUIRE(mkdtemp(path));
    snprintf(file, sizeof file, "%s/perf-12.map", path);
    FILE *f = fopen(file, "w");
    fprintf(f,
            "7f0000001000 40 old\n7f0000001000 20 Lcom/example;::run\n7f0000001040 10 next one\nnonsense\n");
    fclose(f);
    struct symbolizer *s = symbolizer_new(NULL);
    struct symbol_object *o;
    struct err err = {0};
    REQUIRE(symbolizer_open(s, file, NULL, &o, &err) == 0);
    struct symbol_result r;
    symbol_lookup(o, (uint64_t[]){0x7f000000101f, 0x7f000000104f, 0x7f0000001050}, 3, &r);
    REQUIRE(r.first_frame[3] == 2);
    CHECK_STR(r.frames[0].function, "Lcom/example;::run");
    CHECK_STR(r.frames[1].function, "next one");
    symbol_result_free(&r);
    symbolizer_free(s);
    unlink(file);
    rmdir(path);
}

TEST(a_profile_gets_functions)
{
    uint64_t start = 0, limit = 0, offset = 0;
    uint64_t address = own_address((const void *)known_function, &start, &limit, &offset);
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n] = '\0';
    struct profile *p = profile_new();
    profile_add_sample_type(p, "samples", "count");
    uint32_t m = profile_add_mapping(p, start, limit, offset, profile_cstr(p, exe), 0);
    uint32_t a = profile_add_location(p, address, m + 1), b = profile_add_location(p, address + 2, 0);
    uint32_t c = profile_add_location(p, 5, 0);
    profile_add_sample(p, (uint32_t[]){a, b, c}, 3, &(int64_t){1});
    struct symbolizer *s = symbolizer_new(&(struct symbol_options){.cache_dir = ""});
    struct err err = {0};
    profile_symbolize(p, s, NULL);
    REQUIRE(profile_check(p, &err) == 0);
    CHECK_INT(p->locations[a].n_lines, 1);
    CHECK_INT(p->locations[b].n_lines, 1);
    CHECK_INT(p->locations[c].n_lines, 0);
    CHECK_STR(profile_text(p, p->functions[p->lines[p->locations[a].first_line].function].name),
              "known_function");
    CHECK_INT(p->lines[p->locations[a].first_line].function, p->lines[p->locations[b].first_line].function);
    CHECK(p->mappings[0].has_functions);
    CHECK(p->mappings[0].build_id != 0);
    symbolizer_free(s);
    profile_free(p);
}

TEST_MAIN()
