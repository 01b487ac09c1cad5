/* jvm_proc.c - see jvm_proc.h. Another process controls the content of its files under /proc/PID, so every
 * field is read with bounds. */
#include "collect/jvm_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "base/rd.h"

enum { MAX_PROC_FILE_BYTES = 64 << 20 };

/* Reads a file. It is never mapped, because its owner could truncate it meanwhile, and never waited for,
 * because it could be a pipe. */
static int read_file(const char *path, struct buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return -errno;
    int status = 0;
    while (out->len < MAX_PROC_FILE_BYTES) {
        buf_reserve(out, 65536);
        ssize_t n = read(fd, out->data + out->len, 65535);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) status = -errno;
        if (n <= 0) break;
        out->len += (size_t)n;
    }
    close(fd);
    return status;
}

static int read_proc_file(pid_t pid, const char *name, struct buf *out)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return read_file(path, out);
}

/* The text after "Name:" in /proc/PID/status, or NULL. */
static const char *status_field(const char *status, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = status; line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (!strncmp(line, name, n) && line[n] == ':') return line + n + 1;
    }
    return NULL;
}

static void read_stat(struct jvm_proc *proc)
{
    struct buf stat = {0};
    if (read_proc_file(proc->pid, "stat", &stat) == 0) {
        const char *after_name =
            strrchr(buf_cstr(&stat), ')'); /* the last one: the name may contain ')' too */
        unsigned long long utime = 0, stime = 0, start = 0;
        long n_threads = 0, rss_pages = 0;
        if (after_name)
            sscanf(
                after_name + 1,
                " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %ld %*d %llu %*u %ld",
                &proc->state, &utime, &stime, &n_threads, &start, &rss_pages);
        proc->start_ticks = start;
        proc->cpu_ticks = utime + stime;
        proc->n_threads = (int)n_threads;
        proc->rss_bytes = (uint64_t)rss_pages * (uint64_t)sysconf(_SC_PAGESIZE);
    }
    buf_free(&stat);
}

static bool has_same_root(pid_t pid)
{
    char path[64];
    struct stat theirs, ours;
    snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
    return stat(path, &theirs) == 0 && stat("/", &ours) == 0 && theirs.st_dev == ours.st_dev &&
           theirs.st_ino == ours.st_ino;
}

/* Two mount namespaces can share one root directory and still have different file systems on /tmp. */
static bool has_same_mounts(pid_t pid)
{
    char path[64];
    struct stat theirs, ours;
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
    if (stat(path, &theirs) != 0 || stat("/proc/self/ns/mnt", &ours) != 0)
        return true; /* not permitted to compare; assume the same mounts */
    return theirs.st_ino == ours.st_ino;
}

int jvm_proc_read(pid_t pid, struct jvm_proc *ret_proc, struct err *err)
{
    struct buf text = {0};
    int status = pid > 0 ? read_proc_file(pid, "status", &text) : -ENOENT;
    if (status < 0) {
        buf_free(&text);
        return err_set(err, ERR_NOT_FOUND, "there is no process %d", (int)pid);
    }
    const char *all = buf_cstr(&text), *field;
    struct jvm_proc proc = {.pid = pid, .ns_pid = pid, .state = '?'};
    unsigned euid = 0, egid = 0;
    if ((field = status_field(all, "Uid"))) sscanf(field, "%*u %u", &euid);
    if ((field = status_field(all, "Gid"))) sscanf(field, "%*u %u", &egid);
    proc.euid = euid;
    proc.egid = egid;
    if ((field = status_field(all, "SigCgt")))
        proc.catches_quit = strtoull(field, NULL, 16) >> 2 & 1; /* SIGQUIT is 3 */
    if ((field = status_field(all, "NStgid"))) /* one number per namespace, the innermost last */
        for (char *end; *field && *field != '\n'; field = end) {
            long number = strtol(field, &end, 10);
            if (end == field) break;
            proc.ns_pid = (pid_t)number;
            while (*end == '\t' || *end == ' ') end++;
        }
    buf_free(&text);
    read_stat(&proc);
    if (proc.state == 'Z' || proc.state == 'X')
        return err_set(err, ERR_NOT_FOUND, "process %d has ended", (int)pid);
    proc.same_root = has_same_root(pid) && has_same_mounts(pid);
    *ret_proc = proc;
    return 0;
}

