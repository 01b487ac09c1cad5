/* jeprof_profile.c - see jeprof_profile.h. A file is first read into stacks of plain addresses. They become
 * places once the memory map, which follows in the file, is known. */
#include "cmd/jeprof/jeprof_profile.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compress/unpack.h"
#include "base/mem.h"
#include "base/path.h"
#include "format/contention_text.h"
#include "format/cpu_binary.h"
#include "format/format.h"
#include "format/heap_text.h"
#include "format/legacy.h"
#include "format/symbolized.h"

/* ---- sums ---- */

static size_t find_slot(const struct jeprof_sums *s, const uint32_t *places, size_t n)
{
    size_t at = hash_u64(hash_bytes(places, n * sizeof *places)) & (s->n_slots - 1);
    for (; s->slots[at]; at = (at + 1) & (s->n_slots - 1)) {
        size_t len;
        const uint32_t *stack = jeprof_sums_stack(s, s->slots[at] - 1, &len);
        if (len == n && (!n || !memcmp(stack, places, n * sizeof *places))) break;
    }
    return at;
}

static void grow_slots(struct jeprof_sums *s)
{
    mem_free(s->slots);
    s->n_slots = s->n_slots ? s->n_slots * 2 : 1024;
    s->slots = mem_zalloc(s->n_slots * sizeof *s->slots);
    for (size_t i = 0; i < s->n_stacks; i++) {
        size_t n;
        const uint32_t *places = jeprof_sums_stack(s, i, &n);
        s->slots[find_slot(s, places, n)] = (uint32_t)i + 1;
    }
}

void jeprof_sums_add(struct jeprof_sums *s, const uint32_t *places, size_t n, double count)
{
    if ((s->n_stacks + 1) * 2 > s->n_slots) grow_slots(s);
    size_t at = find_slot(s, places, n);
    if (s->slots[at]) {
        s->counts[s->slots[at] - 1] += count;
        return;
    }
    size_t n_starts = s->n_stacks, n_counts = s->n_stacks;
    *VEC_PUSH(s->starts, n_starts, s->cap_starts) = s->n_places;
    *VEC_PUSH(s->counts, n_counts, s->cap_counts) = count;
    s->slots[at] = (uint32_t)++s->n_stacks;
    for (size_t i = 0; i < n; i++) *VEC_PUSH(s->places, s->n_places, s->cap_places) = places[i];
}

static void sums_free(struct jeprof_sums *s)
{
    mem_free(s->places);
    mem_free(s->starts);
    mem_free(s->counts);
    mem_free(s->slots);
}

static struct jeprof_sums *thread_sums(struct jeprof_profile *p, int64_t number)
{
    bool is_new;
    uint32_t *at = idmap_slot(&p->by_thread, (uint64_t)number, &is_new);
    if (is_new) {
        *at = (uint32_t)p->n_threads;
        *VEC_PUSH(p->threads, p->n_threads, p->cap_threads) = (struct jeprof_thread){.number = number};
    }
    return &p->threads[*at].sums;
}

/* ---- places ---- */

static uint32_t place_of(struct jeprof_profile *p, const struct jeprof_place *like)
{
    if (like->object >= p->n_by_object) {
        size_t n = like->object + 16u;
        p->by_object = mem_realloc(p->by_object, n * sizeof *p->by_object);
        memset(p->by_object + p->n_by_object, 0, (n - p->n_by_object) * sizeof *p->by_object);
        p->n_by_object = n;
    }
    uint64_t key = like->object ? like->address - like->map_start + like->map_offset : like->address;
    bool is_new;
    uint32_t *at = idmap_slot(&p->by_object[like->object], key, &is_new);
    if (is_new) {
        *at = (uint32_t)p->n_places + 1;
        *VEC_PUSH(p->places, p->n_places, p->cap_places) = *like;
    }
    return *at - 1;
}

void jeprof_place_begin_frames(struct jeprof_profile *p, uint32_t place)
{
    p->places[place].first_frame = (uint32_t)p->n_frames;
    p->places[place].n_frames = 0;
}

void jeprof_place_add_frame(struct jeprof_profile *p, uint32_t place, const char *full, const char *file,
                            uint32_t line, uint64_t start)
{
    struct jeprof_frame f = {.line = line, .start = start};
    f.full = strtab_add_cstr(&p->text, full);
    char *shorter = jeprof_short_name(full, strlen(full));
    f.short_id = strtab_add_cstr(&p->text, shorter);
    mem_free(shorter);
    if (file) f.file = strtab_add_cstr(&p->text, file);
    *VEC_PUSH(p->frames, p->n_frames, p->cap_frames) = f;
    p->places[place].n_frames++;
}

