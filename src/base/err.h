/* err.h - how a failure travels.
 *
 * A function that can fail returns 0, or one of the negative codes below, and leaves its results untouched.
 * The sentence for the human goes into the caller's struct err: no allocation, no globals, no errno across
 * folders. A NULL err is fine. "Not found" is a value where it is expected; it is ERR_NOT_FOUND only where
 * the caller named the thing.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>

enum err_code {
    ERR_INPUT = -1,       /* the bytes, text or arguments given are wrong */
    ERR_LIMIT = -2,       /* larger than we are willing to take */
    ERR_IO = -3,          /* the system refused: file, socket, process */
    ERR_NOT_FOUND = -4,   /* the named thing does not exist */
    ERR_UNSUPPORTED = -5, /* valid, but we cannot do it (a missing tool or feature) */
    ERR_TIMEOUT = -6,     /* it took longer than allowed */
    ERR_BUSY = -7,        /* another user or process holds it */
    ERR_DENIED = -8,      /* not allowed */
};

struct err {
    int code;
    char text[400]; /* one line, no final newline: what was wrong, where, what to do */
};

/* Fills err (when not NULL) and returns code, so that `return err_set(...)` reads as one step. */
int err_set(struct err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
int err_setv(struct err *err, int code, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* As err_set, with ": " and the text of errno (saved by the caller) behind it. */
int err_errno(struct err *err, int errnum, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the text that is there; returns err->code. */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
