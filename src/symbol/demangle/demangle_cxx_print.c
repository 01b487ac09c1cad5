/* demangle_cxx_print.c - prints the tree of a C++ name.
 *
 * A C declarator has parts before and behind its name, so that a type is printed in two halves. Spaces,
 * suffixes of literals and forms such as "{lambda(int)#1}" are those of binutils.
 */
#include <string.h>

#include "symbol/demangle/demangle.h"
#include "symbol/demangle/demangle_cxx.h"

struct printer {
    struct buf *out;
    size_t limit_len;
    int in_lambda;
    int pack_index; /* which element of a pack; -1: not inside an expansion */
    int depth;
    unsigned steps;
    size_t removed_len; /* out->len after a separator was removed; binutils assumes a blank there */
    bool bad;
};

static void print(struct printer *p, const struct node *n);
static void print_sub(struct printer *p, const struct node *n);
static void print_left(struct printer *p, const struct node *n);
static void print_right(struct printer *p, const struct node *n);

static void text(struct printer *p, const char *s)
{
    buf_str(p->out, s);
}

static void number(struct printer *p, uint64_t x)
{
    buf_u64(p->out, x);
}

static char last_char(const struct printer *p)
{
    if (p->out->len == p->removed_len) return ' ';
    return p->out->len ? p->out->data[p->out->len - 1] : '\0';
}

static bool enter(struct printer *p)
{
    if (++p->depth > 1000 || ++p->steps > 2000000 || p->out->len > p->limit_len) p->bad = true;
    return !p->bad;
}

/* Returns the node that a template parameter stands for. Outside an expansion this is the whole pack. */
static const struct node *resolve(const struct printer *p, const struct node *n)
{
    for (int i = 0; n && n->kind == NODE_PARAM && !p->in_lambda && n->a && i < 100; i++) {
        n = n->a;
        if (n && n->kind == NODE_LIST && p->pack_index >= 0)
            n = (uint32_t)p->pack_index < n->n_items ? n->items[p->pack_index] : NULL;
    }
    return n;
}

/* Prints a list as binutils does: a separator is printed first, and removed if nothing (an empty pack)
 * follows. */
static void print_items(struct printer *p, struct node *const *items, size_t n)
{
    size_t end = p->out->len; /* behind the last item that printed something */
    for (size_t i = 0; i < n && !p->bad; i++) {
        if (i) buf_add(p->out, ", ", 2);
        size_t before = p->out->len;
        print(p, items[i]);
        if (p->out->len != before) end = p->out->len;
    }
    if (n > 1 && !p->bad && p->out->len != end)
        p->out->len = p->removed_len = end; /* empty packs at the end */
}

static void print_list(struct printer *p, const struct node *list)
{
    if (list) print_items(p, list->items, list->n_items);
}

static void print_between(struct printer *p, const char *open, const struct node *n, const char *close)
{
    text(p, open);
    if (n && n->kind == NODE_LIST)
        print_list(p, n);
    else
        print(p, n);
    text(p, close);
}

static void print_name_text(struct printer *p, const char *open, const struct node *n, const char *close)
{
    text(p, open);
    buf_add(p->out, n->text, n->n_text);
    text(p, close);
}

/* ---- declarators ---- */

static bool has_right(const struct printer *p, const struct node *n)
{
    for (int i = 0; i < 200; i++) {
        n = resolve(p, n);
        if (!n) return false;
        switch (n->kind) {
        case NODE_FUNCTION:
        case NODE_ARRAY:
            return true;
        case NODE_POINTER:
        case NODE_LREF:
        case NODE_RREF:
        case NODE_QUALIFIED:
        case NODE_VENDOR:
            n = n->a;
            break;
        case NODE_MEMBER:
            n = n->b;
            break;
        default:
            return false;
        }
    }
    return false;
}

