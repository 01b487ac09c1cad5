/* format.h - reads a profile in any known format and writes profile.proto.
 *
 * The content decides the format; the file's name does not matter. format_read first unpacks gzip and zstd.
 * In the archive of a StarRocks frontend it takes the profile that stands behind the page. It then tries each
 * reader in turn. A reader returns FORMAT_NOT_MINE without touching anything, or reads the whole input, or
 * fails with one sentence that says what is wrong with the input.
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
    bool drop_signal_frames;     /* remove a second frame that (nearly) all samples share, as older CPU
                                    readers do */
    const char *jemalloc_thread; /* NULL: all threads, with a label on each sample; "12": only thread 12 */
    bool
        is_file_mapping; /* data is a read-only mapping of a file, so the reader may drop pages it has read */
    bool jfr_as_recorded;   /* count each event once with its own bytes or time, not with the part of the load
                               it represents */
    const char *only_type;  /* name of the only sample type that the caller will use: the reader may leave out
                               samples without a value of this type, and other types. NULL: all types */
    size_t jfr_range_bytes; /* for tests: read a JFR file on two threads whatever its size, and a chunk in
                               ranges of this many bytes; 0: the reader decides */
    struct err *ret_warning; /* receives the text of a warning about a profile that was read but is not whole;
                                may be NULL, and is left alone when there is nothing to warn about */
    const char *
        *ret_format; /* receives a short name of the format ("pprof", "heap text", ...); may be NULL */
};

#define FORMAT_MAX_BYTES ((size_t)8 << 30)

/* name is the file or URL and stands before the reason in messages. options may be NULL. On success the
 * caller owns *ret_profile (profile_free). */
int format_read(const void *data, size_t len, const char *name, const struct format_options *options,
                struct profile **ret_profile, struct err *err);

/* Appends profile.proto, not compressed. */
void format_write_proto(const struct profile *p, struct buf *out);

/* Appends profile.proto as gzip. A large profile becomes several gzip members, which all cores pack and which
 * are written one after the other. level: 1 (fast) to 12. */
void format_write_proto_gzip(const struct profile *p, int level, struct buf *out);

/* ---- for the readers themselves (one file each) ---- */

enum { FORMAT_NOT_MINE = 1 }; /* besides 0 and the negative codes of err.h */

struct format_reader {
    const char *name;
    /* Returns 0, FORMAT_NOT_MINE, or a negative code of err.h. data is not compressed. */
    int (*read)(const void *data, size_t len, const struct format_options *options, struct profile *into,
                struct err *err);
};

extern const struct format_reader format_proto;       /* proto_read.c */
extern const struct format_reader format_cpu;         /* gperftools_cpu.c: binary CPU profiles */
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
