/* mysql_result.h - results as packets: text rows for COM_QUERY, binary rows for prepared statements. */
#ifndef SERVE_MYSQL_MYSQL_RESULT_H
#define SERVE_MYSQL_MYSQL_RESULT_H

#include "serve/mysql/mysql_packet.h"
#include "serve/sql/sql_execute.h"

/* The reply to COM_FIELD_LIST: the columns whose names are LIKE the pattern; "" stands for all. */
void mysql_write_fields(struct mysql_stream *s, const struct sql_table *t, const char *pattern);
void mysql_write_columns(struct mysql_stream *s,
                         const struct sql_table *t); /* definitions and EOF; nothing without columns */
void mysql_write_param(struct mysql_stream *s);      /* the definition of one '?' */
void mysql_write_result(struct mysql_stream *s, const struct sql_result *r, bool binary);

#endif
