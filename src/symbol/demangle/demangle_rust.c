/* demangle_rust.c - demangles both kinds of Rust names: the legacy kind (C++-like paths that end in a hash)
 * and v0 (RFC 2603). */
#include "symbol/demangle/demangle.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Returns the length of the name without the ".llvm.<hex>" that the compiler adds. */
static size_t without_suffix(const char *name, size_t n)
{
    const char *dot = memmem(name, n, ".llvm.", 6);
    return dot ? (size_t)(dot - name) : n;
}

/* ---- the old mangling ---- */

static const struct {
    char code[4], text;
} escapes[] = {{"SP", '@'}, {"BP", '*'}, {"RF", '&'}, {"LT", '<'},
               {"GT", '>'}, {"LP", '('}, {"RP", ')'}, {"C", ','}};

/* Appends the character of the escape at p ("$LT$"). Returns the length of the escape, or 0 if there is none.
 */
static size_t add_escape(struct buf *out, const char *p, size_t n)
{
    const char *end = n > 1 ? memchr(p + 1, '$', n - 1) : NULL;
    if (!end) return 0;
    size_t len = (size_t)(end - p) - 1;
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
        if (strlen(escapes[i].code) == len && !memcmp(escapes[i].code, p + 1, len)) {
            buf_char(out, escapes[i].text);
            return len + 2;
        }
    if (len < 2 || len > 7 || p[1] != 'u') return 0;
    uint32_t c = 0;
    for (size_t i = 2; i <= len; i++) {
        if (!is_hex(p[i])) return 0;
        c = c << 4 | (uint32_t)(p[i] <= '9' ? p[i] - '0' : p[i] - 'a' + 10);
    }
    if (c < 32 || c == 127 || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
    buf_utf8(out, c);
    return len + 2;
}

static void add_legacy_part(struct buf *out, const char *p, size_t n)
{
    if (n > 1 && p[0] == '_' && p[1] == '$') p++, n--;
    while (n) {
        size_t used = 0;
        if (*p == '$') used = add_escape(out, p, n);
        if (!used && n > 1 && p[0] == '.' && p[1] == '.') {
            buf_add(out, "::", 2);
            used = 2;
        }
        if (!used) {
            buf_char(out, *p);
            used = 1;
        }
        p += used;
        n -= used;
    }
}

bool demangle_rust_legacy(const char *name, size_t n, struct buf *out)
{
    n = without_suffix(name, n);
    if (n < 3 + 19 + 1 || memcmp(name, "_ZN", 3)) return false;
    const char *p = name + 3, *end = name + n, *hash = NULL;
    /* The first pass only checks, so that nothing is written for a C++ name. The second pass writes. */
    for (int pass = 0; pass < 2; pass++) {
        bool first = true;
        for (p = name + 3; p < end && *p >= '1' && *p <= '9';) {
            size_t len = 0;
            while (p < end && *p >= '0' && *p <= '9' && len < 100000) len = len * 10 + (size_t)(*p++ - '0');
            if (len > (size_t)(end - p)) return false;
            if (pass == 1 && p != hash) {
                if (!first) buf_add(out, "::", 2);
                first = false;
                add_legacy_part(out, p, len);
            }
            if (pass == 0) hash = len == 17 && *p == 'h' ? p : NULL;
            p += len;
        }
        if (pass == 0) {
            if (!hash || p >= end || *p != 'E') return false;
            unsigned seen = 0;
            for (int i = 1; i < 17; i++) {
                if (!is_hex(hash[i])) return false;
                seen |= 1u << (hash[i] <= '9' ? hash[i] - '0' : hash[i] - 'a' + 10);
            }
            if (__builtin_popcount(seen) < 5) return false; /* a real hash has more different digits */
            if (p + 1 < end && p[1] != '.') return false;
        }
    }
    return true;
}

/* ---- v0 ---- */

struct v0 {
    const char *s; /* behind "_R" */
    size_t n, at;
    struct buf *out;
    size_t start_len;
    bool bad, silent; /* silent: parse without printing, as for the instantiating crate */
    int depth;
    uint64_t n_lifetimes;
    unsigned steps; /* counted and limited, because back references may multiply the work */
};

static void v0_path(struct v0 *v, bool in_value);
static void v0_type(struct v0 *v);
static void v0_const(struct v0 *v, bool in_value);

static char v0_peek(const struct v0 *v)
{
    return v->at < v->n ? v->s[v->at] : '\0';
}

static char v0_next(struct v0 *v)
{
    if (v->at < v->n && !v->bad) return v->s[v->at++];
    v->bad = true;
    return '\0';
}

static bool v0_eat(struct v0 *v, char c)
{
    if (v->bad || v0_peek(v) != c) return false;
    v->at++;
    return true;
}

static void v0_text(struct v0 *v, const char *text)
{
    if (v->silent || v->bad) return;
    buf_str(v->out, text);
    if (v->out->len - v->start_len > DEMANGLE_MAX_OUTPUT) v->bad = true;
}

static bool v0_enter(struct v0 *v)
{
    if (++v->depth > 200 || ++v->steps > 200000) v->bad = true;
    return !v->bad;
}

/* Reads a number: "_" is 0; otherwise it is the value of base-62 digits, ended by "_", plus 1. */
static uint64_t v0_base62(struct v0 *v)
{
    if (v0_eat(v, '_')) return 0;
    uint64_t x = 0;
    for (;;) {
        char c = v0_next(v);
        if (c == '_') break;
        unsigned digit;
        if (c >= '0' && c <= '9')
            digit = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'z')
            digit = (unsigned)(c - 'a') + 10;
        else if (c >= 'A' && c <= 'Z')
            digit = (unsigned)(c - 'A') + 36;
        else {
            v->bad = true;
            return 0;
        }
        if (x > (UINT64_MAX - digit) / 62) {
            v->bad = true;
            return 0;
        }
        x = x * 62 + digit;
    }
    return x + 1;
}

