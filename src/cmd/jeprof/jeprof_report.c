/* jeprof_report.c - see jeprof_report.h. */
#include "cmd/jeprof/jeprof_report.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/regex.h"
#include "cmd/graphviz.h"
#include "report/jeprof_dot.h"

extern char **environ;

double jeprof_sums_total(const struct jeprof_sums *sums)
{
    double total = 0;
    for (size_t i = 0; i < sums->n_stacks; i++) total += sums->counts[i];
    return total;
}

void jeprof_sums_release(struct jeprof_sums *s)
{
    mem_free(s->places);
    mem_free(s->starts);
    mem_free(s->counts);
    mem_free(s->slots);
    *s = (struct jeprof_sums){0};
}

/* ---- which frames and stacks stay ---- */

static const char *const allocators[] = {"malloc",
                                         "calloc",
                                         "cfree",
                                         "free",
                                         "realloc",
                                         "memalign",
                                         "pvalloc",
                                         "valloc",
                                         "posix_memalign",
                                         "aligned_alloc",
                                         "mallocx",
                                         "rallocx",
                                         "xallocx",
                                         "dallocx",
                                         "sdallocx",
                                         "tc_malloc",
                                         "tc_calloc",
                                         "tc_cfree",
                                         "tc_realloc",
                                         "tc_new",
                                         "tc_delete",
                                         "tc_newarray",
                                         "tc_deletearray",
                                         "tc_new_nothrow",
                                         "tc_newarray_nothrow",
                                         "do_malloc",
                                         "::do_malloc",
                                         "::do_malloc_or_cpp_alloc",
                                         "DoSampledAllocation",
                                         "simple_alloc::allocate",
                                         "__malloc_alloc_template::allocate",
                                         "__builtin_delete",
                                         "__builtin_new",
                                         "__builtin_vec_delete",
                                         "__builtin_vec_new",
                                         "operator new",
                                         "operator new[]",
                                         "newImpl",
                                         "void* newImpl",
                                         NULL};
static const char *const lockers[] = {"Mutex::Unlock",
                                      "Mutex::UnlockSlow",
                                      "Mutex::ReaderUnlock",
                                      "MutexLock::~MutexLock",
                                      "SpinLock::Unlock",
                                      "SpinLockHolder::~SpinLockHolder",
                                      "base::RecordLockProfileData",
                                      NULL};

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(name, *list)) return true;
    return false;
}

static const char *short_name(const struct jeprof_profile *p, const struct jeprof_frame *f)
{
    return strtab_get(&p->text, f->short_id).s;
}

/* Whether this function belongs to the profiler or the allocator. The report omits it and all frames that it
 * calls. */
static bool is_machinery(const struct jeprof_profile *p, const char *name)
{
    switch (p->kind) {
    case JEPROF_KIND_HEAP:
    case JEPROF_KIND_GROWTH:
        return is_one_of(name, allocators) || strstr(name, "TCMalloc") || !strncmp(name, "tcmalloc::", 10);
    case JEPROF_KIND_CONTENTION:
        return is_one_of(name, lockers);
    case JEPROF_KIND_CPU:
        break;
    }
    return false;
}

struct place_facts { /* one per place */
    bool machinery, dropped, focused, ignored;
};

static bool place_matches(const struct jeprof_profile *p, const struct jeprof_place *at, struct regex *re)
{
    char text[32];
    int n = snprintf(text, sizeof text, "0x%016llx", (unsigned long long)at->address);
    if (regex_match(re, text, (size_t)n)) return true;
    for (uint32_t i = 0; i < at->n_frames; i++) {
        const struct jeprof_frame *f = &p->frames[at->first_frame + i];
        struct str name = strtab_get(&p->text, f->short_id);
        if (regex_match(re, name.s, name.len)) return true;
        char *where = mem_printf("%s:%u", f->file ? strtab_get(&p->text, f->file).s : "??", f->line);
        bool hit = regex_match(re, where, strlen(where));
        mem_free(where);
        if (hit) return true;
    }
    return false;
}

static int compile(const char *option, const char *text, struct regex **ret, struct err *err)
{
    *ret = NULL;
    if (!*text || !regex_compile(text, ret, err)) return 0;
    return err_prefix(err, "--%s=%s", option, text);
}

