/* gen.c - inputs for the benchmarks, the same on every machine (a fixed random seed).
 *
 *   gen profile SAMPLES DEPTH FUNCTIONS [SEED]  profile.proto, gzip: DEPTH/2..DEPTH frames, few roots, a wide
 * crown gen folded-short LINES BYTES                collapsed stacks of many short names gen folded-cpp LINES
 * BYTES                  collapsed stacks of few long C++ names gen jemalloc STACKS                         a
 * heap_v2 dump with this very program's addresses
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/compress/pack.h"
#include "base/file.h"
#include "base/mem.h"
#include "format/format.h"
#include "profile/profile.h"

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t rnd(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static void gen_profile(size_t n_samples, size_t depth, size_t n_functions)
{
    struct profile *p = profile_new();
    profile_add_sample_type(p, "samples", "count");
    profile_add_sample_type(p, "cpu", "nanoseconds");
    p->period_type.type = profile_cstr(p, "cpu");
    p->period_type.unit = profile_cstr(p, "nanoseconds");
    p->period = 10000000;
    p->duration_ns = 30000000000;
    profile_add_mapping(p, 0x400000, 0x40000000, 0, profile_cstr(p, "/usr/bin/server"), 0);
    p->mappings[0].has_functions = p->mappings[0].has_filenames = p->mappings[0].has_line_numbers = true;
    for (size_t i = 0; i < n_functions; i++) {
        char name[160], file[80];
        snprintf(name, sizeof name, "ns%zu::storage::Component%zu::method_%zu_with_a_longer_name", i % 37,
                 i % 997, i);
        snprintf(file, sizeof file, "src/storage/part%zu/component_%zu.cpp", i % 37, i % 997);
        uint32_t f = profile_add_function(p, profile_cstr(p, name), profile_cstr(p, name),
                                          profile_cstr(p, file), (int64_t)(i % 900));
        for (int k = 0; k < 2; k++) {
            profile_add_location(p, 0x400000 + i * 256 + (unsigned)k * 16, 1);
            profile_add_line(p, f, (int64_t)(i % 900) + k * 3, 0);
        }
    }
    uint32_t *frames = mem_array(depth + 1, sizeof *frames);
    for (size_t s = 0; s < n_samples; s++) {
        size_t n = depth / 2 + rnd(depth / 2 + 1);
        for (size_t i = 0; i < n; i++) {
            size_t from_root = n - 1 - i;
            uint64_t width = from_root < 6 ? 3 : from_root < 16 ? 60 : p->n_locations;
            frames[i] =
                (uint32_t)((from_root * 131 + rnd(width) * (from_root < 16 ? 7 : 1)) % p->n_locations);
        }
        int64_t count = 1 + (int64_t)rnd(3);
        profile_add_sample(p, frames, n, (int64_t[]){count, count * p->period});
    }
    struct buf plain = {0};
    struct bytes packed;
    format_write_proto(p, &plain);
    pack_gzip(plain.data, plain.len, 6, &packed);
    fwrite(packed.data, 1, packed.len, stdout);
}

static void gen_folded(size_t n_lines, size_t n_bytes, int cpp)
{
    static const char *const words[] = {
        "std::__1::vector<std::pair<std::string const, doris::vectorized::Column>>",
        "starrocks::ChunkAccumulator::push",
        "boost::asio::detail::executor_function::complete<boost::asio::detail::binder1<lambda#1, "
        "boost::system::error_code>>",
        "rocksdb::DBImpl::WriteImpl(rocksdb::WriteOptions const&, rocksdb::WriteBatch*, "
        "rocksdb::WriteCallback*)"};
    size_t per_line = n_bytes / n_lines;
    struct buf out = buf_to_fd(1);
    for (size_t l = 0; l < n_lines; l++) {
        size_t used = 0;
        for (size_t depth = 0; used < per_line; depth++) {
            char frame[256];
            int n = cpp ? snprintf(frame, sizeof frame,
                                   "%s%s::call_%llu(unsigned long, std::shared_ptr<Context> const&)",
                                   depth ? ";" : "", words[rnd(4)],
                                   (unsigned long long)(depth < 8 ? rnd(3) : rnd(40)))
                        : snprintf(frame, sizeof frame, "%sfn_%llu", depth ? ";" : "",
                                   (unsigned long long)(depth < 10 ? depth * 10 + rnd(2) : rnd(5000)));
            buf_add(&out, frame, (size_t)n);
            used += (size_t)n;
        }
        buf_printf(&out, " %llu\n", (unsigned long long)(1 + rnd(100)));
    }
    buf_flush(&out);
}

static void gen_jemalloc(size_t n_stacks)
{
    struct bytes maps;
    struct err err;
    uintptr_t code = (uintptr_t)&gen_jemalloc & ~(uintptr_t)0xfff;
    struct buf out = buf_to_fd(1);
    buf_printf(&out, "heap_v2/524288\n  t*: %zu: %zu [0: 0]\n", n_stacks, n_stacks * 4096);
    for (size_t s = 0; s < n_stacks; s++) {
        buf_str(&out, "@");
        for (size_t i = 0, n = 8 + rnd(16); i < n; i++)
            buf_printf(&out, " %#llx", (unsigned long long)(code - 0x8000 + rnd(0x10000)));
        uint64_t size = 16u << rnd(12), count = 1 + rnd(50);
        buf_printf(&out, "\n  t*: %llu: %llu [0: 0]\n  t0: %llu: %llu [0: 0]\n", (unsigned long long)count,
                   (unsigned long long)(count * size), (unsigned long long)count,
                   (unsigned long long)(count * size));
    }
    buf_str(&out, "\nMAPPED_LIBRARIES:\n");
    if (!file_read("/proc/self/maps", 1 << 24, &maps, &err)) buf_add(&out, maps.data, maps.len);
    buf_flush(&out);
}

int main(int argc, char **argv)
{
    size_t a = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, b = argc > 3 ? strtoull(argv[3], NULL, 10) : 0,
           c = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    if (argc >= 5 && !strcmp(argv[1], "profile")) {
        if (argc == 6) state += strtoull(argv[5], NULL, 10);
        return gen_profile(a, b, c), 0;
    }
    if (argc == 4 && !strcmp(argv[1], "folded-short")) return gen_folded(a, b, 0), 0;
    if (argc == 4 && !strcmp(argv[1], "folded-cpp")) return gen_folded(a, b, 1), 0;
    if (argc == 3 && !strcmp(argv[1], "jemalloc")) return gen_jemalloc(a), 0;
    fprintf(stderr,
            "usage: gen profile SAMPLES DEPTH FUNCTIONS [SEED] | folded-short LINES BYTES | folded-cpp "
            "LINES BYTES | jemalloc STACKS\n");
    return 2;
}
