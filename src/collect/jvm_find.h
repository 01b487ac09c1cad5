/* jvm_find.h - the JVMs of this host: all of them, by main class, by a port they listen on. Looks only,
 * touches nothing. */
#ifndef COLLECT_JVM_FIND_H
#define COLLECT_JVM_FIND_H

#include "collect/jvm_proc.h"

struct jvm_info {
    struct jvm_proc proc;
    struct jvm_about about;
};

struct jvm_list { /* all zero: empty; by pid */
    struct jvm_info *items;
    size_t n_items, cap_items;
    size_t n_unreadable; /* processes of other users that might be JVMs */
};

void jvm_list_all(struct jvm_list *list);
void jvm_list_free(struct jvm_list *list);

/* target: a pid ("4711"), a port the JVM listens on (":8030"), or a part of its main class or jar
 * ("StarRocksFE"). ERR_NOT_FOUND when there is none, ERR_INPUT naming the candidates when there are several.
 */
int jvm_find(const char *target, struct jvm_proc *ret_proc, struct err *err);

/* The TCP ports a process listens on, ascending; at most max of them. Returns how many there are. */
size_t jvm_listening_ports(pid_t pid, unsigned *ret_ports, size_t max);

#endif
