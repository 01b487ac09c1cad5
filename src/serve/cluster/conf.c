/* conf.c - see conf.h. */
#include "serve/cluster/conf.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"

enum { CONF_MAX_FILE_BYTES = 1 << 20, CONF_MAX_VALUE_BYTES = 4096, CONF_MAX_NODES = 20000 };

#define FE_OWN (CONF_FE_FILE | CONF_OWN_FILE)
#define BE_OWN (CONF_BE_FILE | CONF_OWN_FILE)

static const struct conf_key_info keys[CONF_N_KEYS] = {
    [CONF_PROC_PROFILE_CPU_ENABLE] = {"proc_profile_cpu_enable", CONF_BOOL, "boolean", "true", 0, 1, FE_OWN,
                                      true, "collect CPU profiles of frontends"},
    [CONF_PROC_PROFILE_MEM_ENABLE] = {"proc_profile_mem_enable", CONF_BOOL, "boolean", "true", 0, 1, FE_OWN,
                                      true, "collect allocation profiles of frontends"},
    [CONF_PROC_PROFILE_COLLECT_TIME_S] = {"proc_profile_collect_time_s", CONF_INT, "long", "120", 1, 3600,
                                          FE_OWN, true, "seconds of one capture of a frontend"},
    [CONF_PROC_PROFILE_JSTACK_DEPTH] = {"proc_profile_jstack_depth", CONF_INT, "int", "128", 1, 2048, FE_OWN,
                                        true, "deepest Java stack that is kept"},
    [CONF_PROC_PROFILE_FILE_RETAINED_DAYS] = {"proc_profile_file_retained_days", CONF_INT, "int", "1", 0,
                                              36500, FE_OWN, true, "days (of 24 hours) a profile is kept"},
    [CONF_PROC_PROFILE_FILE_RETAINED_SIZE_BYTES] = {"proc_profile_file_retained_size_bytes", CONF_INT, "long",
                                                    "2147483648", 0, INT64_MAX, FE_OWN, true,
                                                    "most bytes that all profiles together take"},
    [CONF_SYS_LOG_DIR] =
        {"sys_log_dir", CONF_TEXT, "String", "", 0, 0, FE_OWN, false,
         "profiles are in its folder proc_profile; empty: the folder log of the data directory"},
    [CONF_BE_SYS_LOG_DIR] = {"be_sys_log_dir", CONF_TEXT, "String", "", 0, 0, CONF_OWN_FILE, false,
                             "sys_log_dir of be.conf"},
    [CONF_HTTP_PORT] = {"http_port", CONF_INT, "int", "8030", 0, 65535, FE_OWN, false,
                        "port of the page and the HTTP API"},
    [CONF_QUERY_PORT] = {"query_port", CONF_INT, "int", "9030", 0, 65535, FE_OWN, false,
                         "port of the MySQL protocol"},
    [CONF_RPC_PORT] = {"rpc_port", CONF_INT, "int", "0", 0, 65535, FE_OWN, false,
                       "only shown by SHOW FRONTENDS"},
    [CONF_EDIT_LOG_PORT] = {"edit_log_port", CONF_INT, "int", "0", 0, 65535, FE_OWN, false,
                            "only shown by SHOW FRONTENDS"},
    [CONF_BE_PORT] = {"be_port", CONF_INT, "int", "0", 0, 65535, BE_OWN, false,
                      "only shown by SHOW BACKENDS"},
    [CONF_HEARTBEAT_SERVICE_PORT] = {"heartbeat_service_port", CONF_INT, "int", "0", 0, 65535, BE_OWN, false,
                                     "only shown by SHOW BACKENDS"},
    [CONF_BE_HTTP_PORT] = {"be_http_port", CONF_INT, "int", "8040", 1, 65535, BE_OWN, false,
                           "HTTP port of this host's backend"},
    [CONF_BRPC_PORT] = {"brpc_port", CONF_INT, "int", "8060", 1, 65535, BE_OWN, false,
                        "brpc port of this host's backend"},
    [CONF_FLAMEGRAPH_TOOL_DIR] = {"flamegraph_tool_dir", CONF_TEXT, "String", "", 0, 0, BE_OWN, false,
                                  "accepted and not needed: procprof draws flame graphs itself"},
    [CONF_COLLECT_BE_PROFILE_INTERVAL] = {"COLLECT_BE_PROFILE_INTERVAL", CONF_INT, "long", "60", 1, 86400,
                                          BE_OWN, true, "seconds from one capture of a backend to the next"},
    [CONF_BE_PROFILE_TYPES] = {"be_profile_types", CONF_TEXT, "String", "cpu", 0, 0, CONF_OWN_FILE, true,
                               "types collected from backends: cpu, mem, heap, contention, wall"},
    [CONF_BE_COLLECT_TIME_S] = {"be_collect_time_s", CONF_INT, "long", "10", 1, 3600, CONF_OWN_FILE, true,
                                "seconds of one capture of a backend"},
    [CONF_BE_HEAP_ENABLE] = {"be_heap_enable", CONF_BOOL, "boolean", "false", 0, 1, CONF_OWN_FILE, true,
                             "switch heap profiling on in nodes whose heap is collected"},
    [CONF_HEARTBEAT_INTERVAL_S] = {"heartbeat_interval_s", CONF_INT, "long", "10", 1, 3600, CONF_OWN_FILE,
                                   true, "seconds between two checks whether a node is alive"},
    [CONF_MAX_CONCURRENT_CAPTURES] = {"max_concurrent_captures", CONF_INT, "int", "1000", 1, 10000,
                                      CONF_OWN_FILE, true, "most captures that run at the same time"},
    [CONF_MAX_CAPTURE_SECONDS] = {"max_capture_seconds", CONF_INT, "long", "300", 1, 3600, CONF_OWN_FILE,
                                  true, "longest capture that a client may request"},
    [CONF_DATA_DIR] = {"data_dir", CONF_TEXT, "String", "", 0, 0, CONF_OWN_FILE, false,
                       "folder of the server's own files"},
    [CONF_LISTEN] = {"listen", CONF_TEXT, "String", "127.0.0.1", 0, 0, CONF_OWN_FILE, false,
                     "address of the listeners once root has a password; loopback before"},
    [CONF_TLS_CERT] = {"tls_cert", CONF_TEXT, "String", "", 0, 0, CONF_OWN_FILE, false,
                       "PEM file: certificate for HTTPS and MySQL"},
    [CONF_TLS_KEY] = {"tls_key", CONF_TEXT, "String", "", 0, 0, CONF_OWN_FILE, false,
                      "PEM file: its private key"},
    [CONF_LOG_LEVEL] = {"log_level", CONF_TEXT, "String", "info", 0, 0, CONF_OWN_FILE, true,
                        "error, warn, info or debug"},
    [CONF_FE_JVM] = {"fe_jvm", CONF_TEXT, "String", "com.starrocks.StarRocksFE", 0, 0, CONF_OWN_FILE, false,
                     "this host's frontend: a pid, a main class, or a port it listens on; empty: none"},
    [CONF_FE_ALLOC_INTERVAL_BYTES] = {"fe_alloc_interval_bytes", CONF_INT, "long", "2097152", 1024,
                                      INT32_MAX /* the limit of a JVM */, CONF_OWN_FILE, true,
                                      "bytes that a frontend allocates between two samples"},
    [CONF_FE_ENGINE] = {"fe_engine", CONF_TEXT, "String", "auto", 0, 0, CONF_OWN_FILE, true,
                        "engine for frontends: async-profiler, jfr (the JVM's flight recorder), or auto"},
    [CONF_ASYNC_PROFILER_LIB] = {"async_profiler_lib", CONF_TEXT, "String", "", 0, 0, CONF_OWN_FILE, false,
                                 "libasyncProfiler.so for frontends; empty: where tools/setup or a package "
                                 "put it"},
    [CONF_SYMBOL_PATH] = {"symbol_path", CONF_TEXT, "String", "", 0, 0, CONF_OWN_FILE, false,
                          "folders, separated by ':', with binaries and debug files of the nodes"},
};

