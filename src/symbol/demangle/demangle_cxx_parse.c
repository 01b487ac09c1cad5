/* demangle_cxx_parse.c - names of the Itanium C++ ABI (section 5.1) into a tree.
 *
 * A recursive-descent parser over the name with one character to look at. All nodes come from one arena that
 * dies with the call; their number is bounded by the length of the name, its nesting by MAX_DEPTH.
 */
#include <stdio.h>

#include "symbol/demangle/demangle_cxx_parse.h"

/* The same tree with its template parameters meaning what they mean here: a substitution may name a type that
 * was first seen in another function's signature. Gives the tree itself when nothing changes or it is too
 * large to copy. */
static struct node *rebind(struct parser *s, struct node *n, unsigned *budget)
{
    if (!n || !n->has_param || *budget == 0) return n;
    --*budget;
    if (n->kind == NODE_PARAM && (n->number >= s->n_args || n->a == s->args[n->number])) return n;
    struct node *copy = take(s, sizeof *copy);
    *copy = *n;
    if (n->kind == NODE_PARAM) {
        copy->a = s->args[n->number];
        return copy;
    }
    copy->a = rebind(s, n->a, budget);
    copy->b = rebind(s, n->b, budget);
    copy->c = rebind(s, n->c, budget);
    if (n->n_items) {
        copy->items = take(s, n->n_items * sizeof *copy->items);
        for (uint32_t i = 0; i < n->n_items; i++) copy->items[i] = rebind(s, n->items[i], budget);
    }
    return copy;
}

/* ---- names ---- */

static struct node *parse_name(struct parser *s, struct name_state *state);

struct node *cxx_parse_source_name(struct parser *s)
{
    size_t n = parse_count(s);
    if (s->bad || n == 0 || n > (size_t)(s->end - s->p)) return fail(s);
    const char *text = s->p;
    s->p += n;
    if (n >= 10 && !memcmp(text, "_GLOBAL_", 8) && strchr("._$", text[8]) && text[9] == 'N')
        return node_text(s, NODE_NAME, "(anonymous namespace)", 21);
    return node_text(s, NODE_NAME, text, n);
}

static struct node *parse_operator(struct parser *s, struct name_state *state)
{
    if (eat2(s, "cv")) {
        bool was = s->allow_forward;
        s->allow_forward = state != NULL;
        struct node *type = cxx_parse_type(s);
        s->allow_forward = was;
        if (state) state->no_return = true;
        return type ? node_new(s, NODE_CONVERSION, type, NULL) : NULL;
    }
    if (peek(s) == 'v' && is_digit(peek2(s))) { /* a vendor's operator: number of operands, name */
        s->p += 2;
        struct node *name = cxx_parse_source_name(s);
        return name ? node_new(s, NODE_CONVERSION, name, NULL) : NULL;
    }
    const struct operator_info *op = cxx_find_operator(s);
    if (!op) return fail(s);
    s->p += 2;
    if (!strcmp(op->code, "li")) {
        struct node *name = cxx_parse_source_name(s);
        return name ? node_new(s, NODE_LITERAL_OPERATOR, name, NULL) : NULL;
    }
    struct node *n = node_new(s, NODE_OPERATOR, NULL, NULL);
    n->op = op;
    return n;
}

/* What a constructor of this scope is called. */
static struct node *last_name(struct node *n)
{
    for (int i = 0; n && i < MAX_DEPTH; i++) {
        switch (n->kind) {
        case NODE_NESTED:
        case NODE_LOCAL:
            n = n->b;
            break;
        case NODE_TEMPLATE:
        case NODE_TAG:
            n = n->a;
            break;
        case NODE_SUBSTITUTION:
            return n->b;
        default:
            return n;
        }
    }
    return n;
}

static struct node *parse_parameters(struct parser *s, const char *stops)
{
    struct items list = {0};
    if (eat(s, 'v')) return node_list(s, &list);
    while (!s->bad && s->p < s->end && !strchr(stops, peek(s))) add_item(s, &list, cxx_parse_type(s));
    return s->bad ? NULL : node_list(s, &list);
}

