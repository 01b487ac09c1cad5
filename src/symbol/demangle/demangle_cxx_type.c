/* demangle_cxx_type.c - types inside C++ names.
 *
 * A type that is not a builtin becomes a candidate for substitution once it has been read completely.
 */
#include <stdio.h>

#include "symbol/demangle/demangle_cxx_parse.h"

static const char *const builtins['z' + 1] = {
    ['a'] = "signed char", ['b'] = "bool",
    ['c'] = "char",        ['d'] = "double",
    ['e'] = "long double", ['f'] = "float",
    ['g'] = "__float128",  ['h'] = "unsigned char",
    ['i'] = "int",         ['j'] = "unsigned int",
    ['l'] = "long",        ['m'] = "unsigned long",
    ['n'] = "__int128",    ['o'] = "unsigned __int128",
    ['s'] = "short",       ['t'] = "unsigned short",
    ['v'] = "void",        ['w'] = "wchar_t",
    ['x'] = "long long",   ['y'] = "unsigned long long",
    ['z'] = "...",
};

static const char *const builtins_after_d['z' + 1] = {
    ['a'] = "auto",      ['c'] = "decltype(auto)", ['d'] = "decimal64", ['e'] = "decimal128",
    ['f'] = "decimal32", ['h'] = "half",           ['i'] = "char32_t",  ['n'] = "decltype(nullptr)",
    ['s'] = "char16_t",  ['u'] = "char8_t",
};

static const char *name_of_letter(const char *const names['z' + 1], char c)
{
    return c >= 'a' && c <= 'z' ? names[(int)c] : NULL;
}

struct node *cxx_parse_decltype(struct parser *s)
{
    s->p += 2; /* Dt, DT */
    struct node *e = cxx_parse_expression(s);
    if (!e || !eat(s, 'E')) return fail(s);
    return node_new(s, NODE_DECLTYPE, e, NULL);
}

static struct node *parse_function_type(struct parser *s, unsigned flags, struct node *exception)
{
    s->p++;      /* F */
    eat(s, 'Y'); /* extern "C" */
    struct node *result = cxx_parse_type(s);
    if (!result) return NULL;
    struct items list = {0};
    if (!eat(s, 'v'))
        while (!s->bad && s->p < s->end && peek(s) != 'E' && !(strchr("RO", peek(s)) && peek2(s) == 'E'))
            add_item(s, &list, cxx_parse_type(s));
    if (peek(s) == 'R' && peek2(s) == 'E')
        s->p++, flags |= FLAG_LREF;
    else if (peek(s) == 'O' && peek2(s) == 'E')
        s->p++, flags |= FLAG_RREF;
    if (s->bad || !eat(s, 'E')) return fail(s);
    struct node *n = node_new(s, NODE_FUNCTION, result, node_list(s, &list));
    n->flags = (uint8_t)flags;
    n->c = exception;
    n->has_param |= exception && exception->has_param;
    return n;
}

/* Parses a function type after Do, DO..E, Dw..E or Dx, which come before its F. */
static struct node *parse_exception_function(struct parser *s, unsigned flags)
{
    struct node *exception = NULL;
    for (; peek(s) == 'D';) {
        char c = peek2(s);
        s->p += 2;
        if (c == 'o') {
            flags |= FLAG_NOEXCEPT;
        } else if (c == 'O') {
            flags |= FLAG_NOEXCEPT;
            exception = cxx_parse_expression(s);
            if (!eat(s, 'E')) return fail(s);
        } else if (c == 'w') {
            flags |= FLAG_THROW;
            exception = cxx_parse_parameters(s, "E");
            if (!eat(s, 'E')) return fail(s);
        } else if (c == 'x') {
            flags |= FLAG_TRANSACTION;
        } else {
            return fail(s);
        }
    }
    return peek(s) == 'F' ? parse_function_type(s, flags, exception) : fail(s);
}

static struct node *parse_array(struct parser *s)
{
    s->p++; /* A */
    struct node *dimension = NULL;
    if (is_digit(peek(s))) {
        const char *text = s->p;
        parse_count(s);
        dimension = node_text(s, NODE_NAME, text, (size_t)(s->p - text));
    } else if (peek(s) != '_') {
        dimension = cxx_parse_expression(s);
    }
    if (!eat(s, '_')) return fail(s);
    struct node *element = cxx_parse_type(s);
    return element ? node_new(s, NODE_ARRAY, element, dimension) : NULL;
}

static struct node *parse_vector(struct parser *s)
{
    struct node *dimension;
    if (is_digit(peek(s))) {
        const char *text = s->p;
        parse_count(s);
        dimension = node_text(s, NODE_NAME, text, (size_t)(s->p - text));
    } else {
        eat(s, '_');
        dimension = cxx_parse_expression(s);
    }
    if (!eat(s, '_')) return fail(s);
    struct node *element = cxx_parse_type(s);
    return element ? node_new(s, NODE_VECTOR, element, dimension) : NULL;
}

static struct node *parse_float_type(struct parser *s)
{
    if (!is_digit(peek(s))) return fail(s);
    const char *digits = s->p;
    size_t bits = parse_count(s);
    char buffer[32];
    int n;
    if (eat(s, 'b'))
        n = snprintf(buffer, sizeof buffer, bits == 16 ? "std::bfloat16_t" : "std::bfloat%zu_t", bits);
    else
        n = snprintf(buffer, sizeof buffer, "_Float%.*s%s", (int)(s->p - digits), digits,
                     eat(s, 'x') ? "x" : "");
    eat(s, '_');
    char *text = take(s, (size_t)n + 1);
    memcpy(text, buffer, (size_t)n + 1);
    return node_text(s, NODE_BUILTIN, text, (size_t)n);
}