/* Returns where the last name of "outer--inner" begins. "operator--" counts as one name. */
static size_t last_name(struct piece names)
{
    size_t at = names.n;
    while (at > 0) {
        bool cut = at >= 2 && names.s[at - 1] == '-' && names.s[at - 2] == '-';
        if (cut && !(at >= 10 && !memcmp(names.s + at - 10, "operator", 8))) break;
        at--;
    }
    return at;
}

/* The text lists the outermost caller first; a place lists the innermost frame first. */
static void name_place(struct jeprof_profile *p, uint32_t place, struct piece names)
{
    jeprof_place_begin_frames(p, place);
    while (names.n) {
        size_t at = last_name(names);
        char *full = mem_strndup(names.s + at, names.n - at);
        if (*full) jeprof_place_add_frame(p, place, full, NULL, 0, 0);
        mem_free(full);
        names.n = at >= 2 ? at - 2 : 0;
    }
}

void jeprof_profile_add_names(struct jeprof_profile *p, const char *lines, size_t n_bytes)
{
    struct piece rest = {lines, n_bytes}, names;
    struct idmap by_address = {0};
    uint64_t address;
    for (size_t i = 0; i < p->n_places; i++)
        *idmap_slot(&by_address, p->places[i].address, NULL) = (uint32_t)i;
    while (symbolized_next(&rest, &address, &names)) {
        uint32_t place;
        if (idmap_find(&by_address, address, &place) && !p->places[place].n_frames)
            name_place(p, place, names);
    }
    idmap_free(&by_address);
}

/* ---- readers ---- */

struct reading {
    struct jeprof_profile raw; /* its places are plain addresses */
    const struct jeprof_options *options;
    struct buf *notes;
    uint32_t *stack;
    size_t n_stack, cap_stack;
    bool has_noted_rate;
};

static void push(struct reading *r, uint64_t address)
{
    struct jeprof_place place = {.address = address};
    *VEC_PUSH(r->stack, r->n_stack, r->cap_stack) = place_of(&r->raw, &place);
}

/* Returns the factor that undoes the sampling for a count and the bytes of one record. */
static double sampling_scale(const struct heap_header *h, double count, double bytes)
{
    if (!h->version || count == 0 || bytes == 0) return 1;
    double rate = h->rate > 0 ? (double)h->rate : 131072;
    if (h->version == 1) { /* the older, linear rule */
        double ratio = bytes / count / (h->rate > 0 ? rate / 2 : rate);
        return ratio < 1 ? 1 / ratio : 1;
    }
    return 1 / -expm1(-(bytes / count) / rate);
}

static double chosen_heap_value(const struct heap_header *h, const struct heap_counts *c,
                                const struct jeprof_options *o)
{
    bool alloc = o->alloc_space || o->alloc_objects, objects = o->inuse_objects || o->alloc_objects;
    double count = (double)(alloc ? c->alloc_count : c->inuse_count),
           bytes = (double)(alloc ? c->alloc_bytes : c->inuse_bytes);
    return (objects ? count : bytes) * sampling_scale(h, count, bytes);
}

static void note_rate(struct reading *r, const struct heap_header *h)
{
    if (r->has_noted_rate) return;
    r->has_noted_rate = true;
    if (h->kind == HEAP_JEMALLOC || !h->version) return;
    if (h->rate > 0)
        buf_printf(r->notes, "Adjusting heap profiles for 1-in-%lld sampling rate\n",
                   (long long)(h->version == 1 ? h->rate / 2 : h->rate));
    else
        buf_str(r->notes, "Adjusting heap profiles for 1-in-128KB sampling rate\n");
    buf_printf(r->notes, "Heap version %u\n", h->version);
}

static int heap_record(void *context, const struct heap_header *h, const struct heap_record *record)
{
    struct reading *r = context;
    note_rate(r, h);
    if (record->thread != HEAP_ALL_THREADS && !*r->options->thread) return 0;
    if (!record->same_stack || !r->n_stack) {
        r->n_stack = 0;
        for (size_t i = 0; i < record->n_addresses; i++) push(r, record->addresses[i] - (i ? 1 : 0));
    }
    struct jeprof_sums *sums =
        record->thread == HEAP_ALL_THREADS ? &r->raw.all : thread_sums(&r->raw, record->thread);
    jeprof_sums_add(sums, r->stack, r->n_stack, chosen_heap_value(h, &record->counts, r->options));
    return 0;
}