static struct node *parse_unnamed(struct parser *s)
{
    s->p++; /* U */
    struct node *n;
    if (eat(s, 'l')) {
        n = node_new(s, NODE_LAMBDA, NULL, NULL);
        s->in_lambda++;
        while (peek(s) == 'T' && peek2(s) &&
               strchr("yntp", peek2(s))) { /* explicit template parameters of the lambda: not shown */
            char kind = peek2(s);
            s->p += 2;
            if (kind == 'n') cxx_parse_type(s);
            if (s->bad) return NULL;
        }
        n->b = parse_parameters(s, "E");
        s->in_lambda--;
        if (!eat(s, 'E')) return fail(s);
    } else if (eat(s, 't')) {
        n = node_new(s, NODE_UNNAMED, NULL, NULL);
    } else {
        return fail(s);
    }
    n->number = parse_sequence(s) + 1;
    return s->bad ? NULL : n;
}

static struct node *parse_ctor_dtor(struct parser *s, struct node *scope, struct name_state *state)
{
    struct node *n = NULL;
    if (eat(s, 'C')) {
        bool inherited = eat(s, 'I');
        if (peek(s) < '1' || peek(s) > '5') return fail(s);
        s->p++;
        if (inherited && !cxx_parse_type(s)) return NULL;
        n = node_new(s, NODE_CTOR, last_name(scope), NULL);
    } else {
        s->p++;
        if (!strchr("012345", peek(s)) || !peek(s)) return fail(s);
        s->p++;
        n = node_new(s, NODE_DTOR, last_name(scope), NULL);
    }
    if (state) state->no_return = true;
    return n->a ? n : fail(s);
}

struct node *cxx_parse_unqualified(struct parser *s, struct node *scope, struct name_state *state)
{
    struct node *n;
    char c = peek(s);
    if (c == 'L') {
        s->p++;
        c = peek(s);
    }
    if (state) state->no_return = false;
    if (is_digit(c)) {
        n = cxx_parse_source_name(s);
    } else if (c == 'U' && (peek2(s) == 'l' || peek2(s) == 't')) {
        n = parse_unnamed(s);
    } else if (c == 'D' && peek2(s) == 'C') {
        s->p += 2;
        struct items list = {0};
        while (!s->bad && !eat(s, 'E')) add_item(s, &list, cxx_parse_source_name(s));
        n = s->bad ? NULL : node_new(s, NODE_BINDING, NULL, node_list(s, &list));
    } else if (c == 'C' || c == 'D') {
        n = parse_ctor_dtor(s, scope, state);
    } else if (c >= 'a' && c <= 'z') {
        n = parse_operator(s, state);
    } else {
        return fail(s);
    }
    while (n && eat(s, 'B')) {
        struct node *tag = cxx_parse_source_name(s);
        if (!tag) return NULL;
        tag->kind = NODE_TAG;
        tag->a = n;
        n = tag;
    }
    return n;
}

static const struct {
    char code;
    const char *brief, *full, *last;
} standard[] = {
    {'a', "std::allocator", "std::allocator", "allocator"},
    {'b', "std::basic_string", "std::basic_string", "basic_string"},
    {'s', "std::string", "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
     "basic_string"},
    {'i', "std::istream", "std::basic_istream<char, std::char_traits<char> >", "basic_istream"},
    {'o', "std::ostream", "std::basic_ostream<char, std::char_traits<char> >", "basic_ostream"},
    {'d', "std::iostream", "std::basic_iostream<char, std::char_traits<char> >", "basic_iostream"},
};

/* "S_", "S1A_", "Sa" ...; not "St". prefix: a constructor may follow, then the long name is shown. */
static struct node *parse_substitution(struct parser *s, bool prefix)
{
    s->p++; /* S */
    char c = peek(s);
    if (c == '_' || is_digit(c) || (c >= 'A' && c <= 'Z')) {
        size_t index = 0;
        if (!eat(s, '_')) {
            for (; (is_digit(peek(s)) || (peek(s) >= 'A' && peek(s) <= 'Z')) && index < 1000000; s->p++)
                index = index * 36 + (size_t)(is_digit(*s->p) ? *s->p - '0' : *s->p - 'A' + 10);
            index++;
            if (!eat(s, '_')) return fail(s);
        }
        unsigned budget = 500;
        return index < s->n_subs ? rebind(s, s->subs[index], &budget) : fail(s);
    }
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++) {
        if (standard[i].code != c) continue;
        s->p++;
        bool full = prefix && (peek(s) == 'C' || peek(s) == 'D');
        const char *text = full ? standard[i].full : standard[i].brief;
        struct node *n = node_text(s, NODE_SUBSTITUTION, text, strlen(text));
        n->b = node_text(s, NODE_NAME, standard[i].last, strlen(standard[i].last));
        while (peek(s) == 'B') { /* a tag makes it a new entity */
            s->p++;
            struct node *tag = cxx_parse_source_name(s);
            if (!tag) return NULL;
            tag->kind = NODE_TAG;
            tag->a = n;
            n = add_sub(s, tag);
        }
        return n;
    }
    return fail(s);
}