bool jvm_proc_is_alive(const struct jvm_proc *proc)
{
    struct jvm_proc now = {.pid = proc->pid, .state = 'X'};
    read_stat(&now);
    return now.state != 'X' && now.state != 'Z' && now.start_ticks == proc->start_ticks;
}

bool jvm_proc_is_young(const struct jvm_proc *proc)
{
    enum { YOUNG_S = 60 };
    struct timespec now = {0};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return proc->start_ticks / (uint64_t)sysconf(_SC_CLK_TCK) + YOUNG_S > (uint64_t)now.tv_sec;
}

struct jvm_chroot jvm_proc_chroot(pid_t pid)
{
    char path[64];
    struct jvm_chroot chroot;
    snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
    ssize_t n = readlink(path, chroot.text, sizeof chroot.text);
    bool is_whole = n > 1 && (size_t)n < sizeof chroot.text; /* 1: "/" */
    chroot.text[is_whole ? n : 0] = 0;
    return chroot;
}

const char *jvm_proc_own_path(const struct jvm_chroot *chroot, const char *path)
{
    size_t n = strlen(chroot->text);
    return !strncmp(path, chroot->text, n) && path[n] == '/' ? path + n : path;
}

bool jvm_proc_each_map(pid_t pid, bool (*visit)(void *context, const char *path, uint64_t inode),
                       void *context)
{
    struct buf text = {0};
    bool found = false;
    struct jvm_chroot chroot = jvm_proc_chroot(pid);
    if (read_proc_file(pid, "maps", &text) == 0) {
        char *line = (char *)buf_cstr(&text); /* our own copy, so it can be cut into lines in place */
        while (*line && !found) {
            char *end = strchr(line, '\n');
            if (end) *end = 0;
            unsigned long long inode = 0;
            int path_at = 0;
            if (strchr(line, '/')) sscanf(line, "%*s %*s %*s %*s %llu %n", &inode, &path_at);
            if (path_at && line[path_at] == '/')
                found = visit(context, jvm_proc_own_path(&chroot, line + path_at), inode);
            if (!end) break;
            line = end + 1;
        }
    }
    buf_free(&text);
    return found;
}

struct jvm_libraries {
    bool has_any, has_hotspot, has_openj9;
};

static bool visit_jvm_library(void *context, const char *path, uint64_t inode)
{
    (void)inode;
    struct jvm_libraries *found = context;
    const char *name = path_base_name(path);
    found->has_any = true;
    found->has_hotspot |= !strncmp(name, "libjvm.so", 9);
    found->has_openj9 |= !strncmp(name, "libj9vm", 7);
    return found->has_openj9; /* OpenJ9 has a libjvm.so too, so only libj9vm ends the search. */
}

int jvm_proc_check_jvm(const struct jvm_proc *proc, struct err *err)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)proc->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC), why = errno;
    if (fd < 0 && (why == EACCES || why == EPERM) && geteuid() != proc->euid && geteuid() != 0)
        return err_set(err, ERR_DENIED,
                       "process %d belongs to user %u; only that user or root may attach to it",
                       (int)proc->pid, (unsigned)proc->euid);
    if (fd < 0 && (why == EACCES || why == EPERM))
        return err_set(
            err, ERR_DENIED,
            "the system does not permit reading process %d (it is in another container, or protected)",
            (int)proc->pid);
    if (fd < 0) return err_set(err, ERR_NOT_FOUND, "there is no process %d", (int)proc->pid);
    close(fd);
    struct jvm_libraries found = {0};
    jvm_proc_each_map(proc->pid, visit_jvm_library, &found);
    if (found.has_openj9) /* it would write a dump of itself on SIGQUIT */
        return err_set(err, ERR_UNSUPPORTED, "the JVM %d is OpenJ9; only HotSpot JVMs can be profiled",
                       (int)proc->pid);
    if (found.has_hotspot) return 0;
    if (!jvm_proc_is_alive(proc) || !found.has_any) /* it is ending, or is a kernel thread */
        return err_set(err, ERR_NOT_FOUND, "process %d has ended or is a kernel thread", (int)proc->pid);
    return err_set(
        err, ERR_INPUT,
        "process %d is not a JVM (it has not loaded libjvm.so); 'procprof jvm list' shows the JVMs",
        (int)proc->pid);
}