static int find_facts(const struct jeprof_view *view, struct place_facts *facts, struct err *err)
{
    const struct jeprof_profile *p = view->profile;
    const struct jeprof_options *o = view->options;
    struct regex *retain = NULL, *exclude = NULL, *focus = NULL, *ignore = NULL;
    int rc = compile("retain", o->retain, &retain, err);
    if (!rc) rc = compile("exclude", o->exclude, &exclude, err);
    if (!rc) rc = compile("focus", o->focus, &focus, err);
    if (!rc) rc = compile("ignore", o->ignore, &ignore, err);
    for (size_t i = 0; i < p->n_places && !rc; i++) {
        const struct jeprof_place *at = &p->places[i];
        struct place_facts *f = &facts[i];
        char address[32];
        snprintf(address, sizeof address, "0x%016llx", (unsigned long long)at->address);
        /* The outermost function decides for all frames that are inlined into it. */
        const char *name =
            at->n_frames ? short_name(p, &p->frames[at->first_frame + at->n_frames - 1]) : address;
        f->machinery = at->n_frames && is_machinery(p, name);
        f->dropped = (retain && !regex_match(retain, name, strlen(name))) ||
                     (exclude && regex_match(exclude, name, strlen(name)));
        f->focused = focus && place_matches(p, at, focus);
        f->ignored = ignore && place_matches(p, at, ignore);
    }
    regex_free(retain);
    regex_free(exclude);
    regex_free(focus);
    regex_free(ignore);
    return rc;
}

/* Returns how many frames after the leaf are the same in all stacks. jeprof takes them for frames of its
 * signal handler. */
static size_t shared_second_frames(const struct jeprof_sums *s)
{
    for (size_t depth = 1;; depth++) {
        uint32_t shared = UINT32_MAX;
        for (size_t i = 0; i < s->n_stacks; i++) {
            size_t n;
            const uint32_t *places = jeprof_sums_stack(s, i, &n);
            if (n <= depth || (shared != UINT32_MAX && places[depth] != shared)) return depth - 1;
            shared = places[depth];
        }
        if (!s->n_stacks) return 0;
    }
}

int jeprof_filter(const struct jeprof_view *view, const struct jeprof_sums *sums,
                  struct jeprof_sums *ret_left, struct err *err)
{
    const struct jeprof_profile *p = view->profile;
    struct place_facts *facts = mem_zalloc((p->n_places + 1) * sizeof *facts);
    struct jeprof_sums left = {0};
    uint32_t *stack = NULL;
    size_t cap = 0;
    int rc = find_facts(view, facts, err);
    size_t skip_second =
        p->kind == JEPROF_KIND_CPU && view->options->auto_signal_frm ? shared_second_frames(sums) : 0;
    for (size_t i = 0; i < sums->n_stacks && !rc; i++) {
        size_t n, n_left = 0;
        const uint32_t *places = jeprof_sums_stack(sums, i, &n);
        bool focused = !*view->options->focus, ignored = false;
        if (n > cap) stack = mem_grow(stack, &cap, n, sizeof *stack);
        for (size_t k = 0; k < n; k++) {
            const struct place_facts *f = &facts[places[k]];
            if (k && k <= skip_second) continue;
            if (f->machinery) {
                n_left = 0;
                focused = !*view->options->focus;
                ignored = false;
                continue;
            }
            if (f->dropped) continue;
            focused |= f->focused;
            ignored |= f->ignored;
            stack[n_left++] = places[k];
        }
        if (n_left && focused && !ignored) jeprof_sums_add(&left, stack, n_left, sums->counts[i]);
    }
    mem_free(stack);
    mem_free(facts);
    if (rc)
        jeprof_sums_release(&left);
    else
        *ret_left = left;
    return rc;
}

/* ---- names ---- */