const struct conf_key_info *conf_key_info(enum conf_key key)
{
    return &keys[key];
}

int conf_key_find(const char *name, unsigned files)
{
    if (files == CONF_BE_FILE && !strcmp(name, "sys_log_dir")) return CONF_BE_SYS_LOG_DIR;
    for (int k = 0; k < CONF_N_KEYS; k++)
        if ((keys[k].files & files) && !strcmp(keys[k].name, name)) return k;
    return -1;
}

/* The optimal string alignment distance, ignoring case; 99 when one of the texts is too long. */
static int distance(const char *a, const char *b)
{
    enum { MAX = 63 };
    size_t n = strlen(a), m = strlen(b);
    if (n > MAX || m > MAX) return 99;
    int rows[3][MAX + 1];
    int *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= m; j++) above[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            int best = above[j - 1] + !same;
            if (above[j] + 1 < best) best = above[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        int *t = before;
        before = above, above = row, row = t;
    }
    return above[m];
}

const char *conf_key_nearest(const char *name, unsigned files)
{
    const char *best = NULL;
    int best_distance = (int)strlen(name) / 4 + 1; /* about one wrong letter in four */
    if (best_distance > 4) best_distance = 4;
    for (int k = 0; k < CONF_N_KEYS; k++) {
        if (!(keys[k].files & files)) continue;
        int d = distance(name, keys[k].name);
        if (d <= best_distance && (!best || d < best_distance)) best = keys[k].name, best_distance = d;
    }
    return best;
}

