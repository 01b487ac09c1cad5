/* sql_expr.h - the expressions of WHERE, ORDER BY and small SELECTs: a tree, and its value for one row.
 *
 * Comparison is by number where both sides look like numbers, else by bytes; NULL makes NULL. That is what
 * the few statements here need; there is no type system behind it.
 */
#ifndef SERVE_SQL_SQL_EXPR_H
#define SERVE_SQL_SQL_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "serve/sql/sql_lex.h"

enum sql_value_kind { SQL_NULL, SQL_BOOL, SQL_INT, SQL_REAL, SQL_TEXT };

struct sql_value {
    enum sql_value_kind kind;
    int64_t i; /* SQL_BOOL, SQL_INT */
    double r;
    const char *s; /* SQL_TEXT, NUL-terminated */
    size_t len;
};

enum sql_expr_kind {
    SQL_EXPR_VALUE,
    SQL_EXPR_COLUMN,   /* name */
    SQL_EXPR_VARIABLE, /* name; is_system */
    SQL_EXPR_CALL,     /* name, args */
    SQL_EXPR_OP,       /* name is the operator in upper case; one or two args */
    SQL_EXPR_LIKE,     /* args: value, pattern; negated */
    SQL_EXPR_IN,       /* args: value, choices...; negated */
    SQL_EXPR_BETWEEN,  /* args: value, low, high; negated */
    SQL_EXPR_IS_NULL,  /* args: value; negated */
};

struct sql_expr {
    enum sql_expr_kind kind;
    struct sql_value value;
    const char *name;
    bool is_system, negated;
    struct sql_expr **args;
    size_t n_args;
};

/* What names mean; an unknown one: ERR_NOT_FOUND with the sentence for the user. */
struct sql_scope {
    void *context;
    int (*column)(void *context, const char *name, struct sql_value *ret, struct err *err);
    int (*variable)(void *context, const char *name, bool is_system, struct sql_value *ret, struct err *err);
    int (*call)(void *context, const char *name, const struct sql_value *args, size_t n_args,
                struct arena *arena, struct sql_value *ret, struct err *err);
};

int sql_expr_eval(const struct sql_expr *e, const struct sql_scope *scope, struct arena *arena,
                  struct sql_value *ret, struct err *err);

struct sql_value sql_value_text(const char *s); /* NULL gives SQL_NULL */
struct sql_value sql_value_int(int64_t i);
const char *sql_value_cstr(struct sql_value v,
                           struct arena *arena); /* as a client sees it; NULL for SQL_NULL */
bool sql_value_true(struct sql_value v);
int sql_value_compare(struct sql_value a, struct sql_value b); /* neither NULL */
/* % and _, \ escapes. Takes up to the product of both lengths: patterns from outside are bounded by
 * sql_check_pattern first. */
bool sql_like(const char *s, const char *pattern, bool ignore_case);
enum { SQL_MAX_PATTERN_BYTES = 256 };
int sql_check_pattern(const char *pattern, struct err *err);

#endif
