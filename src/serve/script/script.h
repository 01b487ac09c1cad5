/* script.h - the script language of ADMIN EXECUTE.
 *
 * It is the part of Wren 0.4 that the documented one-liners use: a statement on each line, which is
 * `var name = expression` or an expression; numbers, strings, true, false, null; calls of methods with
 * constant numbers of arguments; a subscript and `count` of a list; System.print, System.write and the
 * classes of the host. Operators, control flow, interpolation, imports and definitions of classes and
 * functions are compile errors that name the unsupported word.
 *
 * The whole script is checked before its first statement runs. There are no loops, so the length of the
 * source bounds the number of steps; memory and output are bounded as well. A script that fails is no error
 * for the caller: the text of the error goes to the output, worded as Wren words it, because StarRocks puts
 * it there too.
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
    SCRIPT_CLASS,
    SCRIPT_INSTANCE
};

struct script_list;

struct script_value {
    enum script_kind kind;
    bool b;        /* SCRIPT_BOOL */
    double num;    /* SCRIPT_NUM */
    const char *s; /* SCRIPT_STRING (NUL-terminated); SCRIPT_CLASS, SCRIPT_INSTANCE: the class's name */
    size_t len;    /* SCRIPT_STRING: without the NUL */
    struct script_list *list;
};

struct script_list {
    struct script_value *items;
    size_t n_items, cap_items; /* items are in the arena of the run */
};

struct script_value script_string(struct arena *arena, const char *s, size_t len); /* copies s */
struct script_value script_num(double num);
struct script_value script_bool(bool b);
struct script_value script_list(struct arena *arena); /* an empty list */
void script_list_add(struct arena *arena, struct script_value list, struct script_value item);

enum { SCRIPT_NO_METHOD = 1 };

struct script_host {
    void *context;
    const char *const *classes; /* NULL-terminated: the class names that scripts may use */
    /* Calls a method of the class `name` (is_static) or of an instance of it. getter is true when the script
     * wrote no parentheses. Returns 0 and fills ret; or SCRIPT_NO_METHOD; or a negative code, and then
     * err->text becomes the runtime error of the script. */
    int (*call)(void *context, const char *name, bool is_static, const char *method, bool getter,
                const struct script_value *args, size_t n_args, struct arena *arena, struct script_value *ret,
                struct err *err);
};

/* Runs the script and appends what it prints, and the text of its errors, to out. Returns true when the
 * script ran to its end. */
bool script_run(const char *source, size_t len, const struct script_host *host, struct buf *out);

#endif