static int set_bool(const char *value, char **ret_plain, struct err *err)
{
    static const char *const yes[] = {"true", "1", "yes", "on"}, *const no[] = {"false", "0", "no", "off"};
    for (int i = 0; i < 4; i++) {
        if (!strcasecmp(value, yes[i])) return *ret_plain = mem_strdup("true"), 0;
        if (!strcasecmp(value, no[i])) return *ret_plain = mem_strdup("false"), 0;
    }
    return err_set(err, ERR_INPUT, "'%.60s' is not true or false", value);
}

static int set_int(const struct conf_key_info *info, const char *value, char **ret_plain, struct err *err)
{
    int64_t number;
    if (!text_to_int(value, INT64_MIN, INT64_MAX, &number))
        return err_set(err, ERR_INPUT, "'%.60s' is not a whole number", value);
    if (number < info->min || number > info->max)
        return err_set(err, ERR_INPUT, "%lld is not between %lld and %lld", (long long)number,
                       (long long)info->min, (long long)info->max);
    *ret_plain = mem_printf("%lld", (long long)number);
    return 0;
}

static bool is_types_list(const char *text)
{
    static const char *const types[] = {"cpu", "mem", "heap", "contention", "wall"};
    for (const char *p = text; *p;) {
        p += strspn(p, ", \t");
        size_t len = strcspn(p, ", \t");
        bool known = len == 0;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (strlen(types[i]) == len && !memcmp(types[i], p, len)) known = true;
        if (!known) return false;
        p += len;
    }
    return true;
}

static int check_text(enum conf_key key, const char *value, struct err *err)
{
    if (strlen(value) > CONF_MAX_VALUE_BYTES)
        return err_set(err, ERR_LIMIT, "the value is longer than %d bytes", CONF_MAX_VALUE_BYTES);
    for (const char *p = value; *p; p++)
        if ((unsigned char)*p < 32 || *p == 127)
            return err_set(err, ERR_INPUT, "the value has a control character");
    if (key == CONF_BE_PROFILE_TYPES && !is_types_list(value))
        return err_set(err, ERR_INPUT, "'%.60s' is not a list of cpu, mem, heap, contention, wall", value);
    if (key == CONF_LOG_LEVEL && strcmp(value, "error") && strcmp(value, "warn") && strcmp(value, "info") &&
        strcmp(value, "debug"))
        return err_set(err, ERR_INPUT, "'%.60s' is not error, warn, info or debug", value);
    if (key == CONF_FE_ENGINE && strcmp(value, "auto") && strcmp(value, "async-profiler") &&
        strcmp(value, "jfr"))
        return err_set(err, ERR_INPUT, "'%.60s' is not auto, async-profiler or jfr", value);
    return 0;
}

int conf_set(struct conf *conf, enum conf_key key, const char *value, struct err *err)
{
    const struct conf_key_info *info = &keys[key];
    char *plain = NULL;
    int bad = info->kind == CONF_BOOL  ? set_bool(value, &plain, err)
              : info->kind == CONF_INT ? set_int(info, value, &plain, err)
                                       : check_text(key, value, err);
    if (bad) return err_prefix(err, "%s", info->name), bad;
    mem_free(conf->values[key]);
    conf->values[key] = plain ? plain : mem_strdup(value);
    conf->from[key] = CONF_COMMAND_LINE;
    return 0;
}

const char *conf_text(const struct conf *conf, enum conf_key key)
{
    return conf->values[key] ? conf->values[key] : keys[key].preset;
}

int64_t conf_int(const struct conf *conf, enum conf_key key)
{
    const char *text = conf_text(conf, key);
    return keys[key].kind == CONF_BOOL ? !strcmp(text, "true") : strtoll(text, NULL, 10);
}

