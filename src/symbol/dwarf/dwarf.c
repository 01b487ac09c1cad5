/* dwarf.c - see dwarf.h. Assigns the addresses of a lookup to units, and the units to workers. */
#include "symbol/dwarf/dwarf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/lock_rank.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "symbol/dwarf/dwarf_int.h"

enum { MAX_ROUNDS = 4, FEW_ADDRESSES = 8, MANY_ADDRESSES = 1 << 14 };

int dwarf_open(struct elf *elf, const struct debugfile_places *places, unsigned n_threads,
               struct names *names, struct dwarf **ret_dwarf, struct err *err)
{
    struct err local;
    if (!err) err = &local;
    *err = (struct err){0};
    struct dwarf *d = mem_zalloc(sizeof *d);
    d->places = *places;
    d->n_threads = n_threads ? n_threads : 1;
    d->names = names;
    /* The lock is recursive because a thread that holds it may read a unit whose name is in the alt file, and
     * opening the alt file takes the same lock. */
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    lock_rank_init(&d->lock, LOCK_DWARF, &recursive);
    pthread_mutexattr_destroy(&recursive);
    d->main = dwarf_file_open(d, elf, false, false, err);
    struct unit first;
    if (d->main && !dwarf_file_one_unit(d->main, 0, &first))
        err_set(err, ERR_INPUT, "%s: .debug_info is damaged: its first unit cannot be read", elf->path);
    if (err->code) {
        dwarf_close(d);
        return err->code;
    }
    d->n_worker_memory = d->n_threads;
    d->worker_memory = mem_zalloc(d->n_threads * sizeof *d->worker_memory);
    *ret_dwarf = d;
    return 0;
}

void dwarf_use_symbols(struct dwarf *d, dwarf_symbol_at *symbol_at, void *context)
{
    d->symbol_at = symbol_at;
    d->symbol_context = context;
}

void dwarf_close(struct dwarf *d)
{
    if (!d) return;
    dwarf_file_free(d->main);
    dwarf_file_free(d->alt);
    dwarf_file_free(d->dwp);
    while (d->split_files) {
        struct dwarf_file *f = d->split_files;
        d->split_files = f->next;
        dwarf_file_free(f);
    }
    for (unsigned i = 0; i < d->n_worker_memory; i++) arena_free(&d->worker_memory[i]);
    mem_free(d->worker_memory);
    mem_free(d->places_of_code);
    mem_free(d->unplaced);
    arena_free(&d->memory);
    pthread_mutex_destroy(&d->lock);
    mem_free(d);
}

uint64_t dwarf_info_bytes(const struct dwarf *d)
{
    return d->main->s.info.n;
}

bool dwarf_is_incomplete(const struct dwarf *d)
{
    return d->incomplete;
}

const char *dwarf_problem(const struct dwarf *d)
{
    return atomic_load(&d->problem);
}

uint64_t dwarf_walked_bytes(const struct dwarf *d)
{
    return d->walked_bytes;
}

/* ---- a lookup ---- */

struct batch { /* addresses of one unit */
    struct unit *unit;
    const struct query *queries;
    size_t n;
};

struct lookup {
    struct dwarf *dwarf;
    struct batch *batches;
    size_t n_batches, cap_batches;
    struct worker *workers;
    struct hit *hits;
};

static int by_size(const void *a_, const void *b_)
{
    const struct batch *a = a_, *b = b_;
    uint64_t a_bytes = a->unit->end - a->unit->offset, b_bytes = b->unit->end - b->unit->offset;
    return a_bytes > b_bytes ? -1 : a_bytes < b_bytes;
}

static void work(void *context, size_t i, unsigned worker)
{
    struct lookup *l = context;
    const struct batch *b = &l->batches[i];
    unit_lookup(&l->workers[worker], b->unit, b->queries, b->n, l->hits);
}

struct owned { /* indexes of a query and of the unit that has it */
    uint32_t unit, query;
};

static int by_unit(const void *a_, const void *b_)
{
    const struct owned *a = a_, *b = b_;
    if (a->unit != b->unit) return a->unit < b->unit ? -1 : 1;
    return a->query < b->query ? -1 : a->query > b->query;
}

/* Groups the queries by unit and makes a batch of each group. Inside a group the queries stay sorted by
 * address. */
static void deal(struct lookup *l, const struct query *sorted, struct owned *owned, size_t n,
                 struct query *dealt)
{
    bool in_order = true;
    for (size_t i = 1; i < n && in_order; i++) in_order = by_unit(&owned[i - 1], &owned[i]) < 0;
    if (!in_order) qsort(owned, n, sizeof *owned, by_unit);
    l->n_batches = 0;
    for (size_t i = 0; i < n; i++) {
        dealt[i] = sorted[owned[i].query];
        struct unit *u = &l->dwarf->main->units[owned[i].unit];
        if (!l->n_batches || l->batches[l->n_batches - 1].unit != u)
            *VEC_PUSH(l->batches, l->n_batches, l->cap_batches) = (struct batch){u, &dealt[i], 0};
        l->batches[l->n_batches - 1].n++;
    }
}