void jvm_proc_arguments(pid_t pid, struct buf *out)
{
    (void)read_proc_file(pid, "cmdline", out);
}

struct option_search {
    const char *letters;
    char *value;
    size_t value_size;
    bool found;
};

static void visit_option(struct option_search *o, const char *word, size_t n)
{
    size_t n_letters = strlen(o->letters);
    if (n < n_letters || strncmp(word, o->letters, n_letters)) return;
    o->found = true;
    if (o->value) snprintf(o->value, o->value_size, "%.*s", (int)(n - n_letters), word + n_letters);
}

/* Visits the words of an environment variable, without quotes around them. */
static void visit_variable(struct option_search *o, const struct buf *environment, const char *name)
{
    struct rd r = rd_over(environment->data, environment->len);
    size_t n_name = strlen(name);
    while (rd_left(&r)) {
        const char *one = rd_cstr(&r);
        if (!one) break;
        if (strncmp(one, name, n_name) || one[n_name] != '=') continue;
        for (const char *at = one + n_name + 1; *at;) {
            at += strspn(at, " \t\n\"'");
            size_t n = strcspn(at, " \t\n\"'");
            visit_option(o, at, n);
            at += n;
        }
    }
}

bool jvm_proc_option(pid_t pid, const char *letters, char *ret_value, size_t value_size)
{
    struct buf arguments = {0}, environment = {0};
    struct option_search o = {letters, ret_value, value_size, false};
    jvm_proc_arguments(pid, &arguments);
    (void)read_proc_file(pid, "environ", &environment);
    /* In the order in which later ones override earlier ones. */
    visit_variable(&o, &environment, "JAVA_TOOL_OPTIONS");
    visit_variable(&o, &environment, "JDK_JAVA_OPTIONS");
    struct rd r = rd_over(arguments.data, arguments.len);
    while (rd_left(&r)) {
        const char *one = rd_cstr(&r);
        if (!one) break;
        visit_option(&o, one, strlen(one));
    }
    visit_variable(&o, &environment, "_JAVA_OPTIONS");
    buf_free(&arguments);
    buf_free(&environment);
    return o.found;
}

struct jvm_path jvm_proc_path(const struct jvm_proc *proc, const char *format, ...)
{
    struct jvm_path path;
    int n = snprintf(path.text, sizeof path.text, "/proc/%d/root", (int)proc->pid);
    va_list args;
    va_start(args, format);
    vsnprintf(path.text + n, sizeof path.text - (size_t)n, format, args);
    va_end(args);
    return path;
}

/* ---- main class and version ---- */

static void copy_text(char *to, size_t to_size, const char *from, size_t n)
{
    if (n >= to_size) n = to_size - 1;
    memcpy(to, from, n);
    to[n] = 0;
    for (char *c = to; *c; c++)
        if ((unsigned char)*c < 32) *c = ' ';
}

/* Options of the java launcher whose value is the next word. */
static bool takes_value(const char *option)
{
    static const char *const with_value[] = {"-cp",
                                             "-classpath",
                                             "--class-path",
                                             "-p",
                                             "--module-path",
                                             "--add-modules",
                                             "--add-reads",
                                             "--add-exports",
                                             "--add-opens",
                                             "--limit-modules",
                                             "--patch-module",
                                             "--source",
                                             "--upgrade-module-path",
                                             "-d"};
    for (size_t i = 0; i < sizeof with_value / sizeof *with_value; i++)
        if (!strcmp(option, with_value[i])) return true;
    return false;
}

