/* demangle_cxx_expr.c - expressions inside C++ names: array bounds, decltype, non-type template arguments. */
#include "symbol/demangle/demangle_cxx_parse.h"

/* clang-format off */
static const struct operator_info operators[] = { /* sorted */
    {"aN", 2, "&="}, {"aS", 2, "="}, {"aa", 2, "&&"}, {"ad", 1, "&"}, {"an", 2, "&"}, {"at", 1, "alignof "},
    {"aw", 1, "co_await "}, {"az", 1, "alignof "}, {"cc", 2, "const_cast"}, {"cl", 2, "()"}, {"cm", 2, ","},
    {"co", 1, "~"}, {"dV", 2, "/="}, {"dX", 3, "[...]="}, {"da", 1, "delete[] "}, {"dc", 2, "dynamic_cast"},
    {"de", 1, "*"}, {"di", 2, "="}, {"dl", 1, "delete "}, {"ds", 2, ".*"}, {"dt", 2, "."}, {"dv", 2, "/"},
    {"dx", 2, "]="}, {"eO", 2, "^="}, {"eo", 2, "^"}, {"eq", 2, "=="}, {"fL", 3, "..."}, {"fR", 3, "..."},
    {"fl", 2, "..."}, {"fr", 2, "..."}, {"ge", 2, ">="}, {"gs", 1, "::"}, {"gt", 2, ">"}, {"ix", 2, "[]"},
    {"lS", 2, "<<="}, {"le", 2, "<="}, {"li", 1, "operator\"\" "}, {"ls", 2, "<<"}, {"lt", 2, "<"},
    {"mI", 2, "-="}, {"mL", 2, "*="}, {"mi", 2, "-"}, {"ml", 2, "*"}, {"mm", 1, "--"}, {"na", 3, "new[]"},
    {"ne", 2, "!="}, {"ng", 1, "-"}, {"nt", 1, "!"}, {"nw", 3, "new"}, {"nx", 1, "noexcept"}, {"oR", 2, "|="},
    {"oo", 2, "||"}, {"or", 2, "|"}, {"pL", 2, "+="}, {"pl", 2, "+"}, {"pm", 2, "->*"}, {"pp", 1, "++"},
    {"ps", 1, "+"}, {"pt", 2, "->"}, {"qu", 3, "?"}, {"rM", 2, "%="}, {"rS", 2, ">>="},
    {"rc", 2, "reinterpret_cast"}, {"rm", 2, "%"}, {"rs", 2, ">>"}, {"sP", 1, "sizeof..."},
    {"sZ", 1, "sizeof..."}, {"sc", 2, "static_cast"}, {"ss", 2, "<=>"}, {"st", 1, "sizeof "},
    {"sz", 1, "sizeof "}, {"tr", 0, "throw"}, {"tw", 1, "throw "},
};
/* clang-format on */

