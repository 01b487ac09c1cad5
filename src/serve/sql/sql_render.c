/* sql_render.c - translates a SELECT, or the clauses of a SHOW, to SQLite's SQL. Quotes of names and
 * strings, a few operators and @@variables differ. SQLite reports every other error. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "serve/sql/sql_parser.h"

static void render_quoted(struct buf *b, const struct sql_token *t, char quote)
{
    buf_char(b, quote);
    for (size_t i = 0; i < t->len; i++) {
        if (t->text[i] == quote) buf_char(b, quote);
        buf_char(b, t->text[i]);
    }
    buf_char(b, quote);
}

/* Words and signs that mean something else in SQLite, or nothing. SQLite divides whole numbers to a whole
 * number; the factor 1.0 gives MySQL's division. */
static const char *translated(const struct sql_token *t)
{
    static const struct {
        const char *mysql, *sqlite;
    } words[] = {{"&&", "AND"},  {"||", "OR"},       {"!", "NOT "},
                 {"/", "*1.0/"}, {"LCASE", "LOWER"}, {"UCASE", "UPPER"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (sql_token_is(t, words[i].mysql)) return words[i].sqlite;
    return t->text;
}

/* True for the function LEFT(a, 1), false for LEFT JOIN. */
static bool is_join_call(const struct sql_parser *p)
{
    const struct sql_token *t = sql_peek(p, 0);
    return (sql_token_is(t, "LEFT") || sql_token_is(t, "RIGHT")) && sql_token_is(sql_peek(p, 1), "(");
}

/* Functions that MySQL calls without brackets. */
static const char *bare_call(const struct sql_token *t)
{
    static const char *const calls[][2] = {{"CURRENT_TIMESTAMP", "NOW"},
                                           {"LOCALTIME", "NOW"},
                                           {"CURRENT_DATE", "CURDATE"},
                                           {"CURRENT_USER", "CURRENT_USER"}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (sql_token_is(t, calls[i][0])) return calls[i][1];
    return NULL;
}

/* SELECT USER. In a statement that reads tables, USER may be a column. */
static bool is_bare_user(const struct sql_parser *p)
{
    const struct sql_token *before = p->at ? &p->tokens->items[p->at - 1] : NULL;
    return sql_token_is(sql_peek(p, 0), "USER") && !sql_token_is(sql_peek(p, 1), "(") && before &&
           (sql_token_is(before, "SELECT") || sql_token_is(before, ","));
}

/* The nesting of SELECTs.
 *
 * SQLite rejects HAVING without GROUP BY and aggregate functions. MySQL takes it as one more condition,
 * which may use the names of the result. SQLite allows those names in WHERE, so the condition moves there:
 * SELECT a x FROM t WHERE b OR c HAVING x OR d becomes SELECT a x FROM t WHERE ( b OR c) AND ( x OR d).
 */
struct nesting {
    size_t depth; /* of brackets; levels beyond the array are copied unchanged */
    struct {
        size_t condition; /* offset of the WHERE condition in the output; 0: none */
        bool is_summed, in_having, had_having;
    } selects[64];
};

static bool is_one_of(const struct sql_token *t, const char *const *words)
{
    for (; *words; words++)
        if (sql_token_is(t, *words)) return true;
    return false;
}

static void render_having(struct buf *b, size_t where)
{
    if (!where) {
        buf_str(b, "WHERE (");
        return;
    }
    buf_char(b, ' '); /* makes room for the bracket */
    memmove(b->data + where + 1, b->data + where, b->len - 1 - where);
    b->data[where] = '(';
    buf_str(b, ") AND (");
}

/* True: the word has been written. */
static bool render_nesting(struct sql_parser *p, struct buf *b, const struct sql_token *t, struct nesting *n)
{
    static const char *const sums[] = {"GROUP", "COUNT", "SUM", "MIN", "MAX", "AVG", "GROUP_CONCAT", NULL},
                             *const ends[] = {"ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT", ")", NULL};
    if (sql_token_is(t, "(")) n->depth++;
    if (n->depth >= sizeof n->selects / sizeof *n->selects) {
        if (sql_token_is(t, ")")) n->depth--;
        return false;
    }
    size_t d = n->depth;
    if (n->selects[d].in_having && (t->kind == SQL_TOKEN_END || is_one_of(t, ends))) {
        buf_str(b, ") ");
        n->selects[d].in_having = false;
    }
    if (sql_token_is(t, ")") && n->depth) n->depth--;
    if (sql_token_is(t, "SELECT")) memset(&n->selects[d], 0, sizeof n->selects[d]);
    if (is_one_of(t, sums)) n->selects[d].is_summed = true;
    if (sql_token_is(t, "WHERE")) {
        buf_str(b, "WHERE");
        n->selects[d].condition = b->len;
        return true;
    }
    if (!sql_token_is(t, "HAVING") || n->selects[d].is_summed) return false;
    /* render_having moves the condition, so many HAVINGs would take quadratic time. */
    if (n->selects[d].had_having) sql_unexpected(p, "one HAVING");
    if (p->rc) return false;
    render_having(b, n->selects[d].condition);
    n->selects[d].in_having = n->selects[d].had_having = true;
    return true;
}

static bool is_name(const struct sql_token *t)
{
    return t->kind == SQL_TOKEN_WORD || t->kind == SQL_TOKEN_QUOTED;
}

/* The number of tokens of the operand that begins with the next token: signs, then a value, a name, a call,
 * or an expression in brackets or between CASE and END. */
static size_t operand_length(const struct sql_parser *p)
{
    size_t n = 1, depth = 0;
    while (sql_token_is(sql_peek(p, n), "-") || sql_token_is(sql_peek(p, n), "+")) n++;
    for (;; n++) {
        const struct sql_token *t = sql_peek(p, n);
        if (t->kind == SQL_TOKEN_END) return n - 1;
        if (sql_token_is(t, "(") || sql_token_is(t, "CASE")) depth++;
        if ((sql_token_is(t, ")") || sql_token_is(t, "END")) && depth) depth--;
        const struct sql_token *next = sql_peek(p, n + 1);
        if (!depth && !sql_token_is(next, ".") && !sql_token_is(t, ".") &&
            !(is_name(t) && sql_token_is(next, "(")))
            return n;
    }
}

/* ---- operators ---- */

/* What surrounds the token that is being written. A CASE nests like a bracket. */
struct operators {
    size_t depth; /* levels beyond the array are copied unchanged */
    struct {
        size_t term;     /* offset in the output where the current chain of * / DIV % began */
        bool is_between; /* after BETWEEN, before its AND */
        bool is_doubled; /* in the list of an IN; see render_double */
    } levels[SQL_MAX_DEPTH];
    size_t call_ends[SQL_MAX_DEPTH], n_calls; /* last tokens of the right operands of DIV and % */
    size_t n_moved;                           /* bytes that render_division moved */
    bool sign_continues;                      /* the previous token is the sign of a later factor */
};

/* The previous token, or an end token. */
static const struct sql_token *previous(const struct sql_parser *p, size_t n_back)
{
    static const struct sql_token none = {.kind = SQL_TOKEN_END, .text = ""};
    return p->at >= n_back ? &p->tokens->items[p->at - n_back] : &none;
}

static bool is_sign(const struct sql_token *t)
{
    return sql_token_is(t, "-") || sql_token_is(t, "+");
}

static bool ends_operand(const struct sql_token *t)
{
    static const char *const words[] = {"SELECT", "DISTINCT", "ALL",    "WHERE", "AND",    "OR",     "NOT",
                                        "XOR",    "ON",       "HAVING", "BY",    "WHEN",   "THEN",   "ELSE",
                                        "CASE",   "LIKE",     "IN",     "IS",    "LIMIT",  "OFFSET", "DIV",
                                        "MOD",    "BETWEEN",  "AS",     "UNION", "ESCAPE", NULL};
    if (t->kind == SQL_TOKEN_PUNCT) return sql_token_is(t, ")");
    return t->kind != SQL_TOKEN_END && !is_one_of(t, words);
}

static bool is_factor_operator(const struct sql_token *t)
{
    static const char *const words[] = {"*", "/", "%", "DIV", "MOD", NULL};
    return is_one_of(t, words);
}

/* Called before each token is written. */
static void note_operand(const struct sql_parser *p, const struct buf *b, struct operators *o)
{
    const struct sql_token *t = sql_peek(p, 0), *before = previous(p, 1);
    bool is_later_factor = is_factor_operator(before) || (is_sign(before) && o->sign_continues);
    if (!ends_operand(before) && !sql_token_is(before, ".") && !is_later_factor && o->depth < SQL_MAX_DEPTH)
        o->levels[o->depth].term = b->len;
    o->sign_continues = is_sign(t) && is_later_factor;
}

/* Called after each token is written. */
static void note_depth(const struct sql_parser *p, struct operators *o)
{
    static const char *const selects[] = {"SELECT", "WITH", "VALUES", NULL};
    const struct sql_token *t = sql_peek(p, 0), *before = previous(p, 1);
    if (sql_token_is(t, "(") || sql_token_is(t, "CASE")) {
        o->depth++;
        if (o->depth >= SQL_MAX_DEPTH) return;
        memset(&o->levels[o->depth], 0, sizeof o->levels[0]);
        const struct sql_token *left = previous(p, sql_token_is(previous(p, 2), "NOT") ? 3 : 2);
        o->levels[o->depth].is_doubled =
            sql_token_is(before, "IN") && !is_name(left) && !is_one_of(sql_peek(p, 1), selects);
    } else if ((sql_token_is(t, ")") || sql_token_is(t, "END")) && o->depth) {
        o->depth--;
    }
}

/* a DIV b becomes sql_div(a, b), and a % b becomes MOD(a, b). Writes everything before the right operand. */
static bool render_division(struct sql_parser *p, struct buf *b, struct operators *o)
{
    enum { MAX_MOVED = 32 * SQL_MAX_BYTES }; /* a long chain would take quadratic time */
    const struct sql_token *t = sql_peek(p, 0);
    bool is_div = sql_token_is(t, "DIV"), is_mod = sql_token_is(t, "%") || sql_token_is(t, "MOD");
    if ((!is_div && !is_mod) || !ends_operand(previous(p, 1))) return false;
    const char *call = is_div ? " sql_div(" : " MOD(";
    size_t n = strlen(call), depth = o->depth;
    if (depth >= SQL_MAX_DEPTH || o->n_calls == SQL_MAX_DEPTH || o->n_moved > MAX_MOVED) {
        sql_unexpected(p, "a simpler expression (too deep)");
        return false;
    }
    size_t at = o->levels[depth].term, n_term = b->len - at;
    o->n_moved += n_term;
    buf_str(b, call); /* makes room */
    memmove(b->data + at + n, b->data + at, n_term);
    memcpy(b->data + at, call, n);
    buf_str(b, ", ");
    o->call_ends[o->n_calls++] = p->at + operand_length(p);
    return true;
}

/* True for (a, b), and for a sub-select with a comma. */
static bool is_row_next(const struct sql_parser *p)
{
    enum { MAX_BRACKETS = 8 }; /* inside each other; bounds how often a token is looked at */
    if (!sql_token_is(sql_peek(p, 1), "(")) return false;
    for (size_t n = 1, depth = 0;; n++) {
        const struct sql_token *t = sql_peek(p, n);
        if (sql_token_is(t, "(")) depth++;
        if (sql_token_is(t, ")")) depth--;
        if (!depth || depth > MAX_BRACKETS || t->kind == SQL_TOKEN_END) return false;
        if (depth == 1 && sql_token_is(t, ",")) return true;
    }
}

static bool is_name_next(const struct sql_parser *p)
{
    size_t n = 1;
    while (is_name(sql_peek(p, n)) && sql_token_is(sql_peek(p, n + 1), ".")) n += 2;
    return is_name(sql_peek(p, n)) && !sql_token_is(sql_peek(p, n + 1), "(");
}

/* MySQL compares a number and a text as numbers, SQLite does so only for columns. SQLite calls a function for
 * each of the operators below, and sql_functions.c compares there as MySQL does. Two columns are left to
 * SQLite, which can join them by an index, and so are rows. All of these operators have the precedence of =,
 * as in MySQL. */
static const char *comparison(const struct sql_parser *p)
{
    static const char *const operators[][2] = {
        {"=", " REGEXP "}, {"<>", " NOT REGEXP "}, {"!=", " NOT REGEXP "}, {"<", " GLOB "},
        {">", " MATCH "},  {"<=", " NOT MATCH "},  {">=", " NOT GLOB "}};
    const struct sql_token *t = sql_peek(p, 0), *before = previous(p, 1), *after = sql_peek(p, 1);
    if (t->kind != SQL_TOKEN_PUNCT || !strchr("=<>!", *t->text)) return NULL;
    bool is_longer =
        (before->kind == SQL_TOKEN_PUNCT && before->end == t->at && strchr("=<>", *before->text)) ||
        (after->kind == SQL_TOKEN_PUNCT && after->at == t->end && strchr("=<>", *after->text));
    if (is_longer || (is_name(before) && is_name_next(p)) || is_row_next(p)) return NULL;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (sql_token_is(t, operators[i][0])) return operators[i][1];
    return NULL;
}

/* a BETWEEN b AND c becomes a REGEXP b ESCAPE c, which is a call with three arguments. */
static const char *between(const struct sql_parser *p, struct operators *o)
{
    const struct sql_token *t = sql_peek(p, 0);
    if (o->depth >= SQL_MAX_DEPTH) return NULL;
    bool *is_between = &o->levels[o->depth].is_between;
    if (sql_token_is(t, "BETWEEN")) {
        *is_between = true;
        return " REGEXP ";
    }
    if (!*is_between || (!sql_token_is(t, "AND") && !sql_token_is(t, "&&"))) return NULL;
    *is_between = false;
    return " ESCAPE ";
}

static bool is_numeric(const struct sql_token *t)
{
    char *end = NULL;
    if (t->kind == SQL_TOKEN_NUMBER) return true;
    return t->kind == SQL_TOKEN_STRING && *t->text && strspn(t->text, "0123456789.+-eE") == t->len &&
           (strtod(t->text, &end), !*end);
}

/* 3 IN ('3') becomes 3 IN ('3','3'+0), and '3' IN (3) becomes '3' IN (3,'3'). A column on the left needs no
 * second value, because SQLite converts the values to the type of the column. */
static void render_double(const struct sql_parser *p, struct buf *b, const struct operators *o)
{
    const struct sql_token *t = sql_peek(p, 0), *before = previous(p, 1), *after = sql_peek(p, 1);
    if (o->depth >= SQL_MAX_DEPTH || !o->levels[o->depth].is_doubled || !is_numeric(t) ||
        !(sql_token_is(before, "(") || sql_token_is(before, ",")) ||
        !(sql_token_is(after, ")") || sql_token_is(after, ",")))
        return;
    buf_char(b, ',');
    render_quoted(b, t, '\'');
    if (t->kind == SQL_TOKEN_STRING) buf_str(b, "+0");
}

/* Operators of SQLite that comparison() uses for itself. */
static void refuse_own_operators(struct sql_parser *p)
{
    static const char *const words[] = {"REGEXP", "RLIKE", "GLOB", "MATCH", NULL};
    const struct sql_token *t = sql_peek(p, 0);
    if (!p->rc && is_one_of(t, words))
        p->rc =
            err_set(p->err, ERR_INPUT,
                    "Getting analyzing error. Detail message: the operator %s is not supported.", t->text);
}

/* ---- items ---- */

enum { MAX_ITEMS = 2000 }; /* SQLite takes no more columns */

/* The item of the SELECT list that is being written. */
struct items {
    struct sql_select *select; /* NULL: items are not wanted, or the list has ended */
    size_t cap;
    bool is_open;       /* an item has begun at the places below */
    size_t rendered_at; /* in the output */
    size_t at, end;     /* in the source */
};

static const char *trimmed(struct arena *arena, const char *text, size_t len)
{
    while (len && *text == ' ') text++, len--;
    while (len && text[len - 1] == ' ') len--;
    return arena_strndup(arena, text, len);
}

/* Called before each token is written. */
static void note_item(struct sql_parser *p, const struct buf *b, const struct sql_token *t, bool is_end,
                      size_t depth, struct items *items)
{
    static const char *const ends[] = {",",     "FROM",  "WHERE",  "GROUP",     "HAVING", "ORDER",
                                       "LIMIT", "UNION", "EXCEPT", "INTERSECT", NULL};
    struct sql_select *select = items->select;
    if (!select || (depth && !is_end)) {
        items->end = t->end;
        return;
    }
    if (is_end || is_one_of(t, ends)) {
        if (items->is_open && select->n_items < MAX_ITEMS)
            *VEC_PUSH(select->items, select->n_items, items->cap) = (struct sql_select_item){
                .rendered = trimmed(p->arena, b->data + items->rendered_at, b->len - items->rendered_at),
                .written = trimmed(p->arena, p->tokens->source + items->at, items->end - items->at)};
        items->is_open = false;
        if (is_end || !sql_token_is(t, ",")) items->select = NULL;
    } else if (!items->is_open && !sql_token_is(t, "DISTINCT") && !sql_token_is(t, "ALL")) {
        items->is_open = true;
        items->rendered_at = b->len;
        items->at = t->at;
    }
    items->end = t->end;
}

/* Appends the tokens up to the end of the statement. */
static void render(struct sql_parser *p, struct buf *b, struct sql_select *select)
{
    struct nesting nesting = {0};
    struct items items = {.select = select};
    struct operators operators = {0};
    bool reads_tables = !select || select->reads_tables;
    size_t end = 0; /* no token ends there, so a space follows SELECT */
    for (; !p->rc; p->at++) {
        const struct sql_token *t = sql_peek(p, 0);
        bool is_end = t->kind == SQL_TOKEN_END || sql_token_is(t, ";");
        note_item(p, b, t, is_end, nesting.depth, &items);
        if (is_end) render_nesting(p, b, &(struct sql_token){.kind = SQL_TOKEN_END}, &nesting);
        if (is_end) break;
        if (sql_token_is(t, "FROM") && sql_token_is(sql_peek(p, 1), "DUAL")) { /* DUAL stands for no table */
            p->at++;
            continue;
        }
        note_operand(p, b, &operators);
        /* Two adjacent minus signs would begin a comment. */
        if (t->at != end || sql_token_is(t, "-")) buf_char(b, ' ');
        end = t->end;
        if (render_nesting(p, b, t, &nesting)) continue;
        bool is_after_dot = b->len && b->data[b->len - 1] == '.';
        if (!is_after_dot) refuse_own_operators(p);
        if (!is_after_dot && render_division(p, b, &operators)) continue;
        const char *operator= is_after_dot ? NULL : comparison(p);
        if (!operator&& !is_after_dot) operator= between(p, &operators);
        if (operator) {
            buf_str(b, operator);
            continue;
        }
        const char *call = bare_call(t);
        if (!reads_tables && is_bare_user(p)) call = "CURRENT_USER";
        switch (t->kind) {
        case SQL_TOKEN_STRING:
            if (memchr(t->text, 0, t->len)) sql_unexpected(p, "text without zero bytes");
            render_quoted(b, t, '\'');
            break;
        case SQL_TOKEN_QUOTED:
            render_quoted(b, t, '"');
            break;
        case SQL_TOKEN_VARIABLE:
            if (t->is_system) {
                buf_str(b, "sql_variable(");
                render_quoted(b, t, '\'');
                buf_char(b, ')');
            } else {
                buf_str(b, "NULL"); /* user variables are never set */
            }
            break;
        default:
            if (t->kind == SQL_TOKEN_WORD &&
                (is_after_dot || is_join_call(p) || *t->text == '$')) /* always a name */
                render_quoted(b, t, '"');
            else if (t->kind == SQL_TOKEN_NUMBER && *t->text == '-') /* a parameter */
                buf_printf(b, "(%s)", t->text);
            else if (call)
                buf_printf(b, "%s%s", call, sql_token_is(sql_peek(p, 1), "(") ? "" : "()");
            else
                buf_str(b, translated(t));
        }
        render_double(p, b, &operators);
        note_depth(p, &operators);
        for (; operators.n_calls && operators.call_ends[operators.n_calls - 1] == p->at; operators.n_calls--)
            buf_char(b, ')');
    }
}

void sql_render_select(struct sql_parser *p, struct sql_select *select)
{
    struct buf b = {0};
    for (size_t i = p->at; i + 1 < p->tokens->n_items; i++)
        select->reads_tables |=
            sql_token_is(&p->tokens->items[i], "FROM") && !sql_token_is(&p->tokens->items[i + 1], "DUAL");
    buf_str(&b, "SELECT");
    render(p, &b, select);
    select->text = arena_strdup(p->arena, buf_cstr(&b));
    struct sql_select_item *items = select->items;
    if (items) {
        select->items = arena_array(p->arena, select->n_items, sizeof *items);
        memcpy(select->items, items, select->n_items * sizeof *items);
    }
    mem_free(items);
    buf_free(&b);
}

const char *sql_render_clauses(struct sql_parser *p)
{
    struct buf b = {0};
    render(p, &b, NULL);
    const char *text = arena_strdup(p->arena, buf_cstr(&b));
    buf_free(&b);
    return text;
}
