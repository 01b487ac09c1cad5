/* pprof_shell.c - the interactive shell of `procprof pprof`: history, completion, google/pprof's commands. */
#include <ctype.h>
#include <editline/readline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/pprof/pprof_run.h"
#include "profile/filter.h"

struct shell {
    struct profile *p;
    struct pprof_config *config;
    struct symbolizer *symbolizer;
    char **kept; /* texts that the configuration refers to */
    size_t n_kept, cap_kept;
};

static struct shell *completing; /* libedit's callbacks have no context */

/* ---- completion: commands and options first, function names after a command ---- */

static char *next_name(const char *text, int state)
{
    static size_t at;
    size_t len = strlen(text), i = 0;
    if (!state) at = 0;
    for (const struct pprof_command *c = pprof_commands; c->name; c++, i++)
        if (i >= at && !strncmp(c->name, text, len)) return at = i + 1, strdup(c->name);
    for (const struct pprof_field *f = pprof_fields; f->name; f++, i++)
        if (i >= at && !strncmp(f->name, text, len)) return at = i + 1, strdup(f->name);
    return NULL;
}

static char *next_function(const char *text, int state)
{
    static size_t at;
    const struct profile *p = completing->p;
    if (!state) at = 0;
    bool negated = *text == '-';
    while (at < p->n_functions) {
        const char *name = profile_text(p, p->functions[at++].name);
        if (*name && strstr(name, text + negated)) {
            char *match = mem_printf("%s%s", negated ? "-" : "", name), *copy = strdup(match);
            mem_free(match);
            return copy;
        }
    }
    return NULL;
}

static char **complete(const char *text, int start, int end)
{
    (void)end;
    rl_attempted_completion_over = 1;
    bool first = true;
    for (int i = 0; i < start; i++) first &= isspace((unsigned char)rl_line_buffer[i]) != 0;
    if (first || !strncmp(rl_line_buffer, "help ", 5)) return rl_completion_matches(text, next_name);
    return strncmp(rl_line_buffer, "tags", 4) ? rl_completion_matches(text, next_function) : NULL;
}

/* ---- commands: only reports go to standard output, all messages go to standard error ---- */

static void print_options(struct shell *s)
{
    char *lines[64];
    size_t n = 0;
    const struct profile *p = s->p;
    for (const struct pprof_field *f = pprof_fields; f->name; f++) {
        struct buf value = {0}, comment = {0};
        if (!strcmp(f->name, "source_path")) continue;
        pprof_config_get(s->config, f, &value);
        if (f->kind == FIELD_CHOICE) {
            buf_str(&comment, !strcmp(f->name, "sort")
                                  ? "[cum | flat]"
                                  : "[addresses | filefunctions | files | functions | lines]");
            if (!value.len) buf_str(&value, "(default)");
        } else if (!strcmp(f->name, "sample_index")) {
            if (!value.len)
                buf_str(&value, profile_text(p, p->sample_types[profile_default_sample_index(p)].type));
            buf_char(&comment, '[');
            for (size_t i = 0; i < p->n_sample_types; i++)
                buf_printf(&comment, "%s%s", i ? " | " : "", profile_text(p, p->sample_types[i].type));
            buf_char(&comment, ']');
        } else if (!strcmp(f->name, "nodecount") && !strcmp(buf_cstr(&value), "-1")) {
            buf_str(&comment, "default");
        } else if (!value.len) {
            buf_str(&value, "\"\"");
        }
        lines[n++] = mem_printf("  %-25s = %-20s %s%s", f->name, buf_cstr(&value), comment.len ? "//: " : "",
                                buf_cstr(&comment));
        buf_free(&value);
        buf_free(&comment);
    }
    for (size_t i = 1; i < n; i++) /* insertion sort by name, because there are few */
        for (size_t k = i; k > 0 && strcmp(lines[k - 1], lines[k]) > 0; k--) {
            char *swap = lines[k];
            lines[k] = lines[k - 1];
            lines[k - 1] = swap;
        }
    for (size_t i = 0; i < n; i++) {
        fprintf(stderr, "%s\n", lines[i]);
        mem_free(lines[i]);
    }
}

