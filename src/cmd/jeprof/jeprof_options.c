/* jeprof_options.c - see jeprof_options.h. */
#include "cmd/jeprof/jeprof_options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/text.h"

enum kind { SWITCH, NEGATABLE, TEXT, WHOLE, NUMBER };

struct known {
    const char *name;
    enum kind kind;
    size_t offset;
};

#define AT(field) offsetof(struct jeprof_options, field)
static const struct known known[] = {
    {"add_lib", TEXT, AT(add_lib)},
    {"addresses", NEGATABLE, AT(addresses)},
    {"alloc_objects", NEGATABLE, AT(alloc_objects)},
    {"alloc_space", NEGATABLE, AT(alloc_space)},
    {"auto-signal-frm", NEGATABLE, AT(auto_signal_frm)},
    {"base", TEXT, AT(base)},
    {"callgrind", NEGATABLE, AT(callgrind)},
    {"collapsed", NEGATABLE, AT(collapsed)},
    {"contentions", NEGATABLE, AT(contentions)},
    {"cum", NEGATABLE, AT(cum)},
    {"debug", NEGATABLE, AT(debug)},
    {"debug-syms-by-id", SWITCH, AT(debug_syms_by_id)},
    {"disasm", TEXT, AT(disasm)},
    {"dot", NEGATABLE, AT(dot)},
    {"drop_negative", NEGATABLE, AT(drop_negative)},
    {"edgefraction", NUMBER, AT(edgefraction)},
    {"evince", NEGATABLE, AT(evince)},
    {"exclude", TEXT, AT(exclude)},
    {"files", NEGATABLE, AT(files)},
    {"focus", TEXT, AT(focus)},
    {"functions", NEGATABLE, AT(functions)},
    {"gif", NEGATABLE, AT(gif)},
    {"gv", NEGATABLE, AT(gv)},
    {"heapcheck", NEGATABLE, AT(heapcheck)},
    {"help", NEGATABLE, AT(help)},
    {"ignore", TEXT, AT(ignore)},
    {"interactive", NEGATABLE, AT(interactive)},
    {"inuse_objects", NEGATABLE, AT(inuse_objects)},
    {"inuse_space", NEGATABLE, AT(inuse_space)},
    {"lib_prefix", TEXT, AT(lib_prefix)},
    {"lines", NEGATABLE, AT(lines)},
    {"list", TEXT, AT(list)},
    {"maxdegree", WHOLE, AT(maxdegree)},
    {"mean_delay", NEGATABLE, AT(mean_delay)},
    {"nodecount", WHOLE, AT(nodecount)},
    {"nodefraction", NUMBER, AT(nodefraction)},
    {"pdf", NEGATABLE, AT(pdf)},
    {"ps", NEGATABLE, AT(ps)},
    {"raw", NEGATABLE, AT(raw)},
    {"retain", TEXT, AT(retain)},
    {"scale", WHOLE, AT(scale)},
    {"seconds", WHOLE, AT(seconds)},
    {"show_bytes", NEGATABLE, AT(show_bytes)},
    {"svg", NEGATABLE, AT(svg)},
    {"symbols", NEGATABLE, AT(symbols)},
    {"test", NEGATABLE, AT(test)},
    {"test_stride", TEXT, AT(test_stride)},
    {"text", NEGATABLE, AT(text)},
    {"thread", TEXT, AT(thread)},
    {"tools", TEXT, AT(tools)},
    {"total_delay", NEGATABLE, AT(total_delay)},
    {"version", NEGATABLE, AT(version)},
    {"web", NEGATABLE, AT(web)},
};
enum { N_KNOWN = sizeof known / sizeof *known };

struct found {
    const struct known *option;
    bool negated;
};

static bool begins(const char *name, const char *with, size_t len)
{
    return !strncasecmp(name, with, len);
}

/* Finds the option with this name, or the only option that begins with it. "no" or "no-" before a switch that
 * can be off gives another name for it. */
