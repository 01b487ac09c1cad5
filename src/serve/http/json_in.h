/* json_in.h - the bodies of POST requests: one JSON object of plain values. Anything deeper is refused. */
#ifndef SERVE_HTTP_JSON_IN_H
#define SERVE_HTTP_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT };

enum { JSON_MAX_FIELDS = 16, JSON_MAX_TEXT = 1024 };

struct json_object {
    struct json_field {
        char key[40];
        enum json_kind kind;
        double number;                /* bool: 0 or 1 */
        char text[JSON_MAX_TEXT + 1]; /* UTF-8, without NUL */
    } fields[JSON_MAX_FIELDS];
    size_t n_fields;
};

int json_read_object(const char *text, size_t len, struct json_object *ret_object, struct err *err);

/* NULL, false: not there, or of another kind. */
const char *json_text(const struct json_object *o, const char *key);
bool json_number(const struct json_object *o, const char *key, double *ret_value);
bool json_bool(const struct json_object *o, const char *key, bool *ret_value);
bool json_has(const struct json_object *o, const char *key);

#endif
