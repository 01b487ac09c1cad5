/* script_parse.c - words into a tree, going on after an error as Wren's compiler does, so that the list of
 * errors is the one its users know: a consumed word that is not the wanted one is reported, and skipped when
 * the wanted one follows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "serve/script/script_tree.h"

enum precedence {
    P_NONE,
    P_LOWEST,
    P_ASSIGNMENT,
    P_CONDITIONAL,
    P_OR,
    P_AND,
    P_EQUALITY,
    P_IS,
    P_COMPARISON,
    P_BIT_OR,
    P_BIT_XOR,
    P_BIT_AND,
    P_SHIFT,
    P_RANGE,
    P_TERM,
    P_FACTOR,
    P_UNARY,
    P_CALL,
    P_PRIMARY,
};

enum { MAX_DEPTH = 100, MAX_NODES = 20000, MAX_NAME = 64 };

struct variable {
    const char *name;
    size_t len;
    int used_line; /* first use while not defined yet */
    bool defined;
    struct script_token used;
};

struct parser {
    struct script_lexer lexer;
    struct script_token previous, current;
    struct arena *arena;
    struct buf *errors;
    struct variable *variables;
    size_t n_variables, cap_variables;
    size_t *scopes; /* n_variables at the start of each open block */
    size_t n_scopes, cap_scopes;
    struct script_value *initial;
    unsigned depth, n_nodes, n_loops;
    bool gave_up;
};

static void fail(struct parser *p, const char *message)
{
    const struct script_token *t = &p->previous;
    char label[MAX_NAME + 24];
    if (t->kind == T_ERROR || p->gave_up) return; /* the lexer has said it */
    if (t->kind == T_LINE)
        snprintf(label, sizeof label, "Error at newline");
    else if (t->kind == T_EOF)
        snprintf(label, sizeof label, "Error at end of file");
    else if (t->length <= MAX_NAME)
        snprintf(label, sizeof label, "Error at '%.*s'", (int)t->length, t->start);
    else
        snprintf(label, sizeof label, "Error at '%.*s...'", MAX_NAME, t->start);
    script_compile_error(p->errors, t->line, label, message);
}

static void give_up(struct parser *p, const char *message)
{
    fail(p, message);
    p->gave_up = true;
    p->lexer.at = p->lexer.end;
    p->current = (struct script_token){.kind = T_EOF, .start = p->lexer.end, .line = p->lexer.line};
}

static void advance(struct parser *p)
{
    p->previous = p->current;
    if (p->current.kind != T_EOF) p->current = script_next_token(&p->lexer);
}

static bool match(struct parser *p, enum script_token_kind kind)
{
    if (p->current.kind != kind) return false;
    advance(p);
    return true;
}

static void consume(struct parser *p, enum script_token_kind kind, const char *message)
{
    advance(p);
    if (p->previous.kind == kind) return;
    fail(p, message);
    if (p->current.kind == kind) advance(p);
}

static bool match_line(struct parser *p)
{
    if (!match(p, T_LINE)) return false;
    while (match(p, T_LINE)) {
    }
    return true;
}

static void skip_lines(struct parser *p)
{
    match_line(p);
}

static struct script_node *new_node(struct parser *p, enum script_node_kind kind)
{
    if (++p->n_nodes > MAX_NODES && !p->gave_up) give_up(p, "The script is too long.");
    struct script_node *n = arena_zalloc(p->arena, sizeof *n);
    n->kind = kind;
    n->line = p->previous.line;
    return n;
}

static struct script_node *literal(struct parser *p, struct script_value value)
{
    struct script_node *n = new_node(p, N_LITERAL);
    n->value = value;
    return n;
}

/* ---- variables ---- */

static size_t find_variable(const struct parser *p, const struct script_token *t, size_t from)
{
    for (size_t i = p->n_variables; i > from; i--) {
        const struct variable *v = &p->variables[i - 1];
        if (v->name && v->len == t->length && !memcmp(v->name, t->start, t->length)) return i - 1;
    }
    return SIZE_MAX;
}

static size_t add_variable(struct parser *p, const char *name, size_t len, bool defined)
{
    struct variable *v = VEC_PUSH(p->variables, p->n_variables, p->cap_variables);
    *v = (struct variable){.name = name, .len = len, .defined = defined, .used = p->previous};
    return p->n_variables - 1;
}

