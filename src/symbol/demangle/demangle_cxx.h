/* demangle_cxx.h - the tree that the parser of C++ names makes and the printer prints. Private to
 * demangle_cxx_*.c.
 *
 * The parser resolves template parameters: a PARAM node points to its argument. Substitutions share nodes, so
 * that the tree is in fact a graph without cycles. The type of a conversion operator may refer to a template
 * argument that comes behind the name. Such a PARAM node gets its argument later and must not be printed
 * before.
 */
#ifndef SYMBOL_DEMANGLE_DEMANGLE_CXX_H
#define SYMBOL_DEMANGLE_DEMANGLE_CXX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum node_kind {
    NODE_NAME,      /* text */
    NODE_NESTED,    /* a::b */
    NODE_LOCAL,     /* a is the function, b the entity in it */
    NODE_TEMPLATE,  /* a<list of b> */
    NODE_LIST,      /* items: template arguments, an argument pack, parameters */
    NODE_PARAM,     /* template parameter: a is the argument, NULL until known; number */
    NODE_QUALIFIED, /* a with const/volatile/restrict of flags */
    NODE_VENDOR,    /* a with the qualifier named text */
    NODE_POINTER,
    NODE_LREF,
    NODE_RREF,
    NODE_COMPLEX,
    NODE_IMAGINARY,
    NODE_FUNCTION,  /* a returns, b parameters, flags, c noexcept expression or throw list */
    NODE_ARRAY,     /* a of dimension b (NULL: none) */
    NODE_MEMBER,    /* pointer to a member b of class a */
    NODE_VECTOR,    /* a of dimension b */
    NODE_EXPANSION, /* a... */
    NODE_CTOR,
    NODE_DTOR,             /* of a */
    NODE_OPERATOR,         /* op */
    NODE_CONVERSION,       /* operator a */
    NODE_LITERAL_OPERATOR, /* operator"" a */
    NODE_LAMBDA,
    NODE_UNNAMED,          /* b parameters, number */
    NODE_DEFAULT_ARGUMENT, /* number */
    NODE_TAG,              /* a[abi:text] */
    NODE_BINDING,          /* structured binding of list b */
    NODE_ENCODING,         /* a name, b NODE_FUNCTION */
    NODE_SPECIAL,          /* text before a; b behind "-in-" when there is one */
    NODE_CLONE,            /* a [clone text] */
    NODE_BUILTIN,          /* text; number is the type's letter */
    NODE_SUBSTITUTION,     /* std::string and the like: text short, text of a long, b the last name */
    NODE_LITERAL,          /* a type, text value; flags: negative */
    NODE_DECLTYPE,
    NODE_FUNCTION_PARAM,
    NODE_THIS,
    NODE_UNARY,
    NODE_BINARY,
    NODE_TRINARY, /* op, a, b, c */
    NODE_CAST,    /* (a)b */
    NODE_BRACES,  /* a{list b} */
    NODE_FOLD,    /* text is the kind letter, op, a, b */
    NODE_NEW,     /* op, a placement list, b type, c initialiser list */
};

enum {
    FLAG_CONST = 1,
    FLAG_VOLATILE = 2,
    FLAG_RESTRICT = 4,
    FLAG_LREF = 8,
    FLAG_RREF = 16,
    FLAG_NOEXCEPT = 32,
    FLAG_THROW = 64,
    FLAG_TRANSACTION = 128,
    FLAG_NEGATIVE = 1,
    FLAG_AUTO = 1,
    FLAG_SUFFIX = 1,
    FLAG_PREFIX = 2
};

struct operator_info {
    char code[3];
    uint8_t arity;
    const char *text;
};

struct node {
    uint8_t kind, flags;
    bool has_param; /* a template parameter is somewhere below */
    uint32_t number, n_text, n_items;
    const char *text;
    const struct operator_info *op;
    struct node *a, *b, *c;
    struct node **items;
};

/* Appends the tree's text to out. Returns false if the text is longer than the limit, or if a parameter never
 * got its argument. */
bool demangle_cxx_print(const struct node *root, struct buf *out);

#endif