/* jeprof subtracts one from every address of a CPU profile, including the sampled one. */
static int cpu_record(void *context, uint64_t count, const uint64_t *addresses, size_t n)
{
    struct reading *r = context;
    r->n_stack = 0;
    for (size_t i = 0; i < n; i++) push(r, addresses[i] - 1);
    jeprof_sums_add(&r->raw.all, r->stack, r->n_stack, (double)count);
    return 0;
}

static int contention_record(void *context, const struct contention_header *h, int64_t cycles, int64_t count,
                             const uint64_t *addresses, size_t n)
{
    struct reading *r = context;
    const double default_hz = 2.8e9;
    double hz = h->cycles_per_second > 0 ? (double)h->cycles_per_second : default_hz;
    double period = (double)h->sampling_period, n_waits = (double)(count < 0 ? 1 : count) * period;
    double ns = (double)cycles * period / hz * 1e9;
    r->n_stack = 0;
    for (size_t i = 0; i < n; i++) push(r, addresses[i] - (i ? 1 : 0));
    double value = r->options->contentions                  ? n_waits
                   : r->options->mean_delay && n_waits != 0 ? ns / n_waits
                                                            : ns;
    jeprof_sums_add(&r->raw.all, r->stack, r->n_stack, value);
    return 0;
}

static void set_heap_unit(struct reading *r)
{
    const struct jeprof_options *o = r->options;
    r->raw.unit = o->inuse_objects || o->alloc_objects ? JEPROF_OBJECTS
                  : o->show_bytes                      ? JEPROF_BYTES
                                                       : JEPROF_MEGABYTES;
}

/* Reads one of the three formats that jeprof knows. Returns FORMAT_NOT_MINE for any other. */
static int read_old(struct reading *r, struct piece body, struct piece *ret_maps, struct err *err)
{
    struct cpu_handler cpu = {.record = cpu_record, .context = r};
    struct cpu_header cpu_header;
    int rc = cpu_binary_read(body.s, body.n, &cpu, &cpu_header, ret_maps, err);
    if (rc != FORMAT_NOT_MINE) {
        r->raw.kind = JEPROF_KIND_CPU;
        r->raw.unit = JEPROF_SAMPLES;
        return !rc && cpu_header.java ? FORMAT_NOT_MINE : rc;
    }
    struct heap_handler heap = {.record = heap_record, .context = r};
    struct heap_header heap_header;
    struct piece text = legacy_skip_commands(body);
    rc = heap_text_read(text, &heap, &heap_header, ret_maps, err);
    if (rc != FORMAT_NOT_MINE) {
        r->raw.kind = !rc && heap_header.kind == HEAP_GROWTH ? JEPROF_KIND_GROWTH : JEPROF_KIND_HEAP;
        set_heap_unit(r);
        return rc;
    }
    struct contention_handler contention = {.record = contention_record, .context = r};
    struct contention_header contention_header;
    rc = contention_text_read(text, &contention, &contention_header, ret_maps, err);
    if (rc != FORMAT_NOT_MINE) {
        r->raw.kind = JEPROF_KIND_CONTENTION;
        r->raw.unit = r->options->contentions ? JEPROF_SAMPLES : JEPROF_SECONDS;
    }
    return rc;
}

static size_t chosen_sample_type(const struct profile *p, const struct jeprof_options *o)
{
    const char *names[] = {o->inuse_objects   ? "inuse_objects"
                           : o->alloc_space   ? "alloc_space"
                           : o->alloc_objects ? "alloc_objects"
                           : o->inuse_space   ? "inuse_space"
                           : o->contentions   ? "contentions"
                           : o->total_delay   ? "delay"
                                              : "inuse_space",
                           "delay", "samples"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int index = profile_sample_index(p, names[i]);
        if (index >= 0) return (size_t)index;
    }
    return profile_default_sample_index(p);
}

/* Adds a profile of any other format. Its locations become places, and a named location is identified by its
 * names and lines. */