/* Marks the short names that functions with different start addresses share. The caller frees the array. */
static bool *find_ambiguous(const struct jeprof_profile *p)
{
    bool *ambiguous = mem_zalloc(p->text.n_items + 1);
    uint64_t *start = mem_zalloc((p->text.n_items + 1) * sizeof *start);
    for (size_t i = 0; i < p->n_frames; i++) {
        const struct jeprof_frame *f = &p->frames[i];
        if (!f->start) continue;
        if (!start[f->short_id]) start[f->short_id] = f->start;
        ambiguous[f->short_id] |= start[f->short_id] != f->start;
    }
    mem_free(start);
    return ambiguous;
}

/* Names like "ns::Callback1::Run" carry no information. The report replaces them by "Run#1", "Run#2" and so
 * on, one name for each function that such a callback runs. */
static bool is_callback(const char *name)
{
    const char *at = strstr(name, "Callback"), *end = name + strlen(name);
    return at && end - at >= 13 && !strcmp(end - 5, "::Run");
}

struct naming {
    const struct jeprof_view *view;
    bool *ambiguous;
};

static void put_function(struct naming *n, const struct jeprof_frame *f, bool inlined, struct buf *out)
{
    const char *name = short_name(n->view->profile, f);
    if (f->start && n->ambiguous[f->short_id])
        buf_printf(out, "%s@%llx", name, (unsigned long long)f->start);
    else
        buf_str(out, name);
    if (inlined) buf_str(out, " (inline)");
}

static void put_place(const struct jeprof_profile *p, const struct jeprof_frame *f, struct buf *out)
{
    if (f->file)
        buf_printf(out, "%s:%u", strtab_get(&p->text, f->file).s, f->line);
    else
        buf_str(out, p->has_names ? "?" : "??:?");
}

static void put_title(struct naming *n, const struct jeprof_place *at, uint32_t frame, struct buf *out)
{
    const struct jeprof_options *o = n->view->options;
    const struct jeprof_profile *p = n->view->profile;
    if (!at->n_frames) {
        buf_printf(out, "0x%016llx", (unsigned long long)at->address);
        return;
    }
    const struct jeprof_frame *f = &p->frames[at->first_frame + frame];
    bool inlined = frame + 1 < at->n_frames;
    if (o->addresses) buf_printf(out, "%016llx ", (unsigned long long)at->address);
    if (o->files && !o->addresses && !o->lines) {
        buf_str(out, f->file ? strtab_get(&p->text, f->file).s : p->has_names ? "?" : "??:?");
        return;
    }
    put_function(n, f, inlined, out);
    if (!o->addresses && !o->lines) return;
    buf_char(out, ' ');
    put_place(p, f, out);
}

static uint32_t run_of(struct idmap *runs, struct strtab *names, uint32_t callee)
{
    bool is_new;
    uint32_t *name = idmap_slot(runs, callee, &is_new);
    if (is_new) {
        char text[32];
        snprintf(text, sizeof text, "Run#%zu", runs->n_items);
        *name = strtab_add_cstr(names, text);
    }
    return *name;
}

void jeprof_name_stacks(const struct jeprof_view *view, const struct jeprof_sums *sums,
                        struct jeprof_stacks *ret_stacks)
{
    const struct jeprof_profile *p = view->profile;
    struct naming naming = {.view = view, .ambiguous = find_ambiguous(p)};
    struct jeprof_stacks s = {0};
    strtab_add(&s.names, "", 0);
    uint32_t *first = mem_array(p->n_places + 2, sizeof *first), *ids = NULL;
    size_t n_ids = 0, cap_ids = 0, n_run = 0, cap_run = 0;
    bool *is_run = NULL,
         by_function = !view->options->addresses && !view->options->lines && !view->options->files;
    struct buf title = {0};
    struct idmap runs = {0}; /* function that a callback runs -> name of the callback */
    for (size_t i = 0; i < p->n_places; i++) {
        first[i] = (uint32_t)n_ids;
        uint32_t n = p->places[i].n_frames ? p->places[i].n_frames : 1;
        for (uint32_t f = 0; f < n; f++) {
            title.len = 0;
            put_title(&naming, &p->places[i], f, &title);
            *VEC_PUSH(ids, n_ids, cap_ids) = strtab_add(&s.names, title.data, title.len);
            *VEC_PUSH(is_run, n_run, cap_run) =
                by_function && p->places[i].n_frames &&
                is_callback(short_name(p, &p->frames[p->places[i].first_frame + f]));
        }
    }
    first[p->n_places] = (uint32_t)n_ids;
    for (size_t i = 0; i < sums->n_stacks; i++) {
        size_t n;
        const uint32_t *places = jeprof_sums_stack(sums, i, &n);
        jeprof_stacks_begin(&s, sums->counts[i]);
        uint32_t callee = 0;
        for (size_t k = 0; k < n; k++) {
            for (uint32_t f = first[places[k]]; f < first[places[k] + 1]; f++) {
                uint32_t id = is_run[f] ? run_of(&runs, &s.names, callee) : ids[f];
                jeprof_stacks_frame_id(&s, id);
                callee = id;
            }
        }
    }
    mem_free(is_run);
    idmap_free(&runs);
    buf_free(&title);
    mem_free(first);
    mem_free(ids);
    mem_free(naming.ambiguous);
    *ret_stacks = s;
}

