/* sql_lex.c - see sql_lex.h. */
#include "serve/sql/sql_lex.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

struct lexer {
    const char *s;
    size_t at, len;
    struct arena *arena;
    struct sql_token *items;
    size_t n_items, cap_items, n_params;
    unsigned n_open_hints; /* open comments of the form that MySQL executes; their text is SQL */
};

void sql_place(const char *source, size_t at, unsigned *ret_line, unsigned *ret_column)
{
    unsigned line = 1;
    size_t line_start = 0;
    for (size_t i = 0; i < at; i++) {
        if (source[i] != '\n') continue;
        line++;
        line_start = i + 1;
    }
    *ret_line = line;
    *ret_column = (unsigned)(at - line_start);
}

bool sql_token_is(const struct sql_token *t, const char *word)
{
    return (t->kind == SQL_TOKEN_WORD || t->kind == SQL_TOKEN_PUNCT) && !strcasecmp(t->text, word);
}

static int fail(const struct lexer *x, size_t at, struct err *err, const char *what)
{
    unsigned line, column;
    sql_place(x->s, at, &line, &column);
    return err_set(err, ERR_INPUT, "Getting syntax error at line %u, column %u. Detail message: %s.", line,
                   column, what);
}

static char peek(const struct lexer *x, size_t ahead)
{
    return x->at + ahead < x->len ? x->s[x->at + ahead] : '\0';
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static struct sql_token *push(struct lexer *x, enum sql_token_kind kind, size_t start, const char *text,
                              size_t len)
{
    struct sql_token *t = VEC_PUSH(x->items, x->n_items, x->cap_items);
    *t = (struct sql_token){.kind = kind, .text = text, .len = len, .at = start, .end = x->at};
    return t;
}

/* Skips spaces and comments; false (with err) when a comment does not end. */
static bool skip_blank(struct lexer *x, struct err *err)
{
    while (x->at < x->len) {
        char c = peek(x, 0);
        if (isspace((unsigned char)c) || c == '\0') {
            x->at++;
        } else if (c == '#' || (c == '-' && peek(x, 1) == '-' &&
                                (isspace((unsigned char)peek(x, 2)) || x->at + 2 >= x->len))) {
            while (x->at < x->len && peek(x, 0) != '\n') x->at++;
        } else if (c == '/' && peek(x, 1) == '*' && peek(x, 2) == '!') {
            x->at += 3;
            while (isdigit((unsigned char)peek(x, 0))) x->at++;
            x->n_open_hints++;
        } else if (c == '*' && peek(x, 1) == '/' && x->n_open_hints) {
            x->at += 2;
            x->n_open_hints--;
        } else if (c == '/' && peek(x, 1) == '*') {
            size_t start = x->at;
            const char *end = memmem(x->s + x->at + 2, x->len - x->at - 2, "*/", 2);
            if (!end) {
                fail(x, start, err, "this comment does not end");
                return false;
            }
            x->at = (size_t)(end - x->s) + 2;
        } else {
            break;
        }
    }
    return true;
}

/* Reads a quoted string or name. A doubled quote stands for one quote. Backslashes escape in strings only. */
static int lex_quoted(struct lexer *x, struct err *err)
{
    size_t start = x->at, n = 0;
    char quote = x->s[x->at++];
    size_t end = x->at; /* the closing quote; the decoded text is never longer than the text up to it */
    while (end < x->len && (x->s[end] != quote || (end + 1 < x->len && x->s[end + 1] == quote)))
        end += x->s[end] == quote || (x->s[end] == '\\' && quote != '`') ? 2 : 1;
    if (end >= x->len) return fail(x, start, err, "this quote does not end");
    char *text = arena_alloc(x->arena, end - x->at + 1);
    while (x->at < end) {
        char c = x->s[x->at++];
        if (c == quote) {
            x->at++; /* doubled */
        } else if (c == '\\' && quote != '`') {
            c = x->s[x->at++];
            switch (c) {
            case 'n':
                c = '\n';
                break;
            case 't':
                c = '\t';
                break;
            case 'r':
                c = '\r';
                break;
            case 'b':
                c = '\b';
                break;
            case '0':
                c = '\0';
                break;
            case 'Z':
                c = 26;
                break;
            case '%':
            case '_':
                text[n++] = '\\';
                break; /* kept for LIKE */
            default:
                break;
            }
        }
        text[n++] = c;
    }
    text[n] = '\0';
    x->at = end + 1;
    push(x, quote == '`' ? SQL_TOKEN_QUOTED : SQL_TOKEN_STRING, start, text, n);
    return 0;
}

static void lex_number(struct lexer *x)
{
    size_t start = x->at;
    while (isdigit((unsigned char)peek(x, 0))) x->at++;
    if (peek(x, 0) == '.' && isdigit((unsigned char)peek(x, 1))) {
        x->at++;
        while (isdigit((unsigned char)peek(x, 0))) x->at++;
    }
    if ((peek(x, 0) | 32) == 'e') {
        size_t sign = peek(x, 1) == '+' || peek(x, 1) == '-';
        if (isdigit((unsigned char)peek(x, 1 + sign)))
            for (x->at += 1 + sign; isdigit((unsigned char)peek(x, 0));) x->at++;
    }
    push(x, SQL_TOKEN_NUMBER, start, arena_strndup(x->arena, x->s + start, x->at - start), x->at - start);
}

static int lex_variable(struct lexer *x, struct err *err)
{
    size_t start = x->at++;
    bool is_system = peek(x, 0) == '@';
    if (is_system) x->at++;
    if (peek(x, 0) == '`' || peek(x, 0) == '\'' || peek(x, 0) == '"') {
        int rc = lex_quoted(x, err);
        if (rc) return rc;
        struct sql_token *t = &x->items[x->n_items - 1];
        t->kind = SQL_TOKEN_VARIABLE;
        t->at = start;
        t->is_system = is_system;
        return 0;
    }
    size_t name = x->at;
    while (is_name(peek(x, 0)) || (peek(x, 0) == '.' && is_name(peek(x, 1)))) x->at++;
    struct sql_token *t =
        push(x, SQL_TOKEN_VARIABLE, start, arena_strndup(x->arena, x->s + name, x->at - name), x->at - name);
    t->is_system = is_system;
    return 0;
}

static int lex_one(struct lexer *x, struct err *err)
{
    static const char *const pairs[] = {"<=", ">=", "<>", "!=", "||", "&&", ":="};
    size_t start = x->at;
    char c = peek(x, 0);
    if (c == '\'' || c == '"' || c == '`') return lex_quoted(x, err);
    if (isdigit((unsigned char)c)) {
        /* 1abc is a name, as in MySQL; 1 and 1.5 are numbers. */
        size_t i = x->at;
        while (i < x->len && isdigit((unsigned char)x->s[i])) i++;
        bool name = i < x->len && is_name(x->s[i]) && (x->s[i] | 32) != 'e';
        if (!name) {
            lex_number(x);
            return 0;
        }
    }
    if (is_name(c)) {
        while (is_name(peek(x, 0))) x->at++;
        push(x, SQL_TOKEN_WORD, start, arena_strndup(x->arena, x->s + start, x->at - start), x->at - start);
        return 0;
    }
    if (c == '@') return lex_variable(x, err);
    if (c == '?') {
        x->at++;
        x->n_params++;
        push(x, SQL_TOKEN_PARAM, start, "?", 1);
        return 0;
    }
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (c != pairs[i][0] || peek(x, 1) != pairs[i][1]) continue;
        x->at += 2;
        push(x, SQL_TOKEN_PUNCT, start, pairs[i], 2);
        return 0;
    }
    if (!strchr("()=<>,;.*+-/%!{}[]:&|^~", c))
        return fail(x, start, err, "this character has no meaning in SQL");
    x->at++;
    push(x, SQL_TOKEN_PUNCT, start, arena_strndup(x->arena, &c, 1), 1);
    return 0;
}

int sql_lex(const char *source, size_t len, struct arena *arena, struct sql_tokens *ret_tokens,
            struct err *err)
{
    if (len > SQL_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "the statement has %zu bytes; the limit is %zu bytes", len,
                       SQL_MAX_BYTES);
    struct lexer x = {.s = source, .len = len, .arena = arena};
    int rc = 0;
    while (!rc) {
        if (!skip_blank(&x, err))
            rc = ERR_INPUT;
        else if (x.at >= x.len)
            break;
        else
            rc = lex_one(&x, err);
    }
    if (!rc) {
        push(&x, SQL_TOKEN_END, x.at, "", 0);
        struct sql_token *items = arena_array(arena, x.n_items, sizeof *items);
        memcpy(items, x.items, x.n_items * sizeof *items);
        *ret_tokens = (struct sql_tokens){
            .items = items, .n_items = x.n_items, .n_params = x.n_params, .source = source};
    }
    mem_free(x.items);
    return rc;
}
