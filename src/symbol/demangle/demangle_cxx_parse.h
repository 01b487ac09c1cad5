/* demangle_cxx_parse.h - the state of the C++ name parser and its small tools. Private to demangle_cxx_*.c.
 */
#ifndef SYMBOL_DEMANGLE_DEMANGLE_CXX_PARSE_H
#define SYMBOL_DEMANGLE_DEMANGLE_CXX_PARSE_H

#include <string.h>

#include "base/arena.h"
#include "symbol/demangle/demangle.h"
#include "symbol/demangle/demangle_cxx.h"

enum { MAX_DEPTH = 400, MAX_ITEMS = 4096 };

struct parser {
    const char *p, *end;
    struct arena arena;
    char *block; /* memory on the caller's stack; nodes come from the arena when it is used up */
    size_t n_block;
    bool bad;
    int depth, in_lambda;
    struct node **subs;
    size_t n_subs, cap_subs;
    struct node **args; /* the template arguments that T_, T0_ ... stand for */
    size_t n_args, cap_args;
    struct node **forward; /* parameters that occur before their arguments */
    size_t n_forward, cap_forward;
    bool allow_forward; /* true in the type of a conversion operator, whose arguments come behind it */
};

struct name_state {
    bool no_return; /* a constructor, destructor or conversion, whose mangled name has no return type */
    bool is_template;
    unsigned flags;
};

/* ---- nodes ---- */

static inline void *take(struct parser *s, size_t n_bytes)
{
    n_bytes = (n_bytes + 7) & ~(size_t)7;
    if (n_bytes <= s->n_block) {
        void *p = s->block;
        s->block += n_bytes;
        s->n_block -= n_bytes;
        return p;
    }
    return arena_alloc(&s->arena, n_bytes);
}

static inline struct node *node_new(struct parser *s, enum node_kind kind, struct node *a, struct node *b)
{
    struct node *n = take(s, sizeof *n);
    *n = (struct node){.kind = (uint8_t)kind, .a = a, .b = b};
    n->has_param = (a && a->has_param) || (b && b->has_param);
    return n;
}

static inline struct node *node_text(struct parser *s, enum node_kind kind, const char *text, size_t n_text)
{
    struct node *n = node_new(s, kind, NULL, NULL);
    n->text = text;
    n->n_text = (uint32_t)n_text;
    return n;
}

/* Marks the name as bad and moves to its end, so that all loops of the parser stop. */
static inline struct node *fail(struct parser *s)
{
    s->bad = true;
    s->p = s->end;
    return NULL;
}

static inline void push(struct parser *s, struct node ***items, size_t *n, size_t *cap, struct node *item)
{
    if (*n == *cap) {
        size_t more = *cap ? *cap * 2 : 16;
        struct node **grown = take(s, more * sizeof *grown);
        if (*n) memcpy(grown, *items, *n * sizeof *grown);
        *items = grown;
        *cap = more;
    }
    (*items)[(*n)++] = item;
}

static inline struct node *add_sub(struct parser *s, struct node *n)
{
    if (n) push(s, &s->subs, &s->n_subs, &s->cap_subs, n);
    return n;
}

struct items { /* a list being collected */
    struct node **items;
    size_t n, cap;
};

static inline void add_item(struct parser *s, struct items *list, struct node *n)
{
    if (!n || list->n == MAX_ITEMS)
        fail(s);
    else
        push(s, &list->items, &list->n, &list->cap, n);
}

static inline struct node *node_list(struct parser *s, const struct items *list)
{
    struct node *n = node_new(s, NODE_LIST, NULL, NULL);
    n->items = list->items;
    n->n_items = (uint32_t)list->n;
    for (size_t i = 0; i < list->n; i++) n->has_param |= list->items[i]->has_param;
    return n;
}

/* ---- characters ---- */

static inline char peek(const struct parser *s)
{
    return s->p < s->end ? *s->p : '\0';
}

static inline char peek2(const struct parser *s)
{
    return s->end - s->p > 1 ? s->p[1] : '\0';
}

static inline bool eat(struct parser *s, char c)
{
    if (peek(s) != c || !c) return false;
    s->p++;
    return true;
}

static inline bool eat2(struct parser *s, const char *two)
{
    if (peek(s) != two[0] || peek2(s) != two[1]) return false;
    s->p += 2;
    return true;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline size_t parse_count(struct parser *s)
{
    size_t x = 0;
    if (!is_digit(peek(s))) {
        fail(s);
        return 0;
    }
    while (is_digit(peek(s)) && x < 10000000) x = x * 10 + (size_t)(*s->p++ - '0');
    return x;
}

/* Reads a sequence number: "_" is 0, "0_" is 1, and so on. */
static inline uint32_t parse_sequence(struct parser *s)
{
    if (eat(s, '_')) return 0;
    size_t x = parse_count(s);
    if (!eat(s, '_')) fail(s);
    return (uint32_t)x + 1;
}

static inline bool enter(struct parser *s)
{
    if (++s->depth > MAX_DEPTH) fail(s);
    return !s->bad;
}

/* demangle_cxx_parse.c: names */
struct node *cxx_parse_encoding(struct parser *s);
struct node *cxx_parse_name(struct parser *s, struct name_state *state);
struct node *cxx_parse_unqualified(struct parser *s, struct node *scope, struct name_state *state);
struct node *cxx_parse_source_name(struct parser *s);
struct node *cxx_parse_substitution(struct parser *s, bool prefix);
struct node *cxx_parse_parameters(struct parser *s, const char *stops);
struct node *cxx_parse_template_args(struct parser *s, bool for_name);
struct node *cxx_parse_template_of(struct parser *s,
                                   struct node *template); /* with the arguments that follow */
struct node *cxx_parse_template_param(struct parser *s);
unsigned cxx_parse_qualifiers(struct parser *s);

/* demangle_cxx_type.c */
struct node *cxx_parse_type(struct parser *s);
struct node *cxx_parse_decltype(struct parser *s);

/* demangle_cxx_expr.c */
struct node *cxx_parse_expression(struct parser *s);
struct node *cxx_parse_literal(struct parser *s);
const struct operator_info *cxx_find_operator(const struct parser *s);

#endif
