/* symbol.h - address -> names: functions, inlined calls, files, lines, from object files and their debug
 * information.
 *
 * A symboliser holds opened objects and the cache. All functions may be called by several threads at once.
 * Text in results belongs to the symboliser and lives as long as it does.
 */
#ifndef SYMBOL_SYMBOL_H
#define SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct symbol_options {        /* all zero: the defaults */
    const char *cache_dir;     /* NULL: the user's cache folder; "": no cache */
    const char *const *search; /* folders searched for binaries and debug files, NULL-ended; may be NULL */
    int pid; /* a live process: its files are looked at through /proc, also deleted ones; 0: none */
    unsigned n_threads; /* 0: as many as there are cores */
    bool no_demangle;   /* function = linkage name */
    bool no_inlines;
    bool no_debuginfod;     /* never ask, even when DEBUGINFOD_URLS is set */
    bool symbol_table_only; /* no DWARF: names without files and lines, fast */
    bool one_name;          /* linkage_name is not wanted, unless it is the function's only name */
};

struct symbol_frame {
    const char *function;                /* demangled; NULL when unknown */
    const char *linkage_name;            /* as in the object; NULL when unknown */
    const char *file;                    /* full path as recorded; NULL when unknown */
    uint32_t line, column;               /* 0 when unknown */
    uint32_t start_line;                 /* where the function is declared; 0 when unknown */
    uint32_t discriminator;              /* which of several blocks on that line; 0 when not told */
    uint32_t function_bytes, file_bytes; /* lengths of these two, where they are known; else 0 */
    bool inlined;                        /* this frame was inlined into the next one */
};

struct symbolizer;
struct symbol_object;

struct symbolizer *symbolizer_new(const struct symbol_options *options); /* NULL options: defaults */
void symbolizer_free(struct symbolizer *s); /* NULL is fine; objects go with it */

/* Opens path (or finds it by build id, hex, when path is missing or is another build). Either may be NULL.
 * The object is kept and shared. */
int symbolizer_open(struct symbolizer *s, const char *path, const char *build_id_hex,
                    struct symbol_object **ret_object, struct err *err);

/* Names of code that the process (options.pid) made at run time, from its perf-PID.map; ERR_NOT_FOUND when it
 * writes none. */
int symbolizer_open_jit(struct symbolizer *s, struct symbol_object **ret_object, struct err *err);

const char *symbol_object_path(const struct symbol_object *o);     /* the file that was opened */
const char *symbol_object_build_id(const struct symbol_object *o); /* hex, "" when it has none */

/* Turns an address of a running process into one of the object (as addr2line takes it): the mapping of the
 * object at [start, ...) with the given file offset. Address itself when the object is not position
 * independent. */
uint64_t symbol_object_address(const struct symbol_object *o, uint64_t address, uint64_t mapping_start,
                               uint64_t mapping_limit, uint64_t file_offset);

/* Where the function with that address of the object begins, by the object's unwind table: known also of what
 * has no symbols. False: not known. */
bool symbol_function_start(struct symbol_object *o, uint64_t address, uint64_t *ret_start);

struct symbol_result {
    size_t n_addresses;
    size_t *
        first_frame; /* n_addresses + 1: frames of address i are frames[first_frame[i] .. first_frame[i+1]) */
    struct symbol_frame *frames; /* innermost inlined callee first; none when nothing is known */
};

/* What is wrong with the debug information, as far as lookups came upon it: "no debug information: reason",
 * or that it is damaged. NULL: nothing, or there is none. Lives as long as the symboliser. */
const char *symbol_object_problem(struct symbol_object *o);

/* Names for a batch of addresses of the object (any order, duplicates allowed). Never fails for a single
 * unknown address. Free the result with symbol_result_free. */
int symbol_lookup(struct symbol_object *o, const uint64_t *addresses, size_t n_addresses,
                  struct symbol_result *ret_result, struct err *err);
void symbol_result_free(struct symbol_result *r);

#endif
