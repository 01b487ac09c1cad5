/* sql_parse_expr.c - expressions, by precedence climbing. Depth is bounded; lists are too. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "serve/sql/sql_parser.h"

static struct sql_expr *new_expr(struct sql_parser *p, enum sql_expr_kind kind, const char *name)
{
    struct sql_expr *e = arena_zalloc(p->arena, sizeof *e);
    e->kind = kind;
    e->name = name;
    return e;
}

static struct sql_expr *with_args(struct sql_parser *p, enum sql_expr_kind kind, const char *name,
                                  struct sql_expr *a, struct sql_expr *b, struct sql_expr *c)
{
    struct sql_expr *e = new_expr(p, kind, name);
    /* a + b + c + ... leans left: its depth is the number of operators, and evaluation recurses that deep */
    if (++p->n_operators > SQL_MAX_OPERATORS) sql_unexpected(p, "a shorter expression");
    e->n_args = c ? 3 : b ? 2 : 1;
    e->args = arena_array(p->arena, 3, sizeof *e->args);
    e->args[0] = a;
    e->args[1] = b;
    e->args[2] = c;
    return e;
}

/* "(a, b, ...)" after its opening bracket; `first` (may be NULL) becomes args[0]. */
static void parse_list(struct sql_parser *p, struct sql_expr *into, struct sql_expr *first)
{
    struct sql_expr **args = NULL;
    size_t n = 0, cap = 0;
    if (first) *VEC_PUSH(args, n, cap) = first;
    if (!sql_accept(p, ")")) {
        do {
            struct sql_expr *item =
                sql_accept(p, "*") ? new_expr(p, SQL_EXPR_COLUMN, "*") : sql_parse_expr(p);
            if (p->rc) break;
            if (n >= SQL_MAX_LIST)
                sql_unexpected(p, "a shorter list");
            else
                *VEC_PUSH(args, n, cap) = item;
        } while (!p->rc && sql_accept(p, ","));
        sql_expect(p, ")");
    }
    into->n_args = n;
    into->args = arena_array(p->arena, n + 1, sizeof *args);
    if (n) memcpy(into->args, args, n * sizeof *args);
    mem_free(args);
}

static struct sql_value number_value(const char *text)
{
    if (!strpbrk(text, ".eE")) {
        errno = 0;
        long long i = strtoll(text, NULL, 10);
        if (!errno) return sql_value_int(i);
    }
    return (struct sql_value){.kind = SQL_REAL, .r = strtod(text, NULL)};
}

static struct sql_expr *parse_primary(struct sql_parser *p)
{
    const struct sql_token *t = sql_peek(p, 0);
    struct sql_expr *e = new_expr(p, SQL_EXPR_VALUE, NULL);
    switch (t->kind) {
    case SQL_TOKEN_STRING:
        p->at++;
        e->value = (struct sql_value){.kind = SQL_TEXT, .s = t->text, .len = t->len};
        return e;
    case SQL_TOKEN_NUMBER:
        p->at++;
        e->value = number_value(t->text);
        return e;
    case SQL_TOKEN_NULL:
        p->at++;
        return e;
    case SQL_TOKEN_VARIABLE:
        p->at++;
        e->kind = SQL_EXPR_VARIABLE;
        e->name = t->text;
        e->is_system = t->is_system;
        return e;
    default:
        break;
    }
    if (sql_accept(p, "(")) {
        e = sql_parse_expr(p);
        sql_expect(p, ")");
        return p->rc ? NULL : e;
    }
    if (t->kind != SQL_TOKEN_WORD && t->kind != SQL_TOKEN_QUOTED) {
        sql_unexpected(p, "an expression");
        return NULL;
    }
    if (sql_accept(p, "NULL")) return e;
    bool is_true = sql_token_is(t, "TRUE");
    if (is_true || sql_token_is(t, "FALSE")) {
        p->at++;
        e->value = (struct sql_value){.kind = SQL_BOOL, .i = is_true};
        return e;
    }
    /* WHERE and the like here mean that an operand is missing, not a column of that name. */
    static const char *const reserved[] = {"SELECT", "FROM", "WHERE", "ORDER", "LIMIT",
                                           "AND",    "OR",   "LIKE",  "IN",    "BY"};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (!sql_token_is(t, reserved[i])) continue;
        sql_unexpected(p, "an expression");
        return NULL;
    }
    e->name = sql_dotted_name(p, "a name");
    if (sql_accept(p, "(")) {
        e->kind = SQL_EXPR_CALL;
        parse_list(p, e, NULL);
    } else {
        e->kind = SQL_EXPR_COLUMN;
    }
    return p->rc ? NULL : e;
}

