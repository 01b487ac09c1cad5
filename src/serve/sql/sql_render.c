/* sql_render.c - translates a SELECT, or the clauses of a SHOW, to SQLite's SQL. Quotes of names and
 * strings, a few operators and @@variables differ. SQLite reports every other error. */
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
 * number; the factor 1.0 gives MySQL's division. DIV needs whole_part in addition, after its right operand.
 */
static const char *translated(const struct sql_token *t)
{
    static const struct {
        const char *mysql, *sqlite;
    } words[] = {{"&&", "AND"},    {"||", "OR"}, {"!", "NOT "},      {"/", "*1.0/"},
                 {"DIV", "*1.0/"}, {"MOD", "%"}, {"LCASE", "LOWER"}, {"UCASE", "UPPER"}};
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
        bool is_summed, in_having;
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
static bool render_nesting(struct buf *b, const struct sql_token *t, struct nesting *n)
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
    render_having(b, n->selects[d].condition);
    n->selects[d].in_having = true;
    return true;
}

/* a DIV b becomes a *1.0/ b % 9223372036854775807. The operator % takes the whole parts of its operands, and
 * no quotient is as large as its right operand. */
static const char whole_part[] = " % 9223372036854775807";

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
        bool is_name = t->kind == SQL_TOKEN_WORD || t->kind == SQL_TOKEN_QUOTED || sql_token_is(t, ".");
        if (!depth && !sql_token_is(next, ".") && !sql_token_is(t, ".") &&
            !(is_name && sql_token_is(next, "(")))
            return n;
    }
}

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
    size_t div_ends[SQL_MAX_DEPTH], n_divs = 0; /* last tokens of the right operands of DIV, innermost last */
    size_t end = 0;                             /* no token ends there, so a space follows SELECT */
    for (; !p->rc; p->at++) {
        const struct sql_token *t = sql_peek(p, 0);
        bool is_end = t->kind == SQL_TOKEN_END || sql_token_is(t, ";");
        note_item(p, b, t, is_end, nesting.depth, &items);
        if (is_end) render_nesting(b, &(struct sql_token){.kind = SQL_TOKEN_END}, &nesting);
        if (is_end) break;
        if (sql_token_is(t, "FROM") && sql_token_is(sql_peek(p, 1), "DUAL")) { /* DUAL stands for no table */
            p->at++;
            continue;
        }
        /* Two adjacent minus signs would begin a comment. */
        if (t->at != end || sql_token_is(t, "-")) buf_char(b, ' ');
        end = t->end;
        if (render_nesting(b, t, &nesting)) continue;
        bool is_after_dot = b->len && b->data[b->len - 1] == '.';
        if (sql_token_is(t, "DIV") && !is_after_dot) {
            if (n_divs == SQL_MAX_DEPTH)
                sql_unexpected(p, "a simpler expression (too deep)");
            else
                div_ends[n_divs++] = p->at + operand_length(p);
        }
        const char *call = bare_call(t);
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
            else if (call)
                buf_printf(b, "%s%s", call, sql_token_is(sql_peek(p, 1), "(") ? "" : "()");
            else
                buf_str(b, translated(t));
        }
        for (; n_divs && div_ends[n_divs - 1] == p->at; n_divs--) buf_str(b, whole_part);
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