static size_t declare(struct parser *p)
{
    const struct script_token *t = &p->previous;
    size_t from = p->n_scopes ? p->scopes[p->n_scopes - 1] : 0;
    size_t found = find_variable(p, t, from);
    if (t->length > MAX_NAME) fail(p, "Variable name cannot be longer than 64 characters.");
    if (found != SIZE_MAX && p->variables[found].defined) {
        fail(p, p->n_scopes ? "Variable is already declared in this scope."
                            : "Module variable is already defined.");
        return found;
    }
    if (found != SIZE_MAX) {
        p->variables[found].defined = true;
        return found;
    }
    return add_variable(p, t->start, t->length, true);
}

static void open_scope(struct parser *p)
{
    *VEC_PUSH(p->scopes, p->n_scopes, p->cap_scopes) = p->n_variables;
}

static void close_scope(struct parser *p)
{
    /* Slots stay; names go. A name used before its definition belongs to the module and stays known. */
    for (size_t i = p->scopes[--p->n_scopes]; i < p->n_variables; i++)
        if (p->variables[i].defined) p->variables[i].name = NULL;
}

/* ---- expressions ---- */

static struct script_node *parse_precedence(struct parser *p, enum precedence precedence);
static struct script_node *parse_statement(struct parser *p);

static struct script_node *expression(struct parser *p)
{
    return parse_precedence(p, P_LOWEST);
}

struct node_list {
    struct script_node **items;
    size_t n, cap;
};

static void list_end(struct parser *p, struct node_list *list, struct script_node *into)
{
    into->n_args = list->n;
    into->args = arena_array(p->arena, list->n + 1, sizeof *list->items);
    if (list->n) memcpy(into->args, list->items, list->n * sizeof *list->items);
    mem_free(list->items);
}

static void parse_arguments(struct parser *p, struct script_node *into)
{
    struct node_list list = {0};
    do {
        skip_lines(p);
        if (list.n == 16) fail(p, "Methods cannot have more than 16 parameters.");
        *VEC_PUSH(list.items, list.n, list.cap) = expression(p);
    } while (!p->gave_up && match(p, T_COMMA));
    skip_lines(p);
    list_end(p, &list, into);
}

static void set_signature(struct parser *p, struct script_node *call, char open, char close)
{
    struct buf b = {0};
    buf_str(&b, open == '[' ? "" : call->name);
    if (!call->getter) {
        buf_char(&b, open);
        for (size_t i = 0; i < call->n_args; i++) buf_str(&b, i ? ",_" : "_");
        buf_char(&b, close);
    }
    call->signature = arena_strdup(p->arena, buf_cstr(&b));
    buf_free(&b);
    call->line = p->previous.line;
}

static struct script_node *operator_call(struct parser *p, struct script_node *left, const char *name,
                                         struct script_node *right)
{
    struct script_node *n = new_node(p, N_CALL);
    n->a = left;
    n->name = name;
    if (right) {
        n->args = arena_array(p->arena, 1, sizeof *n->args);
        n->args[n->n_args++] = right;
        set_signature(p, n, '(', ')');
    } else {
        n->getter = true;
        n->signature = name;
    }
    return n;
}

static struct script_node *parse_call(struct parser *p, struct script_node *self)
{
    skip_lines(p);
    consume(p, T_NAME, "Expect method name after '.'.");
    struct script_node *n = new_node(p, N_CALL);
    n->a = self;
    n->name = arena_strndup(p->arena, p->previous.start, p->previous.length);
    n->getter = true;
    if (match(p, T_LPAREN)) {
        n->getter = false;
        skip_lines(p);
        if (p->current.kind != T_RPAREN) parse_arguments(p, n);
        consume(p, T_RPAREN, "Expect ')' after arguments.");
    }
    if (match(p, T_LBRACE)) give_up(p, "Functions are not part of this script language.");
    set_signature(p, n, '(', ')');
    if (p->current.kind == T_LINE) { /* a line may begin with ".method" */
        struct script_lexer ahead = p->lexer;
        struct buf quiet = {0};
        ahead.errors = &quiet;
        struct script_token t;
        do t = script_next_token(&ahead);
        while (t.kind == T_LINE);
        buf_free(&quiet);
        if (t.kind == T_DOT) skip_lines(p);
    }
    return n;
}

static struct script_node *parse_subscript(struct parser *p, struct script_node *self)
{
    struct script_node *n = new_node(p, N_CALL);
    n->a = self;
    n->name = "[]";
    parse_arguments(p, n);
    consume(p, T_RBRACKET, "Expect ']' after arguments.");
    set_signature(p, n, '[', ']');
    return n;
}

