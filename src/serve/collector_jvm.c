/* collector_jvm.c - frontends that are a JVM on this host. */
#include <stdio.h>
#include <string.h>

#include "collect/jvm_find.h"
#include "serve/collector_int.h"

/* How the node says which JVM: a pid, or a word jvm_find understands. */
static void target_of(const struct cluster_node *n, char *text, size_t size)
{
    if (n->jvm_pid)
        snprintf(text, size, "%d", n->jvm_pid);
    else
        snprintf(text, size, "%s", n->jvm_match);
}

bool capture_is_jvm(const struct cluster_node *n)
{
    return n->role == CLUSTER_FE && (n->is_self || !n->port);
}

bool jvm_is_alive(const struct cluster_node *n, char *error, size_t n_error)
{
    char target[160];
    struct jvm_proc proc;
    struct err err = {0};
    target_of(n, target, sizeof target);
    if (!*target) {
        snprintf(error, n_error, "no JVM is named (setting fe_jvm)");
        return false;
    }
    if (!jvm_find(target, &proc, &err)) return true;
    snprintf(error, n_error, "%.*s", (int)n_error - 1, err.text);
    return false;
}

void capture_jvm_begin(struct capture *cap)
{
    char error[240] = "";
    bool alive = jvm_is_alive(&cap->facts.node, error, sizeof error);
    if (alive) snprintf(error, sizeof error, "this build cannot profile a JVM yet");
    cap->failed = alive ? ERR_UNSUPPORTED : ERR_NOT_FOUND;
    snprintf(cap->error, sizeof cap->error, "%s", error);
    capture_arrived(cap);
}
