/* simple_names.c - see simple_names.h.
 *
 * A demangled C++ name is read once, left to right. Template arguments nest in <>, parameters in (). These
 * must not be mistaken for them: operator<, operator<<, operator->, operator(), "(anonymous namespace)",
 * "{lambda(int)#1}", and a return type before the name of a template.
 */
#include "report/simple_names.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "symbol/demangle/demangle.h"
#include "symbol/symbol.h"

/* Java's constructors; Go's methods: "pkg.(*T).m", "pkg.(*T[go.shape.int]).m" */
static bool has_meaningful_brackets(const char *name)
{
    return strstr(name, ".<") || strstr(name, "]).") || strstr(name, ".(*");
}

static bool looks_like_cpp(const char *name)
{
    return strpbrk(name, "<>[]") || strstr(name, "::");
}

/* The length of "operator" and its sign at s, or 0. */
static size_t operator_len(const char *s, const char *start)
{
    static const char *const signs[] = {
        "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "<", ">", NULL};
    if (strncmp(s, "operator", 8) || (s > start && (isalnum((unsigned char)s[-1]) || s[-1] == '_'))) return 0;
    for (size_t i = 0; signs[i]; i++)
        if (!strncmp(s + 8, signs[i], strlen(signs[i]))) return 8 + strlen(signs[i]);
    return 0;
}

/* Returns the place after the bracket that closes the one at s, or NULL if none does. */
static const char *skip_bracketed(const char *s, const char *start)
{
    char open = *s, close = open == '<' ? '>' : ')';
    int depth = 0;
    for (; *s; s++) {
        size_t n = open == '<' ? operator_len(s, start) : 0;
        if (n) {
            s += n - 1;
            continue;
        }
        if (open == '<' && s[0] == '-' && s[1] == '>') {
            s++;
            continue;
        }
        if (*s == open) depth++;
        if (*s == close && --depth == 0) return s + 1;
    }
    return NULL;
}

char *simple_name(const char *name, enum name_detail detail)
{
    if (detail == NAME_FULL || detail == NAME_MANGLED || !(looks_like_cpp(name) || strchr(name, '(')))
        return mem_strdup(name);
    if (has_meaningful_brackets(name)) return mem_strdup(name);
    struct buf out = {0};
    for (const char *s = name; *s;) {
        size_t n = strcspn(s, "o(<"); /* only "operator" and brackets are looked at */
        buf_add(&out, s, n);
        s += n;
        n = operator_len(s, name);
        if (n) {
            buf_add(&out, s, n);
            s += n;
            continue;
        }
        if (!strncmp(s, "(anonymous namespace)", 21)) {
            buf_add(&out, s, 21);
            s += 21;
            continue;
        }
        bool is_argument_list = *s == '(' && s > name;
        bool is_template = *s == '<' && detail == NAME_SIMPLE && s > name && s[-1] != ':' && s[-1] != ' ';
        if (is_argument_list || is_template) {
            const char *after = skip_bracketed(s, name);
            if (!after) {
                buf_str(&out, s);
                break;
            }
            s = after;
            if (is_argument_list && !strncmp(s, " const", 6) &&
                (!s[6] || s[6] == ' ' || s[6] == ':' || s[6] == '&'))
                s += 6;
            continue;
        }
        if (*s) buf_char(&out, *s++);
    }
    while (out.len && out.data[out.len - 1] == ' ') out.len--;
    return buf_take(&out);
}

static uint32_t readable(struct profile *p, uint32_t system_name, enum name_detail detail)
{
    char *demangled = symbol_demangle(profile_text(p, system_name)), *simple = simple_name(demangled, detail);
    uint32_t id = profile_cstr(p, simple);
    mem_free(demangled);
    mem_free(simple);
    return id;
}

void profile_simplify_names(struct profile *p, enum name_detail detail, bool force)
{
    size_t n_strings = p->strings.n_items;
    uint32_t *known = mem_zalloc(
        n_strings * sizeof *known); /* one name is demangled once, however many functions have it */
    for (size_t i = 0; i < p->n_functions; i++) {
        struct function *f = &p->functions[i];
        if (force && f->name && f->system_name) f->name = f->system_name;
        if (detail == NAME_MANGLED || (f->name && f->name != f->system_name) || f->system_name >= n_strings)
            continue;
        if (!known[f->system_name]) known[f->system_name] = readable(p, f->system_name, detail) + 1;
        f->name = known[f->system_name] - 1;
    }
    mem_free(known);
}