static struct script_node *parse_list_literal(struct parser *p)
{
    struct script_node *n = new_node(p, N_LIST);
    struct node_list list = {0};
    do {
        skip_lines(p);
        if (p->current.kind == T_RBRACKET) break;
        *VEC_PUSH(list.items, list.n, list.cap) = expression(p);
    } while (!p->gave_up && match(p, T_COMMA));
    skip_lines(p);
    consume(p, T_RBRACKET, "Expect ']' after list elements.");
    list_end(p, &list, n);
    return n;
}

static struct script_node *string_node(struct parser *p)
{
    return literal(
        p, (struct script_value){.kind = SCRIPT_STRING, .s = p->previous.text, .len = p->previous.text_len});
}

static struct script_node *parse_interpolation(struct parser *p)
{
    struct script_node *n = new_node(p, N_CONCAT);
    struct node_list list = {0};
    do {
        *VEC_PUSH(list.items, list.n, list.cap) = string_node(p);
        skip_lines(p);
        *VEC_PUSH(list.items, list.n, list.cap) = expression(p);
        skip_lines(p);
    } while (!p->gave_up && match(p, T_INTERPOLATION));
    consume(p, T_STRING, "Expect end of string interpolation.");
    *VEC_PUSH(list.items, list.n, list.cap) = string_node(p);
    list_end(p, &list, n);
    return n;
}

static struct script_node *parse_name(struct parser *p, bool can_assign)
{
    struct script_token name = p->previous;
    size_t slot = find_variable(p, &name, 0);
    if (slot == SIZE_MAX) { /* perhaps defined later; asked at the end */
        slot = add_variable(p, name.start, name.length, false);
        p->variables[slot].used_line = name.line;
    }
    struct script_node *n = new_node(p, N_VARIABLE);
    n->slot = slot;
    if (!can_assign || !match(p, T_EQ)) return n;
    skip_lines(p);
    n->kind = N_ASSIGN;
    n->a = expression(p);
    return n;
}

static struct script_node *parse_prefix(struct parser *p, bool can_assign)
{
    struct script_node *n;
    switch (p->previous.kind) {
    case T_LPAREN:
        n = expression(p);
        consume(p, T_RPAREN, "Expect ')' after expression.");
        return n;
    case T_LBRACKET:
        return parse_list_literal(p);
    case T_LBRACE:
        give_up(p, "Maps are not part of this script language.");
        return literal(p, (struct script_value){0});
    case T_MINUS:
        skip_lines(p);
        return operator_call(p, parse_precedence(p, P_UNARY + 1), "-", NULL);
    case T_BANG:
        skip_lines(p);
        return operator_call(p, parse_precedence(p, P_UNARY + 1), "!", NULL);
    case T_TILDE:
        skip_lines(p);
        return operator_call(p, parse_precedence(p, P_UNARY + 1), "~", NULL);
    case T_NUMBER:
        return literal(p, script_num(p->previous.num));
    case T_STRING:
        return string_node(p);
    case T_INTERPOLATION:
        return parse_interpolation(p);
    case T_TRUE:
        return literal(p, script_bool(true));
    case T_FALSE:
        return literal(p, script_bool(false));
    case T_NULL:
        return literal(p, (struct script_value){0});
    case T_NAME:
        return parse_name(p, can_assign);
    case T_THIS:
        fail(p, "Cannot use 'this' outside of a method.");
        return literal(p, (struct script_value){0});
    case T_SUPER:
        fail(p, "Cannot use 'super' outside of a method.");
        return literal(p, (struct script_value){0});
    default:
        return NULL;
    }
}

static const struct infix {
    enum script_token_kind kind;
    enum precedence precedence;
    const char *name; /* a method of the left side; NULL: special */
} infixes[] = {
    {T_LBRACKET, P_CALL, NULL},       {T_DOT, P_CALL, NULL},
    {T_DOTDOT, P_RANGE, ".."},        {T_DOTDOTDOT, P_RANGE, "..."},
    {T_STAR, P_FACTOR, "*"},          {T_SLASH, P_FACTOR, "/"},
    {T_PERCENT, P_FACTOR, "%"},       {T_PLUS, P_TERM, "+"},
    {T_MINUS, P_TERM, "-"},           {T_LTLT, P_SHIFT, "<<"},
    {T_GTGT, P_SHIFT, ">>"},          {T_PIPE, P_BIT_OR, "|"},
    {T_PIPEPIPE, P_OR, NULL},         {T_AMP, P_BIT_AND, "&"},
    {T_CARET, P_BIT_XOR, "^"},        {T_AMPAMP, P_AND, NULL},
    {T_QUESTION, P_ASSIGNMENT, NULL}, {T_LT, P_COMPARISON, "<"},
    {T_GT, P_COMPARISON, ">"},        {T_LTEQ, P_COMPARISON, "<="},
    {T_GTEQ, P_COMPARISON, ">="},     {T_EQEQ, P_EQUALITY, "=="},
    {T_BANGEQ, P_EQUALITY, "!="},     {T_IS, P_IS, "is"},
};

