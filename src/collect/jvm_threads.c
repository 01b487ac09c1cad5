/* jvm_threads.c - see jvm_threads.h. JDK 8 to 25 print a thread like this:
 *
 * - "http-1" #31 daemon prio=5 os_prio=0 cpu=12.3ms tid=0x00007f... nid=0x1a2b waiting on condition [0x...]
 * - java.lang.Thread.State: TIMED_WAITING (sleeping)
 * - at java.lang.Thread.sleep(Native Method)
 *
 * nid is hexadecimal up to JDK 20 and decimal from JDK 21 on.
 */
#include "collect/jvm_threads.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/idmap.h"
#include "base/mem.h"

static void copy_span(char *to, size_t to_size, const char *from, size_t n)
{
    if (n >= to_size) n = to_size - 1;
    memcpy(to, from, n);
    to[n] = 0;
}

static void parse_head(const char *line, size_t n, struct jvm_thread *thread)
{
    char text[1024];
    copy_span(text, sizeof text, line, n);
    const char *nid = strstr(text, " nid="), *end = nid;
    const char *close_quote = NULL; /* the last one before the attributes: the name may contain quotes */
    for (const char *c = text + 1; *c && (!end || c < end); c++)
        if (*c == '"') close_quote = c;
    if (close_quote) copy_span(thread->name, sizeof thread->name, text + 1, (size_t)(close_quote - text - 1));
    if (nid) thread->tid = (int)strtol(nid + 5, NULL, 0);
    snprintf(thread->state, sizeof thread->state, "native");
}

void jvm_threads_parse(const char *dump, struct jvm_threads *threads)
{
    struct jvm_thread *current = NULL;
    for (const char *line = dump; *line;) {
        size_t n = strcspn(line, "\n");
        const char *word = line + strspn(line, " \t");
        if (*line == '"') {
            current = VEC_PUSH(threads->items, threads->n_items, threads->cap_items);
            memset(current, 0, sizeof *current);
            parse_head(line, n, current);
        } else if (current && !strncmp(word, "java.lang.Thread.State: ", 24)) {
            copy_span(current->state, sizeof current->state, word + 24, strcspn(word + 24, " \n"));
        } else if (current && !*current->top && !strncmp(word, "at ", 3) && word < line + n) {
            copy_span(current->top, sizeof current->top, word + 3, (size_t)(line + n - word) - 3);
        } else if (!n) {
            current = NULL; /* an empty line ends a thread */
        }
        line += n + (line[n] == '\n');
    }
}

/* ---- CPU time per kernel thread ---- */

struct task {
    int tid, ns_tid;
    uint64_t cpu_ticks;
    char name[32];
};

struct tasks {
    struct task *items;
    size_t n_items, cap_items;
};

static bool read_task(pid_t pid, int tid, bool in_namespace, struct task *ret)
{
    char path[80], text[1024];
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, tid);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = 0;
    const char *open_name = strchr(text, '('), *close_name = strrchr(text, ')');
    unsigned long long user, system;
    if (!open_name || !close_name ||
        sscanf(close_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
        return false;
    *ret = (struct task){.tid = tid, .ns_tid = tid, .cpu_ticks = user + system};
    copy_span(ret->name, sizeof ret->name, open_name + 1, (size_t)(close_name - open_name - 1));
    if (!in_namespace) return true;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, tid);
    if (!(file = fopen(path, "re"))) return true;
    while (fgets(text, sizeof text, file)) {
        const char *last = strncmp(text, "NSpid:", 6) ? NULL : strrchr(text, '\t');
        if (last) ret->ns_tid = atoi(last + 1);
    }
    fclose(file);
    return true;
}

static void read_tasks(const struct jvm_proc *proc, struct tasks *tasks)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)proc->pid);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct task task;
        int tid = atoi(entry->d_name);
        if (tid > 0 && read_task(proc->pid, tid, proc->ns_pid != proc->pid, &task))
            *VEC_PUSH(tasks->items, tasks->n_items, tasks->cap_items) = task;
    }
    if (dir) closedir(dir);
}

static int compare_cpu(const void *a, const void *b)
{
    const struct jvm_thread *x = a, *y = b;
    if (x->cpu_share != y->cpu_share) return x->cpu_share < y->cpu_share ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* Gives the threads of the dump their tid on this host and their CPU share. Kernel threads that are not in
 * the dump (async-profiler's timer, native libraries) are added. */
static void join(struct jvm_threads *threads, const struct tasks *before, const struct tasks *after,
                 double elapsed_s)
{
    struct idmap old_ticks = {0}, by_ns_tid = {0};
    bool is_new;
    uint32_t index;
    for (size_t i = 0; i < before->n_items; i++)
        *idmap_slot(&old_ticks, (uint64_t)before->items[i].tid, &is_new) = (uint32_t)i;
    for (size_t i = 0; i < threads->n_items; i++)
        if (threads->items[i].tid)
            *idmap_slot(&by_ns_tid, (uint64_t)threads->items[i].tid, &is_new) = (uint32_t)i;
    double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    for (size_t i = 0; i < after->n_items; i++) {
        const struct task *task = &after->items[i];
        uint64_t ticks = idmap_find(&old_ticks, (uint64_t)task->tid, &index)
                             ? task->cpu_ticks - before->items[index].cpu_ticks
                             : task->cpu_ticks;
        struct jvm_thread *thread;
        if (idmap_find(&by_ns_tid, (uint64_t)task->ns_tid, &index)) {
            thread = &threads->items[index];
        } else {
            thread = VEC_PUSH(threads->items, threads->n_items, threads->cap_items);
            memset(thread, 0, sizeof *thread);
            snprintf(thread->name, sizeof thread->name, "%s", task->name);
            snprintf(thread->state, sizeof thread->state, "native");
        }
        thread->tid = task->tid;
        thread->cpu_share = elapsed_s > 0 ? (double)ticks * tick_s / elapsed_s : 0;
    }
    idmap_free(&old_ticks);
    idmap_free(&by_ns_tid);
}

int jvm_threads_read(const struct jvm_proc *proc, double interval_s, const struct jvm_attach_options *options,
                     struct jvm_threads *ret_threads, struct err *err)
{
    struct tasks before = {0}, after = {0};
    struct jvm_threads threads = {0};
    read_tasks(proc, &before);
    int64_t begin_ns = clock_monotonic_ns();
    if (interval_s > 0) clock_sleep_ns((int64_t)(interval_s * 1e9));
    read_tasks(proc, &after);
    double elapsed_s = (double)(clock_monotonic_ns() - begin_ns) / 1e9;
    int rc = jvm_jcmd(proc, "Thread.print", options, &threads.dump, err);
    if (rc == 0) {
        jvm_threads_parse(buf_cstr(&threads.dump), &threads);
        join(&threads, &before, &after, interval_s > 0 ? elapsed_s : 0);
        if (threads.n_items) qsort(threads.items, threads.n_items, sizeof *threads.items, compare_cpu);
        *ret_threads = threads;
    } else {
        jvm_threads_free(&threads);
    }
    mem_free(before.items);
    mem_free(after.items);
    return rc;
}

void jvm_threads_free(struct jvm_threads *threads)
{
    mem_free(threads->items);
    buf_free(&threads->dump);
    *threads = (struct jvm_threads){0};
}