unsigned cxx_parse_qualifiers(struct parser *s)
{
    unsigned flags = 0;
    if (eat(s, 'r')) flags |= FLAG_RESTRICT;
    if (eat(s, 'V')) flags |= FLAG_VOLATILE;
    if (eat(s, 'K')) flags |= FLAG_CONST;
    return flags;
}

struct node *cxx_parse_template_param(struct parser *s)
{
    s->p++;            /* T */
    if (eat(s, 'L')) { /* level of nested template lists: only lambdas have them */
        parse_count(s);
        eat(s, '_');
    }
    uint32_t index = parse_sequence(s);
    if (s->bad) return NULL;
    /* Inside a lambda it is shown as auto; but a substitution elsewhere may name it, and then it is the
     * function's parameter. */
    struct node *n = node_new(s, NODE_PARAM, NULL, NULL);
    n->number = index;
    n->flags = s->in_lambda ? FLAG_AUTO : 0;
    n->has_param = true;
    if (index < s->n_args && !s->allow_forward)
        n->a = s->args[index];
    else if (s->allow_forward || s->in_lambda)
        push(s, &s->forward, &s->n_forward, &s->cap_forward, n);
    else
        return fail(s);
    return n;
}

static struct node *parse_decltype(struct parser *s)
{
    s->p += 2; /* Dt, DT */
    struct node *e = cxx_parse_expression(s);
    if (!e || !eat(s, 'E')) return fail(s);
    return node_new(s, NODE_DECLTYPE, e, NULL);
}

static struct node *parse_nested(struct parser *s, struct name_state *state)
{
    s->p++;      /* N */
    eat(s, 'H'); /* explicit object parameter */
    unsigned flags = cxx_parse_qualifiers(s);
    if (eat(s, 'R'))
        flags |= FLAG_LREF;
    else if (eat(s, 'O'))
        flags |= FLAG_RREF;
    struct node *so_far = NULL;
    bool last_was_sub = false;
    if (state) state->flags = flags;
    while (!s->bad && peek(s) != 'E') {
        char c = peek(s);
        last_was_sub = false;
        if (state) state->is_template = false;
        if (c == 'M' && so_far) { /* initialiser of a member: nothing to show */
            s->p++;
            continue;
        }
        if (c == 'S' && peek2(s) != 't') {
            if (so_far) return fail(s);
            so_far = parse_substitution(s, true);
            last_was_sub = true;
            continue;
        }
        if (c == 'S') {
            s->p += 2;
            if (so_far) return fail(s);
            so_far = node_text(s, NODE_NAME, "std", 3);
            last_was_sub = true;
            continue;
        }
        if (c == 'T') {
            if (so_far) return fail(s);
            so_far = add_sub(s, cxx_parse_template_param(s));
            continue;
        }
        if (c == 'D' && (peek2(s) == 't' || peek2(s) == 'T')) {
            if (so_far) return fail(s);
            so_far = add_sub(s, parse_decltype(s));
            continue;
        }
        if (c == 'I') {
            if (!so_far) return fail(s);
            struct node *args = cxx_parse_template_args(s, state != NULL);
            if (!args) return NULL;
            so_far = add_sub(s, node_new(s, NODE_TEMPLATE, so_far, args));
            if (state) state->is_template = true;
            continue;
        }
        struct node *n = cxx_parse_unqualified(s, so_far, state);
        if (!n) return NULL;
        so_far = add_sub(s, so_far ? node_new(s, NODE_NESTED, so_far, n) : n);
    }
    if (s->bad || !so_far || !eat(s, 'E')) return fail(s);
    if (!last_was_sub && s->n_subs)
        s->n_subs--; /* the whole name is not a candidate; as a type it is added there */
    return so_far;
}

