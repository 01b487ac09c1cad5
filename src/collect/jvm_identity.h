/* jvm_identity.h - being the JVM's user for a moment: it believes files and connections of its own user only.
 */
#ifndef COLLECT_JVM_IDENTITY_H
#define COLLECT_JVM_IDENTITY_H

#include "collect/jvm_proc.h"

struct jvm_identity {
    uid_t uid;
    gid_t gid;
    bool changed;
};

/* Changes the effective user of this thread alone; without the right to it, nothing changes and the JVM will
 * say no. Between the two calls nothing but the one step that needs it. */
struct jvm_identity jvm_become(const struct jvm_proc *proc);
void jvm_become_again(struct jvm_identity old);

#endif
