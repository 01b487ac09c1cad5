/* sql_memory.c - see sql_memory.h. */
#include "serve/sql/sql_memory.h"

#include <sqlite3.h>
#include <stdatomic.h>

/* ---- results ---- */

static _Atomic int64_t all_results_bytes;

bool sql_hold(struct sql_held *held, size_t n_bytes)
{
    if (n_bytes <= held->n_bytes) return true;
    int64_t more = (int64_t)(n_bytes - held->n_bytes);
    int64_t all = atomic_fetch_add(&all_results_bytes, more) + more;
    if (n_bytes > SQL_SHARE_BYTES && all > SQL_MAX_RESULTS_BYTES) {
        atomic_fetch_sub(&all_results_bytes, more);
        return false;
    }
    held->n_bytes = n_bytes;
    return true;
}

void sql_release(struct sql_held *held)
{
    atomic_fetch_sub(&all_results_bytes, (int64_t)held->n_bytes);
    held->n_bytes = 0;
}

/* ---- SQLite's work ---- */

static _Atomic int64_t all_works_bytes;
static _Thread_local int64_t work_bytes;
static _Thread_local bool is_counted;
static sqlite3_mem_methods heap;

static void count(int64_t n_bytes)
{
    if (!is_counted) return;
    work_bytes += n_bytes;
    atomic_fetch_add(&all_works_bytes, n_bytes);
}

static bool may_take(int64_t n_bytes)
{
    int64_t with = work_bytes + n_bytes;
    return !is_counted || with <= SQL_SHARE_BYTES ||
           (with <= SQL_MAX_WORK_BYTES && all_works_bytes + n_bytes <= SQL_MAX_WORKS_BYTES);
}

static void *counted_malloc(int n_bytes)
{
    void *p = may_take(n_bytes) ? heap.xMalloc(n_bytes) : NULL;
    if (p) count(heap.xSize(p));
    return p;
}

static void counted_free(void *p)
{
    count(-heap.xSize(p));
    heap.xFree(p);
}

static void *counted_realloc(void *old, int n_bytes)
{
    int n_old = heap.xSize(old);
    void *p = may_take(n_bytes - n_old) ? heap.xRealloc(old, n_bytes) : NULL;
    if (p) count(heap.xSize(p) - n_old);
    return p;
}

/* SQLite accepts an allocator only before its first use, and other parts of the program use it too. That is
 * why this runs before main(). */
__attribute__((constructor)) static void count_allocations(void)
{
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &heap);
    sqlite3_mem_methods counted = heap;
    counted.xMalloc = counted_malloc;
    counted.xFree = counted_free;
    counted.xRealloc = counted_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &counted);
}

void sql_work_begin(void)
{
    work_bytes = 0;
    is_counted = true;
}

void sql_work_end(void)
{
    is_counted = false;
    atomic_fetch_sub(&all_works_bytes, work_bytes); /* memory that was freed while counting was off */
}

void sql_work_counts(bool counts)
{
    is_counted = counts;
}