/* ---- collapsed ---- */

void jeprof_write_collapsed(const struct jeprof_view *view, const struct jeprof_sums *left, struct buf *out)
{
    const struct jeprof_profile *p = view->profile;
    for (size_t i = 0; i < left->n_stacks; i++) {
        size_t n;
        const uint32_t *places = jeprof_sums_stack(left, i, &n);
        for (size_t k = n; k-- > 0;) {
            const struct jeprof_place *at = &p->places[places[k]];
            if (k + 1 < n) buf_char(out, ';');
            if (!at->n_frames) buf_printf(out, "0x%016llx", (unsigned long long)at->address);
            for (uint32_t f = at->n_frames; f-- > 0;) {
                const struct jeprof_frame *frame = &p->frames[at->first_frame + f];
                buf_str(out, strtab_get(&p->text, frame->full).s);
                if (frame->start) buf_printf(out, "<%016llx>", (unsigned long long)frame->start);
                if (f + 1 < at->n_frames) buf_str(out, "[inline]");
                if (f) buf_char(out, ';');
            }
        }
        buf_char(out, ' ');
        jeprof_number(out, left->counts[i], JEPROF_SAMPLES);
        buf_char(out, '\n');
    }
}

/* ---- graphs ---- */

static int make_dot(const struct jeprof_view *view, const struct jeprof_sums *sums, bool page, bool wide,
                    struct buf *out, struct err *err)
{
    const struct jeprof_options *o = view->options;
    struct jeprof_sums left;
    struct jeprof_stacks stacks;
    struct jeprof_dot_limits limits = {0};
    int rc = jeprof_filter(view, sums, &left, err);
    if (rc) return rc;
    jeprof_name_stacks(view, &left, &stacks);
    struct jeprof_dot_options how = {.program = view->program,
                                     .unit = view->profile->unit,
                                     .overall_total = jeprof_sums_total(sums),
                                     .nodecount = o->nodecount,
                                     .nodefraction = o->nodefraction,
                                     .edgefraction = o->edgefraction,
                                     .maxdegree = o->maxdegree,
                                     .page_size = page,
                                     .wide_lines = wide,
                                     .heapcheck = o->heapcheck};
    rc = jeprof_dot_write(&stacks, &how, out, &limits, err);
    if (!rc && (limits.node > 0 || limits.edge > 0)) {
        struct buf said = {0};
        const char *unit = jeprof_unit_name(view->profile->unit);
        buf_str(&said, "Dropping nodes with <= ");
        jeprof_number(&said, limits.node, view->profile->unit);
        buf_printf(&said, " %s; edges with <= ", unit);
        jeprof_number(&said, limits.edge, view->profile->unit);
        fprintf(stderr, "%s abs(%s)\n", buf_cstr(&said), unit);
        buf_free(&said);
    }
    jeprof_stacks_free(&stacks);
    jeprof_sums_release(&left);
    return rc;
}

static int make_picture(const struct jeprof_view *view, const struct jeprof_sums *sums, const char *format,
                        struct buf *out, struct err *err)
{
    bool is_svg = !strcmp(format, "svg");
    struct buf dot = {0}, picture = {0};
    int rc = make_dot(view, sums, !strcmp(format, "pdf"), is_svg, &dot, err);
    if (!rc) rc = graphviz_run(&dot, format, &picture, err);
    if (!rc && is_svg) graphviz_make_interactive(&picture);
    if (!rc) buf_add(out, picture.data, picture.len);
    buf_free(&picture);
    buf_free(&dot);
    return rc;
}

