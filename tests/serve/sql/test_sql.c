/* SQL text in, results out, over a real cluster: no packets here. */
#include "../../t.h"

#include <sqlite3.h>

#include "fixture.h"
#include "serve/sql/sql_execute.h"

static struct fixture fixture;
static struct sql_session session;
static struct arena arena;
static struct sql_result result;

static void begin(void)
{
    fixture_open(&fixture, true);
    session = (struct sql_session){.cluster = &fixture.sql,
                                   .user = "root",
                                   .peer = "127.0.0.1",
                                   .grants = CLUSTER_ALL,
                                   .connection_id = 7};
}

/* Rows as "a|b\nc|d\n"; "OK" or "ERROR number state text" otherwise. */
static const char *run(const char *sql)
{
    static struct buf out;
    if (!session.cluster) begin();
    out.len = 0;
    sql_run(&session, sql, strlen(sql), &arena, &result);
    if (result.kind == SQL_RESULT_ERROR)
        buf_printf(&out, "ERROR %d %s %s", result.error, result.state, result.text);
    else if (result.kind == SQL_RESULT_OK)
        buf_str(&out, "OK");
    else
        for (size_t i = 0; i < result.table.n_rows; i++)
            for (size_t k = 0; k < result.table.n_columns; k++) {
                buf_str(&out, result.table.rows[i][k] ? result.table.rows[i][k] : "NULL");
                buf_char(&out, k + 1 < result.table.n_columns ? '|' : '\n');
            }
    return buf_cstr(&out);
}

/* All zero when there is no such user. */
static struct cluster_user user(const char *name)
{
    struct cluster_user u = {0};
    cluster_user_get(fixture.sql.cluster, name, &u);
    return u;
}

static const char *columns(const char *sql)
{
    static struct buf out;
    out.len = 0;
    run(sql);
    REQUIRE(result.kind == SQL_RESULT_TABLE);
    for (size_t k = 0; k < result.table.n_columns; k++)
        buf_printf(&out, "%s%s", k ? ", " : "", result.table.columns[k].name);
    return buf_cstr(&out);
}

static bool says(const char *sql, const char *part)
{
    const char *got = run(sql);
    if (strstr(got, part)) return true;
    printf("# %s\n# gives: %s\n# wants: %s\n", sql, got, part);
    return false;
}

TEST(show_columns_are_starrocks_to_the_letter)
{
    CHECK_STR(columns("SHOW BACKENDS"), "BackendId, IP, HeartbeatPort, BePort, HttpPort, BrpcPort, "
                                        "LastStartTime, LastHeartbeat, Alive, SystemDecommissioned, "
                                        "ClusterDecommissioned, TabletNum, DataUsedCapacity, AvailCapacity, "
                                        "TotalCapacity, UsedPct, MaxDiskUsedPct, ErrMsg, Version, "
                                        "Status, DataTotalCapacity, DataUsedPct, CpuCores, MemLimit, "
                                        "NumRunningQueries, MemUsedPct, CpuUsedPct, DataCacheMetrics, "
                                        "Location, StatusCode");
    CHECK_INT(result.table.n_columns, 30);
    CHECK_INT(result.table.n_rows, 2);
    CHECK_STR(columns("show compute nodes"), "ComputeNodeId, IP, HeartbeatPort, BePort, HttpPort, BrpcPort, "
                                             "LastStartTime, LastHeartbeat, Alive, SystemDecommissioned, "
                                             "ClusterDecommissioned, ErrMsg, Version, CpuCores, MemLimit, "
                                             "NumRunningQueries, MemUsedPct, CpuUsedPct, DataCacheMetrics, "
                                             "HasStoragePath, StatusCode");
    CHECK_INT(result.table.n_columns, 21);
    CHECK_STR(columns("SHOW FRONTENDS"),
              "Id, Name, IP, EditLogPort, HttpPort, QueryPort, RpcPort, Role, ClusterId, Join, Alive, "
              "ReplayedJournalId, LastHeartbeat, IsHelper, ErrMsg, StartTime, Version");
    CHECK_INT(result.table.n_columns, 17);
    CHECK_STR(columns("SHOW PROC '/backends'"), columns("SHOW BACKENDS"));
    setenv("TZ", "UTC", 1);
    run("SHOW BACKENDS");
    const char **row = result.table.rows[0];
    CHECK_STR(row[0], "10002");
    CHECK_STR(row[6], "2023-11-14 22:13:20");
    CHECK_STR(row[8], "true");
    CHECK_STR(row[12], "0.000 ");
    CHECK_STR(row[15], "0.00 %");
    CHECK_STR(row[19], arena_printf(&arena, "{\"lastSuccessReportTabletsTime\":\"%s\"}", row[7]));
    CHECK_STR(row[23], "0.000");
    CHECK_STR(row[29], "OK");
    CHECK_STR(result.table.rows[1][17], "connection refused");
    CHECK_STR(result.table.rows[1][29], "DISCONNECTED");
    run("SHOW COMPUTE NODES");
    CHECK(result.table.rows[0][6] == NULL);
    CHECK_STR(result.table.rows[0][20], "CONNECTING");
    run("SHOW FRONTENDS");
    CHECK_STR(result.table.rows[0][7], "LEADER");
}

