/* heapprof_jvm.c - see heapprof_jvm.h. */
#include "serve/sql/heapprof_jvm.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collect/jvm_collect.h"
#include "collect/jvm_find.h"
#include "serve/collector/jvm_settings.h"

/* How long to wait for the collector to end its session. Another profiler may need longer. */
enum { COLLECTOR_LIMIT_MS = 5000 };

int heapprof_jvm(struct cluster *cluster, int32_t node_id, const char *type, double seconds,
                 const struct sql_cancel *cancel, struct profile **ret_profile, struct err *err)
{
    struct cluster_node n;
    char target[sizeof n.jvm_match];
    if (cluster_node_get(cluster, node_id, &n))
        return err_set(err, ERR_NOT_FOUND, "node not found: %d", (int)node_id);
    if (n.jvm_pid)
        snprintf(target, sizeof target, "%d", (int)n.jvm_pid);
    else
        strcpy(target, n.jvm_match);
    if (!*target) return err_set(err, ERR_NOT_FOUND, "no JVM is named (setting fe_jvm)");
    struct jvm_proc proc;
    struct jvm_collected got = {0};
    struct jvm_collect_options options = {
        .duration_s = seconds,
        .events = !strcmp(type, "cpu")    ? JVM_EVENT_CPU
                  : !strcmp(type, "heap") ? JVM_EVENT_ALLOC | JVM_EVENT_LIVE
                                          : JVM_EVENT_LOCK,
        .is_cancelled = cancel ? cancel->is_asked : NULL,
        .context = cancel ? cancel->context : NULL,
    };
    char *library;
    int rc = jvm_settings_read(cluster, n.id, &options, &library, err);
    if (!rc) rc = jvm_find(target, &proc, err);
    if (!rc) {
        cluster_jvm_claim(cluster, n.id);
        rc = jvm_collect(&proc, &options, &got, err);
        for (int waited_ms = 0; rc == ERR_BUSY && waited_ms < COLLECTOR_LIMIT_MS; waited_ms += 100) {
            if (cancel && cancel->is_asked(cancel->context)) break;
            clock_sleep_ns(100000000); /* the collector's session is ending */
            rc = jvm_collect(&proc, &options, &got, err);
        }
        cluster_jvm_release(cluster, n.id);
    }
    if (got.jvm_crashed) cluster_jvm_crashed(cluster, n.id);
    if (!rc) *ret_profile = got.profile;
    mem_free(library);
    return rc;
}
