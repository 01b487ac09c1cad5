/* The old formats of pprof, jemalloc and brpc: small good inputs with what they must become, and absurd ones
 * with what must be said. */
#include "../t.h"
#include "show.h"

struct text_case {
    const char *input, *want;
};

static void run_table(const struct text_case *cases, size_t n, const struct format_options *options)
{
    struct buf out = {0};
    for (size_t i = 0; i < n; i++) {
        const char *got = show_read(cases[i].input, strlen(cases[i].input), options, &out);
        if (strcmp(got, cases[i].want))
            T_FAIL("case %zu:\n#   input %.60s\n#   got   %s\n#   want  %s", i, cases[i].input, got,
                   cases[i].want);
    }
    buf_free(&out);
}
#define RUN(cases, options) run_table(cases, sizeof cases / sizeof *cases, options)

#define ANY "0-ffffffffffffffff+0 "

TEST(heap_text)
{
    static const struct text_case cases[] = {
        {"heap profile: 1: 2 [ 1: 2] @ heapprofile\n 1: 2 [ 1: 2] @ 0x10 0x20\n\nMAPPED_LIBRARIES:\n"
         "0000-1000 r-xp 00000000 08:01 12 /bin/x y (deleted)\n2000-3000 rw-p 0 08:01 12 /bin/x\n",
         "objects/count space/bytes|1|1,2@f 1f{bytes=2}|0-1000+0 /bin/x y"},
        {"heap profile: 3: 300 [5: 900] @ heap_v2/1\n3: 300 [5: 900] @ 0x10\n",
         "alloc_objects/count alloc_space/bytes inuse_objects/count "
         "inuse_space/bytes|1|5,900,3,300@f{bytes=100}|" ANY},
        {"heap profile: 1: 1000 [1: 1000] @ heap_v2/524288\n1: 1000 [1: 1000] @ 0x10\n",
         "objects/count space/bytes|524288|524,524788@f{bytes=1000}|" ANY},
        {"heap profile: 1: 1000 [1: 1000] @ heap/1048576\n1: 1000 [1: 1000] @ 0x10\n",
         "objects/count space/bytes|524288|524,524788@f{bytes=1000}|" ANY},
        {"heap profile: 1: 1000 [1: 1000] @ heapz_v2/0\n1: 1000 [1: 1000] @ 0x10\n",
         "objects/count space/bytes|0|1,1000@f{bytes=1000}|" ANY},
        {"%warn sampled\nheap profile: 1: 5 [0: 0] @ growthz\n -1: -5 [0: 0] @ 0x10\n# comment\n",
         "objects/count space/bytes|1|-1,-5@f{bytes=5}|" ANY},
        {"heap profile: 1: 5 [0: 0] @ fragmentation\n", "objects/count space/bytes|1||"},
        {"heap profile: 0: 9 [ 0: 0] @ heap_v2/512\n 0: 9 [ 0: 0] @ 0x10\n",
         "objects/count space/bytes|512|0,9@f{bytes=0}|" ANY},
        {"heap profile: 1: 2 [ 1: 2]\n 1: 2 [ 1: 2] @ 0x10\n",
         "objects/count space/bytes|0|1,2@f{bytes=2}|" ANY},
        {"heap profile: 1: 2 [1: 2] @ heapprofile\r\n1: 2 [1: 2] @\r\n",
         "objects/count space/bytes|1|1,2@{bytes=2}|"},
        /* absurd */
        {"heap profile: 1: 2 [1: 2] @ heaproad\n",
         "error: line 1: a heap profile of the kind \"heaproad\" is not known"},
        {"heap profile: 1: 2 [1: 2] @ heap_v2/1\nhello\n",
         "error: line 2: not a record of a heap profile: \"hello\""},
        {"heap profile: 1: 2 [1: 2] @ heap_v2/1\n99999999999999999999: 1 [1: 1] @ 0x1\n",
         "error: line 2: a number that does not fit in 64 bits: \"99999999999999999999: 1 [1: 1] @ 0x1\""},
        {"heap profile: 1: 2 [1: 2] @ heap_v2/1\n1: 1 [1: 1] @ 0x11112222333344445\n",
         "error: line 2: a number that does not fit in 64 bits: \"1: 1 [1: 1] @ 0x11112222333344445\""},
        {"heap profile: 1: 2 [1: 2] @ heap_v2/99999999999999999999\n",
         "error: line 1: the sampling rate does not fit in 64 bits"},
        {"heap profile: 1: 2 [1: 2] @ heap_v2/4\n9223372036854775807: 1 [0: 0] @ 0x1\n",
         "objects/count space/bytes|4|9223372036854775807,9223372036854775807@0{bytes=0}|"},
    };
    RUN(cases, NULL);
}