void conf_free(struct conf *conf)
{
    for (int k = 0; k < CONF_N_KEYS; k++) mem_free(conf->values[k]);
    for (size_t i = 0; i < conf->n_nodes; i++) mem_free(conf->nodes[i].text);
    mem_free(conf->nodes);
    *conf = (struct conf){0};
}

/* ---- reading a file ---- */

struct reading {
    struct conf *into;
    const char *name;
    unsigned line;
    enum conf_file kind;
    conf_warn *warn;
    struct pair { /* an earlier line, for ${...} */
        char *key, *value;
    } * pairs;
    size_t n_pairs, cap_pairs;
};

static void warn(struct reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void warn(struct reading *r, const char *format, ...)
{
    if (!r->warn) return;
    char text[500];
    int n = snprintf(text, sizeof text, "%s:%u: ", r->name, r->line);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, sizeof text - (size_t)n, format, args);
    va_end(args);
    r->warn(text);
}

/* The value of ${name}, or NULL. Without a definition, STARROCKS_HOME is the parent of the folder that holds
 * the file. */
static char *variable(const struct reading *r, const char *name)
{
    for (size_t i = r->n_pairs; i-- > 0;)
        if (!strcmp(r->pairs[i].key, name)) return mem_strdup(r->pairs[i].value);
    const char *env = getenv(name);
    if (env) return mem_strdup(env);
    if (strcmp(name, "STARROCKS_HOME")) return NULL;
    const char *slash = strrchr(r->name, '/');
    char *above = slash ? mem_printf("%.*s/..", (int)(slash - r->name), r->name) : mem_strdup("..");
    char *whole = realpath(above, NULL); /* independent of the working folder of the server */
    if (!whole) return above;
    mem_free(above);
    above = mem_strdup(whole);
    free(whole);
    return above;
}

static int expand(const struct reading *r, const char *text, char **ret_text, struct err *err)
{
    struct buf out = {.max_len = CONF_MAX_VALUE_BYTES};
    for (const char *p = text; *p;) {
        const char *end = p[0] == '$' && p[1] == '{' ? strchr(p, '}') : NULL;
        if (!end) {
            buf_char(&out, *p++);
            continue;
        }
        char *name = mem_strndup(p + 2, (size_t)(end - p - 2));
        char *value = variable(r, name);
        if (!value) {
            int code = err_set(err, ERR_INPUT, "${%.60s} is set neither above nor in the environment", name);
            mem_free(name);
            buf_free(&out);
            return code;
        }
        buf_str(&out, value);
        mem_free(name);
        mem_free(value);
        p = end + 1;
    }
    if (out.full) {
        buf_free(&out);
        return err_set(err, ERR_LIMIT, "the value is longer than %d bytes", CONF_MAX_VALUE_BYTES);
    }
    *ret_text = buf_take(&out);
    return 0;
}

static char *trimmed(const char *from, const char *to)
{
    struct piece piece = piece_trim((struct piece){from, (size_t)(to - from)});
    return mem_strndup(piece.s, piece.n);
}

static int take_node(struct reading *r, const char *value, struct err *err)
{
    if (r->into->n_nodes >= CONF_MAX_NODES)
        return err_set(err, ERR_LIMIT, "more than %d nodes", CONF_MAX_NODES);
    struct conf_node *node = VEC_PUSH(r->into->nodes, r->into->n_nodes, r->into->cap_nodes);
    node->text = mem_strdup(value);
    if (r->kind == CONF_COMMAND_LINE)
        snprintf(node->where, sizeof node->where, "%s", r->name);
    else
        snprintf(node->where, sizeof node->where, "%s:%u", r->name, r->line);
    return 0;
}

static int unknown_key(struct reading *r, const char *key, struct err *err)
{
    const char *nearest = conf_key_nearest(key, r->kind);
    if (r->kind == CONF_COMMAND_LINE)
        return nearest ? err_set(err, ERR_INPUT, "unknown key '%.80s'; did you mean '%s'?", key, nearest)
                       : err_set(err, ERR_INPUT, "unknown key '%.80s'; --settings lists the known keys", key);
    if (nearest)
        warn(r, "unknown key '%.80s'; did you mean '%s'?", key, nearest);
    else if (r->kind == CONF_OWN_FILE)
        warn(r, "unknown key '%.80s'", key);
    return 0;
}

