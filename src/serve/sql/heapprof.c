/* heapprof.c - see heapprof.h. Each method makes a few calls to the node. Reading, naming and drawing the
 * profile happens in this process; it starts no jeprof and no addr2line. */
#include "serve/sql/heapprof.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "format/format.h"
#include "report/jeprof_dot.h"
#include "report/name_places.h"
#include "report/symbolize.h"
#include "serve/collector/node_capture.h"
#include "serve/collector/node_request.h"
#include "serve/sql/heapprof_jvm.h"
#include "serve/sql/heapprof_snapshot.h"
#include "serve/sql/heapprof_starrocks.h"

enum { MAX_SECONDS = 300, DEFAULT_SECONDS = 10, CONTROL_LIMIT_S = 30, BUSY_LIMIT_S = 60 };

struct prof_class {
    const char *name; /* in scripts */
    const char *type; /* in names of snapshots */
    enum profile_type profile_type;
    bool is_capture; /* samples for some seconds */
};

static const struct prof_class classes[] = {
    {"HeapProf", "heap", PROFILE_HEAP, false},
    {"CpuProf", "cpu", PROFILE_CPU, true},
    {"ContentionProf", "contention", PROFILE_CONTENTION, true},
};

/* Classes that scripts for StarRocks may use and that have no methods here. A script that uses one gets the
 * name of the missing method instead of "not defined". */
static const char *const class_names[] = {"HeapProf",      "CpuProf",    "ContentionProf",
                                          "ExecEnv",       "RuntimeEnv", "GlobalEnv",
                                          "StorageEngine", "VLogCntl",   NULL};

struct call {
    struct heapprof *prof;
    const struct prof_class *class;
    const struct script_value *args;
    size_t n_args;
    struct arena *arena;
    struct script_value *ret;
    struct err *err;
};

static double time_left_s(const struct heapprof *prof)
{
    double left = (double)(prof->deadline_ns - clock_monotonic_ns()) / 1e9;
    return left > 0.05 ? left : 0.05;
}

static int request(struct call *c, const char *path, const char *post_body, double limit_s, struct bytes *ret,
                   int *ret_status)
{
    const struct sql_cancel *cancel = c->prof->cancel;
    double left_s = time_left_s(c->prof);
    int status = 0;
    int rc = node_request_until(c->prof->cluster->cluster, c->prof->node->id, path, post_body,
                                limit_s < left_s ? limit_s : left_s, cancel ? cancel->is_asked : NULL,
                                cancel ? cancel->context : NULL, ret, &status, c->err);
    if (ret_status) *ret_status = status;
    return rc;
}

static int instance(struct call *c)
{
    *c->ret = (struct script_value){.kind = SCRIPT_INSTANCE, .s = c->class->name};
    return 0;
}

/* ---- control: enable, disable, status, reset ---- */

static int control(struct call *c, const char *verb, struct bytes *ret)
{
    char *path = capture_control_path(c->class->profile_type, verb);
    int status, rc = request(c, path, "", CONTROL_LIMIT_S, ret, &status);
    mem_free(path);
    return rc ? (status ? status : c->err->code) : 0;
}

/* Calls libprocprof's endpoint. A real StarRocks BE does not have it (404), so the same method runs there as
 * a script. */
static int press(struct call *c, const char *verb, const char *method)
{
    if (cluster_node_is_jvm(c->prof->node))
        return err_set(c->err, ERR_UNSUPPORTED,
                       "A JVM has no such switch: it is sampled while a profile is taken.");
    struct bytes reply = {0};
    struct buf printed = {0};
    int rc = control(c, verb, &reply);
    bytes_free(&reply);
    if (rc == 404 && !c->class->is_capture && method) {
        rc = starrocks_heap_call(c->prof->cluster->cluster, c->prof->node->id, method, time_left_s(c->prof),
                                 c->prof->cancel, &printed, c->err);
        buf_free(&printed);
    } else if (rc) {
        rc = c->err->code;
    }
    return rc ? rc : instance(c);
}

static int method_enable(struct call *c)
{
    return press(c, "enable", "enable_prof");
}

static int method_disable(struct call *c)
{
    return press(c, "disable", "disable_prof");
}

