/* mysql_stmt.c - see mysql_stmt.h. A statement is kept as tokens. Executing it replaces each '?' by a token
 * with the value, so a value never becomes syntax. */
#include "serve/mysql/mysql_stmt.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "serve/mysql/mysql_result.h"

enum {
    MAX_STATEMENTS = 256,
    MAX_PARAMS = 1000,
    MAX_LONG_DATA = 1 << 20,
    ERROR_UNKNOWN_STATEMENT = 1243,
    ERROR_TOO_MANY = 1461
};

struct mysql_stmt {
    uint32_t id;
    struct arena arena;
    struct sql_tokens tokens;
    uint16_t *types;       /* types of the parameters, from the last EXECUTE that sent them */
    struct buf *long_data; /* by parameter */
    bool *has_long_data;
};

static struct mysql_stmt *find(struct mysql_stmts *all, uint32_t id, size_t *ret_index)
{
    for (size_t i = 0; i < all->n_items; i++) {
        if (all->items[i]->id != id) continue;
        if (ret_index) *ret_index = i;
        return all->items[i];
    }
    return NULL;
}

static void drop_long_data(struct mysql_stmt *m)
{
    for (size_t i = 0; i < m->tokens.n_params; i++) {
        buf_free(&m->long_data[i]);
        m->has_long_data[i] = false;
    }
}

static void stmt_free(struct mysql_stmt *m)
{
    if (m->long_data) drop_long_data(m);
    arena_free(&m->arena);
    mem_free(m);
}

void mysql_stmts_free(struct mysql_stmts *all)
{
    for (size_t i = 0; i < all->n_items; i++) stmt_free(all->items[i]);
    mem_free(all->items);
    *all = (struct mysql_stmts){.last_id = all->last_id};
}

/* ---- prepare ---- */

static int parse_with(const struct sql_tokens *tokens, const struct sql_token *values, struct arena *arena,
                      struct sql_statement *st, struct err *err)
{
    struct sql_tokens copy = *tokens;
    copy.items = arena_array(arena, tokens->n_items, sizeof *copy.items);
    memcpy(copy.items, tokens->items, tokens->n_items * sizeof *copy.items);
    for (size_t i = 0, p = 0; i < copy.n_items; i++) {
        if (copy.items[i].kind != SQL_TOKEN_PARAM) continue;
        size_t at = copy.items[i].at, end = copy.items[i].end;
        copy.items[i] = values[p++];
        copy.items[i].at = at;
        copy.items[i].end = end;
    }
    copy.n_params = 0;
    return sql_parse(&copy, arena, st, err);
}

/* Parses the statement with stand-ins for its parameters: first NULL, then a number, then text, until one of
 * them fits. ERR_INPUT when the statement cannot be right with any values. */
static int try_parse(struct mysql_stmt *m, struct arena *arena, struct sql_statement *st, struct err *err)
{
    static const struct sql_token stand_ins[] = {{.kind = SQL_TOKEN_NULL, .text = "NULL", .len = 4},
                                                 {.kind = SQL_TOKEN_NUMBER, .text = "0", .len = 1},
                                                 {.kind = SQL_TOKEN_STRING, .text = "", .len = 0}};
    struct sql_token *values = arena_array(arena, m->tokens.n_params + 1, sizeof *values);
    int rc = 0;
    for (size_t k = 0; k < sizeof stand_ins / sizeof *stand_ins; k++) {
        for (size_t i = 0; i < m->tokens.n_params; i++) values[i] = stand_ins[k];
        rc = parse_with(&m->tokens, values, arena, st, err);
        if (!rc || !m->tokens.n_params) return rc;
    }
    st->kind = SQL_NOTHING; /* the parameters need different kinds; EXECUTE will find out */
    return 0;
}

