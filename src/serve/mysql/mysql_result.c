/* mysql_result.c - see mysql_result.h. */
#include "serve/mysql/mysql_result.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    TYPE_DOUBLE = 5,
    TYPE_LONGLONG = 8,
    TYPE_DATETIME = 12,
    TYPE_VAR_STRING = 253,
    CHARSET_UTF8 = 33,
    CHARSET_BINARY = 63
};
enum { SHOW_COLUMN_BYTES = 90, LONG_COLUMN_BYTES = 3 << 20 };

static void write_definition(struct mysql_stream *s, const char *name, uint16_t charset, uint32_t length,
                             uint8_t type, uint8_t decimals, bool with_default)
{
    struct buf b = {0};
    mysql_lenenc_str(&b, "def", 3);
    for (int i = 0; i < 3; i++) mysql_lenenc_str(&b, "", 0); /* schema, table, original table */
    mysql_lenenc_str(&b, name, strlen(name));
    mysql_lenenc_str(&b, name, strlen(name));
    buf_char(&b, 0x0c);
    mysql_u16(&b, charset);
    mysql_u32(&b, length);
    buf_char(&b, (char)type);
    mysql_u16(&b, 0); /* flags */
    buf_char(&b, (char)decimals);
    mysql_u16(&b, 0);
    if (with_default) buf_char(&b, (char)0xfb); /* NULL */
    mysql_write(s, b.data, b.len);
    buf_free(&b);
}

void mysql_write_param(struct mysql_stream *s)
{
    write_definition(s, "?", CHARSET_BINARY, 0, TYPE_VAR_STRING, 0, false);
}

static void write_column(struct mysql_stream *s, const struct sql_column *c, bool with_default)
{
    switch (c->type) {
    case SQL_COLUMN_INT:
        write_definition(s, c->name, CHARSET_BINARY, 20, TYPE_LONGLONG, 0, with_default);
        break;
    case SQL_COLUMN_REAL:
        write_definition(s, c->name, CHARSET_BINARY, 22, TYPE_DOUBLE, 31, with_default);
        break;
    case SQL_COLUMN_TIME:
        write_definition(s, c->name, CHARSET_BINARY, 19, TYPE_DATETIME, 0, with_default);
        break;
    default:
        write_definition(s, c->name, CHARSET_UTF8, c->is_long ? LONG_COLUMN_BYTES : SHOW_COLUMN_BYTES,
                         TYPE_VAR_STRING, 0, with_default);
    }
}

void mysql_write_fields(struct mysql_stream *s, const struct sql_table *t, const char *pattern)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (!*pattern || sql_like(t->columns[i].name, pattern)) write_column(s, &t->columns[i], true);
    mysql_write_eof(s);
}

void mysql_write_columns(struct mysql_stream *s, const struct sql_table *t)
{
    if (!t->n_columns) return;
    for (size_t i = 0; i < t->n_columns; i++) write_column(s, &t->columns[i], false);
    mysql_write_eof(s);
}

static void text_row(struct buf *b, const struct sql_table *t, const char **row)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        if (row[i])
            mysql_lenenc_str(b, row[i], strlen(row[i]));
        else
            buf_char(b, (char)0xfb);
    }
}

/* Writes "2026-01-31 23:59:59". Any other text becomes MySQL's zero time. */
static void binary_time(struct buf *b, const char *text)
{
    unsigned year, month, day, hour, minute, second;
    if (sscanf(text, "%4u-%2u-%2u %2u:%2u:%2u", &year, &month, &day, &hour, &minute, &second) != 6) {
        buf_char(b, 0);
        return;
    }
    buf_char(b, 7);
    mysql_u16(b, (uint16_t)year);
    for (size_t i = 0; i < 5; i++) buf_char(b, (char)(const unsigned[]){month, day, hour, minute, second}[i]);
}

static void binary_row(struct buf *b, const struct sql_table *t, const char **row)
{
    buf_char(b, 0);
    size_t bitmap = b->len, n_bitmap = (t->n_columns + 7 + 2) / 8;
    buf_fill(b, 0, n_bitmap);
    for (size_t i = 0; i < t->n_columns; i++) {
        if (!row[i]) {
            b->data[bitmap + (i + 2) / 8] |= (char)(1 << (i + 2) % 8);
        } else if (t->columns[i].type == SQL_COLUMN_INT) {
            mysql_u64(b, (uint64_t)strtoll(row[i], NULL, 10));
        } else if (t->columns[i].type == SQL_COLUMN_REAL) {
            double d = strtod(row[i], NULL);
            buf_add(b, &d, sizeof d);
        } else if (t->columns[i].type == SQL_COLUMN_TIME) {
            binary_time(b, row[i]);
        } else {
            mysql_lenenc_str(b, row[i], strlen(row[i]));
        }
    }
}

void mysql_write_result(struct mysql_stream *s, const struct sql_result *r, bool binary)
{
    if (r->kind == SQL_RESULT_OK) {
        mysql_write_ok(s, r->n_affected);
        return;
    }
    if (r->kind == SQL_RESULT_ERROR) {
        mysql_write_error(s, r->error, r->state, r->text);
        return;
    }
    struct buf b = {0};
    mysql_lenenc(&b, r->table.n_columns);
    mysql_write(s, b.data, b.len);
    mysql_write_columns(s, &r->table);
    for (size_t i = 0; i < r->table.n_rows && !s->broken; i++) {
        b.len = 0;
        if (binary)
            binary_row(&b, &r->table, r->table.rows[i]);
        else
            text_row(&b, &r->table, r->table.rows[i]);
        mysql_write(s, b.data, b.len);
    }
    mysql_write_eof(s);
    buf_free(&b);
}