TEST(show_clauses)
{
    CHECK(says("SHOW BACKENDS WHERE Alive = true", "10002|127.0.0.2"));
    CHECK_INT(result.table.n_rows, 1);
    run("SHOW BACKENDS WHERE backendid IN (10002, 10003) AND NOT (Alive = 'true') OR IP LIKE '%.99'");
    CHECK_INT(result.table.n_rows, 1);
    CHECK_STR(result.table.rows[0][0], "10003");
    run("SHOW BACKENDS LIKE '%.3'");
    CHECK_INT(result.table.n_rows, 1);
    run("SHOW BACKENDS ORDER BY BackendId DESC LIMIT 1");
    CHECK_STR(result.table.rows[0][0], "10003");
    run("SHOW BACKENDS ORDER BY 1 LIMIT 1 OFFSET 1");
    CHECK_STR(result.table.rows[0][0], "10003");
    run("SHOW BACKENDS LIMIT 1, 5;");
    CHECK_INT(result.table.n_rows, 1);
    run("SHOW BACKENDS LIMIT 99, 5");
    CHECK_INT(result.table.n_rows, 0);
    run("SHOW BACKENDS WHERE BackendId BETWEEN 10003 AND 99999 AND ErrMsg IS NOT NULL AND HttpPort * 2 = "
        "2 AND LOWER(IP) <> 'x'");
    CHECK_INT(result.table.n_rows, 1);
    CHECK(says("SHOW BACKENDS WHERE Nope = 1", "Column 'Nope' cannot be resolved."));
    CHECK(says("SHOW BACKENDS ORDER BY 31", "1st ORDER BY term out of range - should be between 1 and 30"));
    CHECK_STR(run("SHOW BACKENDS WHERE Alive AND LastStartTime < '2027' AND IP IN (SELECT host FROM "
                  "procprof.nodes WHERE kind = 'x')"),
              "");
    CHECK_STR(run("SHOW VARIABLES WHERE Variable_name = @@version_comment"), "");
    CHECK(says("SHOW BACKENDS WHERE load_extension('x')", "not authorized to use function"));
    CHECK(says("SHOW BACKENDS WHERE 1 IN (SELECT 1 FROM sqlite_master)", "not authorized"));
    run("SHOW BACKENDS WHERE BackendId > '10002' AND Alive = 'false'");
    CHECK_INT(result.table.n_rows, 1);
    for (size_t i = 0; i < result.table.n_columns; i++)
        CHECK_INT(result.table.columns[i].type, SQL_COLUMN_TEXT);
    CHECK(says("SHOW VARIABLES LIKE 'version%'", "version_comment|procprof"));
    CHECK(says("SHOW GLOBAL VARIABLES WHERE Variable_name = 'autocommit'", "autocommit|ON"));
    CHECK(says("ADMIN SHOW FRONTEND CONFIG LIKE '%cpu%'", "proc_profile_cpu_enable|[]|true|boolean|true|"));
}

TEST(selects_from_tables)
{
    CHECK_STR(
        run("SELECT id, host FROM procprof.nodes WHERE kind = 'BACKEND' AND Host LIKE '127.0.0._' ORDER "
            "BY 1 DESC"),
        "10003|127.0.0.3\n10002|127.0.0.2\n");
    CHECK_INT(result.table.columns[0].type, SQL_COLUMN_INT);
    CHECK_INT(result.table.columns[1].type, SQL_COLUMN_TEXT);
    CHECK_STR(run("select count(*), sum(http_port), max(start_time) from procprof.nodes where start_time > "
                  "'2000-01-01' AND id != 10002"),
              arena_printf(&arena, "2|8031|%s\n", sql_time_text(&arena, 1700000000)));
    CHECK_STR(
        run("SELECT b.IP, n.alive FROM procprof.backends b LEFT JOIN procprof.nodes n ON n.id = b.BackendId "
            "WHERE b.BackendId IN ('10002', 7) && !(1 = 2)"),
        "127.0.0.2|true\n");
    CHECK_STR(run("SELECT `TABLE_NAME`, \"it's\" AS x, @@version_comment FROM information_schema.tables "
                  "WHERE TABLE_SCHEMA = DATABASE() OR table_name LIKE 'compute\\_%' -- end"),
              "compute_nodes|it's|procprof\n");
    CHECK_STR(run("SELECT 5--1 DIV 2, 7 MOD 4 FROM procprof.settings LIMIT 1"), "5|3\n");
    CHECK_STR(run("SELECT value FROM procprof.settings WHERE name = 'proc_profile_cpu_enable'"), "true\n");
    CHECK_STR(run("SELECT * FROM information_schema.statistics"), "");
    CHECK_STR(
        run("SELECT table_name x FROM information_schema.tables WHERE 1 = 0 OR table_schema = 'procprof' "
            "HAVING x LIKE 'n%' OR x = 'users' ORDER BY TABLE_SCHEMA, x"),
        "nodes\nusers\n");
    CHECK_STR(run("SELECT 1 one FROM procprof.nodes GROUP BY kind HAVING count(*) > 1"), "1\n");
    CHECK_STR(run("SELECT count(*) c FROM procprof.nodes HAVING c > 9"), "");
    CHECK_STR(run("SELECT UNIX_TIMESTAMP(FROM_UNIXTIME(1700000000)) t, IF(1, LOCATE('B', 'abc'), 0) FROM "
                  "procprof.nodes LIMIT 1"),
              "1700000000|2\n");
}

