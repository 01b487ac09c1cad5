/* sql_lex.h - splits SQL text into tokens. It removes comments and decodes quotes; it interprets nothing.
 *
 * A statement has at most SQL_MAX_BYTES bytes, which bounds the number of tokens. The text of tokens lives
 * in the arena. A `?` is a token of its own: a prepared statement replaces it by a token with the value,
 * never by text, so a value cannot become syntax.
 */
#ifndef SERVE_SQL_SQL_LEX_H
#define SERVE_SQL_SQL_LEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

#define SQL_MAX_BYTES ((size_t)1 << 20)

enum sql_token_kind {
    SQL_TOKEN_END,
    SQL_TOKEN_WORD,   /* letters, digits, _ and $: a keyword or a name */
    SQL_TOKEN_QUOTED, /* `name` */
    SQL_TOKEN_STRING, /* 'text' or "text" */
    SQL_TOKEN_NUMBER,
    SQL_TOKEN_VARIABLE, /* @name, @@name, @@session.name: text without the @ */
    SQL_TOKEN_PARAM,    /* ? */
    SQL_TOKEN_NULL,     /* the value of a parameter; never in source text */
    SQL_TOKEN_PUNCT,    /* one or two characters, in text */
};

struct sql_token {
    enum sql_token_kind kind;
    const char *text; /* decoded, NUL-terminated */
    size_t len;
    size_t at, end; /* offsets in the source */
    bool is_system; /* @@x rather than @x */
};

struct sql_tokens {
    struct sql_token *items; /* the last one is SQL_TOKEN_END */
    size_t n_items, n_params;
    const char *source;
};

/* ERR_INPUT for a quote or comment that does not end, or for an unknown character. The error says where. */
int sql_lex(const char *source, size_t len, struct arena *arena, struct sql_tokens *ret_tokens,
            struct err *err);

/* Line (from 1) and column (from 0) of an offset, as StarRocks counts them. */
void sql_place(const char *source, size_t at, unsigned *ret_line, unsigned *ret_column);

bool sql_token_is(const struct sql_token *t,
                  const char *word); /* the token is that unquoted word, ignoring case, or that punctuation */

#endif
