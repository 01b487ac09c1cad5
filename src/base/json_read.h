/* json_read.h - reads JSON that another program sent: bodies of requests, answers of nodes.
 *
 * The whole text becomes a tree in the caller's arena. Depth and number of values are bounded, so the memory
 * is bounded by the length of the text plus a constant. The text is what RFC 8259 describes, with two
 * differences: a string must not contain the NUL character, and a number may be written in any decimal form
 * that strtod understands. */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum { JSON_MAX_DEPTH = 16, JSON_MAX_VALUES = 1 << 18 };

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_ARRAY, JSON_OBJECT };

struct json_value {
    enum json_kind kind;
    double number;            /* JSON_NUMBER; JSON_BOOL: 0 or 1 */
    char *text;               /* JSON_TEXT: valid UTF-8, NUL-terminated; else NULL */
    char *key;                /* of a member of an object; else NULL */
    struct json_value *items; /* JSON_ARRAY, JSON_OBJECT: the first item; NULL when there is none */
    struct json_value *next;  /* the next item of the same array or object, in the order of the text */
};

/* Returns ERR_INPUT, with the position of the fault, when the text is not one JSON value; ERR_LIMIT when it
 * is nested too deeply or has too many values. */
int json_read(const void *text, size_t len, struct arena *arena, struct json_value **ret_value,
              struct err *err);

/* The member of that name, the last one when there are several. NULL when there is none, and when object is
 * NULL or not an object. */
struct json_value *json_member(const struct json_value *object, const char *key);

/* The value of a member of that kind. NULL or false when there is no such member or it is of another kind. */
char *json_text(const struct json_value *object, const char *key);
bool json_number(const struct json_value *object, const char *key, double *ret_value);
bool json_bool(const struct json_value *object, const char *key, bool *ret_value);

#endif
