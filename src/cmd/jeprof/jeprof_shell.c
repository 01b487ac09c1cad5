/* jeprof_shell.c - the interactive mode of `procprof jeprof`: jeprof's commands, with history on a terminal.
 */
#include <editline/readline.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process.h"
#include "cmd/jeprof/jeprof_report.h"

enum { DEFAULT_TOP = 10 };

static const char help[] =
    "Commands of the interactive mode\n\n"
    "  top [--cum] [-ignore1] [-ignore2]        the first 10 functions by flat count, or by cumulative "
    "count\n"
    "  top20, top37 ...                         the first 20, 37 ...\n"
    "  list ROUTINES [-ignore1]                 source of the functions that match, line by line\n"
    "  disasm ROUTINES [-ignore1]               their instructions\n"
    "  weblist ROUTINES [-ignore1]              source in the web browser\n"
    "  gv [FOCUS] [-ignore1]                    the call graph in a PostScript viewer\n"
    "  evince [FOCUS] [-ignore1]                ... in a PDF viewer\n"
    "  web [FOCUS] [-ignore1]                   ... in the web browser\n"
    "  callgrind [FILE]                         calls for kcachegrind; without FILE it is started\n"
    "  help                                     this text\n"
    "  quit or ^D                               leave\n\n"
    "FOCUS, ROUTINES and what follows a - are regular expressions; stacks with a match of -ignore do not "
    "count.\n";

struct words { /* the words of one command after its name */
    struct buf focus, ignore;
    bool cum;
};

static void join(struct buf *into, const char *expression, size_t len)
{
    if (into->len) buf_char(into, '|');
    buf_add(into, expression, len);
}

static void take_words(const char *text, struct words *ret)
{
    while (*text) {
        size_t n = strcspn(text, " \t");
        if (n == 5 && !strncmp(text, "--cum", 5))
            ret->cum = true;
        else if (n > 1 && text[0] == '-')
            join(&ret->ignore, text + 1, n - 1);
        else if (n)
            join(&ret->focus, text, n);
        text += n;
        text += strspn(text, " \t");
    }
}

static void print(struct buf *out)
{
    fwrite(out->data, 1, out->len, stdout);
    fflush(stdout);
}

static void put_share(const struct jeprof_view *view, const char *what, const char *expression, double part,
                      double total, struct buf *out)
{
    buf_printf(out, "After %s '%s': ", what, expression);
    jeprof_number(out, part, view->profile->unit);
    buf_printf(out, " %s of ", jeprof_unit_name(view->profile->unit));
    jeprof_number(out, total, view->profile->unit);
    buf_str(out, " (");
    jeprof_percent(out, part, total);
    buf_str(out, ")\n");
}

static void put_head(const struct jeprof_view *view, const struct jeprof_sums *left, struct buf *out)
{
    double total = jeprof_sums_total(&view->profile->all);
    buf_str(out, "Total: ");
    jeprof_number(out, total, view->profile->unit);
    buf_printf(out, " %s\n", jeprof_unit_name(view->profile->unit));
    if (*view->options->focus)
        put_share(view, "focusing on", view->options->focus, jeprof_sums_total(left), total, out);
    if (*view->options->ignore)
        put_share(view, "ignoring", view->options->ignore, jeprof_sums_total(left), total, out);
}

static int run_viewer_of_calls(const char *path)
{
    char *argv[] = {(char *)"kcachegrind", (char *)path, NULL};
    struct buf nothing = {0}, out = {0};
    struct err err;
    printf("Starting 'kcachegrind %s & '\n", path);
    int rc = process_filter(argv, &nothing, &out, &err);
    if (rc) fprintf(stderr, "%s (Debian package: kcachegrind)\n", err.text);
    buf_free(&out);
    return rc;
}

static int write_calls(const struct jeprof_view *view, const struct jeprof_sums *left, const char *file,
                       struct err *err)
{
    char *path = *file ? mem_strdup(file) : mem_printf("/tmp/jeprof%d.callgrind", (int)getpid());
    struct buf out = {0};
    printf("Writing callgrind file to '%s'.\n", path);
    jeprof_write_callgrind(view, left, &out);
    int rc = file_write_atomic(path, out.data, out.len, 0644, err);
    if (!rc && !*file) run_viewer_of_calls(path);
    buf_free(&out);
    mem_free(path);
    return rc;
}

static int write_page(const struct jeprof_view *view, const struct jeprof_sums *left, const char *routines,
                      struct err *err)
{
    struct buf text = {0}, page = {0};
    int rc = jeprof_write_routines(view, left, routines, false, &text, err);
    if (!rc) {
        char *path = mem_printf("/tmp/jeprof%d.html", (int)getpid());
        buf_str(&page, "<!DOCTYPE html><meta charset=\"utf-8\"><title>");
        buf_xml(&page, routines, strlen(routines));
        buf_str(&page, "</title><pre>");
        buf_xml(&page, text.data, text.len);
        buf_str(&page, "</pre>\n");
        rc = file_write_atomic(path, page.data, page.len, 0600, err);
        char *argv[] = {(char *)"xdg-open", path, NULL};
        struct buf nothing = {0}, out = {0};
        struct err why;
        if (!rc && process_filter(argv, &nothing, &out, &why))
            fprintf(stderr, "no browser found; the page is %s\n", path);
        buf_free(&out);
        mem_free(path);
    }
    buf_free(&text);
    buf_free(&page);
    return rc;
}