static void skip_discriminator(struct parser *s)
{
    if (!eat(s, '_')) return;
    if (eat(s, '_')) {
        while (is_digit(peek(s))) s->p++;
        eat(s, '_');
    } else if (is_digit(peek(s))) {
        s->p++;
    }
}

static struct node *parse_local(struct parser *s, struct name_state *state)
{
    s->p++; /* Z */
    /* The function's own parameters mean something only inside it. */
    struct node **args = s->args;
    size_t n_args = s->n_args, cap_args = s->cap_args;
    s->args = NULL;
    s->n_args = s->cap_args = 0;
    struct node *function = cxx_parse_encoding(s);
    if (!state) {
        s->args = args;
        s->n_args = n_args;
        s->cap_args = cap_args;
    }
    if (!function || !eat(s, 'E')) return fail(s);
    /* The result of the function around would read as that of the thing inside. */
    if (function->kind == NODE_ENCODING) function->b->a = NULL;
    if (eat(s, 's')) {
        skip_discriminator(s);
        return node_new(s, NODE_LOCAL, function, node_text(s, NODE_NAME, "string literal", 14));
    }
    if (eat(s, 'd')) {
        struct node *n = node_new(s, NODE_DEFAULT_ARGUMENT, NULL, NULL);
        n->number = parse_sequence(s) + 1;
        struct node *entity = parse_name(s, state);
        return entity ? node_new(s, NODE_LOCAL, function, node_new(s, NODE_NESTED, n, entity)) : NULL;
    }
    struct node *entity = parse_name(s, state);
    if (!entity) return NULL;
    skip_discriminator(s);
    return node_new(s, NODE_LOCAL, function, entity);
}

static struct node *parse_name(struct parser *s, struct name_state *state)
{
    struct node *n = NULL;
    if (!enter(s)) return NULL;
    char c = peek(s);
    if (c == 'N') {
        n = parse_nested(s, state);
    } else if (c == 'Z') {
        n = parse_local(s, state);
    } else {
        bool is_sub = c == 'S' && peek2(s) != 't';
        if (is_sub) {
            n = parse_substitution(s, false);
            if (n && peek(s) != 'I') n = fail(s);
        } else if (c == 'S') {
            s->p += 2;
            n = cxx_parse_unqualified(s, NULL, state);
            if (n) n = node_new(s, NODE_NESTED, node_text(s, NODE_NAME, "std", 3), n);
        } else {
            n = cxx_parse_unqualified(s, NULL, state);
        }
        if (n && peek(s) == 'I') {
            if (!is_sub) add_sub(s, n);
            struct node *args = cxx_parse_template_args(s, state != NULL);
            if (state) state->is_template = true;
            n = args ? node_new(s, NODE_TEMPLATE, n, args) : NULL;
        }
    }
    s->depth--;
    return n;
}

/* ---- templates ---- */

static struct node *parse_template_arg(struct parser *s)
{
    if (peek(s) == 'X') {
        s->p++;
        struct node *e = cxx_parse_expression(s);
        return e && eat(s, 'E') ? e : fail(s);
    }
    if (peek(s) == 'L') return cxx_parse_literal(s);
    if (peek(s) == 'J' || peek(s) == 'I') {
        s->p++;
        struct items list = {0};
        while (!s->bad && !eat(s, 'E')) add_item(s, &list, parse_template_arg(s));
        return s->bad ? NULL : node_list(s, &list);
    }
    return cxx_parse_type(s);
}

struct node *cxx_parse_template_args(struct parser *s, bool for_name)
{
    struct items list = {0};
    s->p++; /* I */
    if (!enter(s)) return NULL;
    while (!s->bad && !eat(s, 'E')) add_item(s, &list, parse_template_arg(s));
    s->depth--;
    if (s->bad) return NULL;
    struct node *n = node_list(s, &list);
    if (for_name) {
        s->args = n->items;
        s->n_args = n->n_items;
        s->cap_args = n->n_items; /* never pushed to */
    }
    return n;
}

