/* json_in.c - see json_in.h. */
#include "serve/http/json_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

struct text_reader {
    const char *p, *end;
};

static void skip_blanks(struct text_reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r')) r->p++;
}

static bool take(struct text_reader *r, char c)
{
    skip_blanks(r);
    if (r->p == r->end || *r->p != c) return false;
    r->p++;
    return true;
}

static int hex4(struct text_reader *r)
{
    int value = 0;
    if (r->end - r->p < 4) return -1;
    for (int i = 0; i < 4; i++) {
        char c = *r->p++;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

static size_t put_utf8(uint32_t c, char *out)
{
    if (c < 0x80) return out[0] = (char)c, 1;
    if (c < 0x800) return out[0] = (char)(0xc0 | c >> 6), out[1] = (char)(0x80 | (c & 63)), 2;
    if (c < 0x10000)
        return out[0] = (char)(0xe0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 63)),
               out[2] = (char)(0x80 | (c & 63)), 3;
    return out[0] = (char)(0xf0 | c >> 18), out[1] = (char)(0x80 | (c >> 12 & 63)),
           out[2] = (char)(0x80 | (c >> 6 & 63)), out[3] = (char)(0x80 | (c & 63)), 4;
}

static bool read_text(struct text_reader *r, char *out, size_t max)
{
    if (!take(r, '"')) return false;
    size_t n = 0;
    while (r->p < r->end && *r->p != '"') {
        unsigned char c = (unsigned char)*r->p;
        char piece[4];
        size_t n_piece;
        if (c < 32) return false;
        if (c == '\\') {
            r->p++;
            if (r->p == r->end) return false;
            char e = *r->p++;
            static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
            const char *at = strchr(from, e);
            if (e == 'u') {
                int high = hex4(r);
                uint32_t code = (uint32_t)high;
                if (high >= 0xd800 && high < 0xdc00) {
                    if (r->end - r->p < 6 || r->p[0] != '\\' || r->p[1] != 'u') return false;
                    r->p += 2;
                    int low = hex4(r);
                    if (low < 0xdc00 || low >= 0xe000) return false;
                    code = 0x10000 + (((uint32_t)high - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
                } else if (high <= 0 || (high >= 0xdc00 && high < 0xe000)) {
                    return false; /* NUL, a half of a pair, no digits */
                }
                n_piece = put_utf8(code, piece);
            } else if (e && at) {
                piece[0] = to[at - from];
                n_piece = 1;
            } else {
                return false;
            }
        } else {
            n_piece = utf8_sequence_len(r->p, (size_t)(r->end - r->p));
            if (!n_piece) return false;
            memcpy(piece, r->p, n_piece);
            r->p += n_piece;
        }
        if (n + n_piece > max) return false;
        memcpy(out + n, piece, n_piece);
        n += n_piece;
    }
    out[n] = 0;
    return take(r, '"');
}

static bool read_word(struct text_reader *r, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n)) return false;
    r->p += n;
    return true;
}

static bool read_value(struct text_reader *r, struct json_field *f)
{
    skip_blanks(r);
    if (r->p == r->end) return false;
    if (*r->p == '"') {
        f->kind = JSON_TEXT;
        return read_text(r, f->text, JSON_MAX_TEXT);
    }
    if (read_word(r, "true")) return f->kind = JSON_BOOL, f->number = 1, true;
    if (read_word(r, "false")) return f->kind = JSON_BOOL, f->number = 0, true;
    if (read_word(r, "null")) return f->kind = JSON_NULL, true;
    char copy[40], *end;
    size_t n = 0;
    while (r->p + n < r->end && n < sizeof copy - 1 && r->p[n] && strchr("+-.0123456789eE", r->p[n])) n++;
    if (!n) return false;
    memcpy(copy, r->p, n);
    copy[n] = 0;
    f->kind = JSON_NUMBER;
    f->number = strtod(copy, &end);
    r->p += n;
    return !*end && isfinite(f->number);
}

int json_read_object(const char *text, size_t len, struct json_object *o, struct err *err)
{
    struct text_reader r = {text, text + len};
    o->n_fields = 0;
    bool good = text && take(&r, '{');
    if (good && !take(&r, '}')) {
        do {
            struct json_field *f = &o->fields[o->n_fields];
            good = o->n_fields < JSON_MAX_FIELDS && read_text(&r, f->key, sizeof f->key - 1) && take(&r, ':');
            if (!good) break;
            f->number = 0;
            f->text[0] = 0;
            good = read_value(&r, f);
            o->n_fields++;
        } while (good && take(&r, ','));
        good = good && take(&r, '}');
    }
    skip_blanks(&r);
    if (good && r.p == r.end) return 0;
    o->n_fields = 0;
    return err_set(err, ERR_INPUT, "the body must be a JSON object of plain values");
}

static const struct json_field *find(const struct json_object *o, const char *key)
{
    for (size_t i = o->n_fields; i-- > 0;)
        if (!strcmp(o->fields[i].key, key)) return &o->fields[i];
    return NULL;
}

const char *json_text(const struct json_object *o, const char *key)
{
    const struct json_field *f = find(o, key);
    return f && f->kind == JSON_TEXT ? f->text : NULL;
}

bool json_number(const struct json_object *o, const char *key, double *ret_value)
{
    const struct json_field *f = find(o, key);
    if (!f || f->kind != JSON_NUMBER) return false;
    *ret_value = f->number;
    return true;
}

bool json_bool(const struct json_object *o, const char *key, bool *ret_value)
{
    const struct json_field *f = find(o, key);
    if (!f || f->kind != JSON_BOOL) return false;
    *ret_value = f->number != 0;
    return true;
}

bool json_has(const struct json_object *o, const char *key)
{
    return find(o, key) != NULL;
}
