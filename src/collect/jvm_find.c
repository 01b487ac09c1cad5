/* jvm_find.c - see jvm_find.h. */
#include "collect/jvm_find.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/idmap.h"
#include "base/mem.h"
#include "base/text.h"

static int compare_pid(const void *a, const void *b)
{
    const struct jvm_info *x = a, *y = b;
    return (x->proc.pid > y->proc.pid) - (x->proc.pid < y->proc.pid);
}

void jvm_list_all(struct jvm_list *list)
{
    DIR *dir = opendir("/proc");
    if (!dir) return;
    for (struct dirent *entry; (entry = readdir(dir));) {
        int64_t pid;
        if (!text_to_int(entry->d_name, 1, INT32_MAX, &pid)) continue;
        struct jvm_info info = {0};
        if (jvm_proc_read((pid_t)pid, &info.proc, NULL) < 0) continue;
        int rc = jvm_proc_check_jvm(&info.proc, NULL);
        if (rc == ERR_DENIED && geteuid() != 0 && info.proc.euid != geteuid())
            list->n_unreadable++; /* not for root, which can be refused inside a container */
        if (rc < 0) continue;
        jvm_proc_about(&info.proc, &info.about);
        *VEC_PUSH(list->items, list->n_items, list->cap_items) = info;
    }
    closedir(dir);
    if (list->n_items) qsort(list->items, list->n_items, sizeof *list->items, compare_pid);
}

void jvm_list_free(struct jvm_list *list)
{
    mem_free(list->items);
    *list = (struct jvm_list){0};
}

/* ---- ports ---- */

/* Adds the inodes of all listening sockets in the process's network namespace, each with its port. */
static void add_listeners(pid_t pid, const char *table, struct idmap *port_of_inode)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/net/%s", (int)pid, table);
    FILE *file = fopen(path, "re");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        unsigned port, state;
        unsigned long long inode;
        if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*u %*u %llu", &port,
                   &state, &inode) != 3)
            continue;
        bool is_new;
        if (state == 0x0a) *idmap_slot(port_of_inode, inode, &is_new) = port;
    }
    fclose(file);
}

static int compare_unsigned(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

size_t jvm_listening_ports(pid_t pid, unsigned *ret_ports, size_t max)
{
    struct idmap port_of_inode = {0};
    add_listeners(pid, "tcp", &port_of_inode);
    add_listeners(pid, "tcp6", &port_of_inode);
    char path[64], link[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = port_of_inode.n_items ? opendir(path) : NULL;
    size_t n = 0, n_stored = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        ssize_t len = readlinkat(dirfd(dir), entry->d_name, link, sizeof link - 1);
        unsigned long long inode;
        uint32_t port;
        if (len <= 0) continue;
        link[len] = 0;
        if (sscanf(link, "socket:[%llu]", &inode) != 1 || !idmap_find(&port_of_inode, inode, &port)) continue;
        bool known = false;
        for (size_t i = 0; i < n_stored; i++) known |= ret_ports[i] == port;
        if (known) continue;
        if (n_stored < max) ret_ports[n_stored++] = port;
        n++;
    }
    if (dir) closedir(dir);
    idmap_free(&port_of_inode);
    qsort(ret_ports, n_stored, sizeof *ret_ports, compare_unsigned);
    return n;
}

/* ---- one by name ---- */

static bool listens_on(pid_t pid, unsigned port)
{
    unsigned ports[256];
    size_t n = jvm_listening_ports(pid, ports, 256);
    for (size_t i = 0; i < n && i < 256; i++)
        if (ports[i] == port) return true;
    return false;
}

int jvm_find(const char *target, struct jvm_proc *ret_proc, struct err *err)
{
    int64_t number;
    bool is_number = text_to_int(target[0] == ':' ? target + 1 : target, 1, INT32_MAX, &number);
    if (target[0] == ':' && (!is_number || number > 65535))
        return err_set(err, ERR_INPUT, "'%s' is not a port; write it like :8030", target);
    if (target[0] != ':' && is_number) {
        int rc = jvm_proc_read((pid_t)number, ret_proc, err);
        return rc < 0 ? rc : jvm_proc_check_jvm(ret_proc, err);
    }
    struct jvm_list list = {0};
    jvm_list_all(&list);
    struct buf found = {0};
    size_t n_found = 0;
    for (size_t i = 0; i < list.n_items; i++) {
        const struct jvm_info *one = &list.items[i];
        if (target[0] == ':' ? !listens_on(one->proc.pid, (unsigned)number)
                             : !strstr(one->about.main_name, target))
            continue;
        if (!n_found++) *ret_proc = one->proc;
        buf_printf(&found, "%s%d %s", found.len ? ", " : "", (int)one->proc.pid, one->about.main_name);
    }
    size_t n_all = list.n_items, n_unreadable = list.n_unreadable;
    jvm_list_free(&list);
    int rc = 0;
    if (n_found > 1)
        rc = err_set(err, ERR_INPUT, "'%s' matches %zu JVMs (%.200s); give a pid", target, n_found,
                     buf_cstr(&found));
    buf_free(&found);
    if (n_found) return rc;
    return err_set(err, ERR_NOT_FOUND,
                   "no JVM matches '%s' (%zu JVM%s found%s); 'procprof jvm list' shows all", target, n_all,
                   n_all == 1 ? "" : "s", n_unreadable ? ", some processes belong to other users" : "");
}
