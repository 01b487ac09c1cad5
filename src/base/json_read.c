/* json_read.c - see json_read.h. */
#include "base/json_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rd.h"
#include "base/text.h"
#include "base/utf8.h"

struct json_reader {
    struct rd in;
    struct arena *arena;
    size_t n_values;
    unsigned depth;
    bool too_large; /* in.bad is set because a limit was exceeded */
};

static bool read_value(struct json_reader *r, struct json_value *value);

static bool fail(struct json_reader *r)
{
    r->in.bad = true; /* in.p still points to the error */
    return false;
}

static void skip_blanks(struct rd *in)
{
    while (in->p < in->end && (*in->p == ' ' || *in->p == '\t' || *in->p == '\n' || *in->p == '\r')) in->p++;
}

static bool take(struct json_reader *r, char c)
{
    skip_blanks(&r->in);
    if (r->in.p == r->in.end || *r->in.p != (uint8_t)c) return false;
    r->in.p++;
    return true;
}

static bool take_word(struct json_reader *r, const char *word)
{
    size_t n = strlen(word);
    if (rd_left(&r->in) < n || memcmp(r->in.p, word, n)) return false;
    r->in.p += n;
    return true;
}

/* ---- strings ---- */

/* Reads four hexadecimal digits. Returns -1 if there are fewer. */
static int read_hex4(struct json_reader *r)
{
    int value = 0;
    if (rd_left(&r->in) < 4) return -1;
    for (int i = 0; i < 4; i++) {
        int digit = text_hex_digit((char)*r->in.p++);
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* Decodes what follows "\u". Six or twelve bytes of the text become at most four bytes of UTF-8. */
static bool read_unicode(struct json_reader *r, char **out)
{
    int high = read_hex4(r), low = 0;
    uint32_t code = (uint32_t)high;
    if (high <= 0 || (high >= 0xdc00 && high < 0xe000)) return fail(r); /* NUL or the second half of a pair */
    if (high >= 0xd800 && high < 0xdc00) {
        if (!take_word(r, "\\u") || (low = read_hex4(r)) < 0xdc00 || low >= 0xe000) return fail(r);
        code = 0x10000 + (((uint32_t)high - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
    }
    *out += utf8_encode(code, *out);
    return true;
}

static bool read_escape(struct json_reader *r, char **out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = (char)rd_u8(&r->in);
    const char *at = c ? strchr(from, c) : NULL;
    if (c == 'u') return read_unicode(r, out);
    if (!at) return fail(r);
    *(*out)++ = to[at - from];
    return true;
}

/* The decoded text is never longer than the text between the quotes, so one allocation of that length is
 * enough. */
static bool read_text(struct json_reader *r, char **ret_text)
{
    if (!take(r, '"')) return fail(r);
    const uint8_t *close = r->in.p;
    while (close < r->in.end && *close != '"') close += *close == '\\' && r->in.end - close > 1 ? 2 : 1;
    if (close == r->in.end) return fail(r);
    char *out = *ret_text = arena_alloc(r->arena, (size_t)(close - r->in.p) + 1);
    while (r->in.p < close) {
        if (*r->in.p < 32) return fail(r);
        if (*r->in.p == '\\') {
            r->in.p++;
            if (!read_escape(r, &out)) return false;
            continue;
        }
        size_t n = utf8_sequence_len((const char *)r->in.p, (size_t)(close - r->in.p));
        if (!n) return fail(r);
        memcpy(out, r->in.p, n);
        out += n;
        r->in.p += n;
    }
    *out = '\0';
    return take(r, '"') || fail(r);
}

/* ---- values ---- */

static bool read_number(struct json_reader *r, struct json_value *value)
{
    char copy[64], *end;
    size_t n = 0;
    while (n < rd_left(&r->in) && n < sizeof copy - 1 && r->in.p[n] && strchr("+-.0123456789eE", r->in.p[n]))
        n++;
    memcpy(copy, r->in.p, n);
    copy[n] = '\0';
    value->kind = JSON_NUMBER;
    value->number = strtod(copy, &end);
    if (!n || *end || !isfinite(value->number)) return fail(r);
    r->in.p += n;
    return true;
}

/* The opening bracket has been read. */
static bool read_items(struct json_reader *r, struct json_value *value, char close)
{
    struct json_value **end = &value->items;
    if (++r->depth > JSON_MAX_DEPTH) {
        r->too_large = true;
        return fail(r);
    }
    if (!take(r, close)) {
        do {
            struct json_value *item = *end = arena_zalloc(r->arena, sizeof *item);
            end = &item->next;
            if (value->kind == JSON_OBJECT && (!read_text(r, &item->key) || !take(r, ':'))) return fail(r);
            if (!read_value(r, item)) return false;
        } while (take(r, ','));
        if (!take(r, close)) return fail(r);
    }
    r->depth--;
    return true;
}

static bool read_value(struct json_reader *r, struct json_value *value)
{
    if (++r->n_values > JSON_MAX_VALUES) {
        r->too_large = true;
        return fail(r);
    }
    if (take(r, '{')) {
        value->kind = JSON_OBJECT;
        return read_items(r, value, '}');
    }
    if (take(r, '[')) {
        value->kind = JSON_ARRAY;
        return read_items(r, value, ']');
    }
    if (r->in.p < r->in.end && *r->in.p == '"') {
        value->kind = JSON_TEXT;
        return read_text(r, &value->text);
    }
    bool is_true = take_word(r, "true");
    if (is_true || take_word(r, "false")) {
        value->kind = JSON_BOOL;
        value->number = is_true;
        return true;
    }
    return take_word(r, "null") || read_number(r, value);
}

int json_read(const void *text, size_t len, struct arena *arena, struct json_value **ret_value,
              struct err *err)
{
    struct json_reader r = {.in = rd_over(text, len), .arena = arena};
    const uint8_t *begin = r.in.p;
    struct json_value *value = arena_zalloc(arena, sizeof *value);
    if (read_value(&r, value)) {
        skip_blanks(&r.in);
        if (r.in.p == r.in.end) {
            *ret_value = value;
            return 0;
        }
    }
    if (r.too_large)
        return err_set(err, ERR_LIMIT, "the JSON has more than %d values or more than %d levels",
                       JSON_MAX_VALUES, JSON_MAX_DEPTH);
    return err_set(err, ERR_INPUT, "not JSON from byte %zu on", (size_t)(r.in.p - begin));
}

struct json_value *json_member(const struct json_value *object, const char *key)
{
    struct json_value *found = NULL;
    if (!object || object->kind != JSON_OBJECT) return NULL;
    for (struct json_value *item = object->items; item; item = item->next)
        if (!strcmp(item->key, key)) found = item;
    return found;
}

char *json_text(const struct json_value *object, const char *key)
{
    struct json_value *member = json_member(object, key);
    return member ? member->text : NULL;
}

bool json_number(const struct json_value *object, const char *key, double *ret_value)
{
    const struct json_value *member = json_member(object, key);
    if (!member || member->kind != JSON_NUMBER) return false;
    *ret_value = member->number;
    return true;
}

bool json_bool(const struct json_value *object, const char *key, bool *ret_value)
{
    const struct json_value *member = json_member(object, key);
    if (!member || member->kind != JSON_BOOL) return false;
    *ret_value = member->number != 0;
    return true;
}
