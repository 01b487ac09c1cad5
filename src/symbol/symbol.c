/* symbol.c - the symboliser: opens objects, and looks addresses up in the cached image, the debug information
 * and the symbol table, in this order. */
#include "symbol/symbol.h"

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/lock_rank.h"
#include "base/mem.h"
#include "base/path.h"
#include "symbol/cache.h"
#include "symbol/dwarf/dwarf.h"
#include "symbol/dwarf/scope.h"
#include "symbol/dwarf/scope_names.h"
#include "symbol/elf/debugfile.h"
#include "symbol/elf/debuginfod.h"
#include "symbol/elf/symtab.h"
#include "symbol/elf/unwind_table.h"
#include "symbol/image.h"
#include "symbol/process_files.h"

enum { MAX_SINGLE_SYMBOLS = 8 };

enum object_kind { OBJECT_ELF, OBJECT_KERNEL, OBJECT_PERF_MAP };

struct symbol_object {
    struct symbolizer *owner;
    struct symbol_object *next;
    enum object_kind kind;
    char *asked_path, *asked_build_id; /* arguments of symbolizer_open; "" for NULL */
    char *path, *root;
    struct elf *elf;
    char *text; /* of kallsyms or a perf map */

    pthread_mutex_t lock; /* guards the fields below, which are filled on first use */
    bool debug_sought, dwarf_sought, symtab_read;
    struct dwarf *dwarf; /* NULL: none */
    struct err dwarf_error;
    char *problem;                 /* the text that symbol_object_problem returned; NULL: none */
    struct elf *debug;             /* the file with the debug information; may be elf itself */
    struct elf *mini, *other;      /* opened for their symbols only */
    const struct elf *with_symtab; /* elf, debug, mini or other; NULL before the search */
    struct symtab symtab;
    struct symtab single_symbols[MAX_SINGLE_SYMBOLS]; /* single entries, before the whole table is read */
    unsigned n_single_symbols;
    const struct scope **symtab_scopes; /* one per entry of symtab; each is NULL until its first use */
    struct arena scopes;
    bool image_sought, cache_considered;
    struct image *image;   /* NULL: none */
    struct image *damaged; /* an image found to be damaged; kept because results refer to its texts */
    unsigned n_lookups;
    pthread_mutex_t symtab_lock; /* guards the symbol table while a lookup's workers run under lock */
};

struct symbolizer {
    struct symbol_options options;
    struct symbol_cache cache;
    const char **search;
    struct names *names;
    pthread_mutex_t lock;
    struct symbol_object *objects;
};

struct symbolizer *symbolizer_new(const struct symbol_options *options)
{
    struct symbolizer *s = mem_zalloc(sizeof *s);
    if (options) s->options = *options;
    symbol_cache_init(&s->cache, s->options.cache_dir);
    s->options.cache_dir = NULL;
    size_t n = 0;
    while (s->options.search && s->options.search[n]) n++;
    s->search = mem_zalloc((n + 1) * sizeof *s->search);
    for (size_t i = 0; i < n; i++) s->search[i] = mem_strdup(s->options.search[i]);
    s->options.search = s->search;
    if (!s->options.n_threads) {
        long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
        s->options.n_threads = n_cores > 0 ? (unsigned)n_cores : 1;
    }
    if (s->options.n_threads > 256) s->options.n_threads = 256;
    s->names = names_new();
    lock_rank_init(&s->lock, LOCK_SYMBOLIZER, NULL);
    return s;
}

static void object_free(struct symbol_object *o)
{
    symtab_free(&o->symtab);
    for (unsigned i = 0; i < o->n_single_symbols; i++) symtab_free(&o->single_symbols[i]);
    mem_free(o->symtab_scopes);
    dwarf_close(o->dwarf);
    image_free(o->image);
    image_free(o->damaged);
    if (o->debug != o->elf) elf_close(o->debug);
    elf_close(o->mini);
    elf_close(o->other);
    elf_close(o->elf);
    arena_free(&o->scopes);
    pthread_mutex_destroy(&o->lock);
    pthread_mutex_destroy(&o->symtab_lock);
    mem_free(o->asked_path);
    mem_free(o->asked_build_id);
    mem_free(o->path);
    mem_free(o->root);
    mem_free(o->text);
    mem_free(o->problem);
    mem_free(o);
}

