/* file.c - see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static int read_stream(int fd, const char *name, size_t max_bytes, struct bytes *ret_bytes, struct err *err)
{
    uint8_t *data = NULL;
    size_t len = 0, cap = 0;
    for (;;) {
        if (cap - len < 1 << 16) data = mem_grow(data, &cap, len + (1 << 16), 1);
        ssize_t n = read(fd, data + len, cap - len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            int why = errno;
            mem_free(data);
            return err_errno(err, why, "%s: cannot read", name);
        }
        if (n == 0) break;
        len += (size_t)n;
        if (len > max_bytes) {
            mem_free(data);
            return err_set(err, ERR_LIMIT, "%s: more than %zu bytes", name, max_bytes);
        }
    }
    *ret_bytes = (struct bytes){.data = data, .len = len};
    return 0;
}

int file_read_fd(int fd, const char *name, size_t max_bytes, struct bytes *ret_bytes, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0) return err_errno(err, errno, "%s: cannot stat", name);
    if (S_ISDIR(st.st_mode)) return err_set(err, ERR_IO, "%s: is a directory, not a file", name);
    /* Files of /proc report the size 0 but have content, so a size of 0 is not trusted. */
    if (!S_ISREG(st.st_mode) || st.st_size == 0) return read_stream(fd, name, max_bytes, ret_bytes, err);
    if ((uint64_t)st.st_size > max_bytes)
        return err_set(err, ERR_LIMIT, "%s: %lld bytes, more than the limit of %zu", name,
                       (long long)st.st_size, max_bytes);
    void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) return read_stream(fd, name, max_bytes, ret_bytes, err);
    *ret_bytes = (struct bytes){.data = map, .len = (size_t)st.st_size, .mapped_bytes = (size_t)st.st_size};
    return 0;
}

enum { MAX_COPY_IN_MEMORY_BYTES = 64 << 20, COPY_STEP_BYTES = 1 << 20 };