/* Collapses a reference to a reference (& of && is &), also if a parameter stands for the inner one. */
static const struct node *collapse(const struct printer *p, const struct node *n, enum node_kind *ret_kind)
{
    *ret_kind = n->kind;
    const struct node *inner = resolve(p, n->a);
    for (int i = 0; inner && i < 100 && (inner->kind == NODE_LREF || inner->kind == NODE_RREF); i++) {
        if (inner->kind == NODE_LREF) *ret_kind = NODE_LREF;
        inner = resolve(p, inner->a);
    }
    return inner;
}

static void print_flags(struct printer *p, unsigned flags)
{
    if (flags & FLAG_CONST) text(p, " const");
    if (flags & FLAG_VOLATILE) text(p, " volatile");
    if (flags & FLAG_RESTRICT) text(p, " __restrict");
}

/* Returns the type below all qualifiers. */
static const struct node *unqualified(const struct printer *p, const struct node *n)
{
    for (int i = 0; n && n->kind == NODE_QUALIFIED && i < 100; i++) n = resolve(p, n->a);
    return n;
}

static void open_declarator(struct printer *p, const struct node *inner)
{
    inner = unqualified(p, inner);
    if (!inner) return;
    if (inner->kind == NODE_ARRAY) text(p, " (");
    if (inner->kind == NODE_FUNCTION) text(p, "(");
}

static void close_declarator(struct printer *p, const struct node *inner)
{
    inner = unqualified(p, inner);
    if (inner && (inner->kind == NODE_ARRAY || inner->kind == NODE_FUNCTION)) text(p, ")");
}

static void print_left_pointer(struct printer *p, const struct node *n)
{
    enum node_kind kind = n->kind;
    const struct node *inner = kind == NODE_POINTER ? resolve(p, n->a) : collapse(p, n, &kind);
    if (!inner) return;
    print_left(p, inner);
    open_declarator(p, inner);
    text(p, kind == NODE_POINTER ? "*" : kind == NODE_LREF ? "&" : "&&");
}

static void print_right_pointer(struct printer *p, const struct node *n)
{
    enum node_kind kind = n->kind;
    const struct node *inner = kind == NODE_POINTER ? resolve(p, n->a) : collapse(p, n, &kind);
    if (!inner) return;
    close_declarator(p, inner);
    print_right(p, inner);
}

static void print_signature(struct printer *p, const struct node *f)
{
    print_between(p, "(", f->b, ")");
    print_flags(p, f->flags & (FLAG_CONST | FLAG_VOLATILE | FLAG_RESTRICT));
    if (f->flags & FLAG_TRANSACTION) text(p, " transaction_safe");
    if (f->flags & FLAG_LREF) text(p, " &");
    if (f->flags & FLAG_RREF) text(p, " &&");
    if (f->flags & FLAG_NOEXCEPT) {
        text(p, " noexcept");
        if (f->c) print_between(p, "(", f->c, ")");
    }
    if (f->flags & FLAG_THROW) print_between(p, " throw(", f->c, ")");
}

static void print_result_left(struct printer *p, const struct node *result)
{
    if (!result) return;
    print_left(p, result);
    if (!has_right(p, result)) text(p, " ");
}

static void print_left(struct printer *p, const struct node *n)
{
    n = resolve(p, n);
    if (!n || !enter(p)) return;
    switch (n->kind) {
    case NODE_POINTER:
    case NODE_LREF:
    case NODE_RREF:
        print_left_pointer(p, n);
        break;
    case NODE_FUNCTION:
        print_result_left(p, n->a);
        break;
    case NODE_ARRAY:
        print_left(p, n->a);
        break;
    case NODE_QUALIFIED: {
        print_left(p, n->a);
        const struct node *inner = resolve(p, n->a); /* const twice is const */
        print_flags(p,
                    inner && inner->kind == NODE_QUALIFIED ? n->flags & ~(unsigned)inner->flags : n->flags);
        break;
    }
    case NODE_VENDOR:
        print_left(p, n->a);
        text(p, " ");
        buf_add(p->out, n->text, n->n_text);
        break;
    case NODE_MEMBER: {
        const struct node *inner = resolve(p, n->b);
        print_left(p, inner);
        if (inner && (inner->kind == NODE_FUNCTION || inner->kind == NODE_ARRAY))
            open_declarator(p, inner);
        else
            text(p, " ");
        print_between(p, "", n->a, "::*");
        break;
    }
    default:
        print(p, n);
    }
    p->depth--;
}