static void print_help(const char *topic)
{
    struct buf text = {0};
    if (!*topic) {
        pprof_print_usage(false, &text);
        fprintf(stderr,
                "%s  :   Clear focus/ignore/hide/tagfocus/tagignore\n\n  type \"help <cmd|option>\" for "
                "more information\n",
                buf_cstr(&text));
    } else if (pprof_print_help(topic, &text)) {
        fprintf(stderr, "%s", buf_cstr(&text));
    } else {
        fprintf(stderr, "Unknown command: %s\n", topic);
    }
    buf_free(&text);
}

/* Returns a copy that lives as long as the shell. */
static char *keep(struct shell *s, char *text)
{
    return *VEC_PUSH(s->kept, s->n_kept, s->cap_kept) = text;
}

/* Handles name=value, or the name of a boolean option alone. Returns false if the line is not an assignment.
 */
static bool assign(struct shell *s, char *line)
{
    char *equals = strchr(line, '='),
         *name = text_trim(keep(s, mem_strndup(line, equals ? (size_t)(equals - line) : strlen(line))));
    bool by_choice;
    const struct pprof_field *f = pprof_find_field(name, &by_choice);
    if (!f) return false;
    char *value = keep(s, mem_strdup(equals ? equals + 1 : "")), *comment = strstr(value, "//:");
    if (comment) *comment = '\0';
    value = text_trim(value);
    struct err err;
    if (!equals && f->kind != FIELD_BOOL && !by_choice) {
        fprintf(stderr, "please specify a value, e.g. %s=<val>\n", name);
    } else if (!strcmp(name, "sample_index")) {
        size_t index;
        if (profile_choose_sample(s->p, value, &index, &err))
            fprintf(stderr, "%s\n", err.text);
        else
            s->config->report.sample_index = profile_text(s->p, s->p->sample_types[index].type);
    } else if (pprof_config_set(s->config, name, value, &err)) {
        fprintf(stderr, "%s\n", err.text);
    }
    return true;
}

static void join_expression(struct shell *s, char **into, const char *more)
{
    *into = keep(s, **into ? mem_printf("%s|%s", *into, more) : mem_strdup(more));
}

static void run_command(struct shell *s, char *line)
{
    char *words[64];
    size_t n = 0;
    for (char *rest = line, *word; n < 64 && (word = strtok_r(rest, " \t", &rest));) words[n++] = word;
    if (!n) return;
    struct pprof_config config = *s->config;
    const struct pprof_command *c = pprof_find_command(words[0]);
    if (!c) { /* top10 */
        size_t len = strlen(words[0]), digits = len;
        while (digits && isdigit((unsigned char)words[0][digits - 1])) digits--;
        if (digits && digits < len) {
            config.report.nodecount = strtoll(words[0] + digits, NULL, 10);
            words[0][digits] = '\0';
            c = pprof_find_command(words[0]);
        }
    }
    if (!c) {
        if (pprof_find_field(words[0], NULL))
            fprintf(stderr, "did you mean: %s=%s\n", words[0], n > 1 ? words[1] : "<val>");
        else
            fprintf(stderr, "unrecognized command: \"%s\"\n", words[0]);
        return;
    }
    size_t i = 1;
    const char *symbol = NULL;
    if (c->has_parameter) {
        if (n < 2) {
            fprintf(stderr, "command %s requires an argument\n", c->name);
            return;
        }
        symbol = words[i++];
    }
    char *focus = keep(s, mem_strdup("")), *ignore = keep(s, mem_strdup(""));
    for (; i < n; i++) {
        if (text_to_int(words[i], INT64_MIN, INT64_MAX, &config.report.nodecount)) continue;
        if (words[i][0] == '>') {
            const char *file = words[i] + 1;
            if (!*file && i + 1 < n) file = words[++i];
            if (!*file) {
                fprintf(stderr, "unexpected end of line after >\n");
                return;
            }
            config.output = file;
        } else if (!strcmp(words[i], "-cum") || !strcmp(words[i], "--cum")) {
            config.sort = "cum";
        } else if (words[i][0] == '-') {
            join_expression(s, &ignore, words[i] + 1);
        } else {
            join_expression(s, &focus, words[i]);
        }
    }
    bool is_tags = c->format == REPORT_TAGS;
    if (*focus) *(is_tags ? &config.report.tagfocus : &config.report.focus) = focus;
    if (*ignore) *(is_tags ? &config.report.tagignore : &config.report.ignore) = ignore;
    if (config.report.nodecount == -1 && c->format == REPORT_TEXT) config.report.nodecount = 10;
    struct err err;
    if (pprof_run(profile_copy(s->p), c, symbol, &config, s->symbolizer, true, &err))
        fprintf(stderr, "%s\n", err.text);
}