static int find(const char *name, size_t len, struct found *ret_found, struct err *err)
{
    struct found hits[N_KNOWN * 2];
    size_t n_hits = 0;
    for (size_t i = 0; i < N_KNOWN; i++) {
        const struct known *k = &known[i];
        size_t skip = len >= 3 && name[2] == '-' ? 3 : 2;
        bool off = k->kind == NEGATABLE && len > skip && begins("no", name, 2) &&
                   begins(k->name, name + skip, len - skip);
        bool on = begins(k->name, name, len);
        bool whole = (on && strlen(k->name) == len) || (off && strlen(k->name) == len - skip);
        if (whole) {
            *ret_found = (struct found){k, !on};
            return 0;
        }
        if (on) hits[n_hits++] = (struct found){k, false};
        if (off) hits[n_hits++] = (struct found){k, true};
    }
    if (n_hits == 1) {
        *ret_found = hits[0];
        return 0;
    }
    if (!n_hits) return err_set(err, ERR_INPUT, "Unknown option: %.*s", (int)len, name);
    struct buf names = {0};
    for (size_t i = 0; i < n_hits; i++)
        buf_printf(&names, "%s%s%s", i ? ", " : "", hits[i].negated ? "no" : "", hits[i].option->name);
    int rc = err_set(err, ERR_INPUT, "Option %.*s is ambiguous (%s)", (int)len, name, buf_cstr(&names));
    buf_free(&names);
    return rc;
}

static int set_value(struct jeprof_options *o, const struct known *k, const char *value, struct err *err)
{
    void *at = (char *)o + k->offset;
    char *end;
    bool good = true;
    if (k->kind == TEXT) {
        *(const char **)at = value;
    } else if (k->kind == WHOLE) {
        good = text_to_int(value, INT64_MIN, INT64_MAX, at);
    } else {
        *(double *)at = strtod(value, &end);
        good = end != value && !*end;
    }
    if (!good)
        return err_set(err, ERR_INPUT, "Value \"%s\" invalid for option %s (%s expected)", value, k->name,
                       k->kind == WHOLE ? "number" : "real number");
    return 0;
}

int jeprof_options_parse(int argc, char **argv, struct jeprof_options *ret_options, struct err *err)
{
    struct jeprof_options o = {.list = "",
                               .disasm = "",
                               .base = "",
                               .add_lib = "",
                               .lib_prefix = "",
                               .focus = "",
                               .ignore = "",
                               .thread = "",
                               .retain = "",
                               .exclude = "",
                               .nodecount = 80,
                               .maxdegree = 8,
                               .seconds = 30,
                               .nodefraction = 0.005,
                               .edgefraction = 0.001};
    int n_rest = 0;
    for (int i = 1; i < argc; i++) {
        char *arg = argv[i];
        if (!strcmp(arg, "--")) {
            while (++i < argc) argv[++n_rest] = argv[i];
            break;
        }
        if (arg[0] != '-' || !arg[1]) {
            argv[++n_rest] = arg;
            continue;
        }
        const char *name = arg + (arg[1] == '-' ? 2 : 1), *equals = strchr(name, '=');
        size_t len = equals ? (size_t)(equals - name) : strlen(name);
        struct found f = {0};
        int rc = find(name, len, &f, err);
        if (rc) return rc;
        if (f.option->kind == SWITCH || f.option->kind == NEGATABLE) {
            if (equals) return err_set(err, ERR_INPUT, "Option %s does not take an argument", f.option->name);
            *(bool *)((char *)&o + f.option->offset) = !f.negated;
            continue;
        }
        const char *value = equals ? equals + 1 : i + 1 < argc ? argv[++i] : NULL;
        if (!value) return err_set(err, ERR_INPUT, "Option %s requires an argument", f.option->name);
        rc = set_value(&o, f.option, value, err);
        if (rc) return rc;
    }
    argv[n_rest + 1] = NULL;
    *ret_options = o;
    return n_rest;
}
