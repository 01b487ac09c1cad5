/* sql_schema.h - the tables that SELECT can read: those of the server (nodes, profiles, settings, users),
 * and those that clients read to learn about a server (information_schema and others).
 *
 * There is one list of tables. SELECT, SHOW TABLES, SHOW COLUMNS and information_schema all use it, so a
 * table that is added there appears everywhere.
 */
#ifndef SERVE_SQL_SQL_SCHEMA_H
#define SERVE_SQL_SQL_SCHEMA_H

#include "serve/sql/sql_execute.h"

/* Columns for sql_table_columns. SHOW has the same columns as text. */
#define SQL_BACKEND_COLUMNS                                                                                  \
    "BackendId:i,IP,HeartbeatPort:i,BePort:i,HttpPort:i,BrpcPort:i,LastStartTime:t,LastHeartbeat:t,Alive:b," \
    "SystemDecommissioned:b,ClusterDecommissioned:b,TabletNum:i,DataUsedCapacity,AvailCapacity,"             \
    "TotalCapacity,"                                                                                         \
    "UsedPct,MaxDiskUsedPct,ErrMsg,Version,Status,DataTotalCapacity,DataUsedPct,CpuCores:i,MemLimit,"        \
    "NumRunningQueries:i,MemUsedPct,CpuUsedPct,DataCacheMetrics,Location,StatusCode"
#define SQL_COMPUTE_NODE_COLUMNS                                                                             \
    "ComputeNodeId:i,IP,HeartbeatPort:i,BePort:i,HttpPort:i,BrpcPort:i,LastStartTime:t,LastHeartbeat:t,"     \
    "Alive:b,SystemDecommissioned:b,ClusterDecommissioned:b,ErrMsg,Version,CpuCores:i,MemLimit,"             \
    "NumRunningQueries:i,MemUsedPct,CpuUsedPct,DataCacheMetrics,HasStoragePath:b,StatusCode"
#define SQL_FRONTEND_COLUMNS                                                                                 \
    "Id:i,Name,IP,EditLogPort:i,HttpPort:i,QueryPort:i,RpcPort:i,Role,ClusterId:i,Join:b,Alive:b,"           \
    "ReplayedJournalId:i,LastHeartbeat:t,IsHelper:b,ErrMsg,StartTime:t,Version"

struct sql_schema_table {
    const char *schema, *name, *columns;
    enum { SQL_ROWS_NONE, SQL_ROWS_OF_SHOW, SQL_ROWS_FILLED } rows;
    enum sql_show show; /* SQL_ROWS_OF_SHOW: gives the rows; the columns have the same order */
    int (*fill)(struct sql_session *s, struct sql_table *t, struct err *err);
    unsigned any_of; /* a user needs one of these grants; 0: none */
};

extern const struct sql_schema_table sql_schema_tables[];
extern const size_t sql_schema_n_tables;

/* NULL: there is no such table. schema NULL finds the first table of that name. Case is ignored. */
const struct sql_schema_table *sql_schema_find(const char *schema, const char *name);
/* Finds "table" (of `database`, or else of the session's database) or "schema.table". ERR_NOT_FOUND with
 * MySQL's words. */
int sql_schema_find_dotted(const struct sql_session *s, const char *name, const char *database,
                           const struct sql_schema_table **ret_table, struct err *err);
const char *sql_schema_database(const char *name); /* its own spelling; NULL: there is none */
bool sql_schema_may(const struct sql_session *s, const struct sql_schema_table *t);

/* Sets the columns and, unless describe_only, adds the rows. */
int sql_schema_fill(struct sql_session *s, const struct sql_schema_table *spec, bool describe_only,
                    struct sql_table *t, struct err *err);

/* Runs the SHOWs about this list: DATABASES, TABLES, TABLE STATUS, COLUMNS, INDEX, CREATE TABLE. */
int sql_show_schema(struct sql_session *s, const struct sql_statement *st, struct sql_table *t,
                    struct err *err);

#endif