TEST(jemalloc_threads)
{
    static const char dump[] =
        "heap_v2/524288\n"
        "  t*: 3: 3000 [0: 0]\n  t0: 2: 2000 [0: 0] main\n  t7: 1: 1000 [0: 0] pool worker\n  t9: 0: 0 [0: "
        "0]\n"
        "@ 0x10 0x20\n  t*: 3: 3000 [0: 0]\n  t0: 2: 2000 [0: 0]\n  t7: 1: 1000 [0: 0]\n"
        "@ 0x10 0x30\n  t*: 1: 8 [0: 0]\n"
        "@ 0x40\n  t*: 0: 8 [0: 0]\n  t9: 0: 8 [0: 0]\n"
        "\nMAPPED_LIBRARIES:\n1-100 r-xp 0 0:0 0 /x\n";
    static const struct text_case all[] = {
        {dump, "inuse_objects/count inuse_space/bytes|524288|"
               "1050,1049576@f 1f{bytes=1000,thread=main,thread_id=0};524,524788@f 1f{bytes=1000,thread=pool "
               "worker,thread_id=7};"
               "65536,524292@f 2f{bytes=8};0,8@3f{bytes=0,thread=9,thread_id=9}|1-100+0 /x"},
        {"heap_v2/1\n t*: 1: 2 [3: 4]\n@ 0x9\n t*: 1: 2 [3: 4]\n t1: 1: 2 [3: 4]\n",
         "alloc_objects/count alloc_space/bytes inuse_objects/count "
         "inuse_space/bytes|1|3,4,1,2@8{bytes=2,thread=1,thread_id=1}|" ANY},
        {"heap_v2/\n", "error: line 1: no sampling rate after \"heap_v2/\""},
        {"heap_v2/12\n@ 0x1\n  x\n", "error: line 3: not a record of a jemalloc heap profile: \"  x\""},
        {"heap_v2/12\n", "inuse_objects/count inuse_space/bytes|12||"},
    };
    RUN(all, NULL);
    static const struct text_case one[] = {
        {dump, "inuse_objects/count inuse_space/bytes|524288|524,524788@f 1f{bytes=1000,thread=pool "
               "worker,thread_id=7}|1-100+0 /x"}};
    RUN(one, &(struct format_options){.jemalloc_thread = "7"});
    static const struct text_case bad[] = {{dump, "error: \"seven\" is not a thread number"}};
    RUN(bad, &(struct format_options){.jemalloc_thread = "seven"});
}

TEST(a_heap_dump_that_lost_its_end_is_read_with_a_warning)
{
    static const struct {
        const char *text;
        bool is_cut_off;
    } cases[] = {
        {"heap_v2/1\n  t*: 2: 300 [0: 0]\n@ 0x10\n  t*: 1: 200 [0: 0]\n@ 0x20\n  t*: 1: 100 [0: 0]\n", false},
        {"heap_v2/1\n  t*: 2: 300 [0: 0]\n@ 0x10\n  t*: 1: 200 [0: 0]\n", true},
        {"heap_v2/1\n  t*: 2: 300 [0: 0]\n@ 0x10\n  t*: 1: 299 [0: 0]\n", false}, /* rounded */
        {"heap_v2/1\n  t*: 2: 300 [0: 0]\n@ 0x10\n  t*: 1: 200 [0: 0]\n\nMAPPED_LIBRARIES:\n"
         "400000-401000 r-xp 0 00:00 0 /bin/x\n",
         false},
        {"heap profile: 2: 300 [2: 300] @ heapprofile\n1: 200 [1: 200] @ 0x10\n", true},
        {"heap profile: 2: 300 [2: 300] @ growthz\n1: 200 [1: 200] @ 0x10\n", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0}, warning = {0};
        struct format_options options = {.ret_warning = &warning};
        struct profile *p;
        REQUIRE(format_read(cases[i].text, strlen(cases[i].text), NULL, &options, &p, &err) == 0);
        if (cases[i].is_cut_off != (strstr(warning.text, "ends early") != NULL))
            T_FAIL("case %zu: \"%s\"", i, warning.text);
        profile_free(p);
    }
}

