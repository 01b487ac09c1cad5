/* script.h - the small language of ADMIN EXECUTE: the part of Wren 0.4 that operators use.
 *
 * Expressions, variables, if, while, for, lists, ranges, strings with %(...); System.print and the profiling
 * classes of the host. No classes, functions or fibers of one's own: the scripts are one-liners that press
 * buttons. A script is compiled whole before its first step, its steps, depth and output are bounded, and a
 * failure is no error of the caller: its text goes to the output in Wren's words, because that is what
 * StarRocks' users read.
 */
#ifndef SERVE_SCRIPT_SCRIPT_H
#define SERVE_SCRIPT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define SCRIPT_MAX_OUTPUT_BYTES ((size_t)256 << 20)

enum script_kind {
    SCRIPT_NULL,
    SCRIPT_BOOL,
    SCRIPT_NUM,
    SCRIPT_STRING,
    SCRIPT_LIST,
    SCRIPT_RANGE,
    SCRIPT_CLASS,
    SCRIPT_INSTANCE
};

struct script_list;

struct script_value {
    enum script_kind kind;
    bool b;         /* SCRIPT_BOOL; for a range: its end counts */
    double num, to; /* SCRIPT_NUM; SCRIPT_RANGE: num .. to */
    const char *s;  /* SCRIPT_STRING (NUL-terminated); SCRIPT_CLASS, SCRIPT_INSTANCE: the class's name */
    size_t len;
    struct script_list *list;
};

struct script_list {
    struct script_value *items;
    size_t n_items, cap_items; /* in the arena of the run */
};

struct script_value script_string(struct arena *arena, const char *s, size_t len); /* copies */
struct script_value script_num(double num);
struct script_value script_bool(bool b);
struct script_value script_list(struct arena *arena); /* empty */
void script_list_add(struct arena *arena, struct script_value list, struct script_value item);

enum { SCRIPT_NO_METHOD = 1 };

struct script_host {
    void *context;
    const char *const *classes; /* NULL-ended: names that scripts may use */
    /* A method of class `name` (is_static) or of an instance of it; the method is called with its arguments.
     * 0; SCRIPT_NO_METHOD; or a negative code: err->text becomes the script's runtime error. getter: called
     * without brackets. */
    int (*call)(void *context, const char *name, bool is_static, const char *method, bool getter,
                const struct script_value *args, size_t n_args, struct arena *arena, struct script_value *ret,
                struct err *err);
};

/* Runs it; output and error texts are appended to out. True when it ran to its end. */
bool script_run(const char *source, size_t len, const struct script_host *host, struct buf *out);

#endif