static void run_batches(struct lookup *l, unsigned n_threads)
{
    if (l->n_batches > 1) qsort(l->batches, l->n_batches, sizeof *l->batches, by_size);
    for (size_t i = 0; i < l->n_batches; i++)
        l->dwarf->walked_bytes += l->batches[i].unit->end - l->batches[i].unit->offset;
    l->workers[0].alone = l->n_batches == 1 && l->dwarf->n_threads > 1;
    parallel_for(l->n_batches, n_threads, work, l);
}

/* Looks up a handful of addresses with .debug_aranges, which avoids reading units that have none of them.
 * Returns true if that answered all of them. */
static bool lookup_few(struct lookup *l, const struct query *sorted, size_t n, struct query *dealt)
{
    struct unit *units[FEW_ADDRESSES] = {0};
    bool dealt_out[FEW_ADDRESSES] = {0}, all = true;
    size_t n_dealt = 0;
    dwarf_units_of_few(l->dwarf, sorted, n, units);
    l->n_batches = 0;
    for (size_t i = 0; i < n; i++) {
        all &= units[i] != NULL;
        if (!units[i] || dealt_out[i]) continue;
        struct batch *b = VEC_PUSH(l->batches, l->n_batches, l->cap_batches);
        *b = (struct batch){units[i], &dealt[n_dealt], 0};
        for (size_t k = i; k < n; k++) {
            if (units[k] != units[i]) continue;
            dealt_out[k] = true;
            dealt[n_dealt++] = sorted[k];
            b->n++;
        }
    }
    run_batches(l, 1);
    for (size_t i = 0; i < n && all; i++)
        all = l->hits[sorted[i].index].scope || l->hits[sorted[i].index].file;
    return all;
}

/* Gives the pages of a mapped section back to the system. A later access reads them from the file again. */
static void drop_pages(const struct elf *elf, struct span section)
{
    const uint8_t *file = elf->file.data;
    if (!elf->file.mapped_bytes || section.p < file || section.p >= file + elf->file.len)
        return; /* the section is not part of the mapping: it was unpacked */
    uintptr_t begin = ((uintptr_t)section.p + 4095) & ~(uintptr_t)4095,
              end = (uintptr_t)(section.p + section.n) & ~(uintptr_t)4095;
    if (end > begin) madvise((void *)begin, end - begin, MADV_DONTNEED);
}

/* Gives back the pages that a lookup of many addresses read. The text that is written next is large too, and
 * it needs only the names. This costs no extra time, because the process would have to give these pages back
 * when it ends. */
static void drop_walked_pages(const struct dwarf *d)
{
    const struct dwarf_sections *s = &d->main->s;
    const struct span walked[] = {s->info, s->abbrev, s->line, s->ranges, s->rnglists, s->addr, s->aranges};
    for (size_t i = 0; i < sizeof walked / sizeof *walked; i++) drop_pages(d->main->elf, walked[i]);
}

void dwarf_lookup(struct dwarf *d, const uint64_t *addresses, size_t n, struct hit *hits)
{
    if (!n) return;
    struct query *sorted = mem_array(n, sizeof *sorted), *dealt = mem_array(n, sizeof *dealt);
    struct owned *owned = mem_array(n, sizeof *owned);
    for (size_t i = 0; i < n; i++) sorted[i] = (struct query){addresses[i], (uint32_t)i};
    queries_sort(sorted, n);
    struct lookup l = {.dwarf = d, .hits = hits};
    l.workers = mem_zalloc(d->n_threads * sizeof *l.workers);
    for (unsigned i = 0; i < d->n_threads; i++) worker_init(&l.workers[i], d, &d->worker_memory[i]);
    bool done = n <= FEW_ADDRESSES && !d->placed && lookup_few(&l, sorted, n, dealt);
    for (unsigned round = 0; round < MAX_ROUNDS && !done; round++) {
        size_t n_owned = 0;
        dwarf_find_places(d);
        for (size_t i = 0; i < n; i++) {
            const struct hit *h = &hits[sorted[i].index];
            /* An address with a line but no function is done too: the compiler generated its code. */
            if (h->scope || h->file) continue;
            struct unit *u = dwarf_unit_at(d, sorted[i].address, round);
            if (u) owned[n_owned++] = (struct owned){(uint32_t)(u - d->main->units), (uint32_t)i};
        }
        if (!n_owned) break;
        deal(&l, sorted, owned, n_owned, dealt);
        run_batches(&l, n_owned <= FEW_ADDRESSES ? 1 : d->n_threads);
    }
    if (d->n_unplaced && !done) {
        size_t n_left = 0;
        for (size_t i = 0; i < n; i++)
            if (!hits[sorted[i].index].scope && !hits[sorted[i].index].file) dealt[n_left++] = sorted[i];
        l.n_batches = 0;
        for (size_t i = 0; i < d->n_unplaced && n_left; i++)
            *VEC_PUSH(l.batches, l.n_batches, l.cap_batches) = (struct batch){d->unplaced[i], dealt, n_left};
        run_batches(&l, 1); /* one thread, because these batches share the same queries and hits */
    }
    if (n >= MANY_ADDRESSES) drop_walked_pages(d);
    for (unsigned i = 0; i < d->n_threads; i++) worker_free(&l.workers[i]);
    mem_free(l.workers);
    mem_free(l.batches);
    mem_free(sorted);
    mem_free(dealt);
    mem_free(owned);
}
