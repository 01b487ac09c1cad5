/* sql_render.c - the words of a SELECT, written down again as SQLite wants them. Quotes of names and of text,
 * a few operators and @@variables differ between the two; what else is wrong with it, SQLite says. */
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

/* Words and signs that mean something else to SQLite, or nothing. Its division of whole numbers gives
 * one: 1.0 makes it that of MySQL, and what DIV needs more is written behind it (whole_part). */
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

/* LEFT(a, 1), not a LEFT JOIN. */
static bool is_join_call(const struct sql_parser *p)
{
    const struct sql_token *t = sql_peek(p, 0);
    return (sql_token_is(t, "LEFT") || sql_token_is(t, "RIGHT")) && sql_token_is(sql_peek(p, 1), "(");
}

/* Functions that may be called without brackets. */
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

/* Where we are in SELECTs within SELECTs.
 *
 * HAVING without GROUP BY, where nothing is summed up either, SQLite does not know. To MySQL it is one more
 * condition, in which names of the result may stand; to SQLite that is WHERE: SELECT a x FROM t WHERE b OR c
 * HAVING x OR d  ->  SELECT a x FROM t WHERE ( b OR c) AND ( x OR d) */
struct nesting {
    size_t depth; /* of brackets; deeper than known is looked at no more */
    struct {
        size_t condition; /* where that of WHERE begins in the output; 0: none */
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
    buf_char(b, ' '); /* room for the bracket */
    memmove(b->data + where + 1, b->data + where, b->len - 1 - where);
    b->data[where] = '(';
    buf_str(b, ") AND (");
}

/* True when the word is written. */
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

/* a DIV b: a *1.0/ b % largest. The rest is taken of the whole part, and nothing is as large as that. */
static const char whole_part[] = " % 9223372036854775807";

/* How many words the operand at the next one has: signs, then a value, a name, a call, or something in
 * brackets or between CASE and END. */
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

/* The items between SELECT and its first clause, while they are being written. */
struct items {
    struct sql_select *select; /* NULL: not wanted, or all of them are there */
    size_t cap;
    bool is_open;       /* the next word belongs to the item that begins below */
    size_t rendered_at; /* in the output */
    size_t at, end;     /* in the source */
};

static const char *trimmed(struct arena *arena, const char *text, size_t len)
{
    while (len && *text == ' ') text++, len--;
    while (len && text[len - 1] == ' ') len--;
    return arena_strndup(arena, text, len);
}

/* Called before a word is written. */
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

/* Appends the words from the next one to the end of the statement. */
static void render(struct sql_parser *p, struct buf *b, struct sql_select *select)
{
    struct nesting nesting = {0};
    struct items items = {.select = select};
    size_t div_ends[SQL_MAX_DEPTH], n_divs = 0; /* the last words of what DIV divides by, innermost last */
    size_t end = 0; /* never where a word begins, so there is a space behind SELECT */
    for (; !p->rc; p->at++) {
        const struct sql_token *t = sql_peek(p, 0);
        bool is_end = t->kind == SQL_TOKEN_END || sql_token_is(t, ";");
        note_item(p, b, t, is_end, nesting.depth, &items);
        if (is_end) render_nesting(b, &(struct sql_token){.kind = SQL_TOKEN_END}, &nesting);
        if (is_end) break;
        if (sql_token_is(t, "FROM") && sql_token_is(sql_peek(p, 1), "DUAL")) { /* no table at all */
            p->at++;
            continue;
        }
        /* Two minus signs side by side would begin a comment there. */
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
                (is_after_dot || is_join_call(p) || *t->text == '$')) /* a name, whatever else it may mean */
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