static struct sql_expr *parse_unary(struct sql_parser *p)
{
    size_t n_minus = 0;
    for (;;) {
        if (sql_accept(p, "-"))
            n_minus++;
        else if (!sql_accept(p, "+"))
            break;
    }
    struct sql_expr *e = parse_primary(p);
    if (p->rc || n_minus % 2 == 0) return e;
    if (e->kind == SQL_EXPR_VALUE && e->value.kind == SQL_INT && e->value.i != INT64_MIN) {
        e->value.i = -e->value.i;
        return e;
    }
    return with_args(p, SQL_EXPR_OP, "-", e, NULL, NULL);
}

static struct sql_expr *parse_arithmetic(struct sql_parser *p, bool products)
{
    struct sql_expr *left = products ? parse_unary(p) : parse_arithmetic(p, true);
    while (!p->rc) {
        const char *op = products ? (sql_accept(p, "*")                           ? "*"
                                     : sql_accept(p, "/")                         ? "/"
                                     : sql_accept(p, "DIV")                       ? "DIV"
                                     : sql_accept(p, "%") || sql_accept(p, "MOD") ? "%"
                                                                                  : NULL)
                                  : (sql_accept(p, "+")   ? "+"
                                     : sql_accept(p, "-") ? "-"
                                                          : NULL);
        if (!op) break;
        struct sql_expr *right = products ? parse_unary(p) : parse_arithmetic(p, true);
        if (p->rc) return NULL;
        left = with_args(p, SQL_EXPR_OP, op, left, right, NULL);
    }
    return p->rc ? NULL : left;
}

static struct sql_expr *parse_comparison(struct sql_parser *p)
{
    static const char *const ops[][2] = {{"=", "="},   {"!=", "!="}, {"<>", "!="}, {"<=", "<="},
                                         {">=", ">="}, {"<", "<"},   {">", ">"}};
    struct sql_expr *left = parse_arithmetic(p, false);
    while (!p->rc) {
        const char *op = NULL;
        for (size_t i = 0; i < sizeof ops / sizeof *ops && !op; i++)
            if (sql_accept(p, ops[i][0])) op = ops[i][1];
        if (op) {
            struct sql_expr *right = parse_arithmetic(p, false);
            if (!p->rc) left = with_args(p, SQL_EXPR_OP, op, left, right, NULL);
            continue;
        }
        if (sql_accept(p, "IS")) {
            bool negated = sql_accept(p, "NOT");
            sql_expect(p, "NULL");
            left = with_args(p, SQL_EXPR_IS_NULL, NULL, left, NULL, NULL);
            left->negated = negated;
            continue;
        }
        bool negated = sql_token_is(sql_peek(p, 0), "NOT") &&
                       (sql_token_is(sql_peek(p, 1), "LIKE") || sql_token_is(sql_peek(p, 1), "IN") ||
                        sql_token_is(sql_peek(p, 1), "BETWEEN"));
        if (negated) p->at++;
        if (sql_accept(p, "LIKE")) {
            struct sql_expr *pattern = parse_arithmetic(p, false);
            if (!p->rc) left = with_args(p, SQL_EXPR_LIKE, NULL, left, pattern, NULL);
        } else if (sql_accept(p, "IN")) {
            struct sql_expr *in = new_expr(p, SQL_EXPR_IN, NULL);
            sql_expect(p, "(");
            if (!p->rc) parse_list(p, in, left);
            left = in;
        } else if (sql_accept(p, "BETWEEN")) {
            struct sql_expr *low = parse_arithmetic(p, false);
            sql_expect(p, "AND");
            struct sql_expr *high = p->rc ? NULL : parse_arithmetic(p, false);
            if (!p->rc) left = with_args(p, SQL_EXPR_BETWEEN, NULL, left, low, high);
        } else {
            break;
        }
        if (!p->rc) left->negated = negated;
    }
    return p->rc ? NULL : left;
}

static struct sql_expr *parse_not(struct sql_parser *p)
{
    size_t n = 0;
    while (sql_accept(p, "NOT") || sql_accept(p, "!")) n++;
    struct sql_expr *e = parse_comparison(p);
    if (p->rc) return NULL;
    return n % 2 ? with_args(p, SQL_EXPR_OP, "NOT", e, NULL, NULL) : e;
}

static struct sql_expr *parse_logic(struct sql_parser *p, bool is_and)
{
    struct sql_expr *left = is_and ? parse_not(p) : parse_logic(p, true);
    while (!p->rc && (is_and ? sql_accept(p, "AND") || sql_accept(p, "&&")
                             : sql_accept(p, "OR") || sql_accept(p, "||"))) {
        struct sql_expr *right = is_and ? parse_not(p) : parse_logic(p, true);
        if (!p->rc) left = with_args(p, SQL_EXPR_OP, is_and ? "AND" : "OR", left, right, NULL);
    }
    return p->rc ? NULL : left;
}

struct sql_expr *sql_parse_expr(struct sql_parser *p)
{
    if (p->rc) return NULL;
    if (++p->depth > SQL_MAX_DEPTH) {
        sql_unexpected(p, "a simpler expression (too deep)");
        return NULL;
    }
    struct sql_expr *e = parse_logic(p, false);
    p->depth--;
    return p->rc ? NULL : e;
}
