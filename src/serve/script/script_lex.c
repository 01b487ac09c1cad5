/* script_lex.c - the text of a script into tokens. */
#include "serve/script/script_lex.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ERRORS_BYTES = 1 << 16, MAX_NUMBER_DIGITS = 310 };

void script_compile_error(struct buf *errors, int line, const char *label, const char *message)
{
    if (errors->len > MAX_ERRORS_BYTES) return;
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

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static struct script_token make(const struct script_lexer *x, enum script_token_kind kind, const char *start)
{
    return (struct script_token){
        .kind = kind, .start = start, .length = (size_t)(x->at - start), .line = x->line};
}

static void lex_escape(struct script_lexer *x, struct buf *text)
{
    static const char from[] = "\"\\%0abefnrtv", to[] = "\"\\%\0\a\b\033\f\n\r\t\v";
    char message[64], c = x->at < x->end ? *x->at++ : '\0';
    const char *simple = c ? strchr(from, c) : NULL;
    if (simple) {
        buf_char(text, to[simple - from]);
        return;
    }
    snprintf(message, sizeof message, "Invalid escape character '%c'.", isprint((unsigned char)c) ? c : '?');
    lex_error(x, message);
}

/* x->at is behind the opening quote. */
static struct script_token lex_string(struct script_lexer *x, const char *start)
{
    struct buf text = {0};
    enum script_token_kind kind = T_STRING;
    for (char c; kind == T_STRING && (c = x->at < x->end ? *x->at++ : '\0') != '"';) {
        if (x->at >= x->end) {
            lex_error(x, "Unterminated string.");
            kind = T_ERROR;
        } else if (c == '%') {
            lex_error(x, "Interpolation is not supported; write '\\%' for a percent sign.");
            kind = T_ERROR;
            x->at = x->end;
        } else if (c == '\\') {
            lex_escape(x, &text);
        } else {
            if (c == '\n') x->line++;
            buf_char(&text, c);
        }
    }
    struct script_token t = make(x, kind, start);
    t.text = arena_strndup(x->arena, text.data ? text.data : "", text.len);
    t.text_len = text.len;
    buf_free(&text);
    return t;
}

static struct script_token lex_number(struct script_lexer *x, const char *start)
{
    char digits[MAX_NUMBER_DIGITS + 1];
    while (isdigit((unsigned char)peek(x, 0))) x->at++;
    if (peek(x, 0) == '.' && isdigit((unsigned char)peek(x, 1)))
        for (x->at++; isdigit((unsigned char)peek(x, 0));) x->at++;
    struct script_token t = make(x, T_NUMBER, start);
    snprintf(digits, sizeof digits, "%.*s",
             (int)(t.length < MAX_NUMBER_DIGITS ? t.length : MAX_NUMBER_DIGITS), start);
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
    } supported[] = {{"var", T_VAR}, {"true", T_TRUE}, {"false", T_FALSE}, {"null", T_NULL}};
    static const char unsupported[] = " as break class construct continue else for foreign if import in is "
                                      "return static super this while ";
    char spaced[16];
    while (is_name(peek(x, 0))) x->at++;
    struct script_token t = make(x, T_NAME, start);
    for (size_t i = 0; i < sizeof supported / sizeof *supported; i++)
        if (t.length == strlen(supported[i].word) && !memcmp(start, supported[i].word, t.length))
            t.kind = supported[i].kind;
    if (t.length < sizeof spaced - 2) {
        snprintf(spaced, sizeof spaced, " %.*s ", (int)t.length, start);
        if (strstr(unsupported, spaced)) t.kind = T_UNSUPPORTED;
    }
    return t;
}

static struct script_token lex_punctuation(struct script_lexer *x, const char *start)
{
    static const char one[] = "()[].,-=";
    static const enum script_token_kind kinds[] = {T_LPAREN, T_RPAREN, T_LBRACKET, T_RBRACKET,
                                                   T_DOT,    T_COMMA,  T_MINUS,    T_EQ};
    static const char operators[] = "*/%^+~?|&!<>{}:";
    char message[64], c = *start;
    if (c && strchr(operators, c)) return make(x, T_UNSUPPORTED, start);
    if ((c == '.' || c == '=') && peek(x, 0) == c) { /* a range or a comparison */
        x->at++;
        return make(x, T_UNSUPPORTED, start);
    }
    const char *found = c ? strchr(one, c) : NULL;
    if (found) return make(x, kinds[found - one], start);
    if (isprint((unsigned char)c))
        snprintf(message, sizeof message, "Invalid character '%c'.", c);
    else
        snprintf(message, sizeof message, "Invalid byte 0x%x.", (unsigned char)c);
    lex_error(x, message);
    return make(x, T_ERROR, start);
}

struct script_token script_next_token(struct script_lexer *x)
{
    while (x->at < x->end) {
        const char *start = x->at++;
        char c = *start;
        if (c == ' ' || c == '\t' || c == '\r') continue;
        if (c == '\n') {
            struct script_token t = make(x, T_LINE, start);
            x->line++;
            return t;
        }
        if (c == '/' && peek(x, 0) == '/') { /* a comment, up to the end of the line */
            while (x->at < x->end && *x->at != '\n') x->at++;
            continue;
        }
        if (c == '"') return lex_string(x, start);
        if (isdigit((unsigned char)c)) return lex_number(x, start);
        if (is_name(c)) return lex_word(x, start);
        return lex_punctuation(x, start);
    }
    return (struct script_token){.kind = T_EOF, .start = x->end, .line = x->line};
}
