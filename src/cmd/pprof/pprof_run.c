/* pprof_run.c - see pprof_run.h. */
#include "cmd/pprof/pprof_run.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cmd/graphviz.h"
#include "format/format.h"

extern char **environ;

static void print_warning(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "%s\n", text);
}

/* Writes to the file `output` if it is given, and leaves *out empty. Otherwise writes to out. */
static int make_proto(struct profile *p, const struct pprof_command *command, const struct report_options *o,
                      const char *output, struct buf *out, struct err *err)
{
    struct file_writing file;
    struct profile *top = NULL;
    int rc =
        command->format == REPORT_TOPPROTO ? report_top_profile(p, o, &top, err) : report_prepare(p, o, err);
    if (rc) return rc;
    if (*output) {
        fprintf(stderr, "Generating report in %s\n", output);
        rc = file_begin_atomic(output, 0644, &file, err);
        if (!rc) format_write_proto_gzip(top ? top : p, 1, &file.out);
        if (!rc) rc = file_end_atomic(&file, err);
    } else {
        format_write_proto_gzip(top ? top : p, 1, out);
    }
    profile_free(top);
    return rc;
}

static int make_picture(const struct pprof_command *command, struct buf *text, struct err *err)
{
    struct buf picture = {0};
    int rc = graphviz_run(text, command->graphviz, &picture, err);
    if (rc) {
        buf_free(&picture);
        return rc;
    }
    if (!strcmp(command->graphviz, "svg")) graphviz_make_interactive(&picture);
    buf_free(text);
    *text = picture;
    return 0;
}

/* Writes the text to the first of profile001.pdf, profile002.pdf and so on that does not exist. */
static int save_beside(const struct buf *text, const char *ending, struct err *err)
{
    for (int i = 1; i < 10000; i++) {
        char name[64];
        snprintf(name, sizeof name, "profile%03d.%s", i, ending);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd < 0 && errno == EEXIST) continue;
        if (fd < 0) return err_errno(err, errno, "%s: cannot create", name);
        fprintf(stderr, "Generating report in %s\n", name);
        struct buf out = buf_to_fd(fd);
        buf_add(&out, text->data, text->len);
        int rc = buf_flush(&out) ? err_errno(err, out.write_errno, "%s: cannot write", name) : 0;
        buf_free(&out);
        close(fd);
        return rc;
    }
    return err_set(err, ERR_LIMIT, "too many files named profileNNN.%s here", ending);
}

static int show_with(const struct buf *text, const struct pprof_command *command, bool in_shell,
                     struct err *err)
{
    const char *browser = getenv("BROWSER");
    const char *const browsers[] = {browser && *browser ? browser : "sensible-browser",
                                    "google-chrome",
                                    "chromium",
                                    "firefox",
                                    "xdg-open",
                                    NULL};
    const char *const one[] = {command->viewer, NULL};
    const char *const *programs = strcmp(command->viewer, "browser") ? one : browsers;
    const char *folder = getenv("TMPDIR");
    char *name = mem_printf("%s/pprof-XXXXXX.%s", folder && *folder ? folder : "/tmp", command->file_ending);
    int fd = mkostemps(name, (int)strlen(command->file_ending) + 1, O_CLOEXEC), rc = ERR_NOT_FOUND;
    if (fd < 0) {
        rc = err_errno(err, errno, "%s: cannot create", name);
        mem_free(name);
        return rc;
    }
    struct buf out = buf_to_fd(fd);
    buf_add(&out, text->data, text->len);
    buf_flush(&out);
    buf_free(&out);
    close(fd);
    for (size_t i = 0; programs[i]; i++) {
        char *argv[] = {(char *)programs[i], name, NULL};
        pid_t child;
        if (posix_spawnp(&child, programs[i], NULL, NULL, argv, environ)) continue;
        rc = 0;
        if (!in_shell) {
            int status;
            waitpid(child, &status, 0);
        }
        clock_sleep_ns(1000000000); /* the viewer may be a wrapper that returns before the file is read */
        break;
    }
    if (rc) err_set(err, rc, "no program found to show %s (looked for %s)", name, programs[0]);
    mem_free(name);
    return rc;
}

static int deliver(const struct buf *text, const struct pprof_command *command, const char *output,
                   bool in_shell, struct err *err)
{
    if (*output) {
        fprintf(stderr, "Generating report in %s\n", output);
        return file_write_atomic(output, text->data, text->len, 0644, err);
    }
    if (command->viewer) return show_with(text, command, in_shell, err);
    if (command->file_ending && (in_shell || isatty(1))) return save_beside(text, command->file_ending, err);
    fflush(stdout);
    struct buf out = buf_to_fd(1);
    buf_add(&out, text->data, text->len);
    int rc = buf_flush(&out) && out.write_errno != EPIPE
                 ? err_errno(err, out.write_errno, "standard output: cannot write")
                 : 0;
    buf_free(&out);
    return rc;
}

int pprof_run(struct profile *p, const struct pprof_command *command, const char *symbol,
              const struct pprof_config *config, struct symbolizer *symbolizer, bool in_shell,
              struct err *err)
{
    struct report_options o = pprof_report_options(config, command, symbol);
    o.warn = print_warning;
    o.symbolizer = symbolizer;
    struct buf text = {0};
    /* Standard output is written while the report is made, so that a report of any size needs little memory.
     */
    bool streams = !*config->output && !command->viewer && !command->graphviz &&
                   !(command->file_ending && (in_shell || isatty(1)));
    if (streams) {
        fflush(stdout);
        text = buf_to_fd(1);
    }
    int rc = command->is_proto ? make_proto(p, command, &o, config->output, &text, err)
                               : report_write(p, &o, &text, err);
    profile_free(p);
    if (!rc && command->graphviz) rc = make_picture(command, &text, err);
    if (streams) {
        if (rc) text.len = 0; /* a failed report prints nothing beyond what is already written */
        if (buf_flush(&text) && text.write_errno != EPIPE && !rc)
            rc = err_errno(err, text.write_errno, "standard output: cannot write");
    } else if (!rc && !(command->is_proto && *config->output)) {
        rc = deliver(&text, command, config->output, in_shell, err);
    }
    buf_free(&text);
    return rc;
}
