/* demangle_cxx_parse.c - parses names of the Itanium C++ ABI (section 5.1) into a tree.
 *
 * This is a recursive-descent parser. All nodes are freed at the end of the call. The length of the name
 * limits their number, and MAX_DEPTH limits their nesting.
 */
#include "symbol/demangle/demangle_cxx_parse.h"

/* Returns a copy of the tree in which template parameters stand for the current template arguments. It is
 * needed because a substitution may refer to a type that first occurred in another function's signature.
 * Returns the tree itself if nothing changes or if it is too large to copy. */
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

/* Returns the name that a constructor of this scope has. */
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

struct node *cxx_parse_parameters(struct parser *s, const char *stops)
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
        n->b = cxx_parse_parameters(s, "E");
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

/* Parses "S_", "S1A_", "Sa" and so on, but not "St". If prefix is true, a constructor may follow, for which
 * the long name is shown. */
struct node *cxx_parse_substitution(struct parser *s, bool prefix)
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
    /* Inside a lambda the parameter is shown as auto. A substitution elsewhere may refer to the same node,
     * and there it stands for the function's parameter. */
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
        if (c == 'M' && so_far) { /* the initialiser of a member is not shown */
            s->p++;
            continue;
        }
        if (c == 'S' && peek2(s) != 't') {
            if (so_far) return fail(s);
            so_far = cxx_parse_substitution(s, true);
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
            so_far = add_sub(s, cxx_parse_decltype(s));
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
    /* The function's template parameters are valid only inside it. */
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
    /* The outer function's return type is left out, because it would read as the type of the inner entity. */
    if (function->kind == NODE_ENCODING) function->b->a = NULL;
    if (eat(s, 's')) {
        skip_discriminator(s);
        return node_new(s, NODE_LOCAL, function, node_text(s, NODE_NAME, "string literal", 14));
    }
    if (eat(s, 'd')) {
        struct node *n = node_new(s, NODE_DEFAULT_ARGUMENT, NULL, NULL);
        n->number = parse_sequence(s) + 1;
        struct node *entity = cxx_parse_name(s, state);
        return entity ? node_new(s, NODE_LOCAL, function, node_new(s, NODE_NESTED, n, entity)) : NULL;
    }
    struct node *entity = cxx_parse_name(s, state);
    if (!entity) return NULL;
    skip_discriminator(s);
    return node_new(s, NODE_LOCAL, function, entity);
}

struct node *cxx_parse_name(struct parser *s, struct name_state *state)
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
            n = cxx_parse_substitution(s, false);
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
        if (!enter(s)) return NULL;
        while (!s->bad && !eat(s, 'E')) add_item(s, &list, parse_template_arg(s));
        s->depth--;
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

struct node *cxx_parse_template_of(struct parser *s, struct node *template)
{
    struct node *args = cxx_parse_template_args(s, false);
    return args ? node_new(s, NODE_TEMPLATE, template, args) : NULL;
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
    struct node *name = cxx_parse_name(s, NULL);
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
            return special(s, "TLS init function for ", cxx_parse_name(s, NULL));
        case 'W':
            return special(s, "TLS wrapper function for ", cxx_parse_name(s, NULL));
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
        return special(s, "guard variable for ", cxx_parse_name(s, NULL));
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
    struct node *name = cxx_parse_name(s, &state);
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
    function->b = cxx_parse_parameters(s, "E.");
    return function->b ? node_new(s, NODE_ENCODING, name, function) : NULL;
}

/* Parses the suffix of a clone, such as ".isra.0", ".cold" or ".123": a run of letters, then dotted numbers.
 */
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