static void print_right(struct printer *p, const struct node *n)
{
    n = resolve(p, n);
    if (!n || !enter(p)) return;
    switch (n->kind) {
    case NODE_POINTER:
    case NODE_LREF:
    case NODE_RREF:
        print_right_pointer(p, n);
        break;
    case NODE_FUNCTION:
        print_signature(p, n);
        if (n->a) print_right(p, n->a);
        break;
    case NODE_ARRAY:
        text(p, last_char(p) == ']' ? "[" : " [");
        if (n->b) print(p, n->b);
        text(p, "]");
        print_right(p, n->a);
        break;
    case NODE_QUALIFIED:
    case NODE_VENDOR:
        print_right(p, n->a);
        break;
    case NODE_MEMBER:
        close_declarator(p, resolve(p, n->b));
        print_right(p, n->b);
        break;
    default:
        break;
    }
    p->depth--;
}

/* ---- packs ---- */

/* Returns the pack that an expansion goes over, which is the first parameter in its pattern that stands for a
 * pack. */
static const struct node *find_pack(const struct node *n, int depth, unsigned *steps)
{
    if (!n || depth > 100 || ++*steps > 20000) return NULL;
    if (n->kind == NODE_PARAM) return n->a && n->a->kind == NODE_LIST ? n->a : NULL;
    if (n->kind == NODE_EXPANSION || n->kind == NODE_LAMBDA) return NULL;
    const struct node *found = find_pack(n->a, depth + 1, steps);
    if (!found) found = find_pack(n->b, depth + 1, steps);
    if (!found) found = find_pack(n->c, depth + 1, steps);
    for (size_t i = 0; i < n->n_items && !found; i++) found = find_pack(n->items[i], depth + 1, steps);
    return found;
}

static void print_expansion(struct printer *p, const struct node *n)
{
    unsigned steps = 0;
    const struct node *pack = p->in_lambda ? NULL : find_pack(n->a, 0, &steps);
    if (!pack) {
        print_sub(p, n->a);
        text(p, "...");
        return;
    }
    int saved = p->pack_index;
    for (uint32_t i = 0; i < pack->n_items && !p->bad; i++) {
        p->pack_index = (int)i;
        if (i) text(p, ", ");
        print(p, n->a);
    }
    p->pack_index = saved;
}

/* ---- expressions ---- */

static void print_sub(struct printer *p, const struct node *n)
{
    bool simple = n && (n->kind == NODE_NAME || n->kind == NODE_NESTED || n->kind == NODE_BRACES ||
                        n->kind == NODE_FUNCTION_PARAM || n->kind == NODE_THIS);
    if (!simple) text(p, "(");
    if (n) print(p, n);
    if (!simple) text(p, ")");
}

static void print_literal(struct printer *p, const struct node *n)
{
    const char *suffix = NULL;
    switch (n->a->kind == NODE_BUILTIN ? n->a->number : 0) {
    case 'i':
        suffix = "";
        break;
    case 'j':
        suffix = "u";
        break;
    case 'l':
        suffix = "l";
        break;
    case 'm':
        suffix = "ul";
        break;
    case 'x':
        suffix = "ll";
        break;
    case 'y':
        suffix = "ull";
        break;
    case 'b':
        if (n->n_text == 1 && (n->text[0] == '0' || n->text[0] == '1')) {
            text(p, n->text[0] == '0' ? "false" : "true");
            return;
        }
        break;
    default:
        break;
    }
    if (!suffix) print_between(p, "(", n->a, ")");
    bool is_float = n->a->kind == NODE_BUILTIN && n->a->number && strchr("defg", (int)n->a->number);
    if (n->flags & FLAG_NEGATIVE) text(p, "-");
    if (is_float) text(p, "[");
    buf_add(p->out, n->text, n->n_text);
    if (is_float) text(p, "]");
    if (suffix) text(p, suffix);
}