static const struct infix *find_infix(enum script_token_kind kind)
{
    for (size_t i = 0; i < sizeof infixes / sizeof *infixes; i++)
        if (infixes[i].kind == kind) return &infixes[i];
    return NULL;
}

static struct script_node *parse_infix(struct parser *p, const struct infix *rule, struct script_node *left)
{
    if (rule->kind == T_DOT) return parse_call(p, left);
    if (rule->kind == T_LBRACKET) return parse_subscript(p, left);
    skip_lines(p);
    if (rule->kind == T_PIPEPIPE || rule->kind == T_AMPAMP) {
        struct script_node *n = new_node(p, rule->kind == T_AMPAMP ? N_AND : N_OR);
        n->a = left;
        n->b = parse_precedence(p, rule->precedence);
        return n;
    }
    if (rule->kind == T_QUESTION) {
        struct script_node *n = new_node(p, N_CONDITIONAL);
        n->a = left;
        n->b = parse_precedence(p, P_CONDITIONAL);
        consume(p, T_COLON, "Expect ':' after then branch of conditional operator.");
        skip_lines(p);
        n->c = parse_precedence(p, P_ASSIGNMENT);
        return n;
    }
    return operator_call(p, left, rule->name, parse_precedence(p, rule->precedence + 1));
}

static struct script_node *parse_precedence(struct parser *p, enum precedence precedence)
{
    if (p->gave_up) return literal(p, (struct script_value){0});
    advance(p);
    if (++p->depth > MAX_DEPTH) give_up(p, "The expression is nested too deeply.");
    struct script_node *left = p->gave_up ? NULL : parse_prefix(p, precedence <= P_CONDITIONAL);
    if (!left) {
        fail(p, "Expected expression.");
        p->depth--;
        return literal(p, (struct script_value){0});
    }
    for (const struct infix *rule;
         !p->gave_up && (rule = find_infix(p->current.kind)) && precedence <= rule->precedence;) {
        advance(p);
        left = parse_infix(p, rule, left);
    }
    p->depth--;
    return left;
}

/* ---- statements ---- */

static struct script_node *parse_var(struct parser *p)
{
    consume(p, T_NAME, "Expect variable name.");
    struct script_token name = p->previous;
    struct script_node *n = new_node(p, N_ASSIGN);
    n->a = match(p, T_EQ) ? (skip_lines(p), expression(p)) : literal(p, (struct script_value){0});
    struct script_token after = p->previous;
    p->previous = name;
    n->slot = name.kind == T_NAME ? declare(p) : add_variable(p, NULL, 0, true);
    p->previous = after;
    return n;
}

static struct script_node *parse_import(struct parser *p)
{
    skip_lines(p);
    consume(p, T_STRING, "Expect a string after 'import'.");
    struct script_node *n = new_node(p, N_IMPORT);
    n->name = p->previous.kind == T_STRING ? p->previous.text : "";
    if (!match(p, T_FOR)) return n;
    skip_lines(p);
    do {
        skip_lines(p);
        consume(p, T_NAME, "Expect variable name.");
        /* The classes are there from the start: importing one again is Wren's error. */
        size_t found = find_variable(p, &p->previous, 0);
        if (found != SIZE_MAX && p->variables[found].defined) fail(p, "Module variable is already defined.");
    } while (!p->gave_up && match(p, T_COMMA));
    return n;
}

static struct script_node *parse_definition(struct parser *p)
{
    if (match(p, T_VAR)) return parse_var(p);
    if (match(p, T_IMPORT)) return parse_import(p);
    if (match(p, T_CLASS) || match(p, T_FOREIGN)) {
        give_up(p, "Classes are not part of this script language.");
        return literal(p, (struct script_value){0});
    }
    return parse_statement(p);
}

static struct script_node *parse_block(struct parser *p)
{
    struct script_node *n = new_node(p, N_BLOCK);
    struct node_list list = {0};
    open_scope(p);
    if (match(p, T_RBRACE)) {
    } else if (!match_line(p)) {
        *VEC_PUSH(list.items, list.n, list.cap) = expression(p);
        consume(p, T_RBRACE, "Expect '}' at end of block.");
    } else if (!match(p, T_RBRACE)) {
        do {
            *VEC_PUSH(list.items, list.n, list.cap) = parse_definition(p);
            consume(p, T_LINE, "Expect newline after statement.");
            skip_lines(p);
        } while (!p->gave_up && p->current.kind != T_RBRACE && p->current.kind != T_EOF);
        consume(p, T_RBRACE, "Expect '}' at end of block.");
    }
    close_scope(p);
    list_end(p, &list, n);
    return n;
}

