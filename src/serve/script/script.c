/* script.c - checks and runs a script.
 *
 * One parser goes over the source twice. The first pass only checks: it computes nothing, reports what is
 * wrong, and goes on after an error as Wren's compiler does, so that users see the list of errors they know.
 * The second pass takes place only after a check without errors, and computes while it parses. */
#include "serve/script/script.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "serve/script/script_lex.h"

enum { MAX_DEPTH = 100, MAX_LABEL = 64, MAX_ARGS = 16, MAX_VARIABLES = 256, MAX_MEMORY_BYTES = 256 << 20 };

struct variable {
    const char *name; /* in the source, or the name of a class */
    size_t len;
    struct script_value value;
};

struct script {
    const struct script_host *host;
    struct arena arena;
    struct buf *out;
    struct buf errors;
    struct script_lexer lexer;
    struct script_token previous, current;
    struct variable variables[MAX_VARIABLES];
    size_t n_variables;
    unsigned depth;
    bool running;   /* the second pass */
    bool stopped;   /* nothing more is checked or run */
    struct err err; /* of the second pass */
};

/* ---- values ---- */

struct script_value script_string(struct arena *arena, const char *s, size_t len)
{
    return (struct script_value){.kind = SCRIPT_STRING, .s = arena_strndup(arena, s, len), .len = len};
}

struct script_value script_num(double num)
{
    return (struct script_value){.kind = SCRIPT_NUM, .num = num};
}

struct script_value script_bool(bool b)
{
    return (struct script_value){.kind = SCRIPT_BOOL, .b = b};
}

struct script_value script_list(struct arena *arena)
{
    return (struct script_value){.kind = SCRIPT_LIST,
                                 .list = arena_zalloc(arena, sizeof(struct script_list))};
}

void script_list_add(struct arena *arena, struct script_value list, struct script_value item)
{
    struct script_list *l = list.list;
    if (l->n_items == l->cap_items) {
        size_t cap = l->cap_items ? l->cap_items * 2 : 8;
        struct script_value *items = arena_array(arena, cap, sizeof *items);
        if (l->n_items) memcpy(items, l->items, l->n_items * sizeof *items);
        l->items = items;
        l->cap_items = cap;
    }
    l->items[l->n_items++] = item;
}

static const char *class_name(struct script_value v, struct arena *arena)
{
    static const char *const names[] = {"Null", "Bool", "Num", "String", "List"};
    if (v.kind == SCRIPT_CLASS) return arena_printf(arena, "%s metaclass", v.s);
    return v.kind == SCRIPT_INSTANCE ? v.s : names[v.kind];
}

static void write_value(struct buf *out, struct script_value v)
{
    switch (v.kind) {
    case SCRIPT_NULL:
        buf_str(out, "null");
        break;
    case SCRIPT_BOOL:
        buf_str(out, v.b ? "true" : "false");
        break;
    case SCRIPT_NUM:
        buf_printf(out, "%.14g", v.num);
        break;
    case SCRIPT_STRING:
        buf_add(out, v.s, v.len);
        break;
    case SCRIPT_CLASS:
        buf_str(out, v.s);
        break;
    case SCRIPT_INSTANCE:
        buf_printf(out, "instance of %s", v.s);
        break;
    case SCRIPT_LIST:
        buf_char(out, '[');
        for (size_t i = 0; i < v.list->n_items; i++) {
            if (i) buf_str(out, ", ");
            write_value(out, v.list->items[i]);
        }
        buf_char(out, ']');
        break;
    }
}

/* ---- tokens and errors ---- */

static void stop(struct script *s)
{
    s->stopped = true;
    s->lexer.at = s->lexer.end;
    s->current = (struct script_token){.kind = T_EOF, .start = s->lexer.end, .line = s->lexer.line};
}

/* Reports that the token `t` is wrong. */
static void fail_at(struct script *s, const struct script_token *t, const char *message)
{
    char label[MAX_LABEL + 24];
    if (t->kind == T_ERROR || s->stopped) return;
    if (t->kind == T_LINE)
        snprintf(label, sizeof label, "Error at newline");
    else if (t->kind == T_EOF)
        snprintf(label, sizeof label, "Error at end of file");
    else if (t->length <= MAX_LABEL)
        snprintf(label, sizeof label, "Error at '%.*s'", (int)t->length, t->start);
    else
        snprintf(label, sizeof label, "Error at '%.*s...'", MAX_LABEL, t->start);
    script_compile_error(&s->errors, t->line, label, message);
}

static void fail(struct script *s, const char *message)
{
    fail_at(s, &s->previous, message);
}

static void fail_unsupported(struct script *s)
{
    fail_at(s, &s->current,
            "This part of Wren is not supported: a script can call methods, keep results in variables and "
            "print them.");
    stop(s);
}

