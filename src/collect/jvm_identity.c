/* jvm_identity.c - see jvm_identity.h. The raw system calls change the calling thread only, while libc's
 * setresuid would change all threads of the program. Real and saved ids stay, so that the change can always
 * be undone. */
#include "collect/jvm_identity.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct jvm_identity jvm_identity_assume(const struct jvm_proc *proc)
{
    struct jvm_identity old = {geteuid(), getegid(), false};
    if (old.uid == proc->euid && old.gid == proc->egid) return old;
    old.changed = true;
    if (syscall(SYS_setresgid, -1, proc->egid, -1) < 0 || syscall(SYS_setresuid, -1, proc->euid, -1) < 0)
        return old; /* not permitted: the JVM will refuse the step */
    return old;
}

void jvm_identity_restore(struct jvm_identity old)
{
    if (!old.changed) return;
    if (syscall(SYS_setresuid, -1, old.uid, -1) < 0 || syscall(SYS_setresgid, -1, old.gid, -1) < 0)
        abort(); /* never go on as another user */
}
