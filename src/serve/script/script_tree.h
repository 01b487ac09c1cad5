/* script_tree.h - private to script_*.c: words, the tree, and who checks and walks it. */
#ifndef SERVE_SCRIPT_SCRIPT_TREE_H
#define SERVE_SCRIPT_SCRIPT_TREE_H

#include <stdint.h>

#include "serve/script/script.h"

enum script_token_kind {
    T_EOF,
    T_ERROR,
    T_LINE,
    T_NAME,
    T_NUMBER,
    T_STRING,
    T_INTERPOLATION,
    T_LPAREN,
    T_RPAREN,
    T_LBRACKET,
    T_RBRACKET,
    T_LBRACE,
    T_RBRACE,
    T_COLON,
    T_DOT,
    T_DOTDOT,
    T_DOTDOTDOT,
    T_COMMA,
    T_STAR,
    T_SLASH,
    T_PERCENT,
    T_PLUS,
    T_MINUS,
    T_PIPE,
    T_PIPEPIPE,
    T_AMP,
    T_AMPAMP,
    T_BANG,
    T_QUESTION,
    T_EQ,
    T_LT,
    T_GT,
    T_LTEQ,
    T_GTEQ,
    T_EQEQ,
    T_BANGEQ,
    T_TILDE,
    T_CARET,
    T_LTLT,
    T_GTGT,
    T_BREAK,
    T_CONTINUE,
    T_ELSE,
    T_FALSE,
    T_FOR,
    T_IF,
    T_IMPORT,
    T_IN,
    T_IS,
    T_NULL,
    T_RETURN,
    T_TRUE,
    T_VAR,
    T_WHILE,
    T_AS,
    T_CLASS,
    T_CONSTRUCT,
    T_FOREIGN,
    T_STATIC,
    T_SUPER,
    T_THIS,
};

struct script_token {
    enum script_token_kind kind;
    const char *start; /* in the source */
    size_t length;
    int line;
    const char *text; /* T_STRING, T_INTERPOLATION: decoded */
    size_t text_len;
    double num;
};

struct script_lexer {
    const char *at, *end;
    int line;
    struct arena *arena;
    struct buf *errors;
    unsigned braces[8]; /* open brackets of each %( being read */
    unsigned n_interpolations;
};

struct script_token script_next_token(struct script_lexer *x);
void script_compile_error(struct buf *errors, int line, const char *label, const char *message);

enum script_node_kind {
    N_LITERAL,  /* value */
    N_VARIABLE, /* slot */
    N_ASSIGN,   /* slot = a */
    N_CALL,     /* a.name(args) or a.name; name with its signature in `signature` */
    N_LIST,     /* args */
    N_AND,
    N_OR,
    N_CONDITIONAL, /* a, b, c */
    N_CONCAT,      /* args: parts of an interpolated string */
    N_IF,
    N_WHILE,
    N_FOR,
    N_BLOCK,
    N_BREAK,
    N_CONTINUE,
    N_RETURN,
    N_IMPORT,
};

struct script_node {
    enum script_node_kind kind;
    int line;
    struct script_value value;
    const char *name, *signature; /* N_CALL; N_IMPORT: the module */
    bool getter;
    size_t slot;
    struct script_node *a, *b, *c;
    struct script_node **args;
    size_t n_args;
};

struct script_program {
    struct script_node **body;
    size_t n_body;
    size_t n_slots;
    struct script_value *initial; /* n_slots: classes, else null */
};

/* False when it does not compile: the errors are in `errors`, one line each. */
bool script_compile(const char *source, size_t len, const char *const *classes, struct arena *arena,
                    struct script_program *ret, struct buf *errors);

/* Built-in methods (script_core.c): as script_host.call, for the values of the language itself. */
int script_core_call(struct script_value self, const char *method, bool getter,
                     const struct script_value *args, size_t n_args, struct arena *arena,
                     struct script_value *ret, struct err *err);
struct script_value script_to_string(struct script_value v, struct arena *arena);
const char *script_class_name(struct script_value v, struct arena *arena);
bool script_same(struct script_value a, struct script_value b);

#endif
