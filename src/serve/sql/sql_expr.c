/* sql_expr.c - see sql_expr.h. */
#include "serve/sql/sql_expr.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct sql_value sql_value_text(const char *s)
{
    return s ? (struct sql_value){.kind = SQL_TEXT, .s = s, .len = strlen(s)} : (struct sql_value){0};
}

struct sql_value sql_value_int(int64_t i)
{
    return (struct sql_value){.kind = SQL_INT, .i = i};
}

const char *sql_value_cstr(struct sql_value v, struct arena *arena)
{
    switch (v.kind) {
    case SQL_NULL:
        return NULL;
    case SQL_BOOL:
    case SQL_INT:
        return arena_printf(arena, "%lld", (long long)v.i);
    case SQL_REAL:
        return arena_printf(arena, "%.15g", v.r);
    case SQL_TEXT:
        return v.s;
    }
    return NULL;
}

/* The number a value is; text must be one from its first to its last letter. */
static bool as_number(struct sql_value v, double *ret)
{
    if (v.kind == SQL_BOOL || v.kind == SQL_INT) {
        *ret = (double)v.i;
        return true;
    }
    if (v.kind == SQL_REAL) {
        *ret = v.r;
        return true;
    }
    if (v.kind != SQL_TEXT || !v.len || isspace((unsigned char)*v.s)) return false;
    char *end;
    *ret = strtod(v.s, &end);
    return !*end && isfinite(*ret);
}

bool sql_value_true(struct sql_value v)
{
    double number;
    if (v.kind == SQL_TEXT && !strcasecmp(v.s, "true")) return true;
    return as_number(v, &number) && number != 0;
}

int sql_value_compare(struct sql_value a, struct sql_value b)
{
    /* Alive = true, where the cell says "true". */
    if ((a.kind == SQL_BOOL && b.kind == SQL_TEXT) || (a.kind == SQL_TEXT && b.kind == SQL_BOOL))
        return (int)sql_value_true(a) - (int)sql_value_true(b);
    double x, y;
    if (as_number(a, &x) && as_number(b, &y)) return (x > y) - (x < y);
    if (a.kind != SQL_TEXT) return -1;
    if (b.kind != SQL_TEXT) return 1;
    return strcmp(a.s, b.s);
}

static bool same_letter(char a, char b, bool ignore_case)
{
    return a == b || (ignore_case && tolower((unsigned char)a) == tolower((unsigned char)b));
}