static void print_unary(struct printer *p, const struct node *n)
{
    const char *code = n->op->code;
    const struct node *a = n->a;
    if (!strcmp(code, "ad") && a && a->kind == NODE_ENCODING && a->a->kind == NODE_NESTED)
        a = a->a; /* &A::f without its parameters */
    if (!strcmp(code, "sZ") || !strcmp(code, "sP")) {
        unsigned steps = 0;
        const struct node *pack = a && a->kind == NODE_LIST ? a : find_pack(a, 0, &steps);
        if (pack) {
            number(p, pack->n_items);
            return;
        }
    }
    if (n->flags & FLAG_SUFFIX) {
        print_sub(p, a);
        text(p, n->op->text);
        return;
    }
    text(p, n->op->text);
    if (!a) return;
    if (!strcmp(code, "gs")) {
        print(p, a);
    } else if (!strcmp(code, "st") || !strcmp(code, "nx")) {
        print_between(p, "(", a, ")");
    } else {
        print_sub(p, a);
    }
}

static void print_binary(struct printer *p, const struct node *n)
{
    const char *code = n->op->code;
    if (code[1] == 'c' && strchr("cdrs", code[0])) {
        text(p, n->op->text);
        print_between(p, "<", n->a, ">");
        print_between(p, "(", n->b, ")");
        return;
    }
    bool greater = !strcmp(code, "gt"); /* would end a template list */
    if (greater) text(p, "(");
    const struct node *a = n->a;
    bool call = !strcmp(code, "cl");
    if (call && a && a->kind == NODE_ENCODING) a = a->a;
    print_sub(p, a);
    if (!strcmp(code, "ix")) {
        print_between(p, "[", n->b, "]");
    } else {
        if (!call) text(p, n->op->text);
        print_sub(p, n->b);
    }
    if (greater) text(p, ")");
}

static void print_fold(struct printer *p, const struct node *n)
{
    int saved = p->pack_index;
    p->pack_index = -1;
    char kind = n->text[1];
    text(p, "(");
    if (kind != 'l') {
        print_sub(p, n->a);
        text(p, n->op->text);
    }
    text(p, "...");
    if (kind != 'r') {
        text(p, n->op->text);
        print_sub(p, kind == 'l' ? n->a : n->b);
    }
    text(p, ")");
    p->pack_index = saved;
}

static void print_trinary(struct printer *p, const struct node *n)
{
    print_sub(p, n->a);
    text(p, n->op->text);
    print_sub(p, n->b);
    text(p, " : ");
    print_sub(p, n->c);
}

static void print_new(struct printer *p, const struct node *n)
{
    text(p, n->op->text);
    text(p, " ");
    if (n->a && n->a->n_items) {
        print_sub(p, n->a);
        text(p, " ");
    }
    print(p, n->b);
    if (n->c) print_sub(p, n->c);
}

/* ---- names ---- */

static void print_operator(struct printer *p, const struct operator_info *op)
{
    size_t len = strlen(op->text);
    text(p, "operator");
    if (op->text[0] >= 'a' && op->text[0] <= 'z') text(p, " ");
    if (op->text[len - 1] == ' ') len--;
    buf_add(p->out, op->text, len);
}

static void print_template(struct printer *p, const struct node *n)
{
    int saved = p->pack_index;
    print(p, n->a);
    if (last_char(p) == '<') text(p, " ");
    text(p, "<");
    print_list(p, n->b);
    if (last_char(p) == '>') text(p, " ");
    text(p, ">");
    p->pack_index = saved;
}

static void print_encoding(struct printer *p, const struct node *n)
{
    print_result_left(p, n->b->a);
    print(p, n->a);
    print_signature(p, n->b);
    if (n->b->a) print_right(p, n->b->a);
}

static void print_numbered(struct printer *p, const char *before, const struct node *n)
{
    text(p, before);
    number(p, n->number);
    text(p, "}");
}