static int method_reset(struct call *c)
{
    return press(c, "reset", NULL);
}

/* The reply's first line ends in ": on" or ": off". */
static bool says_on(const struct bytes *reply)
{
    const char *text = (const char *)reply->data;
    size_t line = 0;
    while (line < reply->len && text[line] != '\n' && text[line] != '\r') line++;
    return line >= 4 && !memcmp(text + line - 4, ": on", 4);
}

static int method_has_enable(struct call *c)
{
    if (cluster_node_is_jvm(c->prof->node)) {
        *c->ret = script_bool(false);
        return 0;
    }
    struct bytes reply = {0};
    struct buf printed = {0};
    int rc = control(c, "status", &reply);
    bool on = !rc && says_on(&reply);
    bytes_free(&reply);
    if (rc == 404 && !c->class->is_capture) {
        rc = starrocks_heap_call(c->prof->cluster->cluster, c->prof->node->id, "has_enable",
                                 time_left_s(c->prof), c->prof->cancel, &printed, c->err);
        on = !rc && printed.len >= 4 && !memcmp(printed.data, "true", 4);
        buf_free(&printed);
    } else if (rc) {
        rc = c->err->code;
    }
    if (!rc) *c->ret = script_bool(on);
    return rc;
}

/* ---- taking ---- */

static int bad_cast(struct call *c, size_t i, const char *expected)
{
    static const char *const names[] = {"null", "bool", "number", "string", "list", "unknown", "instance"};
    return err_set(c->err, ERR_INPUT, "Bad cast when getting value from Wren got %s expected %s",
                   names[c->args[i].kind], expected);
}

static int argument_number(struct call *c, size_t i, double low, double high, double *ret)
{
    if (c->args[i].kind != SCRIPT_NUM) return bad_cast(c, i, "number");
    double value = c->args[i].num;
    if (!(value >= low && value <= high))
        return err_set(c->err, ERR_INPUT, "Argument must be between %g and %g.", low, high);
    *ret = value;
    return 0;
}

static int argument_string(struct call *c, size_t i, const char **ret)
{
    if (c->args[i].kind != SCRIPT_STRING) return bad_cast(c, i, "string");
    *ret = c->args[i].s;
    return 0;
}

static bool is_busy(int status)
{
    return status == 409 || status == 503; /* libprocprof; brpc */
}

static bool may_wait(const struct call *c, double seconds)
{
    const struct sql_cancel *cancel = c->prof->cancel;
    return time_left_s(c->prof) > seconds + 5 && !(cancel && cancel->is_asked(cancel->context));
}

static int take_from(struct call *c, const char *path, double seconds, struct bytes *ret, int *ret_status)
{
    int rc = request(c, path, NULL, seconds + 120, ret, ret_status);
    /* The node is busy with a capture of another client, perhaps of the collector, which ends by itself. */
    for (double waited_s = 0; rc && is_busy(*ret_status) && waited_s < BUSY_LIMIT_S && may_wait(c, seconds);
         waited_s += 0.5) {
        clock_sleep_ns(500000000);
        rc = request(c, path, NULL, seconds + 120, ret, ret_status);
    }
    return rc;
}

/* Fetches a new profile from the first path of the endpoint table that the node serves. The first path is
 * asked for the text format, which jeprof reads, so that a snapshot can be used elsewhere. */
static int take(struct call *c, double seconds, struct bytes *ret)
{
    struct err first = {0};
    int rc = 0, status = 404;
    char *path;
    if (c->class->is_capture && seconds + 5 > time_left_s(c->prof))
        return err_set(c->err, ERR_TIMEOUT, "timeout after 600s");
    for (size_t i = 0; status == 404 && (path = capture_path(c->class->profile_type, i, seconds)); i++) {
        if (!i) {
            char *plain = path;
            path = mem_printf("%s%cformat=legacy", plain, strchr(plain, '?') ? '&' : '?');
            mem_free(plain);
        }
        int failed = take_from(c, path, seconds, ret, &status);
        mem_free(path);
        if (!failed) return 0;
        if (!i) {
            rc = failed;
            first = *c->err;
        }
    }
    *c->err = first; /* the failure of the first path is the one that users understand */
    return rc;
}

