/* script_eval.c - walks the tree. Steps and depth are bounded; a runtime error unwinds through return codes.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "serve/script/script_tree.h"

enum { MAX_STEPS = 1000000, MAX_DEPTH = 2000, MAX_MEMORY_BYTES = 256 << 20 };

enum outcome { GO_ON, BROKE, CONTINUED, RETURNED, FAILED };

struct run {
    const struct script_host *host;
    struct buf *out;
    struct arena arena;
    struct script_value *slots;
    unsigned n_steps, depth;
    struct err err;
    int line; /* of the failure */
};

static enum outcome eval(struct run *r, const struct script_node *n, struct script_value *ret);

static enum outcome fail(struct run *r, int line)
{
    r->line = line;
    return FAILED;
}

static bool is_true(struct script_value v)
{
    return v.kind != SCRIPT_NULL && !(v.kind == SCRIPT_BOOL && !v.b);
}

static int system_call(struct run *r, const char *m, bool getter, const struct script_value *args,
                       size_t n_args, struct script_value *ret)
{
    bool print = !strcmp(m, "print"), write = !strcmp(m, "write");
    if (getter) return SCRIPT_NO_METHOD;
    if (print && n_args == 0) {
        buf_char(r->out, '\n');
        *ret = (struct script_value){0};
        return 0;
    }
    if (n_args != 1) return SCRIPT_NO_METHOD;
    if (print || write) {
        struct script_value text = script_to_string(args[0], &r->arena);
        buf_add(r->out, text.s, text.len);
        if (print) buf_char(r->out, '\n');
        *ret = args[0];
        return 0;
    }
    if (!strcmp(m, "printAll") || !strcmp(m, "writeAll")) {
        if (args[0].kind != SCRIPT_LIST)
            return err_set(&r->err, ERR_INPUT, "%s does not implement 'iterate(_)'.",
                           script_class_name(args[0], &r->arena));
        for (size_t i = 0; i < args[0].list->n_items; i++) {
            struct script_value text = script_to_string(args[0].list->items[i], &r->arena);
            buf_add(r->out, text.s, text.len);
        }
        if (*m == 'p') buf_char(r->out, '\n');
        *ret = args[0];
        return 0;
    }
    return SCRIPT_NO_METHOD;
}

static enum outcome eval_call(struct run *r, const struct script_node *n, struct script_value *ret)
{
    struct script_value self, args[16];
    enum outcome o = eval(r, n->a, &self);
    if (o != GO_ON) return o;
    for (size_t i = 0; i < n->n_args && i < 16; i++)
        if ((o = eval(r, n->args[i], &args[i])) != GO_ON) return o;
    int rc = SCRIPT_NO_METHOD;
    if (self.kind == SCRIPT_CLASS && !strcmp(self.s, "System"))
        rc = system_call(r, n->name, n->getter, args, n->n_args, ret);
    else if (self.kind == SCRIPT_CLASS || self.kind == SCRIPT_INSTANCE)
        rc = r->host->call(r->host->context, self.s, self.kind == SCRIPT_CLASS, n->name, n->getter, args,
                           n->n_args, &r->arena, ret, &r->err);
    if (rc == SCRIPT_NO_METHOD)
        rc = script_core_call(self, n->name, n->getter, args, n->n_args, &r->arena, ret, &r->err);
    if (rc == SCRIPT_NO_METHOD)
        rc = err_set(&r->err, ERR_INPUT, "%s does not implement '%s'.", script_class_name(self, &r->arena),
                     n->signature);
    return rc ? fail(r, n->line) : GO_ON;
}

static enum outcome eval_body(struct run *r, struct script_node *const *body, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct script_value unused;
        enum outcome o = eval(r, body[i], &unused);
        if (o != GO_ON) return o;
    }
    return GO_ON;
}

static enum outcome eval_for(struct run *r, const struct script_node *n)
{
    struct script_value over, unused;
    enum outcome o = eval(r, n->a, &over);
    if (o != GO_ON) return o;
    if (over.kind != SCRIPT_LIST && over.kind != SCRIPT_RANGE && over.kind != SCRIPT_STRING) {
        err_set(&r->err, ERR_INPUT, "%s does not implement 'iterate(_)'.",
                script_class_name(over, &r->arena));
        return fail(r, n->line);
    }
    double step = over.num <= over.to ? 1 : -1;
    for (size_t i = 0;; i++) {
        struct script_value item;
        if (over.kind == SCRIPT_LIST) {
            if (i >= over.list->n_items) break;
            item = over.list->items[i];
        } else if (over.kind == SCRIPT_STRING) {
            if (i >= over.len) break;
            item = script_string(&r->arena, over.s + i, 1);
        } else {
            double at = over.num + step * (double)i;
            if (!(over.b ? (over.to - at) * step >= 0 : (over.to - at) * step > 0)) break;
            item = script_num(at);
        }
        r->slots[n->slot] = item;
        o = eval(r, n->b, &unused);
        if (o == BROKE) break;
        if (o != GO_ON && o != CONTINUED) return o;
    }
    return GO_ON;
}

