/* conf.h - settings: the keys of fe.conf and be.conf that concern profiling, and our own.
 *
 * A file has lines "key = value". '#' begins a comment line. ${VAR} is replaced by an earlier key of the file
 * or by the environment. An invalid value is an error with file and line. An unknown key causes a warning
 * that names the nearest known key; in fe.conf and be.conf only when it is similar to one of ours, because
 * StarRocks has hundreds of other keys. On the command line an unknown key is an error, because the user can
 * correct it at once.
 */
#ifndef SERVE_CLUSTER_CONF_H
#define SERVE_CLUSTER_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum conf_key {
    CONF_PROC_PROFILE_CPU_ENABLE,
    CONF_PROC_PROFILE_MEM_ENABLE,
    CONF_PROC_PROFILE_COLLECT_TIME_S,
    CONF_PROC_PROFILE_JSTACK_DEPTH,
    CONF_PROC_PROFILE_FILE_RETAINED_DAYS,
    CONF_PROC_PROFILE_FILE_RETAINED_SIZE_BYTES,
    CONF_SYS_LOG_DIR,    /* of fe.conf or ours */
    CONF_BE_SYS_LOG_DIR, /* sys_log_dir of be.conf */
    CONF_HTTP_PORT,
    CONF_QUERY_PORT,
    CONF_RPC_PORT, /* this key and the next are only shown by SHOW FRONTENDS */
    CONF_EDIT_LOG_PORT,
    CONF_BE_PORT, /* this key and the next are only shown by SHOW BACKENDS */
    CONF_HEARTBEAT_SERVICE_PORT,
    CONF_BE_HTTP_PORT,
    CONF_BRPC_PORT,
    CONF_FLAMEGRAPH_TOOL_DIR,
    CONF_COLLECT_BE_PROFILE_INTERVAL,
    CONF_BE_PROFILE_TYPES,
    CONF_BE_COLLECT_TIME_S,
    CONF_BE_HEAP_ENABLE,
    CONF_HEARTBEAT_INTERVAL_S,
    CONF_MAX_CONCURRENT_CAPTURES,
    CONF_MAX_CAPTURE_SECONDS,
    CONF_DATA_DIR,
    CONF_LISTEN,
    CONF_TLS_CERT,
    CONF_TLS_KEY,
    CONF_LOG_LEVEL,
    CONF_FE_JVM,
    CONF_FE_ALLOC_INTERVAL_BYTES,
    CONF_FE_ENGINE,
    CONF_ASYNC_PROFILER_LIB,
    CONF_SYMBOL_PATH,
    CONF_N_KEYS
};

enum conf_kind { CONF_BOOL, CONF_INT, CONF_TEXT };
enum conf_file {
    CONF_FE_FILE = 1,
    CONF_BE_FILE = 2,
    CONF_OWN_FILE = 4,
    CONF_COMMAND_LINE = CONF_OWN_FILE | 8 /* takes the keys of our own file */
};

struct conf_key_info {
    const char *name;
    enum conf_kind kind;
    const char *type_name; /* as ADMIN SHOW FRONTEND CONFIG of StarRocks shows it */
    const char *preset;
    int64_t min, max; /* of a number */
    unsigned files;   /* that may have the key: enum conf_file, or-ed */
    bool is_mutable;  /* can change while the server runs */
    const char *comment;
};

const struct conf_key_info *conf_key_info(enum conf_key key);
int conf_key_find(const char *name, unsigned files);            /* the key, or -1 */
const char *conf_key_nearest(const char *name, unsigned files); /* NULL when nothing is close */

struct conf_node { /* a line "node = BE host:port [http=N] [brpc=N] [token=T] [name=X]" */
    char *text;
    char where[300]; /* file:line or "command line", for messages */
};

struct conf {
    char *values[CONF_N_KEYS];        /* NULL for the default */
    enum conf_file from[CONF_N_KEYS]; /* the file that has it; 0 for the default */
    struct conf_node *nodes;
    size_t n_nodes, cap_nodes;
};

typedef void conf_warn(const char *text); /* text is one line and begins with file:line */

/* A file with an error changes nothing. */
int conf_read(struct conf *conf, const char *path, enum conf_file kind, conf_warn *warn, struct err *err);
int conf_parse(struct conf *conf, const char *text, size_t len, const char *name, enum conf_file kind,
               conf_warn *warn, struct err *err);
void conf_free(struct conf *conf);

/* Checks and stores one value in its normal form ("TRUE" becomes "true"). */
int conf_set(struct conf *conf, enum conf_key key, const char *value, struct err *err);
const char *conf_text(const struct conf *conf, enum conf_key key);
int64_t conf_int(const struct conf *conf, enum conf_key key); /* bool: 0 or 1 */

#endif