static int need_dir(struct call *c)
{
    if (c->prof->cluster->snapshot_dir) return 0;
    return err_set(c->err, ERR_UNSUPPORTED, "this server keeps no snapshots");
}

/* ---- reading and naming ---- */

static int post_to_node(void *context, const char *path, const char *body, struct bytes *ret_reply)
{
    struct err ignored;
    struct call c = *(struct call *)context;
    c.err = &ignored; /* a profile without names is still worth showing */
    return request(&c, path, body, CONTROL_LIMIT_S, ret_reply, NULL);
}

/* Asks the node for names when more than half of the locations have none: its binaries may not be on this
 * host. A few locations without a name are ordinary. */
static void name_remotely(struct call *c, struct profile *p)
{
    size_t n_unnamed = 0;
    for (size_t i = 0; i < p->n_locations; i++) n_unnamed += !p->locations[i].n_lines;
    if (n_unnamed * 2 > p->n_locations) remote_symbols(post_to_node, c, p);
}

static int read_profile(struct call *c, const struct bytes *bytes, const char *name, struct profile **ret)
{
    return format_read(bytes->data, bytes->len, name, NULL, ret, c->err);
}

static void name_profile(struct call *c, struct profile *p)
{
    struct symbolizer *symbols = c->prof->cluster->symbols;
    if (symbols) profile_symbolize(p, symbols, NULL);
    if (!cluster_node_is_jvm(c->prof->node)) name_remotely(c, p);
}

/* The sample type that jeprof shows: bytes in use, CPU samples, or the time spent waiting. */
static size_t shown_type(const struct profile *p)
{
    int type = profile_sample_index(p, "inuse_space");
    if (type < 0 && profile_sample_index(p, "cpu") >= 0) type = profile_sample_index(p, "samples");
    return type >= 0 ? (size_t)type : profile_default_sample_index(p);
}

static const char *program_name(const struct profile *p)
{
    const char *path = p->n_mappings ? profile_text(p, p->mappings[0].filename) : "";
    return *path ? path : NULL;
}

/* ---- drawing ---- */

static int draw_dot(struct call *c, struct profile *p)
{
    struct buf out = {0};
    struct jeprof_dot_options options = JEPROF_DOT_DEFAULTS;
    options.program = program_name(p);
    name_profile(c, p);
    int rc = jeprof_dot_write_profile(p, shown_type(p), &options, &out, c->err);
    if (rc ==
        ERR_NOT_FOUND) { /* a profile without samples is not an error; jeprof prints the same to stderr */
        buf_str(&out, "No nodes to print");
        if (!c->class->is_capture)
            buf_str(&out, "\n(heap profiling is off, or nothing was allocated since enable_prof(); "
                          "allocations made before it are not recorded)");
        rc = 0;
    }
    if (!rc) *c->ret = script_string(c->arena, out.data ? out.data : "", out.len);
    buf_free(&out);
    return rc;
}

static int draw_top(struct call *c, struct profile *p, long n_lines)
{
    name_profile(c, p);
    profile_name_places(p, c->prof->cluster->symbols);
    struct jeprof_stacks stacks = {0};
    struct jeprof_totals totals;
    struct buf out = {0};
    size_t type = shown_type(p);
    enum jeprof_unit unit = jeprof_unit_of(p, type);
    jeprof_stacks_from_profile(p, type, &stacks);
    jeprof_totals_make(&stacks, &totals);
    buf_str(&out, "Total: ");
    jeprof_number(&out, totals.total, unit);
    buf_printf(&out, " %s\n", jeprof_unit_name(unit));
    jeprof_text_write(&stacks, unit, false, n_lines, &out);
    *c->ret = script_string(c->arena, out.data, out.len);
    jeprof_totals_free(&totals);
    jeprof_stacks_free(&stacks);
    buf_free(&out);
    return 0;
}