/* ---- types ---- */

static const char *builtin_name(char c)
{
    switch (c) {
    case 'a':
        return "signed char";
    case 'b':
        return "bool";
    case 'c':
        return "char";
    case 'd':
        return "double";
    case 'e':
        return "long double";
    case 'f':
        return "float";
    case 'g':
        return "__float128";
    case 'h':
        return "unsigned char";
    case 'i':
        return "int";
    case 'j':
        return "unsigned int";
    case 'l':
        return "long";
    case 'm':
        return "unsigned long";
    case 'n':
        return "__int128";
    case 'o':
        return "unsigned __int128";
    case 's':
        return "short";
    case 't':
        return "unsigned short";
    case 'v':
        return "void";
    case 'w':
        return "wchar_t";
    case 'x':
        return "long long";
    case 'y':
        return "unsigned long long";
    case 'z':
        return "...";
    default:
        return NULL;
    }
}

static const char *d_builtin_name(char c)
{
    switch (c) {
    case 'a':
        return "auto";
    case 'c':
        return "decltype(auto)";
    case 'd':
        return "decimal64";
    case 'e':
        return "decimal128";
    case 'f':
        return "decimal32";
    case 'h':
        return "half";
    case 'i':
        return "char32_t";
    case 'n':
        return "decltype(nullptr)";
    case 's':
        return "char16_t";
    case 'u':
        return "char8_t";
    default:
        return NULL;
    }
}

static struct node *parse_function_type(struct parser *s, unsigned flags, struct node *exception)
{
    s->p++;      /* F */
    eat(s, 'Y'); /* extern "C" */
    struct node *result = cxx_parse_type(s);
    if (!result) return NULL;
    struct items list = {0};
    if (!eat(s, 'v'))
        while (!s->bad && s->p < s->end && peek(s) != 'E' && !(strchr("RO", peek(s)) && peek2(s) == 'E'))
            add_item(s, &list, cxx_parse_type(s));
    if (peek(s) == 'R' && peek2(s) == 'E')
        s->p++, flags |= FLAG_LREF;
    else if (peek(s) == 'O' && peek2(s) == 'E')
        s->p++, flags |= FLAG_RREF;
    if (s->bad || !eat(s, 'E')) return fail(s);
    struct node *n = node_new(s, NODE_FUNCTION, result, node_list(s, &list));
    n->flags = (uint8_t)flags;
    n->c = exception;
    n->has_param |= exception && exception->has_param;
    return n;
}

/* Do, DO..E, Dw..E, Dx stand before F. */
static struct node *parse_exception_function(struct parser *s, unsigned flags)
{
    struct node *exception = NULL;
    for (; peek(s) == 'D';) {
        char c = peek2(s);
        s->p += 2;
        if (c == 'o') {
            flags |= FLAG_NOEXCEPT;
        } else if (c == 'O') {
            flags |= FLAG_NOEXCEPT;
            exception = cxx_parse_expression(s);
            if (!eat(s, 'E')) return fail(s);
        } else if (c == 'w') {
            flags |= FLAG_THROW;
            exception = parse_parameters(s, "E");
            if (!eat(s, 'E')) return fail(s);
        } else if (c == 'x') {
            flags |= FLAG_TRANSACTION;
        } else {
            return fail(s);
        }
    }
    return peek(s) == 'F' ? parse_function_type(s, flags, exception) : fail(s);
}

static struct node *parse_array(struct parser *s)
{
    s->p++; /* A */
    struct node *dimension = NULL;
    if (is_digit(peek(s))) {
        const char *text = s->p;
        parse_count(s);
        dimension = node_text(s, NODE_NAME, text, (size_t)(s->p - text));
    } else if (peek(s) != '_') {
        dimension = cxx_parse_expression(s);
    }
    if (!eat(s, '_')) return fail(s);
    struct node *element = cxx_parse_type(s);
    return element ? node_new(s, NODE_ARRAY, element, dimension) : NULL;
}