/* With and without a table: the same answer. */
TEST(functions_and_operators)
{
    static const char *const cases[][2] = {
        {"1/2, 4/2, 2*3/4, 7/2/2, 1/0, '5x'/2", "0.5|2|1.5|1.75|NULL|2.5\n"},
        {"7 DIV 2, -7 DIV 2, 7.5 DIV 2, 1 DIV 0, 3*5 DIV 2, 9 DIV 2*2", "3|-3|3|NULL|7|8\n"},
        {"9 DIV -(1+1) + 1, 100 DIV (7 DIV 2) DIV 2, 9 DIV LOCATE('b','ab'), 7 MOD 4", "-3|16|4|3\n"},
        {"LEFT('abc', 2), RIGHT ('abc', 1), LEFT(RIGHT('abc', 2), 1)", "ab|c|b\n"},
        {"1e30 DIV 3, 2*-7 DIV 2, 5.5 % 2, 5.5 MOD 2, MOD(7,3), MOD(5.5, 2), 7 MOD (4), (9) DIV (2), 1 % 0",
         "3.33333333333333e+29|-7|1.5|1.5|1|1.5|3|4|NULL\n"},
        {"COALESCE(1), COALESCE(NULL, NULL, 2), COALESCE(NULL), CASE 1 WHEN 1 THEN 9 END DIV 2 + 1 % 2",
         "1|2|NULL|5\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STR(run(arena_printf(&arena, "SELECT %s", cases[i][0])), cases[i][1]);
        CHECK_STR(run(arena_printf(&arena, "SELECT %s FROM procprof.nodes LIMIT 1", cases[i][0])),
                  cases[i][1]);
    }
    run("SELECT 7 DIV 2, 7 % 2, 7 / 2");
    CHECK_INT(result.table.columns[0].type, SQL_COLUMN_INT);
    CHECK_INT(result.table.columns[1].type, SQL_COLUMN_INT);
    CHECK_INT(result.table.columns[2].type, SQL_COLUMN_REAL);
    CHECK_STR(run("SELECT http_port DIV n.id, CASE WHEN id DIV CASE id WHEN 10001 THEN 2 END > 5000 THEN 'x' "
                  "END FROM "
                  "procprof.nodes n WHERE id = 10001"),
              "0|NULL\n");
}

/* MySQL compares a number with a text as numbers. */
TEST(comparisons)
{
    static const char *const cases[][2] = {
        {"'1'=1, 1='1', 1='1.0', '1'<>1, '5x'=5, 1!='1', 'a'=0, 'a'='A', 'a'<'B', 'b'>='a'",
         "1|1|1|0|1|0|1|1|1|1\n"},
        {"10>'9', '10'>'9', 9<='10', 1+1='2', '2'=1+1, (1)='1', NULL='1', NULL<>1, 1<'x'",
         "1|0|1|1|1|1|NULL|NULL|0\n"},
        {"@@autocommit='1', @@max_allowed_packet>'5', '5'<@@max_allowed_packet", "1|1|1\n"},
        {"3 IN ('3'), 3 NOT IN ('3'), '3' IN (3), 3 IN ('a','b'), 'a' IN ('a'), 3 IN (NULL,'3')",
         "1|0|1|0|1|1\n"},
        {"5 BETWEEN '1' AND '9', 10 BETWEEN '1' AND '9', 5 NOT BETWEEN '1' AND '9' AND 1, 'b' BETWEEN 'a' "
         "AND "
         "'c' AND 2=2, 1 BETWEEN NULL AND 0, 1 BETWEEN NULL AND 2",
         "1|0|0|1|0|NULL\n"},
        {"2 BETWEEN CASE WHEN 1=1 AND 2=2 THEN 1 END AND (1 + 1), 1<2=1, NOT 1=2, 1<<2, 8>>1, (1,2)=(1,2)",
         "1|1|1|4|4|1\n"},
        {"9223372036854775807=9223372036854775806, 1=(SELECT '1'), 1 IN (SELECT 1)", "0|1|1\n"},
        {"(1,2,3) IN (SELECT 1,2,3), (1,2) IN (SELECT 1,'2'), -1 IN ('-1'), CAST('0' AS CHAR) IN ('b')",
         "1|0|1|0\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STR(run(arena_printf(&arena, "SELECT %s", cases[i][0])), cases[i][1]);
        CHECK_STR(run(arena_printf(&arena, "SELECT %s FROM procprof.nodes LIMIT 1", cases[i][0])),
                  cases[i][1]);
    }
    CHECK_STR(run("SHOW VARIABLES WHERE Variable_name='wait_timeout' AND Value>=9"), "wait_timeout|28800\n");
    CHECK_STR(run("SHOW VARIABLES WHERE Variable_name='wait_timeout' AND Value BETWEEN 9 AND 100000"),
              "wait_timeout|28800\n");
    static const char *const found[] = {
        "Alive='true'",      "Alive LIKE 'true'",       "Alive=1",           "Alive='1'",
        "Alive>0",           "CONCAT(Alive,'')='TRUE'", "BackendId='10002'", "BackendId LIKE '%2'",
        "2<>Alive AND Alive"};
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        CHECK(says(arena_printf(&arena, "SHOW BACKENDS WHERE %s", found[i]), "10002|127.0.0.2"));
        CHECK_INT(result.table.n_rows, 1);
        CHECK_STR(run(arena_printf(&arena, "SELECT BackendId FROM procprof.backends WHERE %s", found[i])),
                  "10002\n");
    }
    CHECK_STR(
        run("SELECT id, IFNULL(alive, 1), LEFT(alive, 2), alive + 0 FROM procprof.nodes WHERE id = '10002'"),
        "10002|true|tr|1\n");
    CHECK_STR(run("SELECT sum(alive) FROM procprof.backends"), "1\n");
    CHECK_INT(result.table.columns[0].type, SQL_COLUMN_INT);
    CHECK_STR(run("SELECT GROUP_CONCAT(Alive), UPPER(MAX(Alive)) FROM procprof.backends"),
              "true,false|true\n");
    CHECK(says("SELECT 'a' REGEXP 'a'", "the operator REGEXP is not supported"));
    CHECK(says("SELECT 1 MATCH 1", "the operator MATCH is not supported"));
    CHECK(says("SELECT 'a' GLOB 'a'", "the operator GLOB is not supported"));
}

/* The translation to SQLite's SQL is not counted as work of the statement, so it must be quick. */
#ifdef __SANITIZE_ADDRESS__
#define MAX_TRANSLATION_CPU_S 20 /* AddressSanitizer checks every access */
#else
#define MAX_TRANSLATION_CPU_S 5 /* 0.9 s on a busy machine */
#endif
TEST(translation_is_quick)
{
    CHECK_STR(run("SELECT (SELECT 2 HAVING 1) x WHERE 1 HAVING x"), "2\n");
    CHECK(says("SELECT 1 x WHERE 1 HAVING x HAVING x", "expected one HAVING"));
    struct buf b = {0};
    buf_str(&b, "SELECT 1");
    while (b.len < SQL_MAX_BYTES - 20) buf_str(&b, " DIV 1");
    clock_t began = clock();
    CHECK(says(buf_cstr(&b), "too deep"));
    CHECK((double)(clock() - began) / CLOCKS_PER_SEC < MAX_TRANSLATION_CPU_S);
    b.len = 0;
    buf_str(&b, "SELECT 1");
    while (b.len < SQL_MAX_BYTES - 20) buf_str(&b, "=(1");
    began = clock();
    CHECK(says(buf_cstr(&b), "ERROR 1064"));
    CHECK((double)(clock() - began) / CLOCKS_PER_SEC < MAX_TRANSLATION_CPU_S);
    buf_free(&b);
}

/* Truth values are text to clients, and what they are in WHERE; as in SHOW ... WHERE. */
TEST(truth_values_and_times)
{
    static const char *const alive[] = {
        "alive",
        "alive = true",
        "alive = 1",
        "alive = 'true'",
        "alive = 'TRUE'",
        "alive != false",
        "NOT alive = 'false'",
        "alive IS TRUE",
        "alive IN ('true', 'x')",
        "CASE alive WHEN 'true' THEN 1 END",
        "id IN (SELECT y.id FROM procprof.nodes y WHERE y.alive = nodes.alive AND y.alive)"};
    for (size_t i = 0; i < sizeof alive / sizeof *alive; i++)
        CHECK_STR(
            run(arena_printf(&arena, "SELECT host, alive FROM procprof.nodes WHERE kind = 'backend' AND %s",
                             alive[i])),
            "127.0.0.2|true\n");
    CHECK_STR(run("SELECT BackendId, Alive a FROM procprof.backends WHERE NOT Alive"), "10003|false\n");
    CHECK_INT(result.table.columns[1].type, SQL_COLUMN_TEXT);
    CHECK_STR(run("SELECT x.alive, count(*) FROM procprof.nodes n JOIN (SELECT DISTINCT alive FROM "
                  "procprof.nodes) x ON "
                  "x.alive = n.alive WHERE n.kind = 'backend' GROUP BY 1 ORDER BY 1"),
              "false|1\ntrue|1\n");
    CHECK_STR(run("SELECT is_mutable FROM procprof.settings WHERE is_mutable = true LIMIT 1"), "true\n");
    run("SELECT 1 FROM procprof.nodes WHERE start_time >= '2027'");
    CHECK_INT(result.table.n_rows, 0);
    run("SELECT 1 FROM procprof.nodes WHERE start_time >= '2023' AND start_time < '2024'");
    CHECK(result.table.n_rows > 0);
}

TEST(selects_are_bounded)
{
    CHECK(says("SELECT * FROM procprof.nothing",
               "ERROR 1064 HY000 Getting analyzing error. Detail message: no such table: procprof.nothing."));
    CHECK(says("SELECT nope FROM procprof.nodes", "Column 'nope' cannot be resolved."));
    CHECK(says("SELECT nope(1) FROM procprof.nodes", "No matching function with signature: nope."));
    CHECK(says("SELECT FROM procprof.nodes", "syntax error"));
    CHECK(says("SELECT * FROM sqlite_master", "prohibited"));
    CHECK(says("SELECT * FROM pragma_database_list", "not authorized"));
    CHECK(says("SELECT count(*) FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "
               "x FROM c)",
               "takes too long"));
    char *long_text = memset(arena_zalloc(&arena, 60001), 'a', 60000);
    CHECK(says(arena_printf(&arena,
                            "SELECT CONCAT('%s', a.column_name) x FROM information_schema.columns a, "
                            "information_schema.columns b, information_schema.columns c ORDER BY x",
                            long_text),
               "too much memory"));
    CHECK(says("DELETE FROM procprof.nodes", "Unexpected input 'DELETE'"));
    CHECK(says("SELECT 1 FROM procprof.nodes; DROP TABLE x", "the end of the statement"));
    session.grants = 0;
    CHECK(says("SELECT id FROM procprof.nodes", "ERROR 5203 42000 Access denied"));
    CHECK(says("SELECT count(*) FROM nodes", "ERROR 5203 42000 Access denied"));
    CHECK(says("SELECT count(*) FROM information_schema.schemata", "4\n"));
    CHECK(says("SHOW VARIABLES WHERE 1 IN (SELECT id FROM procprof.nodes)", "ERROR 5203"));
    session.grants = CLUSTER_LOOK;
    CHECK(says("SELECT id FROM procprof.nodes LIMIT 1", "10001\n"));
    CHECK(says("SELECT name FROM procprof.settings", "(at least one of) the OPERATE privilege(s)"));
    CHECK(says("SELECT user FROM mysql.user", "(at least one of) the GRANT privilege(s)"));
    session.grants = CLUSTER_ALL;
}

static bool is_ended(void *context)
{
    (void)context;
    return true;
}

/* A function works within one step of SQLite's machine; the bounds hold there too. */
TEST(selects_end_in_time)
{
    struct buf b = {0};
    char *text = memset(arena_zalloc(&arena, 60001), 'a', 60000);
    CHECK(
        says(arena_printf(&arena, "SELECT '%s' LIKE '%%%.257s' FROM information_schema.schemata", text, text),
             "a pattern of LIKE may have 256 bytes"));
    CHECK(says(arena_printf(&arena, "SELECT '%s' LIKE '%%%.257s'", text, text), "may have 256 bytes"));
    CHECK(says(arena_printf(&arena, "SHOW VARIABLES LIKE '%%%.257s'", text), "may have 256 bytes"));
    CHECK(says("SELECT 1 FROM information_schema.schemata WHERE 'a' LIKE 'a' ESCAPE '|'",
               "only be a backslash"));
    CHECK_STR(run("SELECT 'a_' LIKE 'a|_' ESCAPE '\\\\', 'a_' LIKE 'a\\_' ESCAPE '\\\\' FROM "
                  "information_schema.schemata LIMIT 1"),
              "0|1\n");
    CHECK(says("SELECT like('a') FROM information_schema.schemata", "wrong number of arguments"));
    buf_str(&b, "SELECT 1");
    for (int i = 0; i < 400; i++) buf_printf(&b, ", x LIKE '%%%.250sb'", text);
    buf_printf(&b, " FROM (SELECT CONCAT('%s', column_name) x FROM information_schema.columns)", text);
    clock_t began = clock();
    CHECK(says(buf_cstr(&b), "takes too long"));
    CHECK((double)(clock() - began) / CLOCKS_PER_SEC < 4.5);
    session.cancel.is_asked = is_ended;
    began = clock();
    CHECK(says(buf_cstr(&b), "ERROR 1317 70100 Query execution was interrupted"));
    CHECK((double)(clock() - began) / CLOCKS_PER_SEC < MAX_TRANSLATION_CPU_S);
    session.cancel.is_asked = NULL;
    buf_free(&b);
    CHECK(says(arena_printf(&arena, "SELECT REPLACE('%s', 'a', '%s') x FROM information_schema.schemata",
                            text, text),
               "REPLACE() gives more than 1 MiB"));
    CHECK_STR(run("SELECT REPLACE('abcab', 'ab', 'x'), INSTR('xab', 'AB'), TRIM(' a '), LTRIM(' a '), "
                  "RTRIM(' a ') FROM "
                  "information_schema.schemata LIMIT 1"),
              "xcx|2|a|a | a\n");
    char *longer = memset(arena_zalloc(&arena, 600001), 'a', 600000);
    CHECK(says(arena_printf(&arena, "SELECT CONCAT('%s')", longer), longer));
    CHECK(says(arena_printf(&arena, "SELECT CONCAT(x, x, x) FROM (SELECT '%.60000s' x)", longer), "too big"));
    CHECK(says(
        arena_printf(&arena,
                     "SELECT CONCAT('%.500000s', '%.500000s', 99999, REPLACE('%.9000s', 'a', 'bbbbbbbbb'))",
                     longer, longer, longer),
        "too big"));
    CHECK_STR(run("SELECT REPLACE('abcab', 'ab', 'x'), INSTR('xab', 'AB'), TRIM(' a '), LTRIM(' a '), "
                  "RTRIM(' a ')"),
              "xcx|2|a|a | a\n");
}

/* What clients do not read stays in memory: there is a bound for all of them, and room for small ones still.
 */
TEST(results_are_bounded_together)
{
    enum { N = 5 };
    struct sql_session sessions[N];
    struct arena arenas[N] = {0};
    struct sql_result results[N];
    char *text = memset(arena_zalloc(&arena, 60001), 'a', 60000);
    const char *sql = arena_printf(&arena,
                                   "SELECT CONCAT('%s', a.column_name) x FROM information_schema.columns a, "
                                   "information_schema.schemata LIMIT 1000",
                                   text);
    run("SELECT 1");
    for (size_t i = 0; i < N; i++) {
        sessions[i] = session;
        sessions[i].held = (struct sql_held){0};
        sql_run(&sessions[i], sql, strlen(sql), &arenas[i], &results[i]);
        CHECK_INT(results[i].kind, i < 4 ? SQL_RESULT_TABLE : SQL_RESULT_ERROR);
    }
    CHECK(results[4].kind == SQL_RESULT_ERROR && strstr(results[4].text, "not read yet"));
    CHECK_STR(run("SELECT count(*) FROM information_schema.schemata"), "4\n");
    for (size_t i = 0; i < N; i++) {
        arena_free(&arenas[i]);
        sql_release(&sessions[i].held);
    }
    sql_run(&sessions[4], sql, strlen(sql), &arenas[4], &results[4]);
    CHECK_INT(results[4].kind, SQL_RESULT_TABLE);
    arena_free(&arenas[4]);
    sql_release(&sessions[4].held);
}

/* What SQLite holds for others is no reason to refuse this one. */
TEST(sorting_is_bounded_for_each)
{
    void *of_others = sqlite3_malloc64(600 << 20); /* never touched */
    CHECK(of_others != NULL);
    CHECK_STR(
        run("SELECT a.table_name x FROM information_schema.columns a, information_schema.schemata WHERE "
            "a.column_name = 'BackendId' ORDER BY x LIMIT 1"),
        "backends\n");
    sqlite3_free(of_others);
}

/* SQLite has functions and tables that reach into the process: they are not for those who may log in. */
TEST(selects_reach_nothing_else)
{
    static const char *const calls[] = {"hex(fts3_tokenizer('simple'))",
                                        "fts3_tokenizer('simple', 'x')",
                                        "load_extension('x')",
                                        "printf('%d', 1)",
                                        "zeroblob(10)",
                                        "randomblob(10)",
                                        "json_extract('{}', '$')",
                                        "sqlite_version()",
                                        "total_changes()"};
    static const char *const tables[] = {"fts3tokenize", "json_each('[1]')", "json_tree",     "dbstat",
                                         "sqlite_stmt",  "`fts3tokenize`",   "main.json_each"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        CHECK(says(arena_printf(&arena, "SELECT %s FROM information_schema.schemata LIMIT 1", calls[i]),
                   "not authorized to use function"));
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        CHECK(says(arena_printf(&arena, "SELECT * FROM %s", tables[i]), "no such table"));
        CHECK(says(arena_printf(&arena, "SELECT count(*) FROM %s", tables[i]), "no such table"));
    }
    CHECK(says("SELECT count(*) FROM pragma_database_list", "not authorized"));
    CHECK(says("SELECT `tabel_name` FROM information_schema.tables",
               "Column 'tabel_name' cannot be resolved."));
    CHECK(says("SELECT 1 FROM information_schema.tables WHERE `tabel_name` = 'x'",
               "Column 'tabel_name' cannot be resolved."));
    CHECK_STR(run("SELECT UPPER(SUBSTR(schema_name, 1, 2)), LENGTH('abc'), ROUND(1.25, 1), COALESCE(NULL, "
                  "'x') FROM "
                  "information_schema.schemata WHERE schema_name = 'mysql'"),
              "MY|3|1.3|x\n");
}

TEST(shows_of_tables)
{
    CHECK(says("SHOW TABLES", "No database selected"));
    CHECK(says("USE nowhere", "ERROR 1049 42000 Unknown database 'nowhere'"));
    CHECK(says("USE ProcProf", "OK"));
    CHECK_STR(run("SELECT DATABASE()"), "procprof\n");
    CHECK_STR(run("SHOW TABLES LIKE '%nodes'"), "compute_nodes\nnodes\n");
    CHECK_STR(columns("SHOW FULL TABLES"), "Tables_in_procprof, Table_type");
    CHECK_STR(run("SHOW COLUMNS FROM nodes LIKE 'id'"), "id|bigint|YES||NULL|\n");
    CHECK_STR(run("SHOW FULL COLUMNS FROM nodes FROM procprof WHERE Field = 'start_time'"),
              "start_time|datetime|NULL|YES||NULL||select|\n");
    CHECK(says("DESC users", "grants|varchar"));
    CHECK(says("SHOW CREATE TABLE users", "CREATE TABLE `users` ("));
    CHECK_STR(run("SHOW INDEX FROM users"), "");
    CHECK(says("SHOW COLUMNS FROM nothing", "Unknown table 'nothing'"));
    CHECK(says("SHOW TABLES FROM nowhere", "Unknown database 'nowhere'"));
    CHECK(says("SHOW STATUS LIKE 'threads_conn%'", "Threads_connected|1\n"));
    session.database[0] = '\0';
}

TEST(small_selects)
{
    CHECK_STR(run("select @@version_comment limit 1"), "procprof\n");
    CHECK_STR(columns("select @@version_comment limit 1"), "@@version_comment");
    CHECK_STR(run("SELECT 1"), "1\n");
    CHECK_STR(run("SELECT DATABASE()"), "NULL\n");
    CHECK_STR(run("/* ApplicationName=x */ SELECT VERSION() AS v, 1 + 1 two"), "8.0.33|2\n");
    CHECK_STR(run("SELECT VERSION() AS v, USER(), 1 + 1 `two`, CONNECTION_ID()"), "8.0.33|'root'@'%'|2|7\n");
    CHECK_STR(columns("SELECT VERSION() AS v, USER(), 1 + 1 `two`"), "v, USER(), two");
    CHECK_STR(run("SELECT @@session.auto_increment_increment AS a, @@sql_mode AS m, @@autocommit"),
              "1|ONLY_FULL_GROUP_BY|1\n");
    CHECK_STR(run("select 'it''s', \"a\\\"b\", 'x\\ny', CONCAT('a', 1)"), "it's|a\"b|x\ny|a1\n");
    CHECK_STR(run("SELECT 1 WHERE 1 = 2"), "");
    CHECK_STR(run("SELECT 1 + 1 FROM DUAL WHERE 2 = 2 LIMIT 1"), "2\n");
    CHECK_STR(
        columns("SELECT DISTINCT @@autocommit,1+1 , (SELECT 2 LIMIT 1) IS NULL x, 'a,b', -\n1 FROM dual"),
        "@@autocommit, 1+1, x, 'a,b', -\n1");
    CHECK_STR(columns("SELECT COUNT( * ), `kind`, n.host FROM procprof.nodes n GROUP BY 2"),
              "COUNT( * ), kind, host");
    run("SELECT 1, 1.5, 'a', NULL, TRUE, @@autocommit");
    static const enum sql_column_type types[] = {SQL_COLUMN_INT,  SQL_COLUMN_REAL, SQL_COLUMN_TEXT,
                                                 SQL_COLUMN_TEXT, SQL_COLUMN_INT,  SQL_COLUMN_INT};
    for (size_t i = 0; i < 6; i++) CHECK_INT(result.table.columns[i].type, types[i]);
    CHECK_STR(columns("SELECT CURRENT_TIMESTAMP(), NOW(), '1'=1, 7 DIV 2 AS d, 5 % 2"),
              "CURRENT_TIMESTAMP(), NOW(), '1'=1, d, 5 % 2");
    CHECK_STR(columns("SELECT NOW(), n.*, 1 = 1 FROM (SELECT 1 x, 2 y) n"), "NOW(), x, y, 1 = 1");
    CHECK_STR(run("SELECT 1 a, 'b', 1.5 LIMIT 0"), "");
    CHECK_INT(result.table.columns[0].type, SQL_COLUMN_INT);
    CHECK_INT(result.table.columns[1].type, SQL_COLUMN_TEXT);
    CHECK_INT(result.table.columns[2].type, SQL_COLUMN_REAL);
    CHECK_STR(run("SELECT USER, 1 user"), "'root'@'%'|1\n");
    CHECK_STR(run("select @@nope"), "ERROR 1064 HY000 Unknown system variable 'nope'");
    CHECK(says("select $$", "Column '$$' cannot be resolved."));
    CHECK(says("select * from t", "no such table: t"));
    CHECK(says("select @@nope", "Unknown system variable 'nope'"));
    CHECK(says("", "ERROR 1065"));
    CHECK_STR(run("SET NAMES utf8mb4"), "OK");
    CHECK_STR(run("/*!40101 SET NAMES utf8 */"), "OK");
    CHECK_STR(run("SET autocommit=1, sql_mode = concat(@@sql_mode,',STRICT_TRANS_TABLES')"), "OK");
    CHECK_STR(run("USE information_schema"), "OK");
    CHECK_STR(run("SELECT DATABASE()"), "information_schema\n");
    CHECK(says("USE nope", "ERROR 1049 42000 Unknown database 'nope'"));
}

TEST(syntax_errors_say_where)
{
    CHECK_STR(run("SHOW NONSENSE"),
              "ERROR 1064 HY000 Getting syntax error at line 1, column 5. Detail message: Unexpected input "
              "'NONSENSE', "
              "expected BACKENDS, COMPUTE NODES, FRONTENDS, VARIABLES or another object of SHOW.");
    CHECK(says("SELECT\n  (1", "incomplete input"));
    CHECK(says("SELECT 1 2", "near \"2\": syntax error"));
    CHECK(says("SELECT *", "no tables specified"));
    CHECK(says("SELECT :x", "too many SQL variables"));
    CHECK(says("SELECT 'abc", "column 7. Detail message: this quote does not end"));
    CHECK(says("SELECT 1 /* abc", "this comment does not end"));
    CHECK(
        says("SHOW BACKENDS; SHOW FRONTENDS", "Unexpected input 'SHOW', expected the end of the statement"));
    CHECK(says("ADMIN EXECUTE ON x 'y'",
               "expected FRONTEND, ALL BACKENDS, ALL COMPUTE NODES or the id of a node"));
    CHECK(says("SELECT ?", "needs a prepared statement"));
    CHECK(says("ALTER SYSTEM ADD BACKEND 'host'", "expected 'host:port'"));
    CHECK(says("ALTER SYSTEM ADD BACKEND 'a:b:1'", "expected 'host:port'"));
    CHECK(says("ALTER SYSTEM ADD BACKEND 'host:70000'", "expected 'host:port'"));
    struct buf b = {0};
    buf_str(&b, "SELECT 1");
    for (int i = 0; i < 100000; i++) buf_str(&b, "+1");
    CHECK(says(buf_cstr(&b), "Expression tree is too large (maximum depth 200)"));
    b.len = 0;
    buf_str(&b, "SELECT ");
    for (int i = 0; i < 100000; i++) buf_str(&b, "(");
    CHECK(says(buf_cstr(&b), "parser stack overflow"));
    buf_free(&b);
}

TEST(nodes_come_and_go)
{
    CHECK_STR(run("ALTER SYSTEM ADD BACKEND '10.0.0.9:8060', 'db-7.example:8060'"), "OK");
    CHECK_INT(result.n_affected, 2);
    CHECK_STR(run("ALTER SYSTEM ADD COMPUTE NODE '[::1]:9050' PROPERTIES (\"http_port\" = \"8041\", "
                  "\"brpc_port\" = 8061)"),
              "OK");
    CHECK(says("SHOW COMPUTE NODES WHERE IP = '::1'", "|::1|9050|0|8041|8061|"));
    CHECK(says("SHOW BACKENDS WHERE BackendId = 10005", "10005|10.0.0.9"));
    CHECK_STR(run("ALTER SYSTEM DROP BACKEND '10.0.0.9:8060'"), "OK");
    run("SHOW BACKENDS WHERE BackendId = 10005");
    CHECK_INT(result.table.n_rows, 0);
    CHECK(says("ALTER SYSTEM DROP BACKEND '10.0.0.9:8060'", "Backend does not exist[10.0.0.9:8060]"));
    CHECK(says("ALTER SYSTEM ADD BACKEND 'h:1' PROPERTIES (\"nope\" = \"1\")", "unknown property \"nope\""));
    CHECK(fixture_audit_says(&fixture, "user=root peer=127.0.0.1 result=failed action=sql add node h:1 "));
}

TEST(settings)
{
    CHECK_STR(run("ADMIN SET FRONTEND CONFIG (\"proc_profile_cpu_enable\"=\"false\")"), "OK");
    CHECK(says("ADMIN SHOW FRONTEND CONFIG WHERE Key = 'proc_profile_cpu_enable'", "|false|"));
    CHECK(says("ADMIN SET FRONTEND CONFIG ('nope'='1')", "no setting 'nope'"));
}

TEST(scripts_on_nodes)
{
    CHECK_STR(run("ADMIN EXECUTE ON 10002 'System.print(HeapProf.getInstance().enable_prof())'"),
              "instance of HeapProf\n");
    CHECK_STR(columns("ADMIN EXECUTE ON 10002 'System.print(1)'"), "result");
    CHECK_STR(run("ADMIN EXECUTE ON 10002 'System.print(HeapProf.getInstance().has_enable())'"), "true\n");
    CHECK(says("ADMIN EXECUTE ON 10002 'System.print(HeapProf.getInstance().dump_dot_snapshot())'",
               "digraph \""));
    CHECK(result.table.n_rows > 5);
    CHECK_STR(run("ADMIN EXECUTE ON 10002 'var x = 1'"), "\n");
    CHECK_INT(result.table.n_rows, 1);
    CHECK_STR(run("ADMIN EXECUTE ON 10002 'System.print(\"a\\\\n\\\\nb\\\\n\\\\n\")'"), "a\n\nb\n");
    CHECK_STR(run("ADMIN EXECUTE ON 99 'System.print(1)'"), "ERROR 1064 HY000 node not found: 99");
    CHECK(says("ADMIN EXECUTE ON 10003,99,10002,10003 'System.print(HeapProf.getInstance().has_enable())'",
               "99|ERROR|node not found\n10002|OK|true\n10003|OK|Runtime error: "
               "http://127.0.0.3:1/pprof/heap/status: "));
    CHECK(strstr(result.table.rows[2][2], "\n  at: main:1"));
    CHECK_STR(columns("ADMIN EXECUTE ON ALL BACKENDS 'System.print(1)\nSystem.print(2)'"),
              "node_id, status, result");
    CHECK_STR(run("ADMIN EXECUTE ON ALL BACKENDS 'System.print(1)\nSystem.print(2)'"),
              "10002|OK|1\n2\n10003|OK|1\n2\n");
    CHECK_STR(run("ADMIN EXECUTE ON ALL COMPUTE NODES 'System.print(1)'"), "10004|OK|1\n");
    CHECK_STR(run("ADMIN EXECUTE ON FRONTEND 'System.print(1)'"), "1\n");
    CHECK(fixture_audit_says(&fixture, "result=ok action=sql execute 10001: System.print(1)\n"));
}

TEST(users_and_grants)
{
    CHECK_STR(run("CREATE USER 'anna'@'%' IDENTIFIED BY 'secret'"), "OK");
    CHECK(says("CREATE USER anna", "user already exists"));
    CHECK_STR(run("CREATE USER IF NOT EXISTS anna"), "OK");
    session.grants = 0;
    snprintf(session.user, sizeof session.user, "anna");
    CHECK(says("SHOW BACKENDS", "ERROR 5203 42000 Access denied; you need (at least one of) the OPERATE, "
                                "NODE privilege(s) on SYSTEM"));
    CHECK(says("ADMIN EXECUTE ON 10002 'System.print(1)'",
               "ERROR 5203 42000 Access denied; you need (at least one of) the OPERATE privilege(s)"));
    CHECK(says("GRANT OPERATE ON SYSTEM TO anna", "ERROR 5203"));
    CHECK(says("SET PASSWORD FOR root = PASSWORD('x')", "ERROR 5203"));
    CHECK(says("SHOW GRANTS FOR root", "ERROR 5203"));
    CHECK(says("ALTER SYSTEM DROP BACKEND '127.0.0.2:8040'", "ERROR 5203"));
    CHECK(says("ADMIN SET FRONTEND CONFIG ('proc_profile_cpu_enable'='false')", "ERROR 5203"));
    CHECK_STR(run("SELECT 1"), "1\n");
    CHECK_STR(run("SET PASSWORD = PASSWORD('own')"), "OK");
    session.grants = CLUSTER_ALL;
    snprintf(session.user, sizeof session.user, "root");
    CHECK_STR(run("GRANT NODE ON SYSTEM TO USER anna"), "OK");
    CHECK_STR(run("SHOW GRANTS FOR 'anna'@'%'"), "'anna'@'%'|NULL|GRANT NODE ON SYSTEM TO USER 'anna'@'%'\n");
    session.grants = user("anna").grants;
    run("SHOW BACKENDS");
    CHECK_INT(result.table.n_rows, 2);
    CHECK(says("ADMIN EXECUTE ON 10002 'System.print(1)'", "ERROR 5203"));
    session.grants = CLUSTER_ALL;
    CHECK_STR(run("GRANT cluster_admin TO 'anna'"), "OK");
    CHECK_INT(user("anna").grants, CLUSTER_LOOK | CLUSTER_ACT);
    CHECK_STR(run("SHOW GRANTS FOR anna"),
              "'anna'@'%'|NULL|GRANT NODE, OPERATE ON SYSTEM TO USER 'anna'@'%'\n");
    CHECK_STR(run("REVOKE OPERATE ON SYSTEM FROM anna"), "OK");
    CHECK_INT(user("anna").grants, CLUSTER_LOOK);
    CHECK_STR(run("GRANT OPERATE ON SYSTEM TO anna; "), "OK");
    CHECK_STR(run("REVOKE NODE ON SYSTEM FROM anna"), "OK");
    session.grants = user("anna").grants;
    CHECK_INT(session.grants, CLUSTER_ACT);
    run("SHOW BACKENDS"); /* who may act may look */
    CHECK_INT(result.table.n_rows, 2);
    session.grants = CLUSTER_ALL;
    CHECK_STR(run("CREATE USER role_user IDENTIFIED BY 'x' DEFAULT ROLE 'cluster_admin', db_admin"), "OK");
    CHECK_INT(user("role_user").grants, CLUSTER_LOOK | CLUSTER_ACT);
    CHECK(says("CREATE USER other DEFAULT ROLE nosuch", "ERROR 1064"));
    CHECK(!*user("other").name);
    CHECK_STR(run("DROP USER role_user"), "OK");
    CHECK_STR(run("SET PASSWORD FOR anna = PASSWORD('test')"), "OK");
    uint8_t hash[20], want[20] = {0x94, 0xbd, 0xce, 0xbe, 0x19, 0x08, 0x3c, 0xe2, 0xa1, 0xf9,
                                  0x59, 0xfd, 0x02, 0xf9, 0x64, 0xc7, 0xaf, 0x4c, 0xfc, 0x29};
    memcpy(hash, user("anna").native_hash, 20);
    CHECK(!memcmp(hash, want, 20)); /* *94BDCEBE19083CE2A1F959FD02F964C7AF4CFC29, as MySQL has it */
    CHECK_STR(run("SET PASSWORD FOR anna = ''"), "OK");
    CHECK_STR(run("ALTER USER anna IDENTIFIED WITH mysql_native_password AS "
                  "'*94BDCEBE19083CE2A1F959FD02F964C7AF4CFC29'"),
              "OK");
    CHECK(!memcmp(user("anna").native_hash, want, 20));
    CHECK(says("CREATE USER b IDENTIFIED BY PASSWORD '*12'", "40 hexadecimal digits"));
    CHECK(!*user("b").name);
    CHECK_STR(run("DROP USER anna"), "OK");
    CHECK(says("DROP USER anna", "cannot find user 'anna'@'%'"));
    CHECK_STR(run("DROP USER IF EXISTS anna"), "OK");
}

TEST_MAIN()