static void add_profile(struct jeprof_profile *p, const struct profile *from, const struct jeprof_options *o,
                        double sign)
{
    size_t index = chosen_sample_type(from, o);
    const char *type = profile_text(from, from->sample_types[index].type);
    p->unit = jeprof_unit_of(from, index);
    if (p->unit == JEPROF_MEGABYTES && o->show_bytes) p->unit = JEPROF_BYTES;
    p->kind = p->unit == JEPROF_MEGABYTES || p->unit == JEPROF_BYTES || p->unit == JEPROF_OBJECTS
                  ? JEPROF_KIND_HEAP
              : !strcmp(type, "delay") || !strcmp(type, "contentions") ? JEPROF_KIND_CONTENTION
                                                                       : JEPROF_KIND_CPU;
    uint32_t *place = mem_array(from->n_locations + 1, sizeof *place);
    struct buf key = {0};
    for (size_t i = 0; i < from->n_locations; i++) {
        const struct location *l = &from->locations[i];
        const struct mapping *m = l->mapping ? &from->mappings[l->mapping - 1] : NULL;
        struct jeprof_place like = {.address = l->address};
        if (m) {
            like.map_start = m->start, like.map_limit = m->limit, like.map_offset = m->file_offset;
            like.object = strtab_add_cstr(&p->text, profile_text(from, m->filename));
        }
        if (l->n_lines) { /* identify the place by names and lines */
            key.len = 0;
            buf_printf(&key, "\1%llx", (unsigned long long)l->address);
            for (uint32_t k = 0; k < l->n_lines; k++) {
                const struct line *line = &from->lines[l->first_line + k];
                buf_printf(&key, "\1%s\1%lld", profile_text(from, from->functions[line->function].name),
                           (long long)line->line);
            }
            like.object = strtab_add(&p->text, key.data, key.len);
            like.map_start = like.address, like.map_offset = 0;
        }
        place[i] = place_of(p, &like);
        if (!l->n_lines || p->places[place[i]].n_frames) continue;
        jeprof_place_begin_frames(p, place[i]);
        for (uint32_t k = 0; k < l->n_lines; k++) {
            const struct line *line = &from->lines[l->first_line + k];
            const struct function *f = &from->functions[line->function];
            jeprof_place_add_frame(p, place[i], profile_text(from, f->name),
                                   f->filename ? profile_text(from, f->filename) : NULL,
                                   line->line > 0 && line->line < INT_MAX ? (uint32_t)line->line : 0, 0);
        }
    }
    uint32_t *stack = NULL;
    size_t cap = 0;
    for (size_t s = 0; s < from->n_samples; s++) {
        size_t n = profile_sample_depth(from, s);
        const uint32_t *frames = profile_sample_frames(from, s);
        if (n > cap) stack = mem_grow(stack, &cap, n, sizeof *stack);
        for (size_t f = 0; f < n; f++) stack[f] = place[frames[f]];
        jeprof_sums_add(&p->all, stack, n, sign * (double)profile_sample_values(from, s)[index]);
    }
    mem_free(stack);
    buf_free(&key);
    mem_free(place);
}

/* ---- from addresses to places ---- */

/* Returns the entry of the map that is the program: the same file, else the same name, else the first file
 * that is not a library. */
static const struct maps_entry *find_main(const struct maps *maps, const char *program)
{
    char *real = realpath(program, NULL);
    const struct maps_entry *same_name = NULL, *first = NULL;
    for (size_t i = 0; i < maps->n_entries; i++) {
        const struct maps_entry *e = &maps->entries[i];
        if (real && !strcmp(e->file, real)) {
            free(real);
            return e;
        }
        if (!same_name && !strcmp(path_base_name(e->file), path_base_name(program))) same_name = e;
        if (!first && e->file[0] == '/' && !strstr(path_base_name(e->file), ".so")) first = e;
    }
    free(real);
    return same_name ? same_name : first;
}

static const struct maps_entry *find_entry(const struct maps *maps, uint64_t address)
{
    for (size_t i = 0; i < maps->n_entries; i++)
        if (address >= maps->entries[i].start && address < maps->entries[i].limit) return &maps->entries[i];
    return NULL;
}

static void absorb_sums(struct jeprof_sums *into, const struct jeprof_sums *from, const uint32_t *place,
                        double sign)
{
    uint32_t *stack = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < from->n_stacks; i++) {
        size_t n;
        const uint32_t *places = jeprof_sums_stack(from, i, &n);
        if (n > cap) stack = mem_grow(stack, &cap, n, sizeof *stack);
        for (size_t k = 0; k < n; k++) stack[k] = place[places[k]];
        jeprof_sums_add(into, stack, n, sign * from->counts[i]);
    }
    mem_free(stack);
}

