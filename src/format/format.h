/* format.h - bytes of any kind we know, into a profile; and a profile into profile.proto.
 *
 * The content decides what it is, never the name: gzip and zstd are undone first, in a frontend's archive the
 * profile behind the page is taken, then each reader is asked in turn. A reader either says "not mine"
 * without touching anything, or reads the whole input, or says in one sentence what is wrong with it.
 */
#ifndef FORMAT_FORMAT_H
#define FORMAT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "profile/profile.h"

struct format_options {          /* all zero: the defaults */
    size_t max_bytes;            /* unpacked size allowed; 0: FORMAT_MAX_BYTES */
    bool drop_signal_frames;     /* the old CPU readers' heuristic: remove a second frame that (nearly) all
                                    samples share */
    const char *jemalloc_thread; /* NULL: all threads, each sample labelled; "12": only that one */
    bool is_file_mapping; /* data is a read-only mapping of a file: pages may be dropped behind the reader */
    bool jfr_as_recorded; /* one event counts once, with its own bytes or time, not with what it stands for */
    const char *only_type; /* the one sample type that will be looked at, by its name: samples without a value
                              of it may be left out, and so may other types. NULL: all */
    size_t jfr_range_bytes;  /* for tests: a JFR file is read on two threads however small it is, a chunk in
                                ranges of so many bytes; 0: as it is worth it */
    const char **ret_format; /* where to store a short name of what it was ("pprof", "jemalloc heap", ...);
                                may be NULL */
};

#define FORMAT_MAX_BYTES ((size_t)8 << 30)

/* name: the file or URL, for messages ("NAME: reason"). On success *ret_profile is the caller's
 * (profile_free). */
int format_read(const void *data, size_t len, const char *name, const struct format_options *options,
                struct profile **ret_profile, struct err *err);

/* profile.proto, not compressed. */
void format_write_proto(const struct profile *p, struct buf *out);

/* The same as a gzip file (of several members where it is large), made on all cores and put out member by
 * member. level: 1 (fast) to 12. */
void format_write_proto_gzip(const struct profile *p, int level, struct buf *out);

/* ---- for the readers themselves (one file each) ---- */

enum { FORMAT_NOT_MINE = 1 }; /* besides 0 and the negative codes of err.h */

struct format_reader {
    const char *name;
    /* 0, FORMAT_NOT_MINE, or a negative code. data is not compressed. */
    int (*read)(const void *data, size_t len, const struct format_options *options, struct profile *into,
                struct err *err);
};

extern const struct format_reader format_proto;       /* proto_read.c */
extern const struct format_reader format_cpu;         /* cpu.c: gperftools, binary */
extern const struct format_reader format_heap;        /* heap.c: heap text, jemalloc, growth, fragmentation */
extern const struct format_reader format_jfr;         /* jfr.c: Java Flight Recorder */
extern const struct format_reader format_go_count;    /* go_count.c: goroutine, threadcreate in text */
extern const struct format_reader format_threadz;     /* threadz.c */
extern const struct format_reader format_java;        /* java.c: heapz, contentionz of the JVM */
extern const struct format_reader format_contention;  /* contention.c */
extern const struct format_reader format_symbolized;  /* symbolized.c: jeprof --raw */
extern const struct format_reader format_perf_script; /* perf_script.c */
extern const struct format_reader format_folded;      /* folded.c: collapsed stacks */

#endif
