/* symbolize.c - see symbolize.h. Locations are grouped by mapping, each group is one batch for the
 * symboliser. */
#include "report/symbolize.h"

#include <string.h>

#include "base/idmap.h"
#include "base/mem.h"

struct work {
    struct profile *profile;
    struct symbolizer *symbolizer;
    const struct symbolize_options *options;
    struct idmap functions; /* hash of a function's four fields -> index */
    struct idmap texts;     /* address of a symboliser's string -> string id + 1 */
};

/* The symboliser gives the same text at the same address again and again; most are interned once. */
static uint32_t text_id(struct work *w, const char *text)
{
    if (!text || !*text) return 0;
    bool is_new;
    uint32_t *slot = idmap_slot(&w->texts, (uintptr_t)text, &is_new);
    if (is_new) {
        uint32_t id = profile_cstr(w->profile, text);
        slot = idmap_slot(&w->texts, (uintptr_t)text, &is_new);
        *slot = id;
    }
    return *slot;
}

static uint64_t function_key(const struct function *f)
{
    uint64_t h = hash_u64((uint64_t)f->name << 32 | f->filename);
    return hash_u64(h ^ ((uint64_t)f->system_name << 32 | (uint32_t)f->start_line));
}

static uint32_t function_index(struct work *w, const struct symbol_frame *frame)
{
    struct function want = {.name = text_id(w, frame->function),
                            .system_name = text_id(w, frame->linkage_name),
                            .filename = text_id(w, frame->file),
                            .start_line = frame->start_line};
    bool is_new;
    uint32_t *slot = idmap_slot(&w->functions, function_key(&want), &is_new);
    if (!is_new) {
        const struct function *have = &w->profile->functions[*slot];
        if (have->name == want.name && have->filename == want.filename &&
            have->system_name == want.system_name && have->start_line == want.start_line)
            return *slot;
    }
    return *slot =
               profile_add_function(w->profile, want.name, want.system_name, want.filename, want.start_line);
}

static void warn(const struct work *w, const char *text)
{
    if (w->options->warn) w->options->warn(w->options->warn_context, text);
}

/* Names of a process itself (libprocprof, /pprof/symbol) come without files. */
static bool has_no_file(const struct profile *p, const struct location *l)
{
    for (uint32_t i = 0; i < l->n_lines; i++) {
        const struct line *line = &p->lines[l->first_line + i];
        if (line->line || p->functions[line->function].filename) return false;
    }
    return l->mapping && p->mappings[l->mapping - 1].build_id;
}

static bool wants_lines(const struct work *w, const struct location *l)
{
    return l->address &&
           (w->options->force || l->n_lines == 0 || (w->options->lines && has_no_file(w->profile, l)));
}

/* Code made at run time: the virtual machine writes its names to /tmp/perf-PID.map, which only perf's mapping
 * names tell. */
static bool is_pseudo(const char *file)
{
    return !*file || !strcmp(file, "//anon") || !strncmp(file, "[stack", 6) || !strcmp(file, "[heap]") ||
           !strcmp(file, "[vsyscall]");
}

static bool open_object(struct work *w, uint32_t mapping, struct symbol_object **ret_object)
{
    const struct mapping *m = &w->profile->mappings[mapping];
    const char *file = profile_text(w->profile, m->filename), *id = profile_text(w->profile, m->build_id);
    if (w->options->binary && mapping == 0) file = w->options->binary, id = "";
    struct err err = {0};
    if (is_pseudo(file) && !*id) return symbolizer_open_jit(w->symbolizer, ret_object, &err) == 0;
    if (symbolizer_open(w->symbolizer, file, id, ret_object, &err) == 0) return true;
    warn(w, err.text);
    return false;
}

static void store(struct work *w, struct mapping *m, struct location *l, const struct symbol_frame *frames,
                  size_t n_frames)
{
    struct profile *p = w->profile;
    if (!n_frames || (l->n_lines && !frames[0].function)) return;
    if (l->n_lines && !w->options->force && !frames[0].file) return; /* the names it has are as good */
    l->first_line = (uint32_t)p->n_lines;
    l->n_lines = (uint32_t)n_frames;
    for (size_t i = 0; i < n_frames; i++) {
        struct line line = {
            .function = function_index(w, &frames[i]), .line = frames[i].line, .column = frames[i].column};
        *VEC_PUSH(p->lines, p->n_lines, p->cap_lines) = line;
        m->has_functions |= frames[i].function != NULL;
        m->has_filenames |= frames[i].file != NULL;
        m->has_line_numbers |= frames[i].line != 0;
        m->has_inline_frames |= frames[i].inlined;
    }
}