static uint64_t v0_optional_base62(struct v0 *v, char tag)
{
    return v0_eat(v, tag) ? v0_base62(v) + 1 : 0;
}

struct v0_ident {
    const char *s;
    size_t n;
    bool punycode;
};

static struct v0_ident v0_identifier(struct v0 *v)
{
    struct v0_ident id = {.punycode = v0_eat(v, 'u')};
    size_t len = 0;
    if (!(v0_peek(v) >= '0' && v0_peek(v) <= '9')) v->bad = true;
    if (v0_eat(v, '0')) {
        len = 0;
    } else {
        while (v0_peek(v) >= '0' && v0_peek(v) <= '9' && len < DEMANGLE_MAX_INPUT)
            len = len * 10 + (size_t)(v0_next(v) - '0');
    }
    v0_eat(v, '_');
    if (v->bad || len > v->n - v->at) {
        v->bad = true;
        return (struct v0_ident){.s = ""};
    }
    id.s = v->s + v->at;
    id.n = len;
    v->at += len;
    return id;
}

/* Decodes punycode (RFC 3492, section 6.2) in which '_' replaces '-'. */
static bool v0_punycode(struct v0_ident id, struct buf *out)
{
    enum { MAX = 256 };
    uint32_t text[MAX];
    size_t n = 0, at = 0;
    for (size_t i = id.n; i-- > 0;)
        if (id.s[i] == '_') {
            for (; at < i; at++) {
                if (n == MAX) return false;
                text[n++] = (uint8_t)id.s[at];
            }
            at++;
            break;
        }
    uint32_t c = 0x80, bias = 72, i = 0, damp = 700;
    while (at < id.n) {
        uint32_t old = i, w = 1;
        for (uint32_t k = 36;; k += 36) {
            if (at >= id.n) return false;
            char d = id.s[at++];
            uint32_t digit = d >= 'a' && d <= 'z'   ? (uint32_t)(d - 'a')
                             : d >= '0' && d <= '9' ? (uint32_t)(d - '0') + 26
                                                    : 99;
            if (digit >= 36 || digit > (UINT32_MAX - i) / w) return false;
            i += digit * w;
            uint32_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
            if (digit < t) break;
            if (w > UINT32_MAX / (36 - t)) return false;
            w *= 36 - t;
        }
        if (n == MAX) return false;
        n++;
        uint32_t delta = (i - old) / damp;
        damp = 2;
        delta += delta / (uint32_t)n;
        uint32_t k = 0;
        for (; delta > 35 * 26 / 2; k += 36) delta /= 35;
        bias = k + 36 * delta / (delta + 38);
        c += i / (uint32_t)n;
        i %= (uint32_t)n;
        if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return false;
        memmove(text + i + 1, text + i, (n - 1 - i) * sizeof *text);
        text[i++] = c;
    }
    for (size_t j = 0; j < n; j++) buf_utf8(out, text[j]);
    return true;
}

