/* script_lex.h - private to serve/script: the tokens of a script. */
#ifndef SERVE_SCRIPT_SCRIPT_LEX_H
#define SERVE_SCRIPT_SCRIPT_LEX_H

#include "serve/script/script.h"

enum script_token_kind {
    T_EOF,
    T_ERROR,       /* the lexer has already reported it */
    T_UNSUPPORTED, /* a keyword or an operator of Wren that this language does not have */
    T_LINE,        /* a newline, which ends a statement */
    T_NAME,
    T_NUMBER,
    T_STRING,
    T_TRUE,
    T_FALSE,
    T_NULL,
    T_VAR,
    T_LPAREN,
    T_RPAREN,
    T_LBRACKET,
    T_RBRACKET,
    T_DOT,
    T_COMMA,
    T_MINUS,
    T_EQ,
};

struct script_token {
    enum script_token_kind kind;
    const char *start; /* in the source */
    size_t length;
    int line;
    const char *text; /* T_STRING: decoded, in the arena */
    size_t text_len;
    double num;
};

struct script_lexer {
    const char *at, *end;
    int line;
    struct arena *arena;
    struct buf *errors;
};

struct script_token script_next_token(struct script_lexer *x);

/* Appends the line of one compile error, until the list of errors is long enough. */
void script_compile_error(struct buf *errors, int line, const char *label, const char *message);

#endif