static void advance(struct script *s)
{
    s->previous = s->current;
    if (s->current.kind == T_EOF) return;
    s->current = script_next_token(&s->lexer);
    if (s->current.kind == T_UNSUPPORTED) fail_unsupported(s);
}

static bool match(struct script *s, enum script_token_kind kind)
{
    if (s->current.kind != kind) return false;
    advance(s);
    return true;
}

/* A token of another kind is reported, and skipped when a token of the wanted kind follows. */
static void consume(struct script *s, enum script_token_kind kind, const char *message)
{
    advance(s);
    if (s->previous.kind == kind) return;
    fail(s, message);
    if (s->current.kind == kind) advance(s);
}

static bool match_lines(struct script *s)
{
    if (!match(s, T_LINE)) return false;
    while (match(s, T_LINE)) {
    }
    return true;
}

/* ---- variables ---- */

static struct variable *find_variable(struct script *s, const struct script_token *name)
{
    for (size_t i = 0; i < s->n_variables; i++)
        if (s->variables[i].len == name->length && !memcmp(s->variables[i].name, name->start, name->length))
            return &s->variables[i];
    return NULL;
}

static void add_variable(struct script *s, const char *name, size_t len, struct script_value value)
{
    if (s->n_variables == MAX_VARIABLES) {
        fail(s, "The script has too many variables.");
        return;
    }
    s->variables[s->n_variables++] = (struct variable){.name = name, .len = len, .value = value};
}

static void add_class(struct script *s, const char *name)
{
    add_variable(s, name, strlen(name), (struct script_value){.kind = SCRIPT_CLASS, .s = name});
}

/* ---- calls ---- */

struct call {
    struct script_value self;
    const char *name; /* "[]" for a subscript */
    bool getter;      /* without parentheses */
    struct script_value args[MAX_ARGS];
    size_t n_args;
};

static int system_call(struct script *s, const struct call *c)
{
    bool print = !strcmp(c->name, "print");
    if (c->getter || c->n_args > 1 || (!print && (strcmp(c->name, "write") || !c->n_args)))
        return SCRIPT_NO_METHOD;
    if (c->n_args) write_value(s->out, c->args[0]);
    if (print) buf_char(s->out, '\n');
    return 0;
}

static int list_call(const struct call *c, struct script_value *ret, struct err *err)
{
    const struct script_list *list = c->self.list;
    if (c->getter && !strcmp(c->name, "count")) {
        *ret = script_num((double)list->n_items);
        return 0;
    }
    if (strcmp(c->name, "[]") || c->n_args != 1) return SCRIPT_NO_METHOD;
    double i = c->args[0].num;
    if (c->args[0].kind != SCRIPT_NUM) return err_set(err, ERR_INPUT, "Subscript must be a number.");
    if (i != trunc(i)) return err_set(err, ERR_INPUT, "Subscript must be an integer.");
    if (i < 0) i += (double)list->n_items; /* counts from the end */
    if (!(i >= 0 && i < (double)list->n_items)) return err_set(err, ERR_INPUT, "Subscript out of bounds.");
    *ret = list->items[(size_t)i];
    return 0;
}

static void write_signature(struct buf *b, const struct call *c)
{
    bool subscript = !strcmp(c->name, "[]");
    if (!subscript) buf_str(b, c->name);
    if (c->getter) return;
    buf_char(b, subscript ? '[' : '(');
    for (size_t i = 0; i < c->n_args; i++) buf_str(b, i ? ",_" : "_");
    buf_char(b, subscript ? ']' : ')');
}

static int no_method(struct script *s, const struct call *c)
{
    struct buf signature = {0};
    write_signature(&signature, c);
    int rc = err_set(&s->err, ERR_INPUT, "%s does not implement '%s'.", class_name(c->self, &s->arena),
                     buf_cstr(&signature));
    buf_free(&signature);
    return rc;
}

static struct script_value run_call(struct script *s, const struct call *c)
{
    struct script_value ret = {0};
    int rc = SCRIPT_NO_METHOD;
    if (s->stopped) return ret;
    if (c->self.kind == SCRIPT_LIST)
        rc = list_call(c, &ret, &s->err);
    else if (c->self.kind == SCRIPT_CLASS && !strcmp(c->self.s, "System"))
        rc = system_call(s, c);
    else if (c->self.kind == SCRIPT_CLASS || c->self.kind == SCRIPT_INSTANCE)
        rc = s->host->call(s->host->context, c->self.s, c->self.kind == SCRIPT_CLASS, c->name, c->getter,
                           c->args, c->n_args, &s->arena, &ret, &s->err);
    if (rc == SCRIPT_NO_METHOD) rc = no_method(s, c);
    if (!rc && (s->arena.total_bytes > MAX_MEMORY_BYTES || s->out->full))
        rc = err_set(&s->err, ERR_LIMIT, "The script prints too much or takes too much memory.");
    if (rc) {
        buf_printf(s->out, "Runtime error: %s\n  at: main:%d\n", s->err.text, s->previous.line);
        stop(s);
    }
    return ret;
}