const struct operator_info *cxx_find_operator(const struct parser *s)
{
    size_t low = 0, high = sizeof operators / sizeof *operators;
    if (s->end - s->p < 2) return NULL;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = memcmp(s->p, operators[middle].code, 2);
        if (order == 0) return &operators[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

struct node *cxx_parse_literal(struct parser *s)
{
    s->p++; /* L */
    struct node *n = NULL;
    if (eat2(s, "_Z") || eat(s, 'Z')) {
        struct node **args = s->args;
        size_t n_args = s->n_args, cap_args = s->cap_args;
        n = cxx_parse_encoding(s);
        s->args = args;
        s->n_args = n_args;
        s->cap_args = cap_args;
        return n && eat(s, 'E') ? n : fail(s);
    }
    struct node *type = cxx_parse_type(s);
    if (!type) return NULL;
    const bool negative = eat(s, 'n');
    const char *text = s->p;
    while (s->p < s->end && *s->p != 'E') s->p++;
    n = node_text(s, NODE_LITERAL, text, (size_t)(s->p - text));
    n->a = type;
    n->flags = negative ? FLAG_NEGATIVE : 0;
    return eat(s, 'E') ? n : fail(s);
}

static struct node *parse_expression_list(struct parser *s, char stop)
{
    struct items list = {0};
    while (!s->bad && !eat(s, stop)) {
        if (s->p >= s->end) return fail(s);
        add_item(s, &list, cxx_parse_expression(s));
    }
    return s->bad ? NULL : node_list(s, &list);
}

static struct node *parse_function_param(struct parser *s)
{
    struct node *n;
    if (eat2(s, "fL")) {
        parse_count(s);
        if (!eat(s, 'p')) return fail(s);
    } else {
        s->p += 2; /* fp */
        if (eat(s, 'T')) return node_new(s, NODE_THIS, NULL, NULL);
    }
    cxx_parse_qualifiers(s);
    n = node_new(s, NODE_FUNCTION_PARAM, NULL, NULL);
    n->number = parse_sequence(s) + 1;
    return s->bad ? NULL : n;
}

/* Parses sr <level>+ E, whose names are not candidates for substitution. Returns NULL without reading
 * anything if the input does not have this form. */
static struct node *try_levels(struct parser *s)
{
    const char *start = s->p;
    struct node *scope = NULL;
    while (is_digit(peek(s)) && !s->bad) {
        struct node *level = cxx_parse_source_name(s);
        if (level && peek(s) == 'I') level = cxx_parse_template_of(s, level);
        if (!level) return NULL;
        scope = scope ? node_new(s, NODE_NESTED, scope, level) : level;
    }
    if (scope && eat(s, 'E')) return scope;
    s->p = start;
    return NULL;
}

/* sr <type> <unqualified-name> [<template-args>] */
static struct node *parse_scoped(struct parser *s)
{
    s->p += 2;
    size_t n_subs = s->n_subs;
    struct node *scope = try_levels(s);
    if (s->bad) return NULL;
    if (!scope) {
        s->n_subs = n_subs;
        scope = cxx_parse_type(s);
    }
    if (!scope) return NULL;
    eat2(s, "on");
    struct node *name = cxx_parse_unqualified(s, scope, NULL);
    if (!name) return NULL;
    struct node *n = node_new(s, NODE_NESTED, scope, name);
    if (peek(s) == 'I') n = cxx_parse_template_of(s, n);
    return n;
}

static struct node *parse_new(struct parser *s, const struct operator_info *op)
{
    struct node *n = node_new(s, NODE_NEW, NULL, NULL);
    n->op = op;
    n->a = parse_expression_list(s, '_');
    n->b = n->a ? cxx_parse_type(s) : NULL;
    if (!n->b) return NULL;
    if (eat(s, 'E')) return n;
    if (eat2(s, "pi")) {
        n->c = parse_expression_list(s, 'E');
        return n->c ? n : NULL;
    }
    return fail(s);
}

static struct node *parse_fold(struct parser *s, const struct operator_info *kind)
{
    struct node *n = node_text(s, NODE_FOLD, kind->code, 2);
    n->op = cxx_find_operator(s);
    if (!n->op) return fail(s);
    s->p += 2;
    n->a = cxx_parse_expression(s);
    if (n->a && kind->arity == 3) n->b = cxx_parse_expression(s);
    return s->bad ? NULL : n;
}

static struct node *parse_operation(struct parser *s)
{
    const struct operator_info *op = cxx_find_operator(s);
    if (!op) return fail(s);
    s->p += 2;
    if (op->code[0] == 'f') return parse_fold(s, op);
    if (!strcmp(op->code, "nw") || !strcmp(op->code, "na")) return parse_new(s, op);
    struct node *n = node_new(s,
                              op->arity <= 1   ? NODE_UNARY
                              : op->arity == 2 ? NODE_BINARY
                                               : NODE_TRINARY,
                              NULL, NULL);
    n->op = op;
    if (op->arity == 0) return n;
    if (!strcmp(op->code, "st") || !strcmp(op->code, "at")) {
        n->a = cxx_parse_type(s);
    } else if (!strcmp(op->code, "sP")) {
        n->a = parse_expression_list(s, 'E'); /* arguments of an alias that captured them */
    } else if (!strcmp(op->code, "cc") || !strcmp(op->code, "dc") || !strcmp(op->code, "rc") ||
               !strcmp(op->code, "sc")) {
        n->a = cxx_parse_type(s);
        n->b = n->a ? cxx_parse_expression(s) : NULL;
    } else if (!strcmp(op->code, "cl")) {
        n->a = cxx_parse_expression(s);
        n->b = n->a ? parse_expression_list(s, 'E') : NULL;
    } else if (!strcmp(op->code, "dt") || !strcmp(op->code, "pt")) {
        n->a = cxx_parse_expression(s);
        n->b = n->a ? cxx_parse_expression(s) : NULL;
    } else {
        if ((op->code[0] == 'p' && op->code[1] == 'p') || (op->code[0] == 'm' && op->code[1] == 'm'))
            n->flags = eat(s, '_') ? FLAG_PREFIX : FLAG_SUFFIX;
        n->a = cxx_parse_expression(s);
        if (n->a && op->arity >= 2) n->b = cxx_parse_expression(s);
        if (n->b && op->arity >= 3) n->c = cxx_parse_expression(s);
    }
    if (s->bad) return NULL;
    n->has_param = (n->a && n->a->has_param) || (n->b && n->b->has_param) || (n->c && n->c->has_param);
    return n;
}

static struct node *parse_conversion(struct parser *s)
{
    s->p += 2; /* cv */
    struct node *type = cxx_parse_type(s);
    if (!type) return NULL;
    struct node *operand = eat(s, '_') ? parse_expression_list(s, 'E') : cxx_parse_expression(s);
    return operand ? node_new(s, NODE_CAST, type, operand) : NULL;
}

static struct node *parse_plain_expression(struct parser *s)
{
    char c = peek(s), d = peek2(s);
    if (c == 'L') return cxx_parse_literal(s);
    if (c == 'T') return cxx_parse_template_param(s);
    if ((c == 'f' && d == 'p') || (c == 'f' && d == 'L' && s->end - s->p > 2 && is_digit(s->p[2])))
        return parse_function_param(s);
    if (c == 's' && d == 'r') return parse_scoped(s);
    if (c == 's' && d == 'p') {
        s->p += 2;
        struct node *a = cxx_parse_expression(s);
        return a ? node_new(s, NODE_EXPANSION, a, NULL) : NULL;
    }
    if ((c == 'i' && d == 'l') || (c == 't' && d == 'l')) {
        s->p += 2;
        struct node *type = c == 't' ? cxx_parse_type(s) : NULL;
        struct node *list = s->bad ? NULL : parse_expression_list(s, 'E');
        return list ? node_new(s, NODE_BRACES, type, list) : NULL;
    }
    if (c == 'c' && d == 'v') return parse_conversion(s);
    if (c == 'g' && d == 's') {
        struct node *n = node_new(s, NODE_UNARY, NULL, NULL);
        n->op = cxx_find_operator(s);
        s->p += 2;
        n->a = cxx_parse_expression(s);
        return n->a ? n : NULL;
    }
    if (is_digit(c) || (c == 'o' && d == 'n') || (c == 'd' && d == 'n')) {
        struct node *n;
        if (c == 'o') s->p += 2;
        if (c == 'd') {
            s->p += 2;
            n = is_digit(peek(s)) ? cxx_parse_source_name(s) : cxx_parse_type(s);
            n = n ? node_new(s, NODE_DTOR, n, NULL) : NULL;
        } else {
            n = cxx_parse_unqualified(s, NULL, NULL);
        }
        if (n && peek(s) == 'I') n = cxx_parse_template_of(s, n);
        return n;
    }
    return parse_operation(s);
}

struct node *cxx_parse_expression(struct parser *s)
{
    if (!enter(s)) return NULL;
    struct node *n = parse_plain_expression(s);
    s->depth--;
    return n ? n : fail(s);
}