TEST(contention)
{
    static const struct text_case cases[] = {
        {"--- contentionz 1 ---\ncycles/second = 2000000000\nsampling period = 100\nms since reset = "
         "10\ndiscarded samples = 0\n"
         "  200 3 @ 0x10 0x20\n--- Memory map: ---\n  1-100: bin\n",
         "contentions/count delay/nanoseconds|100|300,10000@f 1f|1-100+0 bin"},
        /* brpc: no marker before the map */
        {"--- contention\ncycles/second=1000000000\n 500 2 @ 0x10\n00001-00100 r-xp 00000000 08:01 7  "
         "/b/palo_be\n00100-00200 rw-p 0 08:01 7 /b\n",
         "contentions/count delay/nanoseconds|1|2,500@f|1-100+0 /b/palo_be"},
        {"--- mutex:\ncycles/second=1000000000\nsampling period=5\n 10 1 @ "
         "0x10\n#\t0xf\tmain.f+0x1\t/x.go:3\n",
         "contentions/count delay/nanoseconds|5|5,50@f|" ANY},
        {"--- contention:\n 10 1 @ 0x10\n", "contentions/count delay/nanoseconds|1|1,10@f|" ANY},
        {"--- Stacks:\n 10 @ 0x10\nslow release thread 5  @ 0x1\n",
         "contentions/count delay/nanoseconds|1|1,10@f|" ANY},
        {"--- contentionz 1 ---\nsampling period = 9223372036854775807\n 9 9 @ 0x10\n",
         "contentions/count delay/nanoseconds|9223372036854775807|9223372036854775807,9@f|" ANY},
        {"--- contentionz 1 ---\n10 1 0x10\n",
         "error: line 2: not a record of a contention profile: \"10 1 0x10\""},
        {"--- contentionz 1 ---\ncycles/second = many\n",
         "error: line 2: not a record of a contention profile: \"cycles/second = many\""},
    };
    RUN(cases, NULL);
}

TEST(threadz_and_go)
{
    static const struct text_case cases[] = {
        {"--- threadz 1 ---\n\n--- Thread 7f (name: main/1) stack: ---\n  PC: 0x10 0x10: f(int)\n  0x21: g\n"
         "--- Thread 8f (name: x/2) stack: ---\n [same as previous thread]\n---- no stack trace for 5\n--- "
         "Memory map: ---\n 1-100: a\n",
         "thread/count|1|2@10 20|1-100+0 a"},
        {"--- Thread 7f (name: main/1) stack: ---\n 0x10\n", "thread/count|1|1@10|" ANY},
        {"--- threadz 1 ---\n--- Threads 5\n",
         "error: line 2: not the head of a thread's stack: \"--- Threads 5\""},
        {"--- threadz 1 ---\n", "thread/count|1||"},
        {"# hi\ngoroutine profile: total 3\n2 @ 0x10 0x20\n#\t0xf\tmain.f\n\n1 @ 0x30\n",
         "goroutine/count|1|2@f 1f;1@2f|" ANY},
        {"threadcreate profile: total 1\n1 @\n--- x\nMAPPED_LIBRARIES:\n1-2: a\n",
         "threadcreate/count|1|1@|1-2+0 a"},
        {"threadcreate profile: total 1\nx @ 0x1\n",
         "error: line 2: not a record of a Go count profile: \"x @ 0x1\""},
        {"goroutine profile: total x\n", "error: unrecognized profile format"},
    };
    RUN(cases, NULL);
}

TEST(java_text)
{
    static const struct text_case cases[] = {
        {"--- heapz 1 ---\nformat = java\nresolution = bytes\n  1000 1 @ 0x1 0x2 0x3 0x4 0x5\n"
         " 0x1 a.B.c (B.java:12)\n 0x2 lib (/x/libjvm.so)\n 0x3 generated stub/JIT\n 0x4 GC\n 0x9 unused\n",
         "inuse_objects/count inuse_space/bytes|0|524,524788@a.B.c(B.java:12) lib(libjvm.so:0) STUB GC "
         "0{bytes=1000}|" ANY},
        {"--- contentionz 1 ---\nformat = java\nresolution = microseconds\nsampling period = 10\nms since "
         "reset = 5\n 7 2 @ 0x1\n0x1 f (F.java:-1)\n",
         "contentions/count delay/microseconds|10|20,70@f(F.java:0)|"},
        {"--- heapz 1 ---\nformat = java\nresolution = bytes\n 10 0 @ 0x1\n",
         "error: line 4: a record of no objects: \" 10 0 @ 0x1\""},
        {"--- heapz 1 ---\nformat = cobol\n", "error: unrecognized profile format"},
    };
    RUN(cases, NULL);
}

TEST(symbolized)
{
    static const struct text_case cases[] = {
        {"--- symbol\nbinary=/bin/prog\n0x0000000000000010 leaf\n0x000000000000001f outer--inner\n---\n--- "
         "heap\n"
         "heap profile: 1: 2 [1: 2] @ heapprofile\n1: 2 [1: 2] @ 0x10 0x20\n",
         "objects/count space/bytes|1|1,2@leaf inner<outer{bytes=2}|0-ffffffffffffffff+0 /bin/prog"},
        {"--- symbol\n0xf a\n---\n--- contention\n--- contentionz 1 ---\n 5 1 @ 0x10\n",
         "contentions/count delay/nanoseconds|1|1,5@a|" ANY},
        {"--- symbol\n---\nnothing\n", "error: there is no profile we know after the list of symbols"},
        {"--- symbol\n", "error: there is no profile we know after the list of symbols"},
    };
    RUN(cases, NULL);
}