static struct script_node *parse_loop(struct parser *p, bool is_for)
{
    struct script_node *n = new_node(p, is_for ? N_FOR : N_WHILE);
    open_scope(p);
    consume(p, T_LPAREN, is_for ? "Expect '(' after 'for'." : "Expect '(' after 'while'.");
    if (is_for) {
        consume(p, T_NAME, "Expect for loop variable name.");
        struct script_token name = p->previous;
        consume(p, T_IN, "Expect 'in' after loop variable.");
        skip_lines(p);
        n->a = expression(p);
        p->previous = name;
        n->slot = declare(p);
    } else {
        n->a = expression(p);
    }
    consume(p, T_RPAREN, is_for ? "Expect ')' after loop expression." : "Expect ')' after while condition.");
    p->n_loops++;
    n->b = parse_statement(p);
    p->n_loops--;
    close_scope(p);
    return n;
}

static struct script_node *parse_statement(struct parser *p)
{
    struct script_node *n;
    if (p->gave_up || p->depth > MAX_DEPTH) {
        if (!p->gave_up) give_up(p, "The script is nested too deeply.");
        return literal(p, (struct script_value){0});
    }
    p->depth++;
    if (match(p, T_BREAK) || match(p, T_CONTINUE)) {
        bool is_break = p->previous.kind == T_BREAK;
        if (!p->n_loops)
            fail(p, is_break ? "Cannot use 'break' outside of a loop."
                             : "Cannot use 'continue' outside of a loop.");
        n = new_node(p, is_break ? N_BREAK : N_CONTINUE);
    } else if (match(p, T_FOR)) {
        n = parse_loop(p, true);
    } else if (match(p, T_WHILE)) {
        n = parse_loop(p, false);
    } else if (match(p, T_IF)) {
        n = new_node(p, N_IF);
        consume(p, T_LPAREN, "Expect '(' after 'if'.");
        n->a = expression(p);
        consume(p, T_RPAREN, "Expect ')' after if condition.");
        n->b = parse_statement(p);
        if (match(p, T_ELSE)) n->c = parse_statement(p);
    } else if (match(p, T_RETURN)) {
        n = new_node(p, N_RETURN);
        if (p->current.kind != T_LINE && p->current.kind != T_EOF) n->a = expression(p);
    } else if (match(p, T_LBRACE)) {
        n = parse_block(p);
    } else {
        n = expression(p);
    }
    p->depth--;
    return n;
}

bool script_compile(const char *source, size_t len, const char *const *classes, struct arena *arena,
                    struct script_program *ret, struct buf *errors)
{
    struct parser p = {
        .lexer = {.at = source, .end = source + len, .line = 1, .arena = arena, .errors = errors},
        .arena = arena,
        .errors = errors};
    size_t n_classes = 0, before = errors->len;
    add_variable(&p, "System", 6, true);
    for (; classes[n_classes]; n_classes++)
        add_variable(&p, classes[n_classes], strlen(classes[n_classes]), true);
    struct script_node body = {0};
    struct node_list list = {0};
    p.current = script_next_token(&p.lexer);
    skip_lines(&p);
    while (!match(&p, T_EOF)) {
        *VEC_PUSH(list.items, list.n, list.cap) = parse_definition(&p);
        if (p.gave_up) break;
        if (!match_line(&p)) {
            consume(&p, T_EOF, "Expect end of file.");
            break;
        }
    }
    list_end(&p, &list, &body);
    for (size_t i = 0; i < p.n_variables && !p.gave_up; i++) {
        if (p.variables[i].defined) continue;
        p.previous = p.variables[i].used;
        fail(&p, "Variable is used but not defined.");
    }
    *ret = (struct script_program){.body = body.args, .n_body = body.n_args, .n_slots = p.n_variables};
    ret->initial = arena_zalloc(arena, p.n_variables * sizeof *ret->initial);
    for (size_t i = 0; i <= n_classes; i++)
        ret->initial[i] = (struct script_value){.kind = SCRIPT_CLASS, .s = i ? classes[i - 1] : "System"};
    mem_free(p.variables);
    mem_free(p.scopes);
    return errors->len == before;
}