static void v0_print_ident(struct v0 *v, struct v0_ident id)
{
    if (v->silent || v->bad) return;
    if (!id.punycode) {
        buf_add(v->out, id.s, id.n);
        return;
    }
    size_t before = v->out->len;
    if (v0_punycode(id, v->out)) return;
    v->out->len = before;
    buf_str(v->out, "punycode{");
    buf_add(v->out, id.s, id.n);
    buf_char(v->out, '}');
}

/* Follows a back reference: runs parse at an earlier position of the name. */
static void v0_back(struct v0 *v, void (*parse)(struct v0 *, bool), bool in_value)
{
    size_t tag_at = v->at - 1;
    uint64_t target = v0_base62(v);
    if (v->bad || target >= tag_at) {
        v->bad = true;
        return;
    }
    if (v->silent) return;
    size_t saved = v->at;
    v->at = (size_t)target;
    parse(v, in_value);
    v->at = saved;
}

static void v0_type_at(struct v0 *v, bool unused)
{
    (void)unused;
    v0_type(v);
}

static void v0_lifetime(struct v0 *v, uint64_t index)
{
    v0_text(v, "'");
    if (index == 0) {
        v0_text(v, "_");
        return;
    }
    if (index > v->n_lifetimes) {
        v->bad = true;
        return;
    }
    uint64_t depth = v->n_lifetimes - index;
    if (v->silent || v->bad) return;
    if (depth < 26)
        buf_char(v->out, (char)('a' + depth));
    else
        buf_printf(v->out, "_%llu", (unsigned long long)depth);
}

static void v0_generic_arg(struct v0 *v)
{
    if (v0_eat(v, 'L'))
        v0_lifetime(v, v0_base62(v));
    else if (v0_eat(v, 'K'))
        v0_const(v, false);
    else
        v0_type(v);
}

static void v0_arguments(struct v0 *v)
{
    for (bool first = true; !v->bad && !v0_eat(v, 'E'); first = false) {
        if (!first) v0_text(v, ", ");
        v0_generic_arg(v);
    }
}

static void v0_nested(struct v0 *v, bool in_value)
{
    char ns = v0_next(v);
    if (!((ns >= 'a' && ns <= 'z') || (ns >= 'A' && ns <= 'Z'))) {
        v->bad = true;
        return;
    }
    v0_path(v, in_value);
    uint64_t number = v0_optional_base62(v, 's');
    struct v0_ident id = v0_identifier(v);
    if (ns >= 'A' && ns <= 'Z') {
        v0_text(v, "::{");
        if (ns == 'C')
            v0_text(v, "closure");
        else if (ns == 'S')
            v0_text(v, "shim");
        else
            v0_text(v, (char[]){ns, '\0'});
        if (id.n) {
            v0_text(v, ":");
            v0_print_ident(v, id);
        }
        if (!v->silent && !v->bad) buf_printf(v->out, "#%llu}", (unsigned long long)number);
    } else if (id.n) {
        v0_text(v, "::");
        v0_print_ident(v, id);
    }
}

/* Reads the path of the module that has the impl, without printing it. */
static void v0_impl_path(struct v0 *v)
{
    bool was = v->silent;
    v->silent = true;
    v0_optional_base62(v, 's');
    v0_path(v, false);
    v->silent = was;
}

