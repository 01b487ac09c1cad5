/* script_lex.c - script text into words, newlines among them (they end statements). Errors are reported here,
 * once, as T_ERROR. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/script/script_tree.h"

void script_compile_error(struct buf *errors, int line, const char *label, const char *message)
{
    if (errors->len > 1 << 16) return; /* enough to read */
    buf_printf(errors, "Compile error: %s: %s at main:%d\n", label, message, line);
}

static void lex_error(struct script_lexer *x, const char *message)
{
    script_compile_error(x->errors, x->line, "Error", message);
}

static char peek(const struct script_lexer *x, size_t ahead)
{
    return (size_t)(x->end - x->at) > ahead ? x->at[ahead] : '\0';
}

static bool take(struct script_lexer *x, char c)
{
    if (x->at >= x->end || *x->at != c) return false;
    x->at++;
    return true;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static struct script_token make(const struct script_lexer *x, enum script_token_kind kind, const char *start,
                                int line)
{
    return (struct script_token){
        .kind = kind, .start = start, .length = (size_t)(x->at - start), .line = line};
}

/* Block comments nest. */
static bool skip_block_comment(struct script_lexer *x)
{
    for (size_t depth = 1; depth;) {
        if (x->at >= x->end) {
            lex_error(x, "Unterminated block comment.");
            return false;
        }
        char c = *x->at++;
        if (c == '\n') x->line++;
        if (c == '/' && take(x, '*'))
            depth++;
        else if (c == '*' && take(x, '/'))
            depth--;
    }
    return true;
}

static void lex_escape(struct script_lexer *x, struct buf *text)
{
    static const char from[] = "\"\\%0abefnrtv", to[] = "\"\\%\0\a\b\033\f\n\r\t\v";
    char c = x->at < x->end ? *x->at++ : '\0';
    const char *simple = c ? strchr(from, c) : NULL;
    if (simple) {
        buf_char(text, to[simple - from]);
    } else if (c == 'x' || c == 'u' || c == 'U') {
        size_t n = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        char digits[9] = "";
        for (size_t i = 0; i < n; i++) {
            if (!isxdigit((unsigned char)peek(x, 0))) {
                lex_error(x, x->at >= x->end || peek(x, 0) == '"' ? "Incomplete escape sequence."
                                                                  : "Invalid escape sequence.");
                return;
            }
            digits[i] = *x->at++;
        }
        unsigned long code = strtoul(digits, NULL, 16);
        if (c == 'x')
            buf_char(text, (char)code);
        else
            buf_utf8(text, code > 0x10ffff ? 0xfffd : (uint32_t)code);
    } else {
        char message[64];
        snprintf(message, sizeof message, "Invalid escape character '%c'.",
                 isprint((unsigned char)c) ? c : '?');
        lex_error(x, message);
    }
}

/* From behind the opening quote, or behind the ')' of an interpolation, to the quote or the next "%(". */
static struct script_token lex_string(struct script_lexer *x, const char *start, int line)
{
    struct buf text = {0};
    enum script_token_kind kind = T_STRING;
    for (;;) {
        if (x->at >= x->end) {
            lex_error(x, "Unterminated string.");
            kind = T_ERROR;
            break;
        }
        char c = *x->at++;
        if (c == '"') break;
        if (c == '\n') x->line++;
        if (c == '%') {
            if (x->n_interpolations >= sizeof x->braces / sizeof *x->braces) {
                lex_error(x, "Interpolation may only nest 8 levels deep.");
                kind = T_ERROR;
                x->at = x->end;
                break;
            }
            if (!take(x, '(')) lex_error(x, "Expect '(' after '%'.");
            x->braces[x->n_interpolations++] = 1;
            kind = T_INTERPOLATION;
            break;
        }
        if (c == '\\')
            lex_escape(x, &text);
        else
            buf_char(&text, c);
    }
    struct script_token t = make(x, kind, start, x->line);
    (void)line;
    t.text = arena_strndup(x->arena, text.data ? text.data : "", text.len);
    t.text_len = text.len;
    buf_free(&text);
    return t;
}

static struct script_token lex_number(struct script_lexer *x, const char *start)
{
    char digits[320];
    if (*start == '0' && peek(x, 0) == 'x') {
        x->at++;
        while (isxdigit((unsigned char)peek(x, 0))) x->at++;
    } else {
        while (isdigit((unsigned char)peek(x, 0))) x->at++;
        if (peek(x, 0) == '.' && isdigit((unsigned char)peek(x, 1)))
            for (x->at++; isdigit((unsigned char)peek(x, 0));) x->at++;
        if ((peek(x, 0) | 32) == 'e') {
            x->at++;
            if (!take(x, '+')) take(x, '-');
            if (!isdigit((unsigned char)peek(x, 0))) lex_error(x, "Unterminated scientific notation.");
            while (isdigit((unsigned char)peek(x, 0))) x->at++;
        }
    }
    struct script_token t = make(x, T_NUMBER, start, x->line);
    snprintf(digits, sizeof digits, "%.*s", (int)(t.length < 310 ? t.length : 310), start);
    t.num = strtod(digits, NULL);
    if (!isfinite(t.num)) {
        lex_error(x, "Number literal was too large.");
        t.num = 0;
    }
    return t;
}

static struct script_token lex_word(struct script_lexer *x, const char *start)
{
    static const struct {
        const char *word;
        enum script_token_kind kind;
    } keywords[] = {
        {"break", T_BREAK}, {"continue", T_CONTINUE}, {"class", T_CLASS},   {"construct", T_CONSTRUCT},
        {"else", T_ELSE},   {"false", T_FALSE},       {"for", T_FOR},       {"foreign", T_FOREIGN},
        {"if", T_IF},       {"import", T_IMPORT},     {"as", T_AS},         {"in", T_IN},
        {"is", T_IS},       {"null", T_NULL},         {"return", T_RETURN}, {"static", T_STATIC},
        {"super", T_SUPER}, {"this", T_THIS},         {"true", T_TRUE},     {"var", T_VAR},
        {"while", T_WHILE},
    };
    while (is_name(peek(x, 0))) x->at++;
    struct script_token t = make(x, T_NAME, start, x->line);
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (t.length == strlen(keywords[i].word) && !memcmp(start, keywords[i].word, t.length))
            t.kind = keywords[i].kind;
    return t;
}

static enum script_token_kind punctuation(struct script_lexer *x, char c)
{
    switch (c) {
    case '(':
        return T_LPAREN;
    case ')':
        return T_RPAREN;
    case '[':
        return T_LBRACKET;
    case ']':
        return T_RBRACKET;
    case '{':
        return T_LBRACE;
    case '}':
        return T_RBRACE;
    case ':':
        return T_COLON;
    case ',':
        return T_COMMA;
    case '*':
        return T_STAR;
    case '%':
        return T_PERCENT;
    case '^':
        return T_CARET;
    case '+':
        return T_PLUS;
    case '-':
        return T_MINUS;
    case '~':
        return T_TILDE;
    case '?':
        return T_QUESTION;
    case '/':
        return T_SLASH;
    case '|':
        return take(x, '|') ? T_PIPEPIPE : T_PIPE;
    case '&':
        return take(x, '&') ? T_AMPAMP : T_AMP;
    case '=':
        return take(x, '=') ? T_EQEQ : T_EQ;
    case '!':
        return take(x, '=') ? T_BANGEQ : T_BANG;
    case '<':
        return take(x, '<') ? T_LTLT : take(x, '=') ? T_LTEQ : T_LT;
    case '>':
        return take(x, '>') ? T_GTGT : take(x, '=') ? T_GTEQ : T_GT;
    case '.':
        return !take(x, '.') ? T_DOT : take(x, '.') ? T_DOTDOTDOT : T_DOTDOT;
    default:
        return T_ERROR;
    }
}

struct script_token script_next_token(struct script_lexer *x)
{
    while (x->at < x->end) {
        const char *start = x->at;
        int line = x->line;
        char c = *x->at++;
        if (c == ' ' || c == '\t' || c == '\r') continue;
        if (c == '\n') {
            struct script_token t = make(x, T_LINE, start, line);
            x->line++;
            return t;
        }
        if (c == '/' && peek(x, 0) == '/') {
            while (x->at < x->end && *x->at != '\n') x->at++;
            continue;
        }
        if (c == '/' && take(x, '*')) {
            if (!skip_block_comment(x)) break;
            continue;
        }
        if (x->n_interpolations) {
            unsigned *open = &x->braces[x->n_interpolations - 1];
            if (c == '(') ++*open;
            if (c == ')' && --*open == 0) { /* the interpolation ends; the string goes on */
                x->n_interpolations--;
                return lex_string(x, start, line);
            }
        }
        if (c == '"') return lex_string(x, start, line);
        if (isdigit((unsigned char)c)) return lex_number(x, start);
        if (is_name(c)) return lex_word(x, start);
        enum script_token_kind kind = punctuation(x, c);
        if (kind == T_ERROR) {
            char message[64];
            if (isprint((unsigned char)c))
                snprintf(message, sizeof message, "Invalid character '%c'.", c);
            else
                snprintf(message, sizeof message, "Invalid byte 0x%x.", (unsigned char)c);
            lex_error(x, message);
        }
        return make(x, kind, start, line);
    }
    return make(x, T_EOF, x->at, x->line);
}