/* ---- expressions ---- */

static struct script_value parse_expression(struct script *s);

static void parse_arguments(struct script *s, struct call *c)
{
    do {
        match_lines(s);
        struct script_value value = parse_expression(s);
        if (c->n_args < MAX_ARGS)
            c->args[c->n_args++] = value;
        else
            fail(s, "Methods cannot have more than 16 parameters.");
    } while (match(s, T_COMMA));
    match_lines(s);
}

/* The '.' has been read. */
static struct script_value parse_method(struct script *s, struct script_value self)
{
    struct call c = {.self = self, .getter = true};
    match_lines(s);
    consume(s, T_NAME, "Expect method name after '.'.");
    c.name = arena_strndup(&s->arena, s->previous.start, s->previous.length);
    if (match(s, T_LPAREN)) {
        c.getter = false;
        match_lines(s);
        if (s->current.kind != T_RPAREN) parse_arguments(s, &c);
        consume(s, T_RPAREN, "Expect ')' after arguments.");
    }
    return s->running ? run_call(s, &c) : (struct script_value){0};
}

/* The '[' has been read. */
static struct script_value parse_subscript(struct script *s, struct script_value self)
{
    struct call c = {.self = self, .name = "[]"};
    parse_arguments(s, &c);
    consume(s, T_RBRACKET, "Expect ']' after arguments.");
    return s->running ? run_call(s, &c) : (struct script_value){0};
}

static struct script_value parse_primary(struct script *s)
{
    struct script_value value = {0};
    struct variable *variable;
    advance(s);
    switch (s->previous.kind) {
    case T_NUMBER:
        return script_num(s->previous.num);
    case T_MINUS:
        consume(s, T_NUMBER, "Expect a number after '-'.");
        return script_num(-s->previous.num);
    case T_STRING:
        return (struct script_value){
            .kind = SCRIPT_STRING, .s = s->previous.text, .len = s->previous.text_len};
    case T_TRUE:
    case T_FALSE:
        return script_bool(s->previous.kind == T_TRUE);
    case T_NULL:
        return value;
    case T_LPAREN:
        value = parse_expression(s);
        consume(s, T_RPAREN, "Expect ')' after expression.");
        return value;
    case T_NAME:
        if ((variable = find_variable(s, &s->previous))) return variable->value;
        fail(s, "Variable is used but not defined.");
        return value;
    default:
        fail(s, "Expected expression.");
        return value;
    }
}

static struct script_value parse_expression(struct script *s)
{
    if (s->depth == MAX_DEPTH) {
        fail(s, "The expression is nested too deeply.");
        stop(s);
    }
    if (s->stopped) return (struct script_value){0};
    s->depth++;
    struct script_value value = parse_primary(s);
    for (;;) {
        if (match(s, T_DOT))
            value = parse_method(s, value);
        else if (match(s, T_LBRACKET))
            value = parse_subscript(s, value);
        else
            break;
    }
    if (s->current.kind == T_MINUS || s->current.kind == T_EQ) fail_unsupported(s);
    s->depth--;
    return value;
}

/* ---- statements ---- */

static void parse_statement(struct script *s)
{
    if (!match(s, T_VAR)) {
        parse_expression(s);
        return;
    }
    consume(s, T_NAME, "Expect variable name.");
    struct script_token name = s->previous;
    consume(s, T_EQ, "Expect '=' after variable name.");
    match_lines(s);
    struct script_value value = parse_expression(s);
    if (name.kind != T_NAME) return;
    if (find_variable(s, &name))
        fail_at(s, &name, "Module variable is already defined.");
    else
        add_variable(s, name.start, name.length, value);
}

static void parse_script(struct script *s, const char *source, size_t len)
{
    s->lexer = (struct script_lexer){
        .at = source, .end = source + len, .line = 1, .arena = &s->arena, .errors = &s->errors};
    s->current = (struct script_token){.kind = T_LINE};
    s->n_variables = 0;
    add_class(s, "System");
    for (const char *const *name = s->host->classes; *name; name++) add_class(s, *name);
    match_lines(s);
    while (!match(s, T_EOF)) {
        parse_statement(s);
        if (!match_lines(s)) {
            consume(s, T_EOF, "Expect end of file.");
            break;
        }
    }
}

bool script_run(const char *source, size_t len, const struct script_host *host, struct buf *out)
{
    struct script s = {.host = host, .out = out};
    if (!out->max_len) out->max_len = out->len + SCRIPT_MAX_OUTPUT_BYTES;
    parse_script(&s, source, len);
    if (s.errors.len) {
        buf_add(out, s.errors.data, s.errors.len);
    } else {
        s.running = true;
        parse_script(&s, source, len);
    }
    bool done = !s.stopped && !s.errors.len;
    buf_free(&s.errors);
    arena_free(&s.arena);
    return done;
}