static enum outcome eval_while(struct run *r, const struct script_node *n)
{
    for (;;) {
        struct script_value v;
        enum outcome o = eval(r, n->a, &v);
        if (o != GO_ON) return o;
        if (!is_true(v)) return GO_ON;
        o = eval(r, n->b, &v);
        if (o == BROKE) return GO_ON;
        if (o != GO_ON && o != CONTINUED) return o;
    }
}

static enum outcome eval_concat(struct run *r, const struct script_node *n, struct script_value *ret)
{
    struct buf b = {.max_len = 64 << 20};
    enum outcome o = GO_ON;
    for (size_t i = 0; i < n->n_args && o == GO_ON; i++) {
        struct script_value v;
        if ((o = eval(r, n->args[i], &v)) != GO_ON) break;
        v = script_to_string(v, &r->arena);
        buf_add(&b, v.s, v.len);
    }
    if (o == GO_ON) *ret = script_string(&r->arena, b.data ? b.data : "", b.len);
    buf_free(&b);
    return o;
}

static enum outcome eval_inner(struct run *r, const struct script_node *n, struct script_value *ret)
{
    enum outcome o;
    switch (n->kind) {
    case N_LITERAL:
        *ret = n->value;
        return GO_ON;
    case N_VARIABLE:
        *ret = r->slots[n->slot];
        return GO_ON;
    case N_ASSIGN:
        if ((o = eval(r, n->a, ret)) == GO_ON) r->slots[n->slot] = *ret;
        return o;
    case N_CALL:
        return eval_call(r, n, ret);
    case N_CONCAT:
        return eval_concat(r, n, ret);
    case N_LIST:
        *ret = script_list(&r->arena);
        for (size_t i = 0; i < n->n_args; i++) {
            struct script_value item;
            if ((o = eval(r, n->args[i], &item)) != GO_ON) return o;
            script_list_add(&r->arena, *ret, item);
        }
        return GO_ON;
    case N_AND:
    case N_OR:
        if ((o = eval(r, n->a, ret)) != GO_ON || is_true(*ret) == (n->kind == N_OR)) return o;
        return eval(r, n->b, ret);
    case N_CONDITIONAL:
        if ((o = eval(r, n->a, ret)) != GO_ON) return o;
        return eval(r, is_true(*ret) ? n->b : n->c, ret);
    case N_IF:
        if ((o = eval(r, n->a, ret)) != GO_ON) return o;
        if (is_true(*ret)) return eval(r, n->b, ret);
        return n->c ? eval(r, n->c, ret) : GO_ON;
    case N_WHILE:
        return eval_while(r, n);
    case N_FOR:
        return eval_for(r, n);
    case N_BLOCK:
        return eval_body(r, n->args, n->n_args);
    case N_BREAK:
        return BROKE;
    case N_CONTINUE:
        return CONTINUED;
    case N_RETURN:
        return n->a && (o = eval(r, n->a, ret)) != GO_ON ? o : RETURNED;
    case N_IMPORT:
        if (!strcmp(n->name, "starrocks")) return GO_ON;
        err_set(&r->err, ERR_NOT_FOUND, "Could not load module '%.100s'.", n->name);
        return fail(r, n->line);
    }
    return GO_ON;
}

static enum outcome eval(struct run *r, const struct script_node *n, struct script_value *ret)
{
    *ret = (struct script_value){0};
    if (++r->n_steps > MAX_STEPS || r->arena.total_bytes > MAX_MEMORY_BYTES || r->out->full) {
        err_set(&r->err, ERR_LIMIT, "The script takes too many steps or too much memory and was stopped.");
        return fail(r, n->line);
    }
    if (r->depth >= MAX_DEPTH) {
        err_set(&r->err, ERR_LIMIT, "Stack overflow.");
        return fail(r, n->line);
    }
    r->depth++;
    enum outcome o = eval_inner(r, n, ret);
    r->depth--;
    return o;
}

bool script_run(const char *source, size_t len, const struct script_host *host, struct buf *out)
{
    struct run r = {.host = host, .out = out};
    struct script_program program;
    struct buf errors = {0};
    if (!out->max_len) out->max_len = out->len + SCRIPT_MAX_OUTPUT_BYTES;
    bool done = script_compile(source, len, host->classes, &r.arena, &program, &errors);
    if (!done) {
        buf_add(out, errors.data, errors.len);
    } else {
        r.slots = program.initial;
        if (eval_body(&r, program.body, program.n_body) == FAILED) {
            done = false;
            buf_printf(out, "Runtime error: %s\n  at: main:%d\n", r.err.text, r.line);
        }
    }
    buf_free(&errors);
    arena_free(&r.arena);
    return done;
}
