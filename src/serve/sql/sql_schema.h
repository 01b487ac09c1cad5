/* sql_schema.h - the tables that SELECT can read: what the server has (nodes, profiles, settings, users), and
 * what clients look up about a server by themselves (information_schema and its like).
 *
 * There is one list. SELECT, SHOW TABLES, SHOW COLUMNS, information_schema and the clients' own questions all
 * speak of it, so a table that is added here is seen everywhere.
 */
#ifndef SERVE_SQL_SQL_SCHEMA_H
#define SERVE_SQL_SQL_SCHEMA_H

#include "serve/sql/sql_execute.h"

/* Names with types, as sql_table_columns takes them; SHOW has the same columns as text. */
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
    enum sql_show show; /* SQL_ROWS_OF_SHOW: the same rows, in the same order of columns */
    int (*fill)(struct sql_session *s, struct sql_table *t, struct err *err);
    unsigned any_of; /* a user needs one of these grants; 0: none */
};

extern const struct sql_schema_table sql_schema_tables[];
extern const size_t sql_schema_n_tables;

/* NULL: no such one. schema NULL: the first table of that name. Letters' case does not matter. */
const struct sql_schema_table *sql_schema_find(const char *schema, const char *name);
/* "table" (of the session's database) or "schema.table"; ERR_NOT_FOUND says so in MySQL's words. */
int sql_schema_find_dotted(const struct sql_session *s, const char *name, const char *database,
                           const struct sql_schema_table **ret_table, struct err *err);
const char *sql_schema_database(const char *name); /* its name as it is written; NULL: no such database */
bool sql_schema_may(const struct sql_session *s, const struct sql_schema_table *t);

/* Columns, and rows but for describe_only. */
int sql_schema_fill(struct sql_session *s, const struct sql_schema_table *spec, bool describe_only,
                    struct sql_table *t, struct err *err);

/* The SHOWs that are about this list: DATABASES, TABLES, TABLE STATUS, COLUMNS, INDEX, CREATE TABLE. */
int sql_show_schema(struct sql_session *s, const struct sql_statement *st, struct sql_table *t,
                    struct err *err);

#endif