static int take_pair(struct reading *r, char *key, char *raw, struct err *err)
{
    int known = conf_key_find(key, r->kind);
    bool is_node = r->kind & CONF_OWN_FILE && !strcmp(key, "node");
    char *value = NULL;
    int bad = expand(r, raw, &value, err);
    if (bad && known < 0 && !is_node)
        return unknown_key(r, key, err); /* the value of a foreign key does not matter */
    if (bad) return err_prefix(err, "%s", key), bad;
    if (is_node)
        bad = take_node(r, value, err);
    else if (known < 0)
        bad = unknown_key(r, key, err);
    else
        bad = conf_set(r->into, (enum conf_key)known, value, err);
    if (!bad && known >= 0) r->into->from[known] = r->kind;
    if (!bad && known == CONF_FLAMEGRAPH_TOOL_DIR)
        warn(r, "flamegraph_tool_dir is no longer needed: flame graphs are made by procprof itself");
    if (!bad)
        *VEC_PUSH(r->pairs, r->n_pairs, r->cap_pairs) = (struct pair){mem_strdup(key), mem_strdup(value)};
    mem_free(value);
    return bad;
}

static int take_line(struct reading *r, const char *from, const char *to, struct err *err)
{
    char *line = trimmed(from, to);
    int bad = 0;
    char *equals = strchr(line, '=');
    if (memchr(from, 0, (size_t)(to - from)))
        bad = err_set(err, ERR_INPUT, "the file has a NUL byte and is not a text file");
    else if (!*line || *line == '#')
        bad = 0;
    else if (!equals && r->kind & CONF_OWN_FILE)
        bad = err_set(err, ERR_INPUT, "'%.60s' is not of the form key = value", line);
    else if (equals) {
        char *key = trimmed(line, equals), *value = trimmed(equals + 1, line + strlen(line));
        size_t n =
            strlen(value); /* a shell reads be.conf too, so one pair of quotes is not part of the value */
        if (n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n - 1] == value[0]) {
            memmove(value, value + 1, n - 2);
            value[n - 2] = 0;
        }
        bad = take_pair(r, key, value, err);
        mem_free(key);
        mem_free(value);
    }
    mem_free(line);
    return bad;
}

static void copy_conf(struct conf *to, const struct conf *from)
{
    *to = (struct conf){0};
    for (int k = 0; k < CONF_N_KEYS; k++) {
        to->values[k] = from->values[k] ? mem_strdup(from->values[k]) : NULL;
        to->from[k] = from->from[k];
    }
    for (size_t i = 0; i < from->n_nodes; i++) {
        struct conf_node *node = VEC_PUSH(to->nodes, to->n_nodes, to->cap_nodes);
        *node = from->nodes[i];
        node->text = mem_strdup(from->nodes[i].text);
    }
}

int conf_parse(struct conf *conf, const char *text, size_t len, const char *name, enum conf_file kind,
               conf_warn *warn_, struct err *err)
{
    struct conf fresh;
    copy_conf(&fresh, conf);
    struct reading r = {.into = &fresh, .name = name, .kind = kind, .warn = warn_};
    int bad = len > CONF_MAX_FILE_BYTES
                  ? err_set(err, ERR_LIMIT, "the file is larger than %d bytes", CONF_MAX_FILE_BYTES)
                  : 0;
    for (const char *p = text, *end = text + len; !bad && p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        const char *line_end = newline ? newline : end;
        r.line++;
        bad = take_line(&r, p, line_end, err);
        p = newline ? newline + 1 : end;
    }
    if (bad && r.line && kind != CONF_COMMAND_LINE)
        err_prefix(err, "%s:%u", name, r.line);
    else if (bad)
        err_prefix(err, "%s", name);
    for (size_t i = 0; i < r.n_pairs; i++) mem_free(r.pairs[i].key), mem_free(r.pairs[i].value);
    mem_free(r.pairs);
    if (bad) return conf_free(&fresh), bad;
    conf_free(conf);
    *conf = fresh;
    return 0;
}

int conf_read(struct conf *conf, const char *path, enum conf_file kind, conf_warn *warn_, struct err *err)
{
    struct bytes bytes = {0};
    int bad = file_read(path, CONF_MAX_FILE_BYTES, &bytes, err);
    if (bad) return bad;
    bad = conf_parse(conf, (const char *)bytes.data, bytes.len, path, kind, warn_, err);
    bytes_free(&bytes);
    return bad;
}