static void symbolize_mapping(struct work *w, uint32_t mapping, const uint32_t *locations, size_t n)
{
    struct symbol_object *object;
    if (!open_object(w, mapping, &object)) return;
    struct mapping *m = &w->profile->mappings[mapping];
    uint64_t *addresses = mem_array(n, sizeof *addresses);
    for (size_t i = 0; i < n; i++) {
        uint64_t address = w->profile->locations[locations[i]].address;
        addresses[i] = symbol_object_address(object, address, m->start, m->limit, m->file_offset);
    }
    struct symbol_result result;
    symbol_lookup(object, addresses, n, &result);
    const char *problem = symbol_object_problem(object);
    if (problem) warn(w, problem);
    size_t n_known = 0;
    for (size_t i = 0; i < n; i++) {
        size_t first = result.first_frame[i], n_frames = result.first_frame[i + 1] - first;
        struct location *l = &w->profile->locations[locations[i]];
        bool had_names = !w->options->force && l->n_lines;
        store(w, m, l, result.frames + first, n_frames);
        n_known += n_frames > 0 || had_names;
    }
    if (n_known == 0 && n > 0) {
        char *text = mem_printf("%s: no names for any of %zu addresses (no symbols, or another build)",
                                symbol_object_path(object), n);
        warn(w, text);
        mem_free(text);
    }
    if (!m->build_id && *symbol_object_build_id(object) && n_known)
        m->build_id = profile_cstr(w->profile, symbol_object_build_id(object));
    symbol_result_free(&result);
    mem_free(addresses);
}

/* Old text formats have locations without a mapping. The mapping is then found by the address. */
static uint32_t mapping_of(const struct profile *p, const struct location *l)
{
    if (l->mapping) return l->mapping;
    for (size_t i = 0; i < p->n_mappings; i++)
        if (l->address >= p->mappings[i].start && l->address < p->mappings[i].limit) return (uint32_t)i + 1;
    return 0;
}

void profile_symbolize(struct profile *p, struct symbolizer *s, const struct symbolize_options *options)
{
    static const struct symbolize_options defaults;
    struct work w = {.profile = p, .symbolizer = s, .options = options ? options : &defaults};
    if (w.options->binary && !p->n_mappings)
        profile_add_mapping(p, 0, UINT64_MAX, 0, profile_cstr(p, w.options->binary), 0);
    for (size_t i = 0; i < p->n_functions; i++) {
        bool is_new;
        uint32_t *slot = idmap_slot(&w.functions, function_key(&p->functions[i]), &is_new);
        if (is_new) *slot = (uint32_t)i;
    }
    /* Count, then fill: locations of mapping m are order[start[m] .. start[m+1]). */
    size_t *start = mem_zalloc((p->n_mappings + 2) * sizeof *start);
    uint32_t *order = mem_array(p->n_locations, sizeof *order);
    uint32_t *of = mem_array(p->n_locations, sizeof *of);
    for (size_t i = 0; i < p->n_locations; i++) {
        of[i] = wants_lines(&w, &p->locations[i]) ? mapping_of(p, &p->locations[i]) : 0;
        if (of[i]) start[of[i] + 1]++;
    }
    for (size_t m = 1; m <= p->n_mappings + 1; m++) start[m] += start[m - 1];
    for (size_t i = 0; i < p->n_locations; i++)
        if (of[i]) order[start[of[i]]++] = (uint32_t)i;
    for (size_t m = 0; m < p->n_mappings; m++) {
        size_t first = start[m], n = start[m + 1] - first; /* filling moved each start to the next one's */
        if (n) symbolize_mapping(&w, (uint32_t)m, order + first, n);
    }
    mem_free(start);
    mem_free(order);
    mem_free(of);
    idmap_free(&w.functions);
    idmap_free(&w.texts);
}