/* The name of a sample type selects it, with total_ or mean_ before it to switch averaging. ":" clears the
 * filters. */
static bool shortcut(struct shell *s, const char *line)
{
    struct report_options *o = &s->config->report;
    if (!strcmp(line, ":")) {
        o->focus = o->ignore = o->hide = o->tagfocus = o->tagignore = "";
        return true;
    }
    for (size_t i = 0; i < s->p->n_sample_types; i++) {
        const char *type = profile_text(s->p, s->p->sample_types[i].type);
        bool total = !strncmp(line, "total_", 6) && !strcmp(line + 6, type),
             mean = !strncmp(line, "mean_", 5) && !strcmp(line + 5, type);
        if (strcmp(line, type) && !total && !mean) continue;
        if (total || mean) o->mean = mean;
        o->sample_index = type;
        return true;
    }
    return false;
}

static void greet(struct shell *s)
{
    struct buf text = {0};
    struct err err;
    int64_t total = 0;
    if (!report_profile_labels(s->p, &s->config->report, &text, &total, &err)) {
        fprintf(stderr, "%s", buf_cstr(&text));
        if (!total && s->p->n_sample_types > 1)
            fprintf(stderr,
                    "No samples were found with the default sample value type.\nTry \"sample_index\" command "
                    "to analyze different sample values.\n\n");
    }
    fprintf(stderr, "Entering interactive mode (type \"help\" for commands, \"o\" for options)\n");
    buf_free(&text);
}

/* Reads with editing and history on a terminal, and plain lines otherwise, as scripts and tests send them. */
static char *read_line(bool interactive)
{
    if (interactive) return readline("(pprof) ");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n = getline(&line, &cap, stdin);
    if (n < 0) {
        free(line);
        return NULL;
    }
    if (n && line[n - 1] == '\n') line[n - 1] = '\0';
    return line;
}

int pprof_shell(struct profile *p, struct pprof_config *config, struct symbolizer *symbolizer)
{
    struct shell s = {.p = p, .config = config, .symbolizer = symbolizer};
    bool interactive = isatty(0) && isatty(1);
    char *folder = file_user_dir("STATE"), *history = mem_printf("%s/pprof_history", folder);
    completing = &s;
    config->report.compact_labels = true;
    if (interactive) {
        rl_initialize();
        rl_attempted_completion_function = complete;
        using_history();
        read_history(history);
    }
    greet(&s);
    for (char *line; (line = read_line(interactive)); free(line)) {
        char *text = text_trim(line);
        if (!*text) continue;
        if (interactive) add_history(text);
        if (!strcmp(text, "q") || !strcmp(text, "quit") || !strcmp(text, "exit")) {
            free(line);
            break;
        }
        if (!strcmp(text, "o") || !strcmp(text, "options"))
            print_options(&s);
        else if (!strcmp(text, "help") || !strncmp(text, "help ", 5))
            print_help(text_trim(text + 4));
        else if (!shortcut(&s, text) && !assign(&s, text))
            run_command(&s, text);
        fflush(stdout);
    }
    if (interactive && !file_make_dirs(folder, 0700, NULL)) write_history(history);
    mem_free(folder);
    mem_free(history);
    for (size_t i = 0; i < s.n_kept; i++) mem_free(s.kept[i]);
    mem_free(s.kept);
    profile_free(p);
    return 0;
}
