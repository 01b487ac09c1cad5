/* script_core.c - the methods of the language's own values, and how they look as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "serve/script/script_tree.h"

enum { MAX_STRING_BYTES = 64 << 20 };

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

const char *script_class_name(struct script_value v, struct arena *arena)
{
    switch (v.kind) {
    case SCRIPT_NULL:
        return "Null";
    case SCRIPT_BOOL:
        return "Bool";
    case SCRIPT_NUM:
        return "Num";
    case SCRIPT_STRING:
        return "String";
    case SCRIPT_LIST:
        return "List";
    case SCRIPT_RANGE:
        return "Range";
    case SCRIPT_CLASS:
        return arena_printf(arena, "%s metaclass", v.s);
    case SCRIPT_INSTANCE:
        return v.s;
    }
    return "";
}

static void write_num(struct buf *b, double num)
{
    if (isnan(num))
        buf_str(b, "nan");
    else if (isinf(num))
        buf_str(b, num > 0 ? "infinity" : "-infinity");
    else
        buf_printf(b, "%.14g", num);
}

static void write_value(struct buf *b, struct script_value v, unsigned depth)
{
    switch (v.kind) {
    case SCRIPT_NULL:
        buf_str(b, "null");
        break;
    case SCRIPT_BOOL:
        buf_str(b, v.b ? "true" : "false");
        break;
    case SCRIPT_NUM:
        write_num(b, v.num);
        break;
    case SCRIPT_STRING:
        buf_add(b, v.s, v.len);
        break;
    case SCRIPT_CLASS:
        buf_str(b, v.s);
        break;
    case SCRIPT_INSTANCE:
        buf_printf(b, "instance of %s", v.s);
        break;
    case SCRIPT_RANGE:
        write_num(b, v.num);
        buf_str(b, v.b ? ".." : "...");
        write_num(b, v.to);
        break;
    case SCRIPT_LIST:
        buf_char(b, '[');
        for (size_t i = 0; i < v.list->n_items && depth < 16 && !b->full; i++) { /* a list may hold itself */
            if (i) buf_str(b, ", ");
            write_value(b, v.list->items[i], depth + 1);
        }
        buf_char(b, ']');
        break;
    }
}

struct script_value script_to_string(struct script_value v, struct arena *arena)
{
    if (v.kind == SCRIPT_STRING) return v;
    struct buf b = {.max_len = MAX_STRING_BYTES};
    write_value(&b, v, 0);
    struct script_value s = script_string(arena, b.data ? b.data : "", b.len);
    buf_free(&b);
    return s;
}

bool script_same(struct script_value a, struct script_value b)
{
    if (a.kind != b.kind) return false;
    switch (a.kind) {
    case SCRIPT_NULL:
        return true;
    case SCRIPT_BOOL:
        return a.b == b.b;
    case SCRIPT_NUM:
        return a.num == b.num;
    case SCRIPT_STRING:
        return a.len == b.len && !memcmp(a.s, b.s, a.len);
    case SCRIPT_LIST:
        return a.list == b.list;
    case SCRIPT_RANGE:
        return a.num == b.num && a.to == b.to && a.b == b.b;
    case SCRIPT_CLASS:
    case SCRIPT_INSTANCE:
        return !strcmp(a.s, b.s);
    }
    return false;
}

static int want(struct err *err, const char *who, const char *what)
{
    return err_set(err, ERR_INPUT, "%s must be %s.", who, what);
}