static void absorb(struct jeprof_profile *p, const struct jeprof_profile *raw, struct piece maps_text,
                   const char *program, bool bare, double sign)
{
    struct maps maps = {0};
    if (!bare) maps_parse(&maps, maps_text);
    const struct maps_entry *program_entry = program && !bare ? find_main(&maps, program) : NULL;
    uint32_t *place = mem_array(raw->n_places + 1, sizeof *place);
    for (size_t i = 0; i < raw->n_places; i++) {
        struct jeprof_place like = {.address = raw->places[i].address};
        const struct maps_entry *e = find_entry(&maps, like.address);
        if (e) {
            bool is_program = program_entry && !strcmp(e->file, program_entry->file);
            like.object = strtab_add_cstr(&p->text, is_program ? program : e->file);
            like.map_start = e->start, like.map_limit = e->limit, like.map_offset = e->offset;
        } else if (program && !bare && !program_entry) {
            like.object = strtab_add_cstr(
                &p->text, program); /* without a map, assume that the program was not relocated */
            like.map_limit = UINT64_MAX;
        }
        place[i] = place_of(p, &like);
    }
    absorb_sums(&p->all, &raw->all, place, sign);
    for (size_t t = 0; t < raw->n_threads; t++)
        absorb_sums(thread_sums(p, raw->threads[t].number), &raw->threads[t].sums, place, sign);
    p->kind = raw->kind;
    p->unit = raw->unit;
    mem_free(place);
    maps_free(&maps);
}

static int add_plain(struct jeprof_profile *p, const struct bytes *bytes, const char *name,
                     const char *program, const struct jeprof_options *options, double sign,
                     struct buf *notes, struct err *err)
{
    struct reading r = {.options = options, .notes = notes};
    struct symbolized symbolized;
    struct piece all = {(const char *)bytes->data, bytes->len}, maps = {"", 0};
    bool has_names = symbolized_split(all, &symbolized);
    int rc = bytes->len ? read_old(&r, has_names ? symbolized.body : all, &maps, err) : FORMAT_NOT_MINE;
    if (rc == FORMAT_NOT_MINE) {
        struct profile *other;
        rc = format_read(bytes->data, bytes->len, name, &(struct format_options){0}, &other, err);
        if (!rc) {
            add_profile(p, other, options, sign);
            profile_free(other);
        }
    } else if (rc) {
        err_prefix(err, "%s", name);
    } else {
        absorb(p, &r.raw, maps, program, has_names && !program, sign);
        if (has_names) jeprof_profile_add_names(p, symbolized.names.s, symbolized.names.n);
    }
    if (!rc && has_names) {
        p->has_names = true;
        if (symbolized.binary.n && !p->binary)
            p->binary = mem_strndup(symbolized.binary.s, symbolized.binary.n);
    }
    jeprof_profile_free(&r.raw);
    mem_free(r.stack);
    return rc;
}

int jeprof_profile_add(struct jeprof_profile *p, const struct bytes *bytes, const char *name,
                       const char *program, const struct jeprof_options *options, double sign,
                       struct buf *notes, struct err *err)
{
    struct jeprof_profile before = *p;
    struct bytes unpacked = {0};
    int rc = 0;
    if (unpack_is_packed(bytes->data, bytes->len)) {
        rc = unpack(bytes->data, bytes->len, FORMAT_MAX_BYTES, &unpacked, err);
        if (rc) return err_prefix(err, "%s", name);
        bytes = &unpacked;
    }
    rc = add_plain(p, bytes, name, program, options, sign, notes, err);
    if (!rc && before.loaded && (before.kind != p->kind || before.unit != p->unit))
        rc = err_set(err, ERR_INPUT,
                     "%s: its type differs from that of the profile before it; give profiles of one type",
                     name);
    p->loaded |= !rc;
    bytes_free(&unpacked);
    return rc;
}

void jeprof_profile_drop_negative(struct jeprof_profile *p)
{
    for (size_t i = 0; i < p->all.n_stacks; i++)
        if (p->all.counts[i] < 0) p->all.counts[i] = 0;
    for (size_t t = 0; t < p->n_threads; t++)
        for (size_t i = 0; i < p->threads[t].sums.n_stacks; i++)
            if (p->threads[t].sums.counts[i] < 0) p->threads[t].sums.counts[i] = 0;
}

void jeprof_profile_free(struct jeprof_profile *p)
{
    strtab_free(&p->text);
    mem_free(p->places);
    for (size_t i = 0; i < p->n_by_object; i++) idmap_free(&p->by_object[i]);
    mem_free(p->by_object);
    mem_free(p->frames);
    sums_free(&p->all);
    for (size_t i = 0; i < p->n_threads; i++) sums_free(&p->threads[i].sums);
    mem_free(p->threads);
    idmap_free(&p->by_thread);
    mem_free(p->binary);
}