/* A JVM is sampled only while a script waits for the profile; that includes its heap. */
static int take_jvm(struct call *c, double seconds, struct profile **ret)
{
    if (seconds <= 0) seconds = DEFAULT_SECONDS;
    int rc = heapprof_jvm(c->prof->cluster->cluster, c->prof->node->id, c->class->type, seconds,
                          c->prof->cancel, ret, c->err);
    for (double waited_s = 0; rc == ERR_BUSY && waited_s < BUSY_LIMIT_S && may_wait(c, seconds);
         waited_s += 0.5) {
        clock_sleep_ns(500000000);
        rc = heapprof_jvm(c->prof->cluster->cluster, c->prof->node->id, c->class->type, seconds,
                          c->prof->cancel, ret, c->err);
    }
    return rc;
}

static int fresh(struct call *c, double seconds, struct profile **ret)
{
    struct bytes bytes = {0};
    char name[64];
    if (cluster_node_is_jvm(c->prof->node)) return take_jvm(c, seconds, ret);
    snprintf(name, sizeof name, "node %d", (int)c->prof->node->id);
    int rc = take(c, seconds, &bytes);
    if (!rc) rc = read_profile(c, &bytes, name, ret);
    bytes_free(&bytes);
    return rc;
}

static int stored(struct call *c, size_t argument, struct profile **ret)
{
    const char *name = "";
    struct bytes bytes = {0};
    int rc = argument_string(c, argument, &name);
    if (!rc) rc = need_dir(c);
    if (!rc)
        rc = snapshot_read(c->prof->cluster->snapshot_dir, c->class->type, c->prof->node->id, name, &bytes,
                           c->err);
    if (!rc) rc = read_profile(c, &bytes, name, ret);
    bytes_free(&bytes);
    return rc;
}

/* The second argument minus the first, so growth is positive. */
static int difference(struct call *c, struct profile **ret)
{
    struct profile *a = NULL, *b = NULL;
    int rc = stored(c, 0, &a);
    if (!rc) rc = stored(c, 1, &b);
    if (!rc) {
        profile_scale(a, -1);
        rc = profile_merge((struct profile *[]){b, a}, 2, ret, c->err);
    }
    profile_free(a);
    profile_free(b);
    return rc;
}

/* ---- methods ---- */

static int seconds_argument(struct call *c, size_t i, double *ret)
{
    *ret = DEFAULT_SECONDS;
    return c->n_args > i ? argument_number(c, i, 0.1, MAX_SECONDS, ret) : 0;
}

static int method_snapshot(struct call *c)
{
    struct bytes bytes = {0};
    struct profile *p = NULL;
    const char *path;
    double seconds = 0;
    int rc = need_dir(c);
    if (!rc && c->class->is_capture) rc = seconds_argument(c, 0, &seconds);
    if (!rc && cluster_node_is_jvm(c->prof->node)) {
        struct buf proto = {0};
        rc = take_jvm(c, seconds, &p);
        if (!rc) format_write_proto(p, &proto);
        size_t len = proto.len;
        if (!rc) bytes = (struct bytes){.len = len, .data = (uint8_t *)buf_take(&proto)};
        buf_free(&proto);
    } else if (!rc) {
        rc = take(c, seconds, &bytes);
        if (!rc) rc = read_profile(c, &bytes, c->class->type, &p); /* an error page fails */
    }
    if (!rc)
        rc = snapshot_store(c->prof->cluster->snapshot_dir, c->class->type, c->prof->node->id, &bytes,
                            c->arena, &path, c->err);
    if (!rc) *c->ret = script_string(c->arena, path, strlen(path));
    profile_free(p);
    bytes_free(&bytes);
    return rc;
}

static int method_snapshots(struct call *c)
{
    const char **paths;
    int rc = need_dir(c);
    if (rc) return rc;
    size_t n =
        snapshot_list(c->prof->cluster->snapshot_dir, c->class->type, c->prof->node->id, c->arena, &paths);
    *c->ret = script_list(c->arena);
    for (size_t i = 0; i < n; i++)
        script_list_add(c->arena, *c->ret, script_string(c->arena, paths[i], strlen(paths[i])));
    return 0;
}

static int method_remove(struct call *c)
{
    const char *name = "";
    int rc = argument_string(c, 0, &name);
    if (!rc) rc = need_dir(c);
    if (!rc)
        rc = snapshot_remove(c->prof->cluster->snapshot_dir, c->class->type, c->prof->node->id, name, c->err);
    return rc ? rc : instance(c);
}

