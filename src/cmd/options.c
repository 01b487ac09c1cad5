/* options.c - see options.h. */
#include "cmd/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"

struct unit {
    const char *name;
    double factor;
};

static bool parse_with_units(const char *text, const struct unit *units, double *ret_value)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || errno || !isfinite(value) || value < 0) return false;
    for (const struct unit *u = units; u->name; u++) {
        if (!strcasecmp(end, u->name)) {
            *ret_value = value * u->factor;
            return true;
        }
    }
    return false;
}

bool options_parse_duration(const char *text, double *ret_seconds)
{
    static const struct unit units[] = {{"", 1},     {"s", 1},    {"ms", 1e-3}, {"us", 1e-6}, {"m", 60},
                                        {"min", 60}, {"h", 3600}, {"d", 86400}, {NULL, 0}};
    return parse_with_units(text, units, ret_seconds);
}

bool options_parse_size(const char *text, uint64_t *ret_bytes)
{
    static const struct unit units[] = {{"", 1},
                                        {"b", 1},
                                        {"k", 1024},
                                        {"kb", 1024},
                                        {"kib", 1024},
                                        {"m", 1048576},
                                        {"mb", 1048576},
                                        {"mib", 1048576},
                                        {"g", 1073741824},
                                        {"gb", 1073741824},
                                        {"gib", 1073741824},
                                        {"t", 1099511627776.},
                                        {"tb", 1099511627776.},
                                        {NULL, 0}};
    double value;
    if (!parse_with_units(text, units, &value) || value >= 18e18) return false;
    *ret_bytes = (uint64_t)value;
    return true;
}

static bool parse_int(const char *text, int64_t *ret_value)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 0);
    if (end == text || *end || errno) return false;
    *ret_value = value;
    return true;
}

static struct arena until_exit;

/* Makes room for `need` items and the NULL behind them. */
static void list_reserve(struct option_list *list, size_t need)
{
    if (need < list->cap_items) return;
    size_t cap = need < 4 ? 8 : need * 2;
    const char **items = arena_array(&until_exit, cap, sizeof *items);
    for (size_t i = 0; i < list->n_items; i++) items[i] = list->items[i];
    items[list->n_items] = NULL;
    list->items = items;
    list->cap_items = cap;
}

void option_list_add(struct option_list *list, const char *text)
{
    list_reserve(list, list->n_items + 1);
    list->items[list->n_items++] = text;
    list->items[list->n_items] = NULL;
}

/* NULL when stored, else what was expected. */
static const char *store(const struct option *o, const char *text)
{
    switch (o->kind) {
    case OPTION_FLAG:
        *(bool *)o->value = true;
        return NULL;
    case OPTION_TEXT:
        *(const char **)o->value = text;
        return NULL;
    case OPTION_LIST:
        option_list_add(o->value, text);
        return NULL;
    case OPTION_INT:
        return parse_int(text, o->value) ? NULL : "a whole number";
    case OPTION_NUMBER: {
        char *end;
        double value = strtod(text, &end);
        if (end == text || *end || !isfinite(value)) return "a number";
        *(double *)o->value = value;
        return NULL;
    }
    case OPTION_DURATION:
        return options_parse_duration(text, o->value) ? NULL : "a time such as 30, 500ms, 5m, 1h or 2d";
    case OPTION_SIZE:
        return options_parse_size(text, o->value) ? NULL : "a size such as 4096, 64k, 512MB or 2GB";
    }
    return NULL;
}

static void print_help(const struct option *table, const struct options_help *help)
{
    printf("usage: %s\n", help->usage);
    if (help->text) printf("\n%s\n", help->text);
    printf("\noptions:\n");
    for (const struct option *o = table; o->name; o++) {
        char left[64];
        snprintf(left, sizeof left, "%s%c%s--%s%s%s", o->letter ? "-" : " ", o->letter ? o->letter : ' ',
                 o->letter ? ", " : "  ", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        printf("  %-32s %s\n", left, o->help);
    }
    printf("  %-32s %s\n", "-h, --help", "this text");
    if (help->examples) printf("\nexamples:\n%s\n", help->examples);
}

static const struct option *find_long(const struct option *table, const char *name, size_t len,
                                      bool *ret_negated)
{
    *ret_negated = false;
    for (const struct option *o = table; o->name; o++)
        if (strlen(o->name) == len && !memcmp(o->name, name, len)) return o;
    if (len > 3 && !memcmp(name, "no-", 3)) {
        for (const struct option *o = table; o->name; o++) {
            if (o->kind == OPTION_FLAG && strlen(o->name) == len - 3 && !memcmp(o->name, name + 3, len - 3)) {
                *ret_negated = true;
                return o;
            }
        }
    }
    return NULL;
}

static const struct option *find_letter(const struct option *table, char letter)
{
    for (const struct option *o = table; o->name; o++)
        if (o->letter == letter) return o;
    return NULL;
}

static int complain(const struct options_help *help, const char *what, const char *argument)
{
    fprintf(stderr, "procprof: %s: %s\nusage: %s   (--help lists the options)\n", argument, what,
            help->usage);
    return OPTIONS_BAD;
}

int options_parse(int argc, char **argv, const struct option *table, const struct options_help *help)
{
    int n_rest = 0;
    bool only_rest = false;
    for (const struct option *o = table; o->name; o++)
        if (o->kind == OPTION_LIST) list_reserve(o->value, 1);
    for (int i = 1; i < argc; i++) {
        char *a = argv[i];
        if (only_rest || a[0] != '-' || !a[1]) {
            argv[1 + n_rest++] = a;
            continue;
        }
        if (!strcmp(a, "--")) {
            only_rest = true;
            continue;
        }
        if (!strcmp(a, "-h") || !strcmp(a, "--help")) {
            print_help(table, help);
            return OPTIONS_DONE;
        }
        const struct option *o;
        const char *text = NULL;
        bool negated = false;
        if (a[1] == '-') {
            const char *equals = strchr(a, '=');
            o = find_long(table, a + 2, equals ? (size_t)(equals - a - 2) : strlen(a + 2), &negated);
            text = equals ? equals + 1 : NULL;
        } else {
            o = find_letter(table, a[1]);
            if (a[2]) text = a + 2;
        }
        if (!o) return complain(help, "no such option", a);
        if (o->kind == OPTION_FLAG) {
            if (text) return complain(help, "this option takes no value", a);
            *(bool *)o->value = !negated;
            continue;
        }
        if (!text) {
            if (i + 1 >= argc) return complain(help, "this option needs a value", a);
            text = argv[++i];
        }
        const char *expected = store(o, text);
        if (expected) {
            fprintf(stderr, "procprof: --%s needs %s, not '%s'\n", o->name, expected, text);
            return OPTIONS_BAD;
        }
    }
    argv[1 + n_rest] = NULL;
    return n_rest;
}