static int open_unnamed(void)
{
    const char *dir = getenv("TMPDIR");
    if (!dir || !*dir) dir = "/tmp";
    int fd = open(dir, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    char *path = mem_printf("%s/procprof-XXXXXX", dir); /* the file system has no O_TMPFILE */
    fd = mkostemp(path, O_CLOEXEC);
    int why = errno;
    if (fd >= 0) unlink(path);
    mem_free(path);
    errno = why;
    return fd;
}

/* Reads n bytes, or fewer at the end of the file. Returns their number, or -1 with errno set. */
static ssize_t read_fully(int fd, uint8_t *into, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = read(fd, into + done, n - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

static bool is_all_zero(const uint8_t *data, size_t n)
{
    return n && data[0] == 0 && !memcmp(data, data + 1, n - 1);
}

/* Copies at most `size` bytes from the current position of `from` and sets *ret_len to their number. Blocks
 * of zeros become holes, so that the copy of a sparse file is sparse too. Returns 0 or an errno. */
static int copy_to(int to, int from, size_t size, size_t *ret_len)
{
    uint8_t *step = mem_alloc(COPY_STEP_BYTES);
    size_t len = 0;
    int why = 0;
    while (!why && len < size) {
        ssize_t n = read_fully(from, step, size - len < COPY_STEP_BYTES ? size - len : COPY_STEP_BYTES);
        if (n < 0) why = errno;
        if (n <= 0) break;
        for (ssize_t done = is_all_zero(step, (size_t)n) ? n : 0; !why && done < n;) {
            ssize_t wrote = pwrite(to, step + done, (size_t)(n - done), (off_t)len + done);
            if (wrote > 0)
                done += wrote;
            else if (errno != EINTR)
                why = errno;
        }
        len += (size_t)n;
    }
    if (!why && ftruncate(to, (off_t)len) < 0) why = errno;
    mem_free(step);
    *ret_len = len;
    return why;
}

int file_read_foreign_fd(int fd, const char *name, size_t max_bytes, struct bytes *ret_bytes, struct err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0) return err_errno(err, errno, "%s: cannot stat", name);
    if (!S_ISREG(st.st_mode)) return err_set(err, ERR_IO, "%s: is not a file", name);
    if ((uint64_t)st.st_size > max_bytes)
        return err_set(err, ERR_LIMIT, "%s: %lld bytes, more than the limit of %zu", name,
                       (long long)st.st_size, max_bytes);
    size_t size = (size_t)st.st_size, len = 0;
    if (size <= MAX_COPY_IN_MEMORY_BYTES) {
        uint8_t *data = mem_alloc(size + 1);
        ssize_t n = read_fully(fd, data, size);
        if (n < 0) {
            int why = errno;
            mem_free(data);
            return err_errno(err, why, "%s: cannot read", name);
        }
        *ret_bytes = (struct bytes){.data = data, .len = (size_t)n};
        return 0;
    }
    int copy = open_unnamed();
    if (copy < 0) return err_errno(err, errno, "%s: no room for a copy of %zu bytes", name, size);
    int why = copy_to(copy, fd, size, &len);
    void *map = why || !len ? MAP_FAILED : mmap(NULL, len, PROT_READ, MAP_PRIVATE, copy, 0);
    if (!why && len && map == MAP_FAILED) why = errno;
    close(copy);
    if (why) return err_errno(err, why, "%s: cannot copy its %zu bytes", name, size);
    *ret_bytes = (struct bytes){0};
    if (len) *ret_bytes = (struct bytes){.data = map, .len = len, .mapped_bytes = len};
    return 0;
}

int file_read(const char *path, size_t max_bytes, struct bytes *ret_bytes, struct err *err)
{
    if (!strcmp(path, "-")) return file_read_fd(0, "standard input", max_bytes, ret_bytes, err);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return err_errno(err, errno, "%s: cannot open", path);
    int rc = file_read_fd(fd, path, max_bytes, ret_bytes, err);
    close(fd);
    return rc;
}

void bytes_free(struct bytes *bytes)
{
    if (bytes->mapped_bytes)
        munmap(bytes->data, bytes->mapped_bytes);
    else
        mem_free(bytes->data);
    *bytes = (struct bytes){0};
}

int file_begin_atomic(const char *path, unsigned mode, struct file_writing *ret_writing, struct err *err)
{
    struct stat is;
    struct file_writing w = {.mode = mode};
    int fd;
    if (stat(path, &is) == 0 && !S_ISREG(is.st_mode)) { /* a device or a pipe is never replaced */
        w.path = mem_strdup(path);
        fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    } else {
        char *target = lstat(path, &is) == 0 && S_ISLNK(is.st_mode) ? realpath(path, NULL) : NULL;
        w.path = mem_strdup(target ? target : path);
        w.temporary = mem_printf("%s.tmp-XXXXXX", w.path);
        fd = mkostemp(w.temporary, O_CLOEXEC);
        free(target);
    }
    if (fd < 0) {
        int rc = err_errno(err, errno, w.temporary ? "%s: cannot create" : "%s: cannot open", path);
        mem_free(w.path);
        mem_free(w.temporary);
        return rc;
    }
    w.out = buf_to_fd(fd);
    *ret_writing = w;
    return 0;
}

int file_end_atomic(struct file_writing *w, struct err *err)
{
    int fd = w->out.drain_fd, failed = 0, rc = 0;
    if (buf_flush(&w->out)) failed = w->out.write_errno;
    if (w->temporary && !failed && fchmod(fd, w->mode) < 0) failed = errno;
    if (close(fd) < 0 && !failed) failed = errno;
    if (w->temporary && !failed && rename(w->temporary, w->path) < 0) failed = errno;
    if (w->temporary && failed) unlink(w->temporary);
    if (failed) rc = err_errno(err, failed, "%s: cannot write", w->path);
    buf_free(&w->out);
    mem_free(w->path);
    mem_free(w->temporary);
    return rc;
}

int file_write_atomic(const char *path, const void *data, size_t len, unsigned mode, struct err *err)
{
    struct file_writing w;
    int rc = file_begin_atomic(path, mode, &w, err);
    if (rc) return rc;
    buf_add(&w.out, data, len);
    return file_end_atomic(&w, err);
}

int file_make_dirs(const char *path, unsigned mode, struct err *err)
{
    char *copy = mem_strdup(path);
    int rc = 0;
    for (char *p = copy + 1;; p++) {
        if (*p && *p != '/') continue;
        char was = *p;
        *p = '\0';
        if (mkdir(copy, mode) < 0 && errno != EEXIST) {
            rc = err_errno(err, errno, "%s: cannot create the directory", copy);
            break;
        }
        *p = was;
        if (!was) break;
    }
    mem_free(copy);
    struct stat st;
    if (!rc && !stat(path, &st) && !S_ISDIR(st.st_mode))
        rc = err_set(err, ERR_INPUT, "%s: is there already and is not a directory", path);
    return rc;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st, (void)kind, (void)where;
    return remove(path);
}

int file_remove_tree(const char *path, struct err *err)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT) return 0;
    return err_errno(err, errno, "%s: cannot remove", path);
}

char *file_user_dir(const char *kind)
{
    static const char *const fallback[][2] = {
        {"CACHE", ".cache"}, {"DATA", ".local/share"}, {"CONFIG", ".config"}, {"STATE", ".local/state"}};
    char name[32];
    snprintf(name, sizeof name, "XDG_%s_HOME", kind);
    const char *base = getenv(name);
    if (base && base[0] == '/') return mem_printf("%s/procprof", base);
    const char *home = getenv("HOME"), *below = ".cache";
    for (size_t i = 0; i < sizeof fallback / sizeof *fallback; i++)
        if (!strcmp(kind, fallback[i][0])) below = fallback[i][1];
    if (!home || home[0] != '/') return mem_printf("/tmp/procprof-%u/%s", (unsigned)getuid(), below);
    return mem_printf("%s/%s/procprof", home, below);
}