/* ---- the binary one, in its four layouts ---- */

static size_t put_words(unsigned char *to, unsigned word_bytes, int big, const unsigned long long *words,
                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (unsigned b = 0; b < word_bytes; b++)
            to[i * word_bytes + (big ? word_bytes - 1 - b : b)] = (unsigned char)(words[i] >> (8 * b));
    return n * word_bytes;
}

TEST(cpu_binary)
{
    static const unsigned long long words[] = {0, 3,    0,    10000, 0, 1,    3,    0x10, 0x21, 0x31, 2,
                                               2, 0x11, 0x21, 1,     2, 0x12, 0x12, 0,    1,    0};
    static const char maps[] = "1-100 r-xp 0 0:0 0 /bin/a\n";
    unsigned char data[512];
    struct buf out = {0};
    for (int layout = 0; layout < 4; layout++) {
        size_t n = put_words(data, layout < 2 ? 4 : 8, layout & 1, words, sizeof words / sizeof *words);
        memcpy(data + n, maps, sizeof maps - 1);
        CHECK_STR(show_read(data, n + sizeof maps - 1, NULL, &out),
                  "samples/count cpu/nanoseconds|10000000|1,10000000@10 20 30;2,20000000@11 "
                  "20;1,10000000@12|1-100+0 /bin/a");
        for (size_t cut = 1; cut < n; cut++) { /* every truncation: a message or fewer samples, never more */
            const char *got = show_read(data, cut, NULL, &out);
            CHECK(!strncmp(got, "error: ", 7) || strlen(got) < 150);
        }
    }
    buf_free(&out);
}

TEST(cpu_binary_absurd)
{
    static const struct {
        unsigned long long words[10];
        size_t n;
        const char *want;
    } cases[] = {
        {{0, 3, 0, 1, 0, 1ull << 60, 1, 5},
         8,
         "error: sample 1: a count of 1152921504606846976 is more than a profile can hold"},
        {{0, 3, 0, 1, 0, 1, 1ull << 60, 5},
         8,
         "error: the CPU profile is cut off or damaged: the record at byte 40 does not fit in the file"},
        {{0, 3, 0, 1ull << 62, 0, 1, 1, 5},
         8,
         "error: a sampling period of 4611686018427387904 us is not believable"},
        {{0, 3, 0, 0, 0, 1, 1, 5}, 8, "error: unrecognized profile format"},
        {{0, 3, 0, 1, 0}, 5, "samples/count cpu/nanoseconds|1000||"},
        {{0, 3, 0, 1, 0, 1, 0, 0, 1, 0}, 10, "samples/count cpu/nanoseconds|1000|1,1000@|"},
    };
    unsigned char data[512];
    struct buf out = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = put_words(data, 8, 0, cases[i].words, cases[i].n);
        CHECK_STR(show_read(data, n, NULL, &out), cases[i].want);
    }
    buf_free(&out);
}

TEST(cpu_signal_frames_stay_unless_asked_for)
{
    static const unsigned long long words[] = {0,    3, 0, 1,    0,    1,    4,    0x10, 0x55, 0x66,
                                               0x31, 1, 4, 0x11, 0x55, 0x66, 0x41, 0,    1,    0};
    unsigned char data[512];
    struct buf out = {0};
    size_t n = put_words(data, 8, 0, words, sizeof words / sizeof *words);
    CHECK_STR(show_read(data, n, NULL, &out),
              "samples/count cpu/nanoseconds|1000|1,1000@10 54 65 30;1,1000@11 54 65 40|" ANY);
    CHECK_STR(show_read(data, n, &(struct format_options){.drop_signal_frames = true}, &out),
              "samples/count cpu/nanoseconds|1000|1,1000@10 30;1,1000@11 40|" ANY);
    buf_free(&out);
}

TEST(cpu_java)
{
    static const unsigned long long words[] = {0, 3, 1, 1, 0, 1, 2, 0x10, 0x20, 0, 1, 0};
    static const char names[] = " 0x10 A.f (A.java:3)\n 0x20 GC\n";
    unsigned char data[512];
    struct buf out = {0};
    size_t n = put_words(data, 8, 0, words, sizeof words / sizeof *words);
    memcpy(data + n, names, sizeof names - 1);
    CHECK_STR(show_read(data, n + sizeof names - 1, NULL, &out),
              "samples/count cpu/nanoseconds|1000|1,1000@A.f(A.java:3) GC|");
    buf_free(&out);
}

TEST_MAIN()
