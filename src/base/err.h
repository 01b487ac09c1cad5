/* err.h - how functions report errors.
 *
 * A function that can fail returns 0 or one of the negative codes below. On failure it leaves its results
 * unchanged and writes a sentence for the user into the caller's struct err. This needs no allocation, no
 * global variables, and no errno between folders. err may be NULL. A search that may well find nothing
 * returns that as a value; it returns ERR_NOT_FOUND only if the caller named the thing.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>

enum err_code {
    ERR_INPUT = -1,       /* the bytes, text or arguments given are wrong */
    ERR_LIMIT = -2,       /* larger than a limit of ours */
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

/* Does what err_set does, and appends ": " and the text of errnum, which is a saved errno. */
int err_errno(struct err *err, int errnum, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts the formatted text and ": " before the text in err. Returns err->code. */
int err_prefix(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