/* Parses a type that starts with D. Sets *ret_builtin if it is not a candidate for substitution. */
static struct node *parse_d_type(struct parser *s, bool *ret_builtin)
{
    char c = peek2(s);
    if (c == 'o' || c == 'O' || c == 'w' || c == 'x') return parse_exception_function(s, 0);
    if (c == 't' || c == 'T') return cxx_parse_decltype(s);
    s->p += 2;
    if (c == 'p') {
        struct node *a = cxx_parse_type(s);
        return a ? node_new(s, NODE_EXPANSION, a, NULL) : NULL;
    }
    if (c == 'v') return parse_vector(s);
    *ret_builtin = true;
    if (c == 'F') return parse_float_type(s);
    const char *name = name_of_letter(builtins_after_d, c);
    return name ? node_text(s, NODE_BUILTIN, name, strlen(name)) : fail(s);
}

static struct node *parse_qualified(struct parser *s)
{
    unsigned flags = cxx_parse_qualifiers(s);
    if (peek(s) == 'F') return parse_function_type(s, flags, NULL);
    if (peek(s) == 'D' && peek2(s) && strchr("oOwx", peek2(s))) return parse_exception_function(s, flags);
    struct node *inner = cxx_parse_type(s);
    if (!inner) return NULL;
    struct node *n = node_new(s, NODE_QUALIFIED, inner, NULL);
    n->flags = (uint8_t)flags;
    return n;
}

static struct node *parse_vendor_qualified(struct parser *s)
{
    s->p++; /* U */
    struct node *n = cxx_parse_source_name(s);
    if (!n) return NULL;
    if (peek(s) == 'I') {
        struct node *args = cxx_parse_template_args(s, false);
        if (!args) return NULL;
        n->b = args;
    }
    n->kind = NODE_VENDOR;
    n->a = cxx_parse_type(s);
    if (!n->a) return NULL;
    n->has_param = n->a->has_param;
    return n;
}

static struct node *parse_wrapped(struct parser *s, enum node_kind kind)
{
    s->p++;
    struct node *inner = cxx_parse_type(s);
    return inner ? node_new(s, kind, inner, NULL) : NULL;
}

static struct node *parse_member_pointer(struct parser *s)
{
    s->p++; /* M */
    struct node *class = cxx_parse_type(s);
    struct node *type = class ? cxx_parse_type(s) : NULL;
    return type ? node_new(s, NODE_MEMBER, class, type) : NULL;
}

/* Parses a type that is a name, a template parameter or a substitution, perhaps with template arguments. Sets
 * *ret_known if it is not a new candidate for substitution. */
static struct node *parse_named_type(struct parser *s, bool *ret_known)
{
    char c = peek(s);
    struct node *n;
    if (c == 'T' && peek2(s) && strchr("sue", peek2(s))) {
        s->p += 2; /* struct, union, enum: not shown */
        return cxx_parse_name(s, NULL);
    }
    if (c == 'T') {
        n = cxx_parse_template_param(s);
        if (n && peek(s) == 'I' && !s->allow_forward) { /* there, they are those of the operator */
            add_sub(s, n);
            n = cxx_parse_template_of(s, n);
        }
        return n;
    }
    if (c == 'S' && peek2(s) != 't') {
        n = cxx_parse_substitution(s, false);
        if (n && peek(s) == 'I') {
            return cxx_parse_template_of(s, n);
        }
        *ret_known = true;
        return n;
    }
    return cxx_parse_name(s, NULL);
}

struct node *cxx_parse_type(struct parser *s)
{
    if (!enter(s)) return NULL;
    struct node *n = NULL;
    bool known = false;
    char c = peek(s);
    const char *builtin = name_of_letter(builtins, c);
    if (builtin) {
        s->p++;
        n = node_text(s, NODE_BUILTIN, builtin, strlen(builtin));
        n->number = (uint32_t)c;
        s->depth--;
        return n;
    }
    switch (c) {
    case 'u':
        s->p++;
        n = cxx_parse_source_name(s);
        if (n) n->kind = NODE_BUILTIN;
        if (n && peek(s) == 'I') n = cxx_parse_template_of(s, n);
        break;
    case 'r':
    case 'V':
    case 'K':
        n = parse_qualified(s);
        break;
    case 'P':
        n = parse_wrapped(s, NODE_POINTER);
        break;
    case 'R':
        n = parse_wrapped(s, NODE_LREF);
        break;
    case 'O':
        n = parse_wrapped(s, NODE_RREF);
        break;
    case 'C':
        n = parse_wrapped(s, NODE_COMPLEX);
        break;
    case 'G':
        n = parse_wrapped(s, NODE_IMAGINARY);
        break;
    case 'F':
        n = parse_function_type(s, 0, NULL);
        break;
    case 'A':
        n = parse_array(s);
        break;
    case 'M':
        n = parse_member_pointer(s);
        break;
    case 'U':
        n = parse_vendor_qualified(s);
        break;
    case 'D':
        n = parse_d_type(s, &known);
        break;
    default:
        n = parse_named_type(s, &known);
    }
    s->depth--;
    if (n && !known) add_sub(s, n);
    return n;
}
