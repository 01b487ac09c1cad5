/* jemalloc_prof.c - jemalloc's own profiler as a heap source.
 *
 * prof.active alone switches it on and off. prof.thread_active_init is set when the agent starts and never
 * cleared. A thread copies it at its birth, so threads born while the profiler is off are sampled once it
 * goes on. Some hosts clear it together with prof.active and lose such threads for good; so a new thread also
 * sets thread.prof.active for itself. jemalloc lets the period change only together with a reset.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/heap/heap_source.h"
#include "agent/heap/jemalloc.h"
#include "agent/host/threads.h"

#define MAX_DUMP_BYTES ((size_t)512 << 20)

/* The jemalloc whose profiler is driven: the first with prof:true. NULL: none. */
static const struct jemalloc *driven(void)
{
    const struct jemalloc *all;
    return jemalloc_find(&all) && all[0].opt_prof ? &all[0] : NULL;
}

static bool jemalloc_usable(char *why, size_t size)
{
    const struct jemalloc *all;
    unsigned n = jemalloc_find(&all);
    if (!n)
        snprintf(why, size, "none in this process");
    else
        snprintf(why, size, "%s %.60s in %.120s, %s", all[0].symbol, all[0].version, all[0].file,
                 all[0].opt_prof      ? "started with prof:true"
                 : all[0].config_prof ? "started without MALLOC_CONF=prof:true"
                                      : "built without --enable-prof");
    return n && all[0].opt_prof;
}

static int fail(struct err *err, const char *name, int status)
{
    return err_errno(err, status, "jemalloc: mallctl(\"%s\")", name);
}

static bool read_value(const struct jemalloc *j, const char *name, void *value, size_t size)
{
    return j->mallctl(name, value, &size, NULL, 0) == 0;
}

static int write_bool(const struct jemalloc *j, const char *name, bool value, struct err *err)
{
    int status = j->mallctl(name, NULL, NULL, &value, sizeof value);
    return status ? fail(err, name, status) : 0;
}

static bool jemalloc_is_on(void)
{
    const struct jemalloc *j = driven();
    bool active = false;
    return j && read_value(j, "prof.active", &active, sizeof active) && active;
}

static int none(struct err *err)
{
    return err_set(err, ERR_UNSUPPORTED,
                   "heap: there is no jemalloc with profiling in this process "
                   "(MALLOC_CONF=prof:true,prof_active:false)");
}

/* The logarithm of the power of two nearest to a period. */
static size_t lg_of(uint64_t period_bytes)
{
    size_t lg = 0;
    while (lg < 62 && period_bytes > (uint64_t)3 << lg >> 1) lg++;
    return lg;
}

static int jemalloc_reset(uint64_t period_bytes, struct err *err)
{
    const struct jemalloc *j = driven();
    size_t lg = lg_of(period_bytes);
    if (!j) return none(err);
    int status = period_bytes ? j->mallctl("prof.reset", NULL, NULL, &lg, sizeof lg)
                              : j->mallctl("prof.reset", NULL, NULL, NULL, 0);
    return status ? fail(err, "prof.reset", status) : 0;
}

static int jemalloc_enable(uint64_t period_bytes, struct err *err)
{
    const struct jemalloc *j = driven();
    size_t lg_now = 0;
    if (!j) return none(err);
    write_bool(j, "prof.thread_active_init", true, NULL);
    if (period_bytes && read_value(j, "prof.lg_sample", &lg_now, sizeof lg_now) &&
        lg_now != lg_of(period_bytes)) {
        int status = jemalloc_reset(period_bytes, err);
        if (status) return status;
    }
    return write_bool(j, "prof.active", true, err);
}

static const struct jemalloc *sampled; /* set once, before thread_started is; new threads only read it */

/* Runs in a new thread of the host, before its code. */
static void thread_started(uint32_t tid)
{
    (void)tid;
    bool active = true;
    sampled->mallctl("thread.prof.active", NULL, NULL, &active, sizeof active);
}

void jemalloc_started(void)
{
    const struct jemalloc *j = driven();
    if (!j) return;
    write_bool(j, "prof.thread_active_init", true, NULL);
    if (sampled) return;
    sampled = j;
    threads_on_start(thread_started);
    atomic_fetch_add(&threads_watched, 1);
}

bool jemalloc_accumulates(void)
{
    const struct jemalloc *j = driven();
    bool accum = false;
    return j && read_value(j, "opt.prof_accum", &accum, sizeof accum) && accum;
}

