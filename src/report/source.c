/* source.c - see source.h. Files are read once and kept. */
#include "report/source.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/strtab.h"

struct source_file {
    char *name;
    char *text; /* NUL at each line's end */
    char **lines;
    size_t n_lines, cap_lines;
    struct err err; /* code 0: readable */
};

struct source_reader {
    char *search_path, *trim_path;
    struct source_file *files;
    size_t n_files, cap_files;
};

struct source_reader *source_reader_new(const char *search_path, const char *trim_path)
{
    struct source_reader *r = mem_zalloc(sizeof *r);
    char here[PATH_MAX];
    if (!*search_path) search_path = getcwd(here, sizeof here) ? here : ".";
    r->search_path = mem_strdup(search_path);
    r->trim_path = mem_strdup(trim_path);
    return r;
}

void source_reader_free(struct source_reader *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->n_files; i++) {
        mem_free(r->files[i].name);
        mem_free(r->files[i].text);
        mem_free(r->files[i].lines);
    }
    mem_free(r->files);
    mem_free(r->search_path);
    mem_free(r->trim_path);
    mem_free(r);
}

static const char *after_prefix(const char *file, const char *prefix, size_t len)
{
    while (len && prefix[len - 1] == '/') len--;
    return !strncmp(file, prefix, len) && file[len] == '/' ? file + len + 1 : NULL;
}

const char *source_trim_path(const char *file, const char *trim_path, const char *search_path)
{
    const char *rest;
    if (!*trim_path) {
        for (const char *at = search_path; *at;) {
            size_t n = strcspn(at, ":"), end = n;
            while (end > 1 && at[end - 1] == '/') end--;
            size_t begin = end;
            while (begin && at[begin - 1] != '/') begin--;
            char *wanted = mem_printf("/%.*s/", (int)(end - begin), at + begin);
            const char *found = end > begin ? strstr(file, wanted) : NULL;
            size_t len = strlen(wanted);
            mem_free(wanted);
            if (found) return found + len;
            at += n + (at[n] == ':');
        }
    }
    for (const char *at = trim_path; *at;) {
        size_t n = strcspn(at, ":");
        if (n && (rest = after_prefix(file, at, n))) return rest;
        at += n + (at[n] == ':');
    }
    if ((rest = after_prefix(file, "/proc/self/cwd/.", 16))) return rest;
    if ((rest = after_prefix(file, "/proc/self/cwd", 14))) return rest;
    return file;
}

static int open_source(struct source_reader *r, const char *name, struct bytes *bytes, struct err *err)
{
    enum { MAX_SOURCE_BYTES = 64 << 20 };
    const char *file = source_trim_path(name, r->trim_path, r->search_path);
    if (file[0] == '/') {
        int rc = file_read(file, MAX_SOURCE_BYTES, bytes, err);
        if (rc) err_set(err, rc, "open %s: no such file or directory", file);
        return rc;
    }
    for (const char *at = r->search_path; *at;) {
        size_t n = strcspn(at, ":");
        char *folder = mem_strndup(at, n);
        for (bool is_top = !n; !is_top;) { /* the folder itself, then each one above it */
            char *path = mem_printf("%s/%s", folder, file);
            int rc = file_read(path, MAX_SOURCE_BYTES, bytes, NULL);
            mem_free(path);
            if (!rc) {
                mem_free(folder);
                return 0;
            }
            char *copy = mem_strdup(folder), *above = mem_strdup(dirname(copy));
            is_top = !strcmp(above, folder); /* "/", or "." for a relative one */
            mem_free(copy);
            mem_free(folder);
            folder = above;
        }
        mem_free(folder);
        at += n + (at[n] == ':');
    }
    return err_set(err, ERR_NOT_FOUND, "could not find file %s on path %s", file, r->search_path);
}

static void split_lines(struct source_file *f, const struct bytes *bytes)
{
    f->text = mem_strndup((const char *)bytes->data, bytes->len);
    for (char *at = f->text, *end = f->text + bytes->len; at < end;) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        *VEC_PUSH(f->lines, f->n_lines, f->cap_lines) = at;
        if (!stop) break;
        *stop = '\0';
        if (stop > at && stop[-1] == '\r') stop[-1] = '\0';
        at = stop + 1;
    }
}

const char *source_line(struct source_reader *r, const char *file, long line, struct err *err)
{
    struct source_file *f = NULL;
    for (size_t i = 0; i < r->n_files && !f; i++)
        if (!strcmp(r->files[i].name, file)) f = &r->files[i];
    if (!f) {
        struct bytes bytes = {0};
        f = VEC_PUSH(r->files, r->n_files, r->cap_files);
        *f = (struct source_file){.name = mem_strdup(file)};
        if (!open_source(r, file, &bytes, &f->err)) {
            f->err.code = 0;
            split_lines(f, &bytes);
            bytes_free(&bytes);
        }
    }
    if (f->err.code) {
        if (err) *err = f->err;
        return NULL;
    }
    if (err) err->code = 0;
    return line >= 1 && (size_t)line <= f->n_lines ? f->lines[line - 1] : NULL;
}