static struct node *parse_vector(struct parser *s)
{
    struct node *dimension;
    if (is_digit(peek(s))) {
        const char *text = s->p;
        parse_count(s);
        dimension = node_text(s, NODE_NAME, text, (size_t)(s->p - text));
    } else {
        eat(s, '_');
        dimension = cxx_parse_expression(s);
    }
    if (!eat(s, '_')) return fail(s);
    struct node *element = cxx_parse_type(s);
    return element ? node_new(s, NODE_VECTOR, element, dimension) : NULL;
}

static struct node *parse_float_type(struct parser *s)
{
    if (!is_digit(peek(s))) return fail(s);
    const char *digits = s->p;
    size_t bits = parse_count(s);
    char buffer[32];
    int n;
    if (eat(s, 'b'))
        n = snprintf(buffer, sizeof buffer, bits == 16 ? "std::bfloat16_t" : "std::bfloat%zu_t", bits);
    else
        n = snprintf(buffer, sizeof buffer, "_Float%.*s%s", (int)(s->p - digits), digits,
                     eat(s, 'x') ? "x" : "");
    eat(s, '_');
    char *text = take(s, (size_t)n + 1);
    memcpy(text, buffer, (size_t)n + 1);
    return node_text(s, NODE_BUILTIN, text, (size_t)n);
}

/* Types that start with D; *ret_builtin: not a candidate for substitution. */
static struct node *parse_d_type(struct parser *s, bool *ret_builtin)
{
    char c = peek2(s);
    if (c == 'o' || c == 'O' || c == 'w' || c == 'x') return parse_exception_function(s, 0);
    if (c == 't' || c == 'T') return parse_decltype(s);
    s->p += 2;
    if (c == 'p') {
        struct node *a = cxx_parse_type(s);
        return a ? node_new(s, NODE_EXPANSION, a, NULL) : NULL;
    }
    if (c == 'v') return parse_vector(s);
    *ret_builtin = true;
    if (c == 'F') return parse_float_type(s);
    const char *name = d_builtin_name(c);
    return name ? node_text(s, NODE_BUILTIN, name, strlen(name)) : fail(s);
}

static struct node *parse_qualified(struct parser *s)
{
    unsigned flags = cxx_parse_qualifiers(s);
    if (peek(s) == 'F') return parse_function_type(s, flags, NULL);
    if (peek(s) == 'D' && peek2(s) && strchr("oOwx", peek2(s))) return parse_exception_function(s, flags);
    struct node *inner = cxx_parse_type(s);
    if (!inner) return NULL;
    struct node *n = node_new(s, NODE_QUALIFIED, inner, NULL);
    n->flags = (uint8_t)flags;
    return n;
}

static struct node *parse_vendor_qualified(struct parser *s)
{
    s->p++; /* U */
    struct node *n = cxx_parse_source_name(s);
    if (!n) return NULL;
    if (peek(s) == 'I') {
        struct node *args = cxx_parse_template_args(s, false);
        if (!args) return NULL;
        n->b = args;
    }
    n->kind = NODE_VENDOR;
    n->a = cxx_parse_type(s);
    if (!n->a) return NULL;
    n->has_param = n->a->has_param;
    return n;
}

static struct node *parse_wrapped(struct parser *s, enum node_kind kind)
{
    s->p++;
    struct node *inner = cxx_parse_type(s);
    return inner ? node_new(s, kind, inner, NULL) : NULL;
}

static struct node *parse_member_pointer(struct parser *s)
{
    s->p++; /* M */
    struct node *class = cxx_parse_type(s);
    struct node *type = class ? cxx_parse_type(s) : NULL;
    return type ? node_new(s, NODE_MEMBER, class, type) : NULL;
}

/* A name as a type, or a template parameter or substitution, perhaps with arguments. *ret_known: it is no new
 * candidate. */
static struct node *parse_named_type(struct parser *s, bool *ret_known)
{
    char c = peek(s);
    struct node *n;
    if (c == 'T' && peek2(s) && strchr("sue", peek2(s))) {
        s->p += 2; /* struct, union, enum: not shown */
        return parse_name(s, NULL);
    }
    if (c == 'T') {
        n = cxx_parse_template_param(s);
        if (n && peek(s) == 'I' && !s->allow_forward) { /* there, they are those of the operator */
            add_sub(s, n);
            struct node *args = cxx_parse_template_args(s, false);
            n = args ? node_new(s, NODE_TEMPLATE, n, args) : NULL;
        }
        return n;
    }
    if (c == 'S' && peek2(s) != 't') {
        n = parse_substitution(s, false);
        if (n && peek(s) == 'I') {
            struct node *args = cxx_parse_template_args(s, false);
            return args ? node_new(s, NODE_TEMPLATE, n, args) : NULL;
        }
        *ret_known = true;
        return n;
    }
    return parse_name(s, NULL);
}