static int jemalloc_disable(struct err *err)
{
    const struct jemalloc *j = driven();
    return j ? write_bool(j, "prof.active", false, err) : none(err);
}

/* ---- dumps */
static int read_all(int fd, const char *name, struct pages_buf *b, struct err *err)
{
    struct stat status;
    if (fstat(fd, &status) || !S_ISREG(status.st_mode))
        return err_set(err, ERR_IO, "heap: %s is not a file", name);
    if ((size_t)status.st_size > MAX_DUMP_BYTES)
        return err_set(err, ERR_LIMIT, "heap: %s is larger than %zu bytes", name, MAX_DUMP_BYTES);
    for (off_t done = 0; done < status.st_size;) {
        char *room = pages_buf_add(b, (size_t)(status.st_size - done));
        ssize_t n = room ? pread(fd, room, (size_t)(status.st_size - done), done) : -1;
        if (n < 0 && room && errno == EINTR) n = 0;
        if (n < 0) return err_errno(err, errno, "heap: cannot read %s", name);
        b->size -= (size_t)(status.st_size - done - n);
        if (n == 0 && done == 0) return err_set(err, ERR_IO, "heap: %s is empty", name);
        if (n == 0) break;
        done += n;
    }
    return 0;
}

/* Dumps into memory where the kernel has memfd, otherwise into a file that is unlinked at once. */
static int dump_now(const struct jemalloc *j, struct pages_buf *b, struct err *err)
{
    char path[64] = "";
    int fd = memfd_create("procprof.heap", MFD_CLOEXEC);
    bool in_memory = fd >= 0;
    if (in_memory)
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    else {
        snprintf(path, sizeof path, "/tmp/procprof.heap.XXXXXX");
        fd = mkostemp(path, O_CLOEXEC);
    }
    if (fd < 0) return err_errno(err, errno, "heap: no place for jemalloc's dump");
    const char *name = path;
    int status = j->mallctl("prof.dump", NULL, NULL, &name, sizeof name);
    if (!in_memory) unlink(path);
    status = status ? fail(err, "prof.dump", status) : read_all(fd, "jemalloc's dump", b, err);
    close(fd);
    return status;
}

/* Dumps of lg_prof_interval, prof_gdump and prof_final are called PREFIX.PID.SEQ.{iN,uN,f}.heap; the
 * prefix may hold a folder. */
static void dump_place(const struct jemalloc *j, char *folder, size_t folder_size, char *start,
                       size_t start_size)
{
    const char *prefix = NULL;
    if (!read_value(j, "opt.prof_prefix", &prefix, sizeof prefix) || !prefix) prefix = "jeprof";
    const char *slash = strrchr(prefix, '/');
    snprintf(folder, folder_size, "%.*s", slash ? (int)(slash - prefix) + (slash == prefix) : 1,
             slash ? prefix : ".");
    snprintf(start, start_size, "%s.%d.", slash ? slash + 1 : prefix, (int)getpid());
}

static bool is_dump_name(const char *name, const char *start)
{
    size_t n = strlen(name);
    return !strncmp(name, start, strlen(start)) && n > 5 && !strcmp(name + n - 5, ".heap") &&
           !strchr(name, '/');
}

struct dump_file {
    uint64_t number; /* SEQ in its name: jemalloc numbers its dumps */
    long long n_bytes, written_s;
    char name[256];
};

static uint64_t dump_number(const char *name, const char *start)
{
    return strtoull(name + strlen(start), NULL, 10);
}

#define MAX_DUMP_FILES 4096

/* In the order in which they were written, oldest first. */
void jemalloc_list_dumps(struct pages_buf *reply)
{
    const struct jemalloc *j = driven();
    char folder[256], start[128], path[600];
    struct pages_buf list = {.limit = MAX_DUMP_FILES * sizeof(struct dump_file)};
    if (!j) return;
    dump_place(j, folder, sizeof folder, start, sizeof start);
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat status;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (!is_dump_name(e->d_name, start) || stat(path, &status)) continue;
        struct dump_file f = {.number = dump_number(e->d_name, start),
                              .n_bytes = (long long)status.st_size,
                              .written_s = (long long)status.st_mtime};
        snprintf(f.name, sizeof f.name, "%s", e->d_name);
        pages_buf_bytes(&list, &f, sizeof f);
    }
    if (d) closedir(d);
    struct dump_file *files = (struct dump_file *)(void *)list.data;
    size_t n = list.size / sizeof *files;
    for (size_t i = 0; i < n; i++) { /* qsort may call malloc */
        size_t oldest = i;
        for (size_t k = i + 1; k < n; k++)
            if (files[k].number < files[oldest].number) oldest = k;
        struct dump_file f = files[oldest];
        files[oldest] = files[i];
        pages_buf_format(reply, "%s %lld %lld\n", f.name, f.n_bytes, f.written_s);
    }
    pages_buf_free(&list);
}