void mysql_stmt_prepare(struct mysql_stmts *all, struct sql_session *session, const char *data, size_t n,
                        struct mysql_stream *s)
{
    struct err err = {0};
    struct arena arena = {0};
    struct sql_statement st;
    struct mysql_stmt *m = mem_zalloc(sizeof *m);
    const char *text = arena_strndup(&m->arena, data, n);
    int rc = sql_lex(text, n, &m->arena, &m->tokens, &err);
    if (!rc && m->tokens.n_params > MAX_PARAMS)
        rc = err_set(&err, ERR_LIMIT, "Prepared statement contains too many placeholders");
    if (!rc) rc = try_parse(m, &arena, &st, &err);
    if (!rc && all->n_items >= MAX_STATEMENTS) {
        mysql_write_error(s, ERROR_TOO_MANY, "42000",
                          "Can't create more prepared statements on this connection");
        m->tokens.n_params = 0;
        stmt_free(m);
        arena_free(&arena);
        return;
    }
    if (rc) {
        mysql_write_error(s, SQL_ERROR_SYNTAX, "HY000", err.text);
        m->tokens.n_params = 0;
        stmt_free(m);
        arena_free(&arena);
        return;
    }
    size_t n_params = m->tokens.n_params;
    m->types = arena_zalloc(&m->arena, (n_params + 1) * sizeof *m->types);
    m->long_data = arena_zalloc(&m->arena, (n_params + 1) * sizeof *m->long_data);
    m->has_long_data = arena_zalloc(&m->arena, n_params + 1);
    m->id = ++all->last_id;
    *VEC_PUSH(all->items, all->n_items, all->cap_items) = m;

    struct sql_table columns;
    sql_describe(session, &st, &arena, &columns);
    struct buf b = {0};
    buf_char(&b, 0);
    mysql_u32(&b, m->id);
    mysql_u16(&b, (uint16_t)columns.n_columns);
    mysql_u16(&b, (uint16_t)n_params);
    buf_char(&b, 0);
    mysql_u16(&b, 0);
    mysql_write(s, b.data, b.len);
    buf_free(&b);
    for (size_t i = 0; i < n_params; i++) mysql_write_param(s);
    if (n_params) mysql_write_eof(s);
    mysql_write_columns(s, &columns);
    arena_free(&arena);
}

/* ---- execute ---- */

static const char *read_date(struct rd *r, struct arena *arena)
{
    uint8_t n = rd_u8(r);
    struct rd v = rd_sub(r, n);
    unsigned year = rd_u16(&v), month = rd_u8(&v), day = rd_u8(&v);
    if (n <= 4) return arena_printf(arena, "%04u-%02u-%02u", year, month, day);
    unsigned hour = rd_u8(&v), minute = rd_u8(&v), second = rd_u8(&v);
    return arena_printf(arena, "%04u-%02u-%02u %02u:%02u:%02u", year, month, day, hour, minute, second);
}

static const char *read_time(struct rd *r, struct arena *arena)
{
    uint8_t n = rd_u8(r);
    struct rd v = rd_sub(r, n);
    bool negative = rd_u8(&v);
    unsigned days = rd_u32(&v), hour = rd_u8(&v), minute = rd_u8(&v), second = rd_u8(&v);
    return arena_printf(arena, "%s%02llu:%02u:%02u", negative ? "-" : "",
                        (unsigned long long)days * 24 + hour, minute, second);
}

static struct sql_token text_token(enum sql_token_kind kind, const char *text, size_t len)
{
    return (struct sql_token){.kind = kind, .text = text, .len = len};
}

/* "inf" and "nan" become text, because SQL has no numbers of that name. */
static struct sql_token number_token(const char *text)
{
    bool is_finite = strspn(text, "0123456789.e+-") == strlen(text);
    return text_token(is_finite ? SQL_TOKEN_NUMBER : SQL_TOKEN_STRING, text, strlen(text));
}

static struct sql_token read_value(struct rd *r, uint16_t type, struct arena *arena)
{
    bool is_unsigned = type & 0x8000;
    long long i;
    switch (type & 0xff) {
    case 1:
        i = is_unsigned ? rd_u8(r) : (int8_t)rd_u8(r);
        break;
    case 2:
    case 13:
        i = is_unsigned ? rd_u16(r) : (int16_t)rd_u16(r);
        break;
    case 3:
    case 9:
        i = is_unsigned ? (long long)rd_u32(r) : (long long)(int32_t)rd_u32(r);
        break;
    case 8: {
        uint64_t u = rd_u64(r);
        if (is_unsigned) return number_token(arena_printf(arena, "%llu", (unsigned long long)u));
        i = (long long)u;
        break;
    }
    case 4: {
        uint32_t bits = rd_u32(r);
        float f;
        memcpy(&f, &bits, sizeof f);
        return number_token(arena_printf(arena, "%.7g", (double)f));
    }
    case 5: {
        uint64_t bits = rd_u64(r);
        double d;
        memcpy(&d, &bits, sizeof d);
        return number_token(arena_printf(arena, "%.15g", d));
    }
    case 6:
        return text_token(SQL_TOKEN_NULL, "NULL", 4);
    case 7:
    case 10:
    case 12: {
        const char *text = read_date(r, arena);
        return text_token(SQL_TOKEN_STRING, text, strlen(text));
    }
    case 11: {
        const char *text = read_time(r, arena);
        return text_token(SQL_TOKEN_STRING, text, strlen(text));
    }
    default: {
        uint64_t n = mysql_read_lenenc(r);
        const uint8_t *bytes = rd_bytes(r, n);
        const char *text = bytes ? arena_strndup(arena, (const char *)bytes, (size_t)n) : "";
        return text_token(SQL_TOKEN_STRING, text, bytes ? (size_t)n : 0);
    }
    }
    return number_token(arena_printf(arena, "%lld", i));
}