struct node *cxx_parse_type(struct parser *s)
{
    if (!enter(s)) return NULL;
    struct node *n = NULL;
    bool known = false;
    char c = peek(s);
    const char *builtin = builtin_name(c);
    if (builtin) {
        s->p++;
        n = node_text(s, NODE_BUILTIN, builtin, strlen(builtin));
        n->number = (uint32_t)c;
        s->depth--;
        return n;
    }
    switch (c) {
    case 'u':
        s->p++;
        n = cxx_parse_source_name(s);
        if (n) n->kind = NODE_BUILTIN;
        if (n && peek(s) == 'I') {
            struct node *args = cxx_parse_template_args(s, false);
            n = args ? node_new(s, NODE_TEMPLATE, n, args) : NULL;
        }
        break;
    case 'r':
    case 'V':
    case 'K':
        n = parse_qualified(s);
        break;
    case 'P':
        n = parse_wrapped(s, NODE_POINTER);
        break;
    case 'R':
        n = parse_wrapped(s, NODE_LREF);
        break;
    case 'O':
        n = parse_wrapped(s, NODE_RREF);
        break;
    case 'C':
        n = parse_wrapped(s, NODE_COMPLEX);
        break;
    case 'G':
        n = parse_wrapped(s, NODE_IMAGINARY);
        break;
    case 'F':
        n = parse_function_type(s, 0, NULL);
        break;
    case 'A':
        n = parse_array(s);
        break;
    case 'M':
        n = parse_member_pointer(s);
        break;
    case 'U':
        n = parse_vendor_qualified(s);
        break;
    case 'D':
        n = parse_d_type(s, &known);
        break;
    default:
        n = parse_named_type(s, &known);
    }
    s->depth--;
    if (n && !known) add_sub(s, n);
    return n;
}

/* ---- encodings ---- */

static void parse_call_offset(struct parser *s, char kind)
{
    for (int i = kind == 'v' ? 2 : 1; i > 0; i--) {
        eat(s, 'n');
        parse_count(s);
        if (!eat(s, '_')) fail(s);
    }
}

static struct node *special(struct parser *s, const char *text, struct node *of)
{
    if (!of) return fail(s);
    struct node *n = node_text(s, NODE_SPECIAL, text, strlen(text));
    n->a = of;
    return n;
}

static struct node *parse_reference_temporary(struct parser *s)
{
    struct node *name = parse_name(s, NULL);
    uint32_t number = 0;
    if (peek(s) == '_' || is_digit(peek(s))) {
        for (; is_digit(peek(s)) || (peek(s) >= 'A' && peek(s) <= 'Z'); s->p++)
            number = number * 36 + (uint32_t)(is_digit(*s->p) ? *s->p - '0' : *s->p - 'A' + 10) + 1;
        eat(s, '_');
    }
    struct buf text = {0};
    buf_printf(&text, "reference temporary #%u for ", number);
    char *copy = take(s, text.len + 1);
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    buf_free(&text);
    return special(s, copy, name);
}