/* The newest dump file's name; false when there is none. */
static bool newest_dump(const char *folder, const char *start, char *name, size_t size)
{
    uint64_t newest = 0;
    bool found = false;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!is_dump_name(e->d_name, start)) continue;
        uint64_t number = dump_number(e->d_name, start);
        if (found && number < newest) continue;
        newest = number;
        snprintf(name, size, "%s", e->d_name);
        found = true;
    }
    if (d) closedir(d);
    return found;
}

static int dump_from_file(const struct jemalloc *j, const char *wanted, struct pages_buf *b, struct err *err)
{
    char folder[256], start[128], path[600], name[256];
    dump_place(j, folder, sizeof folder, start, sizeof start);
    snprintf(name, sizeof name, "%s", wanted);
    if (!strcmp(wanted, "latest") && !newest_dump(folder, start, name, sizeof name))
        return err_set(err, ERR_NOT_FOUND,
                       "heap: no dump file %s*.heap in %s (MALLOC_CONF=lg_prof_interval:30)", start, folder);
    if (!is_dump_name(name, start))
        return err_set(err, ERR_NOT_FOUND,
                       "heap: \"%.80s\" is no dump of this process; .../heap/dumps lists them", name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return err_errno(err, errno, "heap: cannot open %s", path);
    int status = read_all(fd, name, b, err);
    close(fd);
    return status;
}

static int jemalloc_snapshot(const struct kind_options *options, struct output *o, struct err *err)
{
    const struct jemalloc *j = driven();
    struct pages_buf text = {.limit = MAX_DUMP_BYTES + (1 << 20)};
    char name[256];
    if (!j) return none(err);
    bool from_file = kind_query(options->query, "dump", name, sizeof name);
    int status = from_file ? dump_from_file(j, name, &text, err) : dump_now(j, &text, err);
    bool is_difference = options->has_seconds && options->seconds > 0;
    if (!status && options->legacy && (options->raw || from_file) && !is_difference) {
        o->raw = text;
        o->has_raw = true;
        return 0;
    }
    if (!status) status = jemalloc_text_parse(text.data, text.size, o, err);
    pages_buf_free(&text);
    if (!status) jemalloc_strip_frames(j, o);
    if (!status)
        output_comment(o, "heap: sampled by jemalloc %s, a sample every %lld bytes on average%s", j->version,
                       (long long)o->period, jemalloc_is_on() ? "" : "; off now");
    return status;
}

static void jemalloc_status(struct pages_buf *reply)
{
    static const char *const flags[] = {"prof.active", "prof.thread_active_init", "opt.prof_accum",
                                        "opt.prof_final", "prof.gdump"};
    const struct jemalloc *j = driven();
    size_t lg = 0;
    ssize_t lg_interval = -1;
    char folder[256], start[128];
    if (!j) return;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        bool value;
        if (read_value(j, flags[i], &value, sizeof value))
            pages_buf_format(reply, "%s: %s\n", flags[i], value ? "true" : "false");
    }
    if (read_value(j, "prof.lg_sample", &lg, sizeof lg))
        pages_buf_format(reply, "interval: %llu bytes\n", 1ull << (lg & 63));
    if (read_value(j, "opt.lg_prof_interval", &lg_interval, sizeof lg_interval) && lg_interval >= 0) {
        dump_place(j, folder, sizeof folder, start, sizeof start);
        pages_buf_format(reply, "dumped every: %llu bytes allocated\n", 1ull << (lg_interval & 63));
        pages_buf_format(reply, "dump files: %s/%s*.heap\n", folder, start);
    }
    pages_buf_text(reply, "note: what was allocated before profiling was on is not in the profile\n");
}

const struct heap_source heap_jemalloc = {
    .name = "jemalloc",
    .usable = jemalloc_usable,
    .is_on = jemalloc_is_on,
    .enable = jemalloc_enable,
    .disable = jemalloc_disable,
    .reset = jemalloc_reset,
    .snapshot = jemalloc_snapshot,
    .status = jemalloc_status,
};