static int num_call(double x, const char *m, bool getter, const struct script_value *args, size_t n_args,
                    struct script_value *ret, struct err *err)
{
    if (getter) {
        double r = !strcmp(m, "-")       ? -x
                   : !strcmp(m, "abs")   ? fabs(x)
                   : !strcmp(m, "floor") ? floor(x)
                   : !strcmp(m, "ceil")  ? ceil(x)
                   : !strcmp(m, "round") ? round(x)
                   : !strcmp(m, "sqrt")  ? sqrt(x)
                                         : 0;
        if (r == 0 && !strchr("-", *m) && strcmp(m, "abs") && strcmp(m, "floor") && strcmp(m, "ceil") &&
            strcmp(m, "round") && strcmp(m, "sqrt"))
            return SCRIPT_NO_METHOD;
        *ret = script_num(r);
        return 0;
    }
    static const char *const known[] = {"+",   "-",   "*",   "/",   "%", "<", "<=", ">",  ">=", "..",
                                        "...", "min", "max", "pow", "|", "&", "^",  "<<", ">>"};
    size_t op = 0, n_known = sizeof known / sizeof *known;
    while (op < n_known && strcmp(known[op], m)) op++;
    if (op == n_known || n_args != 1) return SCRIPT_NO_METHOD;
    if (args[0].kind != SCRIPT_NUM)
        return want(err, !strncmp(m, "..", 2) ? "Right hand side of range" : "Right operand", "a number");
    double y = args[0].num;
    /* Bits are those of unsigned 32-bit numbers, as in Wren; what does not fit counts as 0 rather than as
     * undefined. */
    uint32_t i = x >= 0 && x <= UINT32_MAX ? (uint32_t)x : 0, j = y >= 0 && y <= UINT32_MAX ? (uint32_t)y : 0;
    switch (op) {
    case 0:
        *ret = script_num(x + y);
        break;
    case 1:
        *ret = script_num(x - y);
        break;
    case 2:
        *ret = script_num(x * y);
        break;
    case 3:
        *ret = script_num(x / y);
        break;
    case 4:
        *ret = script_num(fmod(x, y));
        break;
    case 5:
        *ret = script_bool(x < y);
        break;
    case 6:
        *ret = script_bool(x <= y);
        break;
    case 7:
        *ret = script_bool(x > y);
        break;
    case 8:
        *ret = script_bool(x >= y);
        break;
    case 9:
    case 10:
        *ret = (struct script_value){.kind = SCRIPT_RANGE, .num = x, .to = y, .b = op == 9};
        break;
    case 11:
        *ret = script_num(fmin(x, y));
        break;
    case 12:
        *ret = script_num(fmax(x, y));
        break;
    case 13:
        *ret = script_num(pow(x, y));
        break;
    case 14:
        *ret = script_num(i | j);
        break;
    case 15:
        *ret = script_num(i & j);
        break;
    case 16:
        *ret = script_num(i ^ j);
        break;
    case 17:
        *ret = script_num(j < 32 ? i << j : 0);
        break;
    default:
        *ret = script_num(j < 32 ? i >> j : 0);
        break;
    }
    return 0;
}

/* An index as Wren takes it: whole, from the end when negative. */
static int find_index(struct script_value v, size_t count, size_t *ret, struct err *err)
{
    if (v.kind != SCRIPT_NUM) return err_set(err, ERR_INPUT, "Subscript must be a number or a range.");
    if (v.num != trunc(v.num)) return err_set(err, ERR_INPUT, "Subscript must be an integer.");
    double i = v.num < 0 ? v.num + (double)count : v.num;
    if (!(i >= 0 && i < (double)count)) return err_set(err, ERR_INPUT, "Subscript out of bounds.");
    *ret = (size_t)i;
    return 0;
}

static struct script_value split(struct script_value s, struct script_value by, struct arena *arena)
{
    struct script_value list = script_list(arena);
    const char *at = s.s, *end = s.s + s.len;
    for (;;) {
        const char *hit = memmem(at, (size_t)(end - at), by.s, by.len);
        script_list_add(arena, list, script_string(arena, at, (size_t)((hit ? hit : end) - at)));
        if (!hit) return list;
        at = hit + by.len;
    }
}

static int string_call(struct script_value s, const char *m, bool getter, const struct script_value *args,
                       size_t n_args, struct arena *arena, struct script_value *ret, struct err *err)
{
    if (getter) {
        if (!strcmp(m, "count"))
            *ret = script_num((double)s.len);
        else if (!strcmp(m, "isEmpty"))
            *ret = script_bool(!s.len);
        else
            return SCRIPT_NO_METHOD;
        return 0;
    }
    if (!strcmp(m, "trim") && n_args == 0) {
        size_t from = 0, to = s.len;
        while (from < to && strchr(" \t\r\n", s.s[from])) from++;
        while (to > from && strchr(" \t\r\n", s.s[to - 1])) to--;
        *ret = script_string(arena, s.s + from, to - from);
        return 0;
    }
    if (n_args != 1) return SCRIPT_NO_METHOD;
    struct script_value a = args[0];
    if (!strcmp(m, "[]")) {
        size_t i;
        int rc = find_index(a, s.len, &i, err);
        if (!rc) *ret = script_string(arena, s.s + i, 1);
        return rc;
    }
    if (!strcmp(m, "*")) {
        if (a.kind != SCRIPT_NUM || a.num < 0 || a.num != trunc(a.num))
            return err_set(err, ERR_INPUT, "Count must be a non-negative integer.");
        if (a.num * (double)s.len > MAX_STRING_BYTES)
            return err_set(err, ERR_LIMIT, "The string would be too long.");
        size_t n = (size_t)a.num;
        char *text = arena_alloc(arena, n * s.len + 1);
        if (n) memcpy(text, s.s, s.len);
        for (size_t have = 1, more; have < n; have += more) { /* what is there, twice as much each time */
            more = have < n - have ? have : n - have;
            memcpy(text + have * s.len, text, more * s.len);
        }
        text[n * s.len] = '\0';
        *ret = (struct script_value){.kind = SCRIPT_STRING, .s = text, .len = n * s.len};
        return 0;
    }
    bool plus = !strcmp(m, "+");
    if (!plus && strcmp(m, "contains") && strcmp(m, "startsWith") && strcmp(m, "endsWith") &&
        strcmp(m, "indexOf") && strcmp(m, "split"))
        return SCRIPT_NO_METHOD;
    if (a.kind != SCRIPT_STRING) return want(err, plus ? "Right operand" : "Argument", "a string");
    if (plus) {
        if (s.len + a.len > MAX_STRING_BYTES) return err_set(err, ERR_LIMIT, "The string would be too long.");
        char *text = arena_alloc(arena, s.len + a.len + 1);
        memcpy(text, s.s, s.len);
        memcpy(text + s.len, a.s, a.len + 1);
        *ret = (struct script_value){.kind = SCRIPT_STRING, .s = text, .len = s.len + a.len};
    } else if (!strcmp(m, "split")) {
        if (!a.len) return err_set(err, ERR_INPUT, "Delimiter must be a non-empty string.");
        *ret = split(s, a, arena);
    } else if (!strcmp(m, "startsWith")) {
        *ret = script_bool(a.len <= s.len && !memcmp(s.s, a.s, a.len));
    } else if (!strcmp(m, "endsWith")) {
        *ret = script_bool(a.len <= s.len && !memcmp(s.s + s.len - a.len, a.s, a.len));
    } else {
        const char *hit = a.len ? memmem(s.s, s.len, a.s, a.len) : s.s;
        *ret = !strcmp(m, "contains") ? script_bool(hit) : script_num(hit ? (double)(hit - s.s) : -1);
    }
    return 0;
}

