/* jvm_identity.h - acts as the JVM's user for one step, because a JVM accepts files and connections of its
 * own user only. */
#ifndef COLLECT_JVM_IDENTITY_H
#define COLLECT_JVM_IDENTITY_H

#include "collect/jvm_proc.h"

struct jvm_identity {
    uid_t uid;
    gid_t gid;
    bool changed;
};

/* Changes the effective user of the calling thread only. Without the permission to do so, nothing changes,
 * and the JVM will refuse the step. Between the two calls there must be nothing but that step. */
struct jvm_identity jvm_identity_assume(const struct jvm_proc *proc);
void jvm_identity_restore(struct jvm_identity old);

#endif
