/* jvm_find.h - finds the JVMs of this host: all, by main class, or by a port. It only reads /proc. */
#ifndef COLLECT_JVM_FIND_H
#define COLLECT_JVM_FIND_H

#include "collect/jvm_proc.h"

struct jvm_info {
    struct jvm_proc proc;
    struct jvm_about about;
};

struct jvm_list { /* sorted by pid; all zero: empty */
    struct jvm_info *items;
    size_t n_items, cap_items;
    size_t n_unreadable; /* processes of other users that might be JVMs */
};

void jvm_list_all(struct jvm_list *list);
void jvm_list_free(struct jvm_list *list);

/* Finds one JVM. target is a pid ("4711"), a port at which the JVM listens (":8030"), or a part of its main
 * class or jar ("StarRocksFE"). ERR_NOT_FOUND when no JVM matches; ERR_INPUT, with the candidates, when
 * several match. */
int jvm_find(const char *target, struct jvm_proc *ret_proc, struct err *err);

/* Stores the TCP ports at which a process listens, ascending, at most max of them. Returns how many there
 * are. */
size_t jvm_listening_ports(pid_t pid, unsigned *ret_ports, size_t max);

#endif