static void print_node(struct printer *p, const struct node *n)
{
    switch (n->kind) {
    case NODE_NAME:
    case NODE_BUILTIN:
    case NODE_SUBSTITUTION:
        buf_add(p->out, n->text, n->n_text);
        break;
    case NODE_NESTED:
    case NODE_LOCAL:
        print(p, n->a);
        text(p, "::");
        print(p, n->b);
        break;
    case NODE_TEMPLATE:
        print_template(p, n);
        break;
    case NODE_LIST:
        print_list(p, n);
        break;
    case NODE_PARAM: /* of a generic lambda */
        text(p, "auto:");
        number(p, (uint64_t)n->number + 1);
        break;
    case NODE_COMPLEX:
    case NODE_IMAGINARY:
        print(p, n->a);
        text(p, n->kind == NODE_COMPLEX ? " _Complex" : " _Imaginary");
        break;
    case NODE_VECTOR:
        print(p, n->a);
        print_between(p, " __vector(", n->b, ")");
        break;
    case NODE_EXPANSION:
        print_expansion(p, n);
        break;
    case NODE_DTOR:
        text(p, "~");
        __attribute__((fallthrough));
    case NODE_CTOR:
        print(p, n->a);
        break;
    case NODE_OPERATOR:
        print_operator(p, n->op);
        break;
    case NODE_CONVERSION:
        print_between(p, "operator ", n->a, "");
        break;
    case NODE_LITERAL_OPERATOR:
        print_between(p, "operator\"\" ", n->a, "");
        break;
    case NODE_LAMBDA:
        text(p, "{lambda(");
        p->in_lambda++;
        print_list(p, n->b);
        p->in_lambda--;
        print_numbered(p, ")#", n);
        break;
    case NODE_UNNAMED:
        print_numbered(p, "{unnamed type#", n);
        break;
    case NODE_DEFAULT_ARGUMENT:
        print_numbered(p, "{default arg#", n);
        break;
    case NODE_TAG:
        print(p, n->a);
        print_name_text(p, "[abi:", n, "]");
        break;
    case NODE_BINDING:
        print_between(p, "[", n->b, "]");
        break;
    case NODE_ENCODING:
        print_encoding(p, n);
        break;
    case NODE_SPECIAL:
        buf_add(p->out, n->text, n->n_text);
        print(p, n->a);
        if (n->b) print_between(p, "-in-", n->b, "");
        break;
    case NODE_CLONE:
        print(p, n->a);
        print_name_text(p, " [clone ", n, "]");
        break;
    case NODE_LITERAL:
        print_literal(p, n);
        break;
    case NODE_DECLTYPE:
        print_between(p, "decltype (", n->a, ")");
        break;
    case NODE_FUNCTION_PARAM:
        print_numbered(p, "{parm#", n);
        break;
    case NODE_THIS:
        text(p, "this");
        break;
    case NODE_UNARY:
        print_unary(p, n);
        break;
    case NODE_BINARY:
        print_binary(p, n);
        break;
    case NODE_TRINARY:
        print_trinary(p, n);
        break;
    case NODE_CAST:
        print_between(p, "(", n->a, ")");
        print_sub(p, n->b);
        break;
    case NODE_BRACES:
        if (n->a) print(p, n->a);
        print_between(p, "{", n->b, "}");
        break;
    case NODE_FOLD:
        print_fold(p, n);
        break;
    case NODE_NEW:
        print_new(p, n);
        break;
    default: /* a type in two halves */
        print_left(p, n);
        print_right(p, n);
    }
}

static void print(struct printer *p, const struct node *n)
{
    n = resolve(p, n);
    if (!n || !enter(p)) return;
    print_node(p, n);
    p->depth--;
}

bool demangle_cxx_print(const struct node *root, struct buf *out)
{
    struct printer p = {
        .out = out, .pack_index = -1, .removed_len = SIZE_MAX, .limit_len = out->len + DEMANGLE_MAX_OUTPUT};
    print(&p, root);
    return !p.bad;
}