static void about_from_arguments(pid_t pid, struct jvm_about *about)
{
    struct buf text = {0}, command = {0};
    jvm_proc_arguments(pid, &text);
    struct rd r = rd_over(text.data, text.len);
    (void)rd_cstr(&r); /* java itself */
    bool in_command = false;
    while (rd_left(&r)) {
        const char *word = rd_cstr(&r);
        if (!word) break;
        if (in_command) {
            buf_char(&command, ' ');
            buf_str(&command, word);
        } else if (!strcmp(word, "-jar") || !strcmp(word, "-m") || !strcmp(word, "--module")) {
            const char *name = rd_cstr(&r);
            if (name) buf_str(&command, name);
            in_command = true;
        } else if (takes_value(word)) {
            (void)rd_cstr(&r);
        } else if (*word != '-' && *word != '@') {
            buf_str(&command, word);
            in_command = true;
        }
    }
    copy_text(about->command, sizeof about->command, command.data ? command.data : "", command.len);
    buf_free(&command);
    buf_free(&text);
}

static int32_t rd_i32(struct rd *r)
{
    return (int32_t)rd_u32(r);
}

/* Reads hsperfdata version 2: a prologue of 32 bytes, then entries {length, name offset, vector length, type,
 * flags, units, variability, data offset}. */
static void about_from_perfdata(const struct buf *file, struct jvm_about *about)
{
    struct rd r = rd_over(file->data, file->len);
    uint32_t magic = rd_u32(&r);
    rd_skip(&r, 20);
    int32_t at = rd_i32(&r), n_entries = rd_i32(&r);
    if (r.bad || magic != 0xc0c0feca || n_entries < 0)
        return; /* "cafec0c0" in memory order, little-endian machines only */
    for (int32_t i = 0; i < n_entries && at >= 0 && (size_t)at < file->len; i++) {
        struct rd entry = rd_over(file->data + at, file->len - (size_t)at);
        int32_t length = rd_i32(&entry), name_at = rd_i32(&entry), n_items = rd_i32(&entry);
        uint8_t type = rd_u8(&entry);
        rd_skip(&entry, 3);
        int32_t data_at = rd_i32(&entry);
        if (entry.bad || length < 20 || name_at < 0 || data_at < 0 || (size_t)length > file->len - (size_t)at)
            return;
        struct rd name_rd = rd_over(file->data + at, (size_t)length), data_rd = name_rd;
        rd_skip(&name_rd, (uint64_t)name_at);
        rd_skip(&data_rd, (uint64_t)data_at);
        const char *name = rd_cstr(&name_rd);
        if (name && type == 'B' && n_items > 0 && (size_t)n_items <= rd_left(&data_rd)) {
            size_t n = strnlen((const char *)data_rd.p, (size_t)n_items);
            if (!strcmp(name, "sun.rt.javaCommand"))
                copy_text(about->command, sizeof about->command, (const char *)data_rd.p, n);
            if (!strcmp(name, "java.property.java.version"))
                copy_text(about->version, sizeof about->version, (const char *)data_rd.p, n);
        }
        at += length;
    }
}

struct perfdata_search {
    const struct jvm_proc *proc;
    struct buf *out;
};

/* Reads /tmp/hsperfdata_USER/PID in the JVM's own file system. The JVM has it mapped, so its memory map gives
 * the path and the user's name is not needed. */
static bool visit_perfdata(void *context, const char *path, uint64_t inode)
{
    (void)inode;
    struct perfdata_search *search = context;
    if (!strstr(path, "/hsperfdata_")) return false;
    return read_file(jvm_proc_path(search->proc, "%s", path).text, search->out) == 0;
}

void jvm_proc_about(const struct jvm_proc *proc, struct jvm_about *ret_about)
{
    memset(ret_about, 0, sizeof *ret_about);
    struct buf file = {0};
    if (jvm_proc_each_map(proc->pid, visit_perfdata, &(struct perfdata_search){proc, &file}))
        about_from_perfdata(&file, ret_about);
    buf_free(&file);
    if (!*ret_about->command) about_from_arguments(proc->pid, ret_about);
    copy_text(ret_about->main_name, sizeof ret_about->main_name, ret_about->command,
              strcspn(ret_about->command, " "));
}