static bool read_params(struct mysql_stmt *m, struct rd *r, struct arena *arena, struct sql_token *values)
{
    size_t n = m->tokens.n_params;
    const uint8_t *nulls = rd_bytes(r, (n + 7) / 8);
    if (!nulls) return false;
    if (rd_u8(r))
        for (size_t i = 0; i < n; i++) m->types[i] = rd_u16(r);
    if (r->bad) return false;
    for (size_t i = 0; i < n; i++) {
        if (m->has_long_data[i])
            values[i] = text_token(SQL_TOKEN_STRING,
                                   arena_strndup(arena, buf_cstr(&m->long_data[i]), m->long_data[i].len),
                                   m->long_data[i].len);
        else if (nulls[i / 8] >> i % 8 & 1)
            values[i] = text_token(SQL_TOKEN_NULL, "NULL", 4);
        else
            values[i] = read_value(r, m->types[i], arena);
    }
    return !r->bad;
}

void mysql_stmt_execute(struct mysql_stmts *all, struct sql_session *session, const char *data, size_t n,
                        struct mysql_stream *s)
{
    struct rd r = rd_over(data, n);
    struct mysql_stmt *m = find(all, rd_u32(&r), NULL);
    rd_skip(&r, 1 + 4); /* cursor flags, of which none are offered, and the number of iterations, always 1 */
    if (r.bad || !m) {
        mysql_write_error(s, ERROR_UNKNOWN_STATEMENT, "HY000",
                          "Unknown prepared statement handler given to EXECUTE");
        return;
    }
    struct arena arena = {0};
    struct sql_token *values = arena_array(&arena, m->tokens.n_params + 1, sizeof *values);
    struct sql_statement st;
    struct sql_result result;
    struct err err = {0};
    int rc = 0;
    if (m->tokens.n_params && !read_params(m, &r, &arena, values)) {
        drop_long_data(m);
        mysql_write_error(s, 1210, "HY000", "Incorrect arguments to EXECUTE");
        arena_free(&arena);
        return;
    }
    rc = parse_with(&m->tokens, values, &arena, &st, &err);
    if (rc)
        sql_result_error(&result, &arena, SQL_ERROR_SYNTAX, "HY000", "%s", err.text);
    else
        sql_execute(session, &st, &arena, &result);
    mysql_write_result(s, &result, true);
    drop_long_data(m);
    arena_free(&arena);
    sql_release(&session->held);
}

void mysql_stmt_long_data(struct mysql_stmts *all, const char *data, size_t n)
{
    struct rd r = rd_over(data, n);
    struct mysql_stmt *m = find(all, rd_u32(&r), NULL);
    uint16_t i = rd_u16(&r);
    if (r.bad || !m || i >= m->tokens.n_params || m->long_data[i].len + rd_left(&r) > MAX_LONG_DATA) return;
    m->has_long_data[i] = true;
    buf_add(&m->long_data[i], r.p, rd_left(&r));
}

void mysql_stmt_reset(struct mysql_stmts *all, const char *data, size_t n, struct mysql_stream *s)
{
    struct rd r = rd_over(data, n);
    struct mysql_stmt *m = find(all, rd_u32(&r), NULL);
    if (r.bad || !m) {
        mysql_write_error(s, ERROR_UNKNOWN_STATEMENT, "HY000",
                          "Unknown prepared statement handler given to RESET");
        return;
    }
    drop_long_data(m);
    mysql_write_ok(s, 0);
}

void mysql_stmt_close(struct mysql_stmts *all, const char *data, size_t n)
{
    struct rd r = rd_over(data, n);
    size_t i;
    struct mysql_stmt *m = find(all, rd_u32(&r), &i);
    if (r.bad || !m) return;
    stmt_free(m);
    all->items[i] = all->items[--all->n_items];
}