static int list_join(struct script_value list, struct script_value by, struct arena *arena,
                     struct script_value *ret)
{
    struct buf b = {.max_len = MAX_STRING_BYTES};
    for (size_t i = 0; i < list.list->n_items; i++) {
        if (i) buf_add(&b, by.s, by.len);
        write_value(&b, list.list->items[i], 1);
    }
    *ret = script_string(arena, b.data ? b.data : "", b.len);
    buf_free(&b);
    return 0;
}

static int list_call(struct script_value list, const char *m, bool getter, const struct script_value *args,
                     size_t n_args, struct arena *arena, struct script_value *ret, struct err *err)
{
    if (getter) {
        if (!strcmp(m, "count"))
            *ret = script_num((double)list.list->n_items);
        else if (!strcmp(m, "isEmpty"))
            *ret = script_bool(!list.list->n_items);
        else
            return SCRIPT_NO_METHOD;
        return 0;
    }
    if (!strcmp(m, "join") && n_args == 0) return list_join(list, script_string(arena, "", 0), arena, ret);
    if (n_args != 1) return SCRIPT_NO_METHOD;
    if (!strcmp(m, "[]")) {
        size_t i;
        int rc = find_index(args[0], list.list->n_items, &i, err);
        if (!rc) *ret = list.list->items[i];
        return rc;
    }
    if (!strcmp(m, "add")) {
        if (list.list->n_items >= 1 << 16) return err_set(err, ERR_LIMIT, "The list would be too long.");
        script_list_add(arena, list, args[0]);
        *ret = args[0];
        return 0;
    }
    if (!strcmp(m, "join")) {
        if (args[0].kind != SCRIPT_STRING) return want(err, "Separator", "a string");
        return list_join(list, args[0], arena, ret);
    }
    if (!strcmp(m, "contains")) {
        bool found = false;
        for (size_t i = 0; i < list.list->n_items; i++) found |= script_same(list.list->items[i], args[0]);
        *ret = script_bool(found);
        return 0;
    }
    return SCRIPT_NO_METHOD;
}

int script_core_call(struct script_value self, const char *m, bool getter, const struct script_value *args,
                     size_t n_args, struct arena *arena, struct script_value *ret, struct err *err)
{
    if (getter && !strcmp(m, "toString")) {
        *ret = script_to_string(self, arena);
        return 0;
    }
    if (getter && !strcmp(m, "!")) {
        *ret = script_bool(self.kind == SCRIPT_NULL || (self.kind == SCRIPT_BOOL && !self.b));
        return 0;
    }
    if (!getter && n_args == 1 && (!strcmp(m, "==") || !strcmp(m, "!="))) {
        *ret = script_bool(script_same(self, args[0]) == (*m == '='));
        return 0;
    }
    if (!getter && n_args == 1 && !strcmp(m, "is")) {
        if (args[0].kind != SCRIPT_CLASS) return err_set(err, ERR_INPUT, "Right operand must be a class.");
        *ret = script_bool(!strcmp(script_class_name(self, arena), args[0].s));
        return 0;
    }
    switch (self.kind) {
    case SCRIPT_NUM:
        return num_call(self.num, m, getter, args, n_args, ret, err);
    case SCRIPT_STRING:
        return string_call(self, m, getter, args, n_args, arena, ret, err);
    case SCRIPT_LIST:
        return list_call(self, m, getter, args, n_args, arena, ret, err);
    default:
        return SCRIPT_NO_METHOD;
    }
}