void symbolizer_free(struct symbolizer *s)
{
    if (!s) return;
    while (s->objects) {
        struct symbol_object *o = s->objects;
        s->objects = o->next;
        object_free(o);
    }
    names_free(s->names);
    for (const char **p = s->search; *p; p++) mem_free((char *)*p);
    mem_free(s->search);
    symbol_cache_free(&s->cache);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

/* ---- opening ---- */

static struct debugfile_places places_of(const struct symbol_object *o)
{
    const struct symbol_options *options = &o->owner->options;
    return (struct debugfile_places){
        .search = options->search, .root = o->root, .debuginfod = !options->no_debuginfod};
}

/* Returns "/proc/12/root" for "/proc/12/root/usr/bin/x", and "" for other paths. The debug files of an object
 * in a container are in the same container. */
static char *root_of(const char *path)
{
    int n = 0;
    if (sscanf(path, "/proc/%*[0-9]/root%n", &n) == 0 && n > 0 && path[n] == '/')
        return mem_strndup(path, (size_t)n);
    return mem_strdup("");
}

/* Opens path and frees it. Returns NULL and sets *err if the file cannot be opened or has another build id.
 * If build_id is "" or NULL, any build is accepted. */
static struct elf *try_file(char *path, const char *build_id, struct err *err)
{
    struct elf *elf = NULL;
    if (elf_open(path, &elf, err) < 0) elf = NULL;
    if (elf && build_id && *build_id && strcmp(build_id, elf->build_id)) {
        err_set(err, ERR_NOT_FOUND, "%s: build id is %s, not %s: another build of the program", path,
                elf->build_id[0] ? elf->build_id : "missing", build_id);
        elf_close(elf);
        elf = NULL;
    }
    mem_free(path);
    return elf;
}

/* Opens the file that the process really runs. This is the mapped file if it was deleted or replaced, and
 * otherwise the file at path in the root folder of the process. */
static void open_of_process(struct symbol_object *o, const char *path, const char *clean,
                            const char *build_id)
{
    int pid = o->owner->options.pid;
    char *held = process_deleted_file(pid, path);
    if (held) o->elf = try_file(held, build_id, NULL);
    if (o->elf) return;
    o->elf = try_file(mem_printf("/proc/%d/root%s", pid, clean), build_id, NULL);
    if (!o->elf) return;
    mem_free(o->root);
    o->root = mem_printf("/proc/%d/root", pid);
}

static int open_elf(struct symbol_object *o, const char *path, const char *build_id, struct err *err)
{
    struct debugfile_places places = places_of(o);
    struct err first = {0};
    const char *deleted = path ? strstr(path, " (deleted)") : NULL;
    char *clean =
        path ? mem_strndup(path, deleted && !deleted[10] ? (size_t)(deleted - path) : strlen(path)) : NULL;
    int pid = o->owner->options.pid;
    if (pid > 0 && clean && clean[0] == '/') open_of_process(o, path, clean, build_id);
    if (!o->elf && clean && *clean) o->elf = try_file(mem_strdup(clean), build_id, &first);
    for (const char *const *p = places.search; p && *p && !o->elf && clean; p++) {
        if (build_id && *build_id)
            o->elf = try_file(mem_printf("%s/%s/%s", *p, build_id, path_base_name(clean)), build_id, NULL);
        if (!o->elf) o->elf = try_file(mem_printf("%s/%s", *p, path_base_name(clean)), build_id, NULL);
        if (!o->elf) o->elf = try_file(mem_printf("%s/%s", *p, clean), build_id, NULL);
    }
    if (!o->elf && build_id && *build_id) {
        o->elf = debugfile_by_build_id(&places, build_id, false);
        if (!o->elf && places.debuginfod) {
            char *fetched = debuginfod_fetch(build_id, "debuginfo");
            if (!fetched) fetched = debuginfod_fetch(build_id, "executable");
            if (fetched) o->elf = try_file(fetched, build_id, NULL);
        }
    }
    if (!o->elf) {
        if (first.code)
            *err = first;
        else
            err_set(err, ERR_NOT_FOUND, "no file with build id %s; give a folder that has it",
                    build_id && *build_id ? build_id : "(none)");
        mem_free(clean);
        return err->code;
    }
    mem_free(clean);
    return 0;
}

static int read_text(struct symbol_object *o, const char *path, struct err *err)
{
    struct bytes bytes = {0};
    int rc = file_read(path, (size_t)1 << 30, &bytes, err);
    if (rc < 0) return rc;
    o->text = mem_strndup((const char *)bytes.data, bytes.len);
    size_t n = bytes.len;
    bytes_free(&bytes);
    if (o->kind == OBJECT_KERNEL)
        symtab_read_kallsyms(o->text, n, &o->symtab);
    else
        symtab_read_perf_map(o->text, n, &o->symtab);
    o->symtab_read = true;
    if (o->symtab.n_entries) return 0;
    return err_set(err, ERR_NOT_FOUND, "%s: no addresses in it%s", path,
                   o->kind == OBJECT_KERNEL ? " (kernel.kptr_restrict hides them from this user)" : "");
}

/* Opens a copy of the vdso in our own memory. The vdso is a complete ELF file, and it is the same in all
 * processes of this host. */
static int open_vdso(struct symbol_object *o, struct err *err)
{
    const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    if (!image) return err_set(err, ERR_NOT_FOUND, "[vdso]: this system has none");
    Elf64_Ehdr header;
    memcpy(&header, image, sizeof header);
    size_t n = (size_t)header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
    if (n < sizeof header || n > 1 << 20) n = 4096;
    struct bytes copy = {.data = mem_alloc(n), .len = n};
    memcpy(copy.data, image, n);
    return elf_open_bytes(&copy, "[vdso]", &o->elf, err);
}

static bool is_kernel_name(const char *path)
{
    return !strncmp(path, "[kernel", 7) || !strcmp(path, "/proc/kallsyms") ||
           !strncmp(path, "[guest.kernel", 13);
}

static int object_open(struct symbol_object *o, const char *path, const char *build_id, struct err *err)
{
    int rc;
    int n = 0;
    if (path && is_kernel_name(path)) {
        o->kind = OBJECT_KERNEL;
        rc = read_text(o, "/proc/kallsyms", err);
    } else if (path && sscanf(path_base_name(path), "perf-%*[0-9].map%n", &n) == 0 && n > 0 &&
               !path_base_name(path)[n]) {
        o->kind = OBJECT_PERF_MAP;
        rc = read_text(o, path, err);
    } else if (path && (!strcmp(path, "[vdso]") || !strcmp(path, "linux-vdso.so.1"))) {
        rc = open_vdso(o, err);
    } else {
        rc = open_elf(o, path, build_id, err);
    }
    if (rc == 0) o->path = mem_strdup(o->elf ? o->elf->path : path);
    return rc;
}

int symbolizer_open(struct symbolizer *s, const char *path, const char *build_id_hex,
                    struct symbol_object **ret_object, struct err *err)
{
    struct err local;
    if (!err) err = &local;
    *err = (struct err){0};
    const char *id = build_id_hex ? build_id_hex : "", *name = path ? path : "";
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    struct symbol_object *o = s->objects;
    while (o && (strcmp(o->asked_path, name) || strcmp(o->asked_build_id, id))) o = o->next;
    if (!o) {
        o = mem_zalloc(sizeof *o);
        o->owner = s;
        lock_rank_init(&o->lock, LOCK_OBJECT, NULL);
        lock_rank_init(&o->symtab_lock, LOCK_SYMTAB, NULL);
        o->asked_path = mem_strdup(name);
        o->asked_build_id = mem_strdup(id);
        o->root = root_of(name);
        rc = object_open(o, path, build_id_hex, err);
        if (rc == 0) {
            o->next = s->objects;
            s->objects = o;
        } else {
            object_free(o);
        }
    }
    pthread_mutex_unlock(&s->lock);
    if (rc == 0) *ret_object = o;
    return rc;
}

int symbolizer_open_jit(struct symbolizer *s, struct symbol_object **ret_object, struct err *err)
{
    char *path = s->options.pid > 0 ? process_perf_map(s->options.pid) : NULL;
    if (!path) return err_set(err, ERR_NOT_FOUND, "no perf-PID.map of the process");
    int rc = symbolizer_open(s, path, NULL, ret_object, err);
    mem_free(path);
    return rc;
}

const char *symbol_object_path(const struct symbol_object *o)
{
    return o->path;
}

const char *symbol_object_build_id(const struct symbol_object *o)
{
    return o->elf ? o->elf->build_id : "";
}

uint64_t symbol_object_address(const struct symbol_object *o, uint64_t address, uint64_t start,
                               uint64_t limit, uint64_t file_offset)
{
    if (!o->elf || (limit && (address < start || address >= limit))) return address;
    if (o->elf->type == ET_EXEC) return address;
    /* The segment that contains the file offset has its address. An address of a prelinked file may start
     * anywhere. */
    uint64_t offset = address - start + file_offset;
    for (size_t i = 0; i < o->elf->n_segments; i++) {
        const struct elf_segment *s = &o->elf->segments[i];
        if (s->type == PT_LOAD && offset >= s->offset && offset - s->offset < s->memory_bytes)
            return offset - s->offset + s->address;
    }
    /* No segment contains the offset. This happens with debug files, whose segments have no bytes and the
     * offsets of another file. The offset itself is the best guess then. */
    return offset;
}

bool symbol_function_start(struct symbol_object *o, uint64_t address, uint64_t *ret_start)
{
    if (!o->elf) return false;
    pthread_mutex_lock(&o->lock); /* elf_data allows only one thread per section */
    bool found = unwind_table_start(o->elf, address, ret_start);
    pthread_mutex_unlock(&o->lock);
    return found;
}

/* ---- looking up ---- */

static void find_debug(struct symbol_object *o)
{
    if (o->debug_sought) return;
    o->debug_sought = true;
    o->debug = o->elf;
    if (!o->elf || o->owner->options.symbol_table_only) return;
    if (debugfile_has_dwarf(o->elf)) return;
    struct debugfile_places places = places_of(o);
    struct elf *found = debugfile_find(o->elf, &places);
    if (found) o->debug = found;
}

static bool has_symtab(const struct elf *elf)
{
    return elf && elf_find(elf, ".symtab");
}

/* Returns the object that has the symbol table: the object itself, its debug file, or the MiniDebugInfo
 * inside it. Returns the object itself if none of them has one. */
static const struct elf *symtab_place(struct symbol_object *o)
{
    if (o->with_symtab) return o->with_symtab;
    if (has_symtab(o->elf)) return o->with_symtab = o->elf;
    if (has_symtab(o->debug)) return o->with_symtab = o->debug;
    struct debugfile_places places = places_of(o);
    places.debuginfod = false;
    o->other = debugfile_find(o->elf, &places);
    if (has_symtab(o->other)) return o->with_symtab = o->other;
    o->mini = debugfile_open_mini(o->elf);
    return o->with_symtab = o->mini ? o->mini : o->elf;
}

static void read_symtab(struct symbol_object *o)
{
    if (o->symtab_read) return;
    o->symtab_read = true;
    if (!o->elf) return;
    const struct elf *place = symtab_place(o);
    if (place == o->mini)
        symtab_read_mini(o->mini, o->elf, &o->symtab);
    else
        symtab_read(place, &o->symtab);
}

/* Returns the entry of the function that starts at start, or an entry of zeros. The first few calls scan the
 * unsorted table for one address, which takes less time than sorting all of it.
 *
 * The workers of dwarf_lookup and image_build call this at the same time, while their caller holds o->lock.
 * They share the symbol table, which the first worker that needs it reads. symtab_lock lets only one of them
 * read it. Once read, the table does not change, so that the search in it needs no lock. */
static struct symtab_entry entry_starting_at(struct symbol_object *o, uint64_t start)
{
    struct symtab_entry entry = {0};
    pthread_mutex_lock(&o->symtab_lock);
    if (!o->symtab_read && o->n_single_symbols < MAX_SINGLE_SYMBOLS && symtab_place(o) != o->mini) {
        struct symtab *one = &o->single_symbols[o->n_single_symbols++];
        symtab_read_at(symtab_place(o), start, one);
        if (one->n_entries) entry = one->entries[0];
        pthread_mutex_unlock(&o->symtab_lock);
        return entry;
    }
    read_symtab(o);
    pthread_mutex_unlock(&o->symtab_lock);
    const struct symtab_entry *e = symtab_find(&o->symtab, start);
    if (e && e->start == start) entry = *e;
    return entry;
}

/* Implements dwarf_symbol_at, so that a function has the same name with and without debug information. If the
 * table has several names for the function, the table's choice replaces the linkage name. If the table has
 * only one name, the linkage name stays. */
static const char *symbol_starting_at(void *context, uint64_t start, const char *linkage_name)
{
    struct symtab_entry e = entry_starting_at(context, start);
    return !linkage_name || (e.has_others && !symtab_same_function(linkage_name, e.name)) ? e.name : NULL;
}

static void find_dwarf(struct symbol_object *o)
{
    find_debug(o);
    if (o->dwarf_sought) return;
    o->dwarf_sought = true;
    const struct symbol_options *options = &o->owner->options;
    if (!o->debug || options->symbol_table_only || !debugfile_has_dwarf(o->debug)) return;
    struct debugfile_places places = places_of(o);
    if (dwarf_open(o->debug, &places, options->n_threads, options->no_demangle ? NULL : o->owner->names,
                   &o->dwarf, &o->dwarf_error) < 0)
        o->dwarf = NULL;
    else
        dwarf_use_symbols(o->dwarf, symbol_starting_at, o);
}

static const struct scope *symtab_scope(struct symbol_object *o, const struct symtab_entry *e)
{
    if (!o->symtab_scopes)
        o->symtab_scopes = mem_zalloc((o->symtab.n_entries + 1) * sizeof *o->symtab_scopes);
    const struct scope **known = &o->symtab_scopes[e - o->symtab.entries];
    if (!*known) {
        struct scope *scope = arena_zalloc(&o->scopes, sizeof *scope);
        scope->linkage_name = e->name;
        scope->function = o->owner->options.no_demangle ? e->name : names_demangle(o->owner->names, e->name);
        *known = scope;
    }
    return *known;
}

static void lookup_symtab(struct symbol_object *o, const uint64_t *addresses, size_t n, struct hit *hits)
{
    for (size_t i = 0; i < n; i++) {
        if (hits[i].scope && hits[i].scope->function) continue;
        const struct symtab_entry *e = symtab_find(&o->symtab, addresses[i]);
        if (!e) continue;
        hits[i].scope = symtab_scope(o, e);
        if (!hits[i].file) hits[i].file = e->file;
    }
}

static void make_frames(const struct symbol_object *o, const struct hit *hits, size_t n,
                        struct symbol_result *result)
{
    bool inlines = !o->owner->options.no_inlines;
    size_t n_frames = 0;
    result->n_addresses = n;
    result->first_frame = mem_array(n + 1, sizeof *result->first_frame);
    for (size_t i = 0; i < n; i++) {
        result->first_frame[i] = n_frames;
        if (!hits[i].scope) {
            n_frames += hits[i].file != NULL;
            continue;
        }
        for (const struct scope *s = hits[i].scope; s; s = inlines ? s->parent : NULL) n_frames++;
    }
    result->first_frame[n] = n_frames;
    result->frames = mem_array(n_frames, sizeof *result->frames);
    for (size_t i = 0; i < n; i++) {
        struct symbol_frame *f = &result->frames[result->first_frame[i]];
        const char *file = hits[i].file;
        uint32_t line = hits[i].line, column = hits[i].column;
        uint32_t discriminator = hits[i].discriminator;
        if (!hits[i].scope && file)
            *f = (struct symbol_frame){
                .file = file, .line = line, .column = column, .discriminator = discriminator};
        for (const struct scope *s = hits[i].scope; s; s = inlines ? s->parent : NULL, f++) {
            *f = (struct symbol_frame){.function = s->function,
                                       .linkage_name = s->linkage_name,
                                       .file = file,
                                       .line = line,
                                       .column = column,
                                       .start_line = s->start_line,
                                       .discriminator = discriminator,
                                       .inlined = s->parent != NULL};
            file = s->call_file;
            line = s->call_line;
            column = s->call_column;
            discriminator = 0;
        }
    }
}

const char *symbol_object_problem(struct symbol_object *o)
{
    pthread_mutex_lock(&o->lock);
    const char *damage = o->dwarf ? dwarf_problem(o->dwarf) : NULL;
    if (!o->problem && damage)
        o->problem = mem_printf("%s: debug information is damaged: %s", o->debug->path, damage);
    if (!o->problem && o->dwarf_error.code)
        o->problem = mem_printf("no debug information: %s", o->dwarf_error.text);
    pthread_mutex_unlock(&o->lock);
    return o->problem;
}

/* ---- the image ---- */

/* Takes from the symbol table the names that the image does not have, for example of code without debug
 * information. Removes frames of zeros for which the symbol table has no name either. */
static void fill_gaps(struct symbol_object *o, const uint64_t *addresses, size_t n, struct symbol_result *r)
{
    size_t first = 0, n_new = 0;
    for (size_t i = 0; i < n; i++) {
        size_t end = r->first_frame[i + 1], n_frames = end - first;
        struct symbol_frame *f = &r->frames[first];
        if (n_frames && !f->function) {
            read_symtab(o);
            const struct symtab_entry *e = symtab_find(&o->symtab, addresses[i]);
            const struct scope *scope = e ? symtab_scope(o, e) : NULL;
            if (e) {
                if (!f->file && n_frames == 1) f->file = e->file;
                f->function = scope->function;
                f->linkage_name = scope->linkage_name;
            } else if (!f->file && n_frames == 1) {
                n_frames = 0;
            }
        }
        if (n_new != first) memmove(&r->frames[n_new], f, n_frames * sizeof *f);
        r->first_frame[i] = n_new;
        n_new += n_frames;
        first = end;
    }
    r->first_frame[n] = n_new;
}

static bool lookup_image(struct symbol_object *o, const uint64_t *addresses, size_t n,
                         struct symbol_result *result)
{
    const struct symbol_options *options = &o->owner->options;
    if (options->symbol_table_only || !o->elf) return false;
    if (!o->image_sought) {
        o->image_sought = true;
        if (o->elf->build_id[0]) o->image = symbol_cache_load(&o->owner->cache, o->elf->build_id);
    }
    if (!o->image) return false;
    struct image_want want = {.linkage_names = options->no_demangle,
                              .one_name = options->one_name,
                              .no_inlines = options->no_inlines,
                              .room_for_gaps = true,
                              .n_threads = options->n_threads};
    if (image_lookup(o->image, addresses, n, &want, result)) {
        fill_gaps(o, addresses, n, result);
        return true;
    }
    symbol_cache_remove(&o->owner->cache, o->elf->build_id);
    o->damaged = o->image;
    o->image = NULL;
    return false;
}

static bool is_packed(const struct elf *elf)
{
    const struct elf_section *s = elf_find(elf, ".debug_info");
    if (!s) s = elf_find(elf, ".zdebug_info");
    return s && elf_is_packed(s);
}

/* Decides after a lookup whether to build an image. It builds one in memory if there were more than two
 * lookups and they read more than twice the size of .debug_info. It builds one and also writes it to disk if
 * the object is large, and either an earlier process looked at it too or it is compressed, so that unpacking
 * is most of the work. */
static void consider_image(struct symbol_object *o)
{
    const uint64_t large = (uint64_t)16 << 20;
    uint64_t n_bytes = dwarf_info_bytes(o->dwarf);
    bool often = ++o->n_lookups > 2 && dwarf_walked_bytes(o->dwarf) > 2 * n_bytes;
    bool keep = false;
    const char *id = o->elf->build_id;
    if (!o->cache_considered) {
        o->cache_considered = true;
        if (id[0] && o->owner->cache.folder && n_bytes >= large && !o->owner->options.no_demangle)
            keep = is_packed(o->debug) || symbol_cache_seen(&o->owner->cache, id);
    }
    if (o->image || (!often && !keep)) return;
    struct bytes bytes = {0};
    o->image = image_build(o->dwarf, id, &bytes);
    if (o->image && keep && !dwarf_is_incomplete(o->dwarf))
        symbol_cache_store(&o->owner->cache, id, bytes.data, bytes.len);
}

void symbol_lookup(struct symbol_object *o, const uint64_t *addresses, size_t n,
                   struct symbol_result *ret_result)
{
    pthread_mutex_lock(&o->lock);
    if (lookup_image(o, addresses, n, ret_result)) {
        pthread_mutex_unlock(&o->lock);
        return;
    }
    struct hit *hits = mem_zalloc((n + 1) * sizeof *hits);
    find_dwarf(o);
    if (o->dwarf) dwarf_lookup(o->dwarf, addresses, n, hits);
    bool all_named = true;
    for (size_t i = 0; i < n && all_named; i++) all_named = hits[i].scope && hits[i].scope->function;
    if (!all_named) {
        read_symtab(o);
        lookup_symtab(o, addresses, n, hits);
    }
    if (o->dwarf) consider_image(o);
    pthread_mutex_unlock(&o->lock);
    make_frames(o, hits, n, ret_result);
    mem_free(hits);
}

void symbol_result_free(struct symbol_result *r)
{
    mem_free(r->first_frame);
    mem_free(r->frames);
    *r = (struct symbol_result){0};
}