static void v0_path(struct v0 *v, bool in_value)
{
    if (!v0_enter(v)) return;
    char tag = v0_next(v);
    switch (tag) {
    case 'C':
        v0_optional_base62(v, 's');
        v0_print_ident(v, v0_identifier(v));
        break;
    case 'N':
        v0_nested(v, in_value);
        break;
    case 'M':
    case 'X':
        v0_impl_path(v);
        __attribute__((fallthrough));
    case 'Y':
        v0_text(v, "<");
        v0_type(v);
        if (tag != 'M') {
            v0_text(v, " as ");
            v0_path(v, false);
        }
        v0_text(v, ">");
        break;
    case 'I':
        v0_path(v, in_value);
        if (in_value) v0_text(v, "::");
        v0_text(v, "<");
        v0_arguments(v);
        v0_text(v, ">");
        break;
    case 'B':
        v0_back(v, v0_path, in_value);
        break;
    default:
        v->bad = true;
    }
    v->depth--;
}

static const char *v0_basic(char tag)
{
    static const char *const names[26] = {
        "i8",   "bool", "char", "f64", "str", "f32", NULL,  "u8", "isize", "usize", NULL,  "i32", "u32",
        "i128", "u128", "_",    NULL,  NULL,  "i16", "u16", "()", "...",   NULL,    "i64", "u64", "!"};
    return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

/* Reads "G" and the number of lifetimes that are bound here. Prints them as for<'a, 'b>. */
static uint64_t v0_binder(struct v0 *v)
{
    uint64_t n = v0_optional_base62(v, 'G');
    if (n > 1000) v->bad = true;
    if (!n || v->bad) return 0;
    v0_text(v, "for<");
    for (uint64_t i = 0; i < n; i++) {
        if (i) v0_text(v, ", ");
        v->n_lifetimes++;
        v0_lifetime(v, 1);
    }
    v0_text(v, "> ");
    return n;
}

static void v0_function_type(struct v0 *v)
{
    uint64_t bound = v0_binder(v);
    if (v0_eat(v, 'U')) v0_text(v, "unsafe ");
    if (v0_eat(v, 'K')) {
        v0_text(v, "extern \"");
        if (v0_eat(v, 'C')) {
            v0_text(v, "C");
        } else {
            struct v0_ident id = v0_identifier(v);
            for (size_t i = 0; i < id.n && !v->bad; i++)
                v0_text(v, (char[]){id.s[i] == '_' ? '-' : id.s[i], '\0'});
        }
        v0_text(v, "\" ");
    }
    v0_text(v, "fn(");
    for (bool first = true; !v->bad && !v0_eat(v, 'E'); first = false) {
        if (!first) v0_text(v, ", ");
        v0_type(v);
    }
    v0_text(v, ")");
    if (!v0_eat(v, 'u')) {
        v0_text(v, " -> ");
        v0_type(v);
    }
    v->n_lifetimes -= bound;
}

/* Prints a path without the closing > of its generic arguments, so that associated types can follow, as in
 * Iterator<Item = u8>. Returns false if the path has no generic arguments. */
static bool v0_open_path(struct v0 *v)
{
    if (v0_eat(v, 'B')) {
        size_t tag_at = v->at - 1;
        uint64_t target = v0_base62(v);
        if (v->bad || target >= tag_at || !v0_enter(v)) {
            v->bad = true;
            return false;
        }
        size_t saved = v->at;
        v->at = (size_t)target;
        bool open = v0_open_path(v);
        v->at = saved;
        v->depth--;
        return open;
    }
    if (!v0_eat(v, 'I')) {
        v0_path(v, false);
        return false;
    }
    v0_path(v, false);
    v0_text(v, "<");
    v0_arguments(v);
    return true;
}

static void v0_dyn_type(struct v0 *v)
{
    v0_text(v, "dyn ");
    uint64_t bound = v0_binder(v);
    for (bool first = true; !v->bad && !v0_eat(v, 'E'); first = false) {
        if (!first) v0_text(v, " + ");
        bool open = v0_open_path(v);
        while (v0_eat(v, 'p')) {
            v0_text(v, open ? ", " : "<");
            open = true;
            v0_print_ident(v, v0_identifier(v));
            v0_text(v, " = ");
            v0_type(v);
        }
        if (open) v0_text(v, ">");
    }
    v->n_lifetimes -= bound;
    if (!v0_eat(v, 'L')) {
        v->bad = true;
        return;
    }
    uint64_t lifetime = v0_base62(v);
    if (lifetime) {
        v0_text(v, " + ");
        v0_lifetime(v, lifetime);
    }
}

static void v0_type(struct v0 *v)
{
    if (!v0_enter(v)) return;
    char tag = v0_next(v);
    const char *basic = v0_basic(tag);
    if (basic) {
        v0_text(v, basic);
        v->depth--;
        return;
    }
    switch (tag) {
    case 'R':
    case 'Q':
        v0_text(v, "&");
        if (v0_eat(v, 'L')) {
            uint64_t lifetime = v0_base62(v);
            if (lifetime) {
                v0_lifetime(v, lifetime);
                v0_text(v, " ");
            }
        }
        if (tag == 'Q') v0_text(v, "mut ");
        v0_type(v);
        break;
    case 'P':
    case 'O':
        v0_text(v, tag == 'P' ? "*const " : "*mut ");
        v0_type(v);
        break;
    case 'A':
    case 'S':
        v0_text(v, "[");
        v0_type(v);
        if (tag == 'A') {
            v0_text(v, "; ");
            v0_const(v, true);
        }
        v0_text(v, "]");
        break;
    case 'T': {
        int n = 0;
        v0_text(v, "(");
        for (; !v->bad && !v0_eat(v, 'E'); n++) {
            if (n) v0_text(v, ", ");
            v0_type(v);
        }
        v0_text(v, n == 1 ? ",)" : ")");
        break;
    }
    case 'F':
        v0_function_type(v);
        break;
    case 'D':
        v0_dyn_type(v);
        break;
    case 'B':
        v0_back(v, v0_type_at, false);
        break;
    default:
        v->at--;
        v0_path(v, false);
    }
    v->depth--;
}

/* Reads hex digits ended by "_". A number of more than 16 digits is kept as text. */
static struct v0_ident v0_hex(struct v0 *v)
{
    struct v0_ident digits = {.s = v->s + v->at};
    while (is_hex(v0_peek(v))) v->at++, digits.n++;
    if (!v0_eat(v, '_')) v->bad = true;
    while (digits.n > 1 && digits.s[0] == '0') digits.s++, digits.n--;
    return digits;
}

static uint64_t v0_value(struct v0_ident digits)
{
    uint64_t x = 0;
    for (size_t i = 0; i < digits.n; i++)
        x = x << 4 | (uint64_t)(digits.s[i] <= '9' ? digits.s[i] - '0' : digits.s[i] - 'a' + 10);
    return x;
}

static void v0_quoted(struct v0 *v, uint32_t c, char quote)
{
    static const char *const names[] = {['\t'] = "\\t", ['\r'] = "\\r", ['\n'] = "\\n", ['\\'] = "\\\\"};
    if (v->silent || v->bad) return;
    if (c < sizeof names / sizeof *names && names[c])
        buf_str(v->out, names[c]);
    else if (c == (uint8_t)quote)
        buf_printf(v->out, "\\%c", quote);
    else if (c < 32 || c == 127)
        buf_printf(v->out, "\\u{%x}", c);
    else
        buf_utf8(v->out, c);
}

static void v0_const_str(struct v0 *v)
{
    struct v0_ident digits = {.s = v->s + v->at};
    while (is_hex(v0_peek(v))) v->at++, digits.n++;
    if (!v0_eat(v, '_') || digits.n % 2) v->bad = true;
    v0_text(v, "\"");
    for (size_t i = 0; i + 1 < digits.n && !v->bad; i += 2) {
        uint8_t byte = (uint8_t)v0_value((struct v0_ident){.s = digits.s + i, .n = 2});
        if (byte >= 0x80) {
            if (!v->silent) buf_char(v->out, (char)byte);
        } else {
            v0_quoted(v, byte, '"');
        }
    }
    v0_text(v, "\"");
}

static void v0_const_at(struct v0 *v, bool in_value)
{
    v0_const(v, in_value);
}

static void v0_const_list(struct v0 *v, const char *open, const char *close)
{
    v0_text(v, open);
    for (bool first = true; !v->bad && !v0_eat(v, 'E'); first = false) {
        if (!first) v0_text(v, ", ");
        v0_const(v, true);
    }
    v0_text(v, close);
}

static void v0_const_adt(struct v0 *v)
{
    v0_path(v, true);
    switch (v0_next(v)) {
    case 'U':
        break;
    case 'T':
        v0_const_list(v, "(", ")");
        break;
    case 'S':
        v0_text(v, " { ");
        for (bool first = true; !v->bad && !v0_eat(v, 'E'); first = false) {
            if (!first) v0_text(v, ", ");
            v0_optional_base62(v, 's');
            v0_print_ident(v, v0_identifier(v));
            v0_text(v, ": ");
            v0_const(v, true);
        }
        v0_text(v, " }");
        break;
    default:
        v->bad = true;
    }
}

static void v0_const(struct v0 *v, bool in_value)
{
    if (!v0_enter(v)) return;
    char tag = v0_next(v);
    bool braces = !in_value && (tag == 'R' || tag == 'Q' || tag == 'A' || tag == 'T' || tag == 'V');
    if (braces) v0_text(v, "{");
    switch (tag) {
    case 'p':
        v0_text(v, "_");
        break;
    case 'B':
        v0_back(v, v0_const_at, in_value);
        break;
    case 'h':
    case 't':
    case 'm':
    case 'y':
    case 'o':
    case 'j':
    case 'a':
    case 's':
    case 'l':
    case 'x':
    case 'n':
    case 'i': {
        if (strchr("asxlni", tag) && v0_eat(v, 'n')) v0_text(v, "-");
        struct v0_ident digits = v0_hex(v);
        if (v->silent || v->bad) break;
        if (digits.n > 16) {
            buf_str(v->out, "0x");
            buf_add(v->out, digits.s, digits.n);
        } else {
            buf_u64(v->out, v0_value(digits));
        }
        break;
    }
    case 'b': {
        struct v0_ident digits = v0_hex(v);
        uint64_t value = v0_value(digits);
        if (value > 1) v->bad = true;
        v0_text(v, value ? "true" : "false");
        break;
    }
    case 'c': {
        struct v0_ident digits = v0_hex(v);
        uint64_t value = v0_value(digits);
        if (digits.n > 6 || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) v->bad = true;
        v0_text(v, "'");
        v0_quoted(v, (uint32_t)value, '\'');
        v0_text(v, "'");
        break;
    }
    case 'e':
        v0_text(v, "*");
        v0_const_str(v);
        break;
    case 'R':
    case 'Q':
        if (tag == 'R' && v0_eat(v, 'e')) {
            v0_const_str(v);
            break;
        }
        v0_text(v, tag == 'R' ? "&" : "&mut ");
        v0_const(v, true);
        break;
    case 'A':
        v0_const_list(v, "[", "]");
        break;
    case 'T':
        v0_const_list(v, "(", ")");
        break;
    case 'V':
        v0_const_adt(v);
        break;
    default:
        v->bad = true;
    }
    if (braces) v0_text(v, "}");
    v->depth--;
}

bool demangle_rust_v0(const char *name, size_t n, struct buf *out)
{
    n = without_suffix(name, n);
    if (n < 4 || name[0] != '_' || name[1] != 'R') return false;
    struct v0 v = {.s = name + 2, .n = n - 2, .out = out, .start_len = out->len};
    if (v0_peek(&v) < 'A' || v0_peek(&v) > 'Z') return false; /* a version we do not know */
    v0_path(&v, true);
    if (!v.bad && v.at < v.n && v0_peek(&v) != '.' && v0_peek(&v) != '$') {
        v.silent = true; /* the crate that made this copy */
        v0_path(&v, false);
        v.silent = false;
    }
    if (!v.bad && v.at < v.n && v0_peek(&v) != '.' && v0_peek(&v) != '$') v.bad = true;
    if (!v.bad && v.at < v.n) { /* .cold, .part.0: as they are */
        buf_char(out, ' ');
        buf_char(out, '(');
        buf_add(out, v.s + v.at, v.n - v.at);
        buf_char(out, ')');
    }
    if (v.bad) out->len = v.start_len;
    return !v.bad;
}