/* Starts the viewer and does not wait for it, because it outlives this process. */
static int start_viewer(const char *const *programs, const char *file, struct err *err)
{
    for (; *programs; programs++) {
        char *argv[] = {(char *)*programs, (char *)file, NULL};
        pid_t child;
        if (!posix_spawnp(&child, *programs, NULL, NULL, argv, environ)) return 0;
    }
    return err_set(err, ERR_UNSUPPORTED, "found no program to show the picture; it is in %s", file);
}

int jeprof_show(const struct jeprof_view *view, const struct jeprof_sums *sums, const char *viewer,
                struct err *err)
{
    static const char *const browsers[] =
        {"xdg-open", "gnome-www-browser", "x-www-browser", "sensible-browser", "google-chrome", "firefox",
         NULL},
                             *const evinces[] = {"evince", "xdg-open", NULL},
                             *const gvs[] = {"gv", "evince", "xdg-open", NULL};
    bool web = !strcmp(viewer, "web"), gv = !strcmp(viewer, "gv");
    const char *format = web ? "svg" : gv ? "ps" : "pdf", *folder = getenv("TMPDIR");
    struct buf picture = {0};
    int rc = make_picture(view, sums, format, &picture, err);
    if (rc) return rc;
    char *path = mem_printf("%s/jeprof.XXXXXX.%s", folder && *folder ? folder : "/tmp", format);
    int fd = mkstemps(path, (int)strlen(format) + 1);
    if (fd < 0) {
        rc = err_set(err, ERR_IO, "cannot create the temporary file %s", path);
    } else {
        close(fd);
        rc = file_write_atomic(path, picture.data, picture.len, 0600, err);
        if (!rc) rc = start_viewer(web ? browsers : gv ? gvs : evinces, path, err);
    }
    buf_free(&picture);
    mem_free(path);
    return rc;
}

/* ---- all reports ---- */

static void put_total(const struct jeprof_view *view, const struct jeprof_sums *sums, int64_t thread,
                      struct buf *out)
{
    double total = jeprof_sums_total(sums);
    if (total == 0) return;
    buf_str(out, "Total");
    if (thread >= 0) buf_printf(out, " (t%lld)", (long long)thread);
    buf_str(out, ": ");
    jeprof_number(out, total, view->profile->unit);
    buf_printf(out, " %s\n", jeprof_unit_name(view->profile->unit));
}

int jeprof_report(const struct jeprof_view *view, const struct jeprof_sums *sums, int64_t thread,
                  struct buf *out, struct err *err)
{
    const struct jeprof_options *o = view->options;
    if (o->gv || o->evince || o->web)
        return jeprof_show(view, sums, o->gv ? "gv" : o->web ? "web" : "evince", err);
    if (o->dot) return make_dot(view, sums, false, false, out, err);
    if (o->ps || o->pdf || o->svg || o->gif)
        return make_picture(view, sums, o->ps ? "ps2" : o->pdf ? "pdf" : o->svg ? "svg" : "gif", out, err);
    struct jeprof_sums left;
    int rc = jeprof_filter(view, sums, &left, err);
    if (rc) return rc;
    if (*o->disasm) {
        rc = jeprof_write_routines(view, &left, o->disasm, true, out, err);
    } else if (*o->list) {
        rc = jeprof_write_routines(view, &left, o->list, false, out, err);
    } else if (o->callgrind) {
        jeprof_write_callgrind(view, &left, out);
    } else if (o->collapsed) {
        jeprof_write_collapsed(view, &left, out);
    } else {
        struct jeprof_stacks stacks;
        put_total(view, sums, thread, out);
        jeprof_name_stacks(view, &left, &stacks);
        jeprof_text_write(&stacks, view->profile->unit, o->cum, -1, out);
        jeprof_stacks_free(&stacks);
    }
    jeprof_sums_release(&left);
    return rc;
}