static struct node *parse_special(struct parser *s)
{
    char c = peek(s), d = peek2(s);
    s->p += 2;
    if (c == 'T') switch (d) {
        case 'V':
            return special(s, "vtable for ", cxx_parse_type(s));
        case 'T':
            return special(s, "VTT for ", cxx_parse_type(s));
        case 'I':
            return special(s, "typeinfo for ", cxx_parse_type(s));
        case 'S':
            return special(s, "typeinfo name for ", cxx_parse_type(s));
        case 'F':
            return special(s, "typeinfo fn for ", cxx_parse_type(s));
        case 'A':
            return special(s, "template parameter object for ", parse_template_arg(s));
        case 'H':
            return special(s, "TLS init function for ", parse_name(s, NULL));
        case 'W':
            return special(s, "TLS wrapper function for ", parse_name(s, NULL));
        case 'h':
        case 'v':
            parse_call_offset(s, d);
            return special(s, d == 'h' ? "non-virtual thunk to " : "virtual thunk to ",
                           cxx_parse_encoding(s));
        case 'c':
            for (int i = 0; i < 2; i++) {
                char kind = peek(s);
                if (kind != 'h' && kind != 'v') return fail(s);
                s->p++;
                parse_call_offset(s, kind);
            }
            return special(s, "covariant return thunk to ", cxx_parse_encoding(s));
        case 'C': {
            struct node *derived = cxx_parse_type(s);
            parse_count(s);
            if (!eat(s, '_')) return fail(s);
            struct node *base = cxx_parse_type(s);
            struct node *n = special(s, "construction vtable for ", base);
            if (n) n->b = derived;
            return n;
        }
        default:
            return fail(s);
        }
    switch (d) {
    case 'V':
        return special(s, "guard variable for ", parse_name(s, NULL));
    case 'R':
        return parse_reference_temporary(s);
    case 'A':
        return special(s, "hidden alias for ", cxx_parse_encoding(s));
    case 'T':
        if (eat(s, 't')) return special(s, "transaction clone for ", cxx_parse_encoding(s));
        if (eat(s, 'n')) return special(s, "non-transaction clone for ", cxx_parse_encoding(s));
        return fail(s);
    default:
        return fail(s);
    }
}

struct node *cxx_parse_encoding(struct parser *s)
{
    char c = peek(s);
    if (c == 'T' || (c == 'G' && peek2(s) && strchr("VRAT", peek2(s)))) {
        if (!enter(s)) return NULL;
        struct node *n = parse_special(s);
        s->depth--;
        return n;
    }
    struct name_state state = {0};
    size_t first_forward = s->n_forward;
    struct node *name = parse_name(s, &state);
    if (!name) return NULL;
    for (size_t i = first_forward; i < s->n_forward; i++) {
        struct node *param = s->forward[i];
        if (param->number < s->n_args)
            param->a = s->args[param->number];
        else if (!(param->flags & FLAG_AUTO))
            return fail(s);
    }
    s->n_forward = first_forward;
    if (s->p >= s->end || peek(s) == 'E' || peek(s) == '.') return name;
    struct node *function = node_new(s, NODE_FUNCTION, NULL, NULL);
    function->flags = (uint8_t)state.flags;
    if (state.is_template && !state.no_return) {
        function->a = cxx_parse_type(s);
        if (!function->a) return NULL;
    }
    function->b = parse_parameters(s, "E.");
    return function->b ? node_new(s, NODE_ENCODING, name, function) : NULL;
}

/* ".isra.0", ".cold", ".123": a letter run, then dotted numbers. */
static struct node *parse_clone(struct parser *s, struct node *of)
{
    const char *text = s->p;
    s->p++;
    if ((peek(s) >= 'a' && peek(s) <= 'z') || peek(s) == '_') {
        while ((peek(s) >= 'a' && peek(s) <= 'z') || peek(s) == '_') s->p++;
    } else {
        while (is_digit(peek(s))) s->p++;
    }
    while (peek(s) == '.' && is_digit(peek2(s))) {
        s->p += 2;
        while (is_digit(peek(s))) s->p++;
    }
    if (s->p == text + 1) return fail(s);
    struct node *n = node_text(s, NODE_CLONE, text, (size_t)(s->p - text));
    n->a = of;
    return n;
}

bool demangle_cxx(const char *name, size_t n, struct buf *out)
{
    char block[24 << 10] __attribute__((aligned(16)));
    if (n < 3 || name[0] != '_' || name[1] != 'Z' || n > DEMANGLE_MAX_INPUT) return false;
    struct parser s = {.p = name + 2, .end = name + n, .block = block, .n_block = sizeof block};
    struct node *root = cxx_parse_encoding(&s);
    while (root && peek(&s) == '.') root = parse_clone(&s, root);
    size_t before = out->len;
    bool good = root && !s.bad && s.p == s.end && demangle_cxx_print(root, out);
    if (!good) out->len = before;
    arena_free(&s.arena);
    return good;
}