static int method_to_dot(struct call *c)
{
    struct profile *p = NULL;
    int rc = stored(c, 0, &p);
    if (!rc) rc = draw_dot(c, p);
    profile_free(p);
    return rc;
}

static int method_dump_dot(struct call *c)
{
    struct profile *p = NULL;
    double seconds = 0;
    int rc = c->class->is_capture ? seconds_argument(c, 0, &seconds) : 0;
    if (!rc) rc = fresh(c, seconds, &p);
    if (!rc) rc = draw_dot(c, p);
    profile_free(p);
    return rc;
}

static int method_top(struct call *c)
{
    struct profile *p = NULL;
    double n = 0, seconds = DEFAULT_SECONDS;
    int rc = argument_number(c, 0, 1, 100000, &n);
    if (!rc && c->n_args > 1 && c->args[1].kind == SCRIPT_STRING) {
        rc = stored(c, 1, &p);
    } else if (!rc) {
        if (c->class->is_capture) rc = seconds_argument(c, 1, &seconds);
        if (!rc) rc = fresh(c, c->class->is_capture ? seconds : 0, &p);
    }
    if (!rc) rc = draw_top(c, p, (long)n);
    profile_free(p);
    return rc;
}

static int method_diff(struct call *c)
{
    struct profile *p = NULL;
    int rc = difference(c, &p);
    if (!rc) rc = draw_dot(c, p);
    profile_free(p);
    return rc;
}

static int method_diff_top(struct call *c)
{
    struct profile *p = NULL;
    double n = 0;
    int rc = argument_number(c, 2, 1, 100000, &n);
    if (!rc) rc = difference(c, &p);
    if (!rc) rc = draw_top(c, p, (long)n);
    profile_free(p);
    return rc;
}

enum { HEAP = 1, CAPTURE = 2, CONTENTION = 4, ALL = 7 };

static const struct method {
    const char *name;
    size_t min_args, max_args;
    unsigned of; /* the classes that have it */
    int (*run)(struct call *c);
} methods[] = {
    {"enable_prof", 0, 0, HEAP | CONTENTION, method_enable},
    {"disable_prof", 0, 0, HEAP | CONTENTION, method_disable},
    {"has_enable", 0, 0, HEAP | CONTENTION, method_has_enable},
    {"reset", 0, 0, HEAP | CONTENTION, method_reset},
    {"snapshot", 0, 0, HEAP, method_snapshot},
    {"snapshot", 0, 1, CAPTURE | CONTENTION, method_snapshot},
    {"snapshots", 0, 0, ALL, method_snapshots},
    {"remove", 1, 1, ALL, method_remove},
    {"to_dot_format", 1, 1, ALL, method_to_dot},
    {"dump_dot_snapshot", 0, 0, HEAP, method_dump_dot},
    {"dump_dot_snapshot", 0, 1, CAPTURE | CONTENTION, method_dump_dot},
    {"top", 1, 2, ALL, method_top},
    {"diff", 2, 2, ALL, method_diff},
    {"diff_top", 3, 3, ALL, method_diff_top},
};

static int host_call(void *context, const char *name, bool is_static, const char *method, bool getter,
                     const struct script_value *args, size_t n_args, struct arena *arena,
                     struct script_value *ret, struct err *err)
{
    struct call c = {.prof = context, .args = args, .n_args = n_args, .arena = arena, .ret = ret, .err = err};
    unsigned bit = 0;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strcmp(classes[i].name, name)) continue;
        c.class = &classes[i];
        bit = 1u << i;
    }
    if (!c.class || getter) return SCRIPT_NO_METHOD;
    if (is_static) return !strcmp(method, "getInstance") && !n_args ? instance(&c) : SCRIPT_NO_METHOD;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const struct method *m = &methods[i];
        if ((m->of & bit) && !strcmp(m->name, method) && n_args >= m->min_args && n_args <= m->max_args)
            return m->run(&c);
    }
    return SCRIPT_NO_METHOD;
}

struct script_host heapprof_host(struct heapprof *prof)
{
    return (struct script_host){.context = prof, .classes = class_names, .call = host_call};
}
