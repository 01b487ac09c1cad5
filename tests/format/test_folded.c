/* Collapsed stacks and perf script. */
#include "format/folded.h"

#include "../t.h"
#include "base/mem.h"
#include "show.h"

static void check(const char *input, const char *want)
{
    struct buf out = {0};
    CHECK_STR(show_read(input, strlen(input), NULL, &out), want);
    buf_free(&out);
}

TEST(folded)
{
    check("main;f;g 3\nmain;f 2\n", "samples/count|0|3@g f main;2@f main|");
    check("# c\n\nmain;a b;c(d, e) 1.6\r\nmain;a b;c(d, e) 2",
          "samples/count|0|2@c(d, e) a b main;2@c(d, e) a b main|");
    check("a;b 1\na;bc 1\na 1\n;;x; 4\n", "samples/count|0|1@b a;1@bc a;1@a;4@x|");
    check("one 1\ntwo 2\n", "samples/count|0|1@one;2@two|");
    check("a;b 1\nhello\n", "error: line 2: not a stack and a number: \"hello\"");
    check("a;b 99999999999999999999\n", "error: unrecognized profile format");
    check("error 500\n", "error: unrecognized profile format");
    check("Internal Server Error\n", "error: unrecognized profile format");
    check("a;b 1\na;b 1.2.3\n", "error: line 2: not a stack and a number: \"a;b 1.2.3\"");
    check("a;b 9223372036854775807\n", "samples/count|0|9223372036854775807@b a|");
}

TEST(frames_taken_over_from_the_line_before)
{
    check("a;b;c 1\na;b;c 2\na;b 3\na;b;c;d 4\na;bb;c 5\nb;c 6\n",
          "samples/count|0|1@c b a;2@c b a;3@b a;4@d c b a;5@c bb a;6@c b|");
}

TEST(perf_script)
{
    check("java 12/34 [001] 5.25:  250000 cpu-clock:pppH: \n\t  7f10 f(int) const+0x1a (/lib/x.so)\n\t 401 "
          "main+0x0 (/bin/a)\n\n"
          "my prog 7  12 [000] 6.5: 250000 cpu-clock:pppH:\n\t ffff9 [unknown] ([kernel.kallsyms])\n\t 20 "
          "inl (inlined)\n\n",
          "samples/count cpu/nanoseconds|250000|1,250000@f(int) const main{thread=java,pid=12,tid=34};"
          "1,250000@ffff9 inl{thread=my prog 7,pid=12}|0-0+0 /lib/x.so;0-0+0 /bin/a;0-0+0 [kernel.kallsyms]");
    check("# cmdline\nswapper     0 [002] 1.0: cycles:u:  ffff81 native+0x6 ([kernel])\nswapper 0 1.5: "
          "sched:sched_switch: ffff81 native+0x7 ([kernel])\n",
          "samples/"
          "count|0|1@native{thread=swapper,pid=0};1@native{thread=swapper,pid=0,event=sched:sched_switch}|0-"
          "0+0 [kernel]");
    check("a 1 1.0: cycles:\n  zz\n", "error: line 2: not a frame of perf script: \"  zz\"");
    check("a 1 1.0: cycles:\nb\n", "error: line 2: neither an event nor a frame of perf script: \"b\"");
}

TEST_MAIN()
