/* sql_parser.h - private to sql_parse.c and sql_render.c: the position in the tokens, and functions that
 * move it. */
#ifndef SERVE_SQL_SQL_PARSER_H
#define SERVE_SQL_SQL_PARSER_H

#include "serve/sql/sql_parse.h"

enum { SQL_MAX_DEPTH = 64, SQL_MAX_LIST = 10000 };

struct sql_parser {
    const struct sql_tokens *tokens;
    size_t at;
    struct arena *arena;
    struct err *err;
    int rc; /* the first failure; after it, every other function does nothing */
};

const struct sql_token *sql_peek(const struct sql_parser *p, size_t ahead);
int sql_unexpected(struct sql_parser *p, const char *wanted); /* sets rc */
bool sql_accept(struct sql_parser *p, const char *word);
void sql_expect(struct sql_parser *p, const char *word);
const char *sql_expect_string(struct sql_parser *p, const char *what); /* '...' */
const char *sql_expect_name(struct sql_parser *p, const char *what);   /* word, `name` or '...' */
uint64_t sql_expect_number(struct sql_parser *p, const char *what);
const char *sql_dotted_name(struct sql_parser *p, const char *what); /* a.b.c */

/* sql_render.c: translate the tokens up to the end of the statement to SQLite's SQL. */
void sql_render_select(struct sql_parser *p, struct sql_select *ret_select); /* after the word SELECT */
const char *sql_render_clauses(struct sql_parser *p);

#endif
