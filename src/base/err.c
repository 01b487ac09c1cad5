/* err.c - see err.h. */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

int err_setv(struct err *err, int code, const char *format, va_list args)
{
    if (err) {
        err->code = code;
        vsnprintf(err->text, sizeof err->text, format, args);
    }
    return code;
}

int err_set(struct err *err, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_setv(err, code, format, args);
    va_end(args);
    return code;
}

int err_errno(struct err *err, int errnum, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    err_setv(err, ERR_IO, format, args);
    va_end(args);
    if (err) {
        size_t used = strlen(err->text);
        char reason[128];
        snprintf(err->text + used, sizeof err->text - used, ": %s",
                 strerror_r(errnum, reason, sizeof reason));
    }
    return ERR_IO;
}

int err_prefix(struct err *err, const char *format, ...)
{
    if (!err) return ERR_INPUT;
    char prefix[sizeof err->text], text[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    memcpy(text, err->text, sizeof text);
    int used = snprintf(err->text, sizeof err->text, "%s: ", prefix);
    if (used >= 0 && (size_t)used < sizeof err->text)
        snprintf(err->text + used, sizeof err->text - (size_t)used, "%s", text);
    return err->code;
}
