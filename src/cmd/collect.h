/* collect.h - the parts of `procprof collect`: each parses its own options and has its own --help. */
#ifndef CMD_COLLECT_H
#define CMD_COLLECT_H

int collect_jvm_run(int argc, char **argv); /* collect_jvm.c: --jvm */

/* collect_be.c: profiling endpoints of native servers. */
__attribute__((weak)) int collect_be_run(int argc, char **argv);

#endif