bool sql_like(const char *s, const char *pattern, bool ignore_case)
{
    const char *after_percent = NULL,
               *retry = NULL; /* only the last % needs a second try: linear times linear at worst */
    while (*s) {
        if (*pattern == '%') {
            after_percent = ++pattern;
            retry = s;
            continue;
        }
        const char *next = pattern;
        bool fits;
        if (*next == '\\' && next[1]) {
            fits = same_letter(*s, next[1], ignore_case);
            next += 2;
        } else {
            fits = *next && (*next == '_' || same_letter(*s, *next, ignore_case));
            next++;
        }
        if (fits) {
            pattern = next;
            s++;
        } else if (after_percent) {
            pattern = after_percent;
            s = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '%') pattern++;
    return !*pattern;
}

int sql_check_pattern(const char *pattern, struct err *err)
{
    return strlen(pattern) <= SQL_MAX_PATTERN_BYTES
               ? 0
               : err_set(err, ERR_LIMIT, "a pattern of LIKE may have %d bytes", SQL_MAX_PATTERN_BYTES);
}

static struct sql_value truth(bool b)
{
    return (struct sql_value){.kind = SQL_BOOL, .i = b};
}

/* op: the first letter of the operator. */
static int eval_arithmetic(char op, struct sql_value a, struct sql_value b, struct sql_value *ret)
{
    double x = 0, y = 0;
    int64_t whole;
    if (a.kind == SQL_NULL || b.kind == SQL_NULL) {
        *ret = (struct sql_value){0};
        return 0;
    }
    if (!as_number(a, &x)) x = strtod(a.s, NULL); /* text is the number that it begins with */
    if (!as_number(b, &y)) y = strtod(b.s, NULL);
    if (a.kind == SQL_INT && b.kind == SQL_INT) {
        bool over = op == '+'   ? __builtin_add_overflow(a.i, b.i, &whole)
                    : op == '-' ? __builtin_sub_overflow(a.i, b.i, &whole)
                    : op == '*' ? __builtin_mul_overflow(a.i, b.i, &whole)
                                : true;
        if (!over) {
            *ret = sql_value_int(whole);
            return 0;
        }
    }
    double r = op == '+'   ? x + y
               : op == '-' ? x - y
               : op == '*' ? x * y
               : op == '/' ? x / y
               : op == 'D' ? trunc(x / y)
                           : fmod(x, y);
    if (op == 'D' && fabs(r) < 0x1p63) {
        *ret = sql_value_int((int64_t)r);
        return 0;
    }
    *ret = isfinite(r) ? (struct sql_value){.kind = SQL_REAL, .r = r} : (struct sql_value){0};
    return 0;
}

static int eval_op(const struct sql_expr *e, const struct sql_scope *scope, struct arena *arena,
                   struct sql_value *ret, struct err *err)
{
    struct sql_value a, b;
    int rc = sql_expr_eval(e->args[0], scope, arena, &a, err);
    if (rc) return rc;
    const char *op = e->name;
    if (e->n_args == 1) {
        if (a.kind == SQL_NULL)
            *ret = a;
        else if (!strcmp(op, "NOT"))
            *ret = truth(!sql_value_true(a));
        else
            return eval_arithmetic('-', sql_value_int(0), a, ret);
        return 0;
    }
    bool is_and = !strcmp(op, "AND"), is_or = !strcmp(op, "OR");
    if ((is_and && a.kind != SQL_NULL && !sql_value_true(a)) || (is_or && sql_value_true(a))) {
        *ret = truth(is_or);
        return 0;
    }
    if ((rc = sql_expr_eval(e->args[1], scope, arena, &b, err))) return rc;
    if (is_and || is_or) {
        bool decided = b.kind != SQL_NULL && sql_value_true(b) == is_or;
        *ret = decided                                    ? truth(is_or)
               : a.kind == SQL_NULL || b.kind == SQL_NULL ? (struct sql_value){0}
                                                          : truth(is_and);
        return 0;
    }
    if (strchr("+-*/%D", *op)) return eval_arithmetic(*op, a, b, ret);
    if (a.kind == SQL_NULL || b.kind == SQL_NULL) {
        *ret = (struct sql_value){0};
        return 0;
    }
    int order = sql_value_compare(a, b);
    bool holds = !strcmp(op, "=")    ? order == 0
                 : !strcmp(op, "!=") ? order != 0
                 : !strcmp(op, "<")  ? order < 0
                 : !strcmp(op, "<=") ? order <= 0
                 : !strcmp(op, ">")  ? order > 0
                                     : order >= 0;
    *ret = truth(holds);
    return 0;
}

static int eval_test(const struct sql_expr *e, const struct sql_value *args, struct arena *arena,
                     struct sql_value *ret, struct err *err)
{
    bool holds = false, unknown = args[0].kind == SQL_NULL;
    switch (e->kind) {
    case SQL_EXPR_IS_NULL:
        holds = unknown;
        unknown = false;
        break;
    case SQL_EXPR_LIKE:
        unknown |= args[1].kind == SQL_NULL;
        if (unknown) break;
        const char *pattern = sql_value_cstr(args[1], arena);
        int rc = sql_check_pattern(pattern, err);
        if (rc) return rc;
        holds = sql_like(sql_value_cstr(args[0], arena), pattern, false);
        break;
    case SQL_EXPR_BETWEEN:
        unknown |= args[1].kind == SQL_NULL || args[2].kind == SQL_NULL;
        if (!unknown)
            holds = sql_value_compare(args[0], args[1]) >= 0 && sql_value_compare(args[0], args[2]) <= 0;
        break;
    default: /* SQL_EXPR_IN */
        for (size_t i = 1; !unknown && i < e->n_args && !holds; i++)
            holds = args[i].kind != SQL_NULL && sql_value_compare(args[0], args[i]) == 0;
    }
    *ret = unknown ? (struct sql_value){0} : truth(holds != e->negated);
    return 0;
}

int sql_expr_eval(const struct sql_expr *e, const struct sql_scope *scope, struct arena *arena,
                  struct sql_value *ret, struct err *err)
{
    switch (e->kind) {
    case SQL_EXPR_VALUE:
        *ret = e->value;
        return 0;
    case SQL_EXPR_COLUMN:
        return scope->column(scope->context, e->name, ret, err);
    case SQL_EXPR_VARIABLE:
        return scope->variable(scope->context, e->name, e->is_system, ret, err);
    case SQL_EXPR_OP:
        return eval_op(e, scope, arena, ret, err);
    default:
        break;
    }
    struct sql_value *args = arena_array(arena, e->n_args + 1, sizeof *args);
    for (size_t i = 0; i < e->n_args; i++) {
        int rc = sql_expr_eval(e->args[i], scope, arena, &args[i], err);
        if (rc) return rc;
    }
    if (e->kind == SQL_EXPR_CALL)
        return scope->call(scope->context, e->name, args, e->n_args, arena, ret, err);
    return eval_test(e, args, arena, ret, err);
}