enum action { ACT_TOP, ACT_LIST, ACT_DISASM, ACT_WEBLIST, ACT_SHOW, ACT_CALLGRIND };

struct command_word {
    const char *name;
    enum action action;
    bool words_focus; /* the words after the command are a focus, not routines or a file */
};

static const struct command_word command_words[] = {
    {"weblist", ACT_WEBLIST, false}, {"web", ACT_SHOW, true},   {"evince", ACT_SHOW, true},
    {"gv", ACT_SHOW, true},          {"list", ACT_LIST, false}, {"disasm", ACT_DISASM, false},
    {"text", ACT_TOP, false},        {"top", ACT_TOP, false},   {"callgrind", ACT_CALLGRIND, false},
};

static int run_command(const struct jeprof_view *shared, const struct command_word *c, long n_top,
                       const char *rest, struct err *err)
{
    struct jeprof_options options = *shared->options;
    struct jeprof_view view = *shared;
    struct words words = {0};
    struct jeprof_sums left = {0};
    struct buf out = {0};
    view.options = &options;
    options.interactive = false;
    take_words(rest, &words);
    if (words.ignore.len) {
        options.ignore = buf_cstr(&words.ignore);
        fprintf(stderr, "Ignoring samples in call stacks that match '%s'\n", options.ignore);
    }
    if (c->words_focus && words.focus.len) options.focus = buf_cstr(&words.focus);
    const char *argument = buf_cstr(&words.focus);
    int rc = 0;
    if ((c->action == ACT_LIST || c->action == ACT_DISASM || c->action == ACT_WEBLIST) && !*argument)
        rc = err_set(err, ERR_INPUT, "%s needs a regular expression for the functions to show", c->name);
    if (!rc) rc = jeprof_filter(&view, &view.profile->all, &left, err);
    if (!rc && c->action != ACT_CALLGRIND && c->action != ACT_WEBLIST) put_head(&view, &left, &out);
    if (!rc) {
        switch (c->action) {
        case ACT_TOP: {
            struct jeprof_stacks stacks;
            jeprof_name_stacks(&view, &left, &stacks);
            jeprof_text_write(&stacks, view.profile->unit, options.cum || words.cum, n_top, &out);
            jeprof_stacks_free(&stacks);
            break;
        }
        case ACT_LIST:
            rc = jeprof_write_routines(&view, &left, argument, false, &out, err);
            break;
        case ACT_DISASM:
            rc = jeprof_write_routines(&view, &left, argument, true, &out, err);
            break;
        case ACT_WEBLIST:
            rc = write_page(&view, &left, argument, err);
            break;
        case ACT_SHOW:
            rc = jeprof_show(&view, &view.profile->all, c->name, err);
            break;
        case ACT_CALLGRIND:
            rc = write_calls(&view, &left, argument, err);
            break;
        }
    }
    if (!rc) print(&out);
    jeprof_sums_release(&left);
    buf_free(&out);
    buf_free(&words.focus);
    buf_free(&words.ignore);
    return rc;
}

/* Returns false if the shell should end. */
static bool do_line(const struct jeprof_view *view, char *line)
{
    struct err err;
    size_t n = strlen(line);
    while (n && strchr(" \t\r\n", line[n - 1])) line[--n] = '\0';
    line += strspn(line, " \t");
    if (!*line) return true;
    if (!strcmp(line, "quit") || !strcmp(line, "exit") || !strcmp(line, "q")) return false;
    if (!strncmp(line, "help", 4)) {
        fputs(help, stdout);
        return true;
    }
    for (size_t i = 0; i < sizeof command_words / sizeof *command_words; i++) {
        const struct command_word *c = &command_words[i];
        size_t len = strlen(c->name);
        if (strncmp(line, c->name, len)) continue;
        char *rest = line + len;
        long n_top = DEFAULT_TOP;
        if (c->action == ACT_TOP && *rest >= '0' && *rest <= '9') n_top = strtol(rest, &rest, 10);
        if (*rest && *rest != ' ' && *rest != '\t') continue;
        rest += strspn(rest, " \t");
        if (run_command(view, c, n_top, rest, &err)) fprintf(stderr, "%s\n", err.text);
        return true;
    }
    fprintf(stderr, "Unknown command: try 'help'.\n");
    return true;
}

int jeprof_shell(const struct jeprof_view *view)
{
    bool terminal = isatty(STDIN_FILENO);
    char *line = NULL;
    size_t cap = 0;
    fputs("Welcome to jeprof!  For help, type 'help'.\n", stderr);
    for (bool go_on = true; go_on;) {
        if (terminal) {
            char *typed = readline("(jeprof) ");
            if (!typed) break;
            if (*typed) add_history(typed);
            go_on = do_line(view, typed);
            free(typed);
        } else {
            fputs("(jeprof) ", stderr);
            if (getline(&line, &cap, stdin) < 0) break;
            go_on = do_line(view, line);
        }
        fflush(stdout);
    }
    free(line);
    fputc('\n', stderr);
    return 0;
}
