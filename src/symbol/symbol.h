/* symbol.h - finds the functions, inlined calls, files and lines of addresses, from object files and their
 * debug information.
 *
 * A symboliser holds opened objects and the cache. Several threads may call all functions at the same time,
 * except symbolizer_free. Texts in results belong to the symboliser and live as long as it does.
 */
#ifndef SYMBOL_SYMBOL_H
#define SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct symbol_options {    /* all zero: the defaults */
    const char *cache_dir; /* NULL: the user's cache folder; "": no cache */
    const char *const
        *search;            /* folders to search for binaries and debug files, ended by NULL; may be NULL */
    int pid;                /* a live process; its files, also deleted ones, come from /proc; 0: none */
    unsigned n_threads;     /* 0: as many as there are cores; at most 256 */
    bool no_demangle;       /* write the linkage name to function, instead of the readable name */
    bool no_inlines;        /* return only the innermost frame of an address */
    bool no_debuginfod;     /* never ask debuginfod servers, even if DEBUGINFOD_URLS is set */
    bool symbol_table_only; /* do not read DWARF: fast, but without lines and inlined calls */
    bool one_name;          /* linkage_name may be left empty if function has a name */
};

struct symbol_frame {
    const char *function;                /* demangled; NULL when unknown */
    const char *linkage_name;            /* as in the object; NULL when unknown */
    const char *file;                    /* full path as recorded; NULL when unknown */
    uint32_t line, column;               /* 0 when unknown */
    uint32_t start_line;                 /* where the function is declared; 0 when unknown */
    uint32_t discriminator;              /* which of several blocks on that line; 0 when unknown */
    uint32_t function_bytes, file_bytes; /* lengths of function and file; 0 when they were not counted */
    bool inlined;                        /* this frame was inlined into the next one */
};

struct symbolizer;
struct symbol_object;

/* Returns a symboliser with a copy of the options. options may be NULL for the defaults. */
struct symbolizer *symbolizer_new(const struct symbol_options *options);

/* Frees the symboliser with all its objects and texts. s may be NULL. */
void symbolizer_free(struct symbolizer *s);

/* Opens the object at path. If there is no such file or it is another build, finds the object by its build id
 * (hex). One of path and build_id_hex may be NULL. The symboliser keeps the object: opening it again returns
 * the same one, and the caller does not free it. */
int symbolizer_open(struct symbolizer *s, const char *path, const char *build_id_hex,
                    struct symbol_object **ret_object, struct err *err);

/* Opens the perf-PID.map of the process options.pid, which has the names of code compiled at run time.
 * Returns ERR_NOT_FOUND if there is none. */
int symbolizer_open_jit(struct symbolizer *s, struct symbol_object **ret_object, struct err *err);

const char *symbol_object_path(const struct symbol_object *o);     /* the file that was opened */
const char *symbol_object_build_id(const struct symbol_object *o); /* hex, "" when it has none */

/* Returns the address in the object (as addr2line takes it) of an address in a running process. The process
 * maps the object from mapping_start to mapping_limit, beginning at file_offset of the file. Returns address
 * itself if it is outside the mapping or if the object is not position independent. A mapping_limit of 0
 * skips the check against the mapping. */
uint64_t symbol_object_address(const struct symbol_object *o, uint64_t address, uint64_t mapping_start,
                               uint64_t mapping_limit, uint64_t file_offset);

/* Sets *ret_start to the start of the function that contains this address of the object. It uses the unwind
 * table, which covers functions without symbols too. Returns false if the start is unknown. */
bool symbol_function_start(struct symbol_object *o, uint64_t address, uint64_t *ret_start);

struct symbol_result {
    size_t n_addresses;
    /* Address i has the frames from frames[first_frame[i]] up to, without, frames[first_frame[i + 1]]. There
     * are n_addresses + 1 items. */
    size_t *first_frame;
    struct symbol_frame *frames; /* innermost inlined call first; an unknown address has no frames */
};

/* Returns what lookups found wrong with the debug information: why it could not be read, or that it is
 * damaged. Returns NULL if they found nothing wrong or there is no debug information to look for. The text
 * lives as long as the symboliser. */
const char *symbol_object_problem(struct symbol_object *o);

/* Finds the frames of a batch of addresses of the object. The addresses may be in any order and may repeat.
 * An unknown address is not an error. Free the result with symbol_result_free. */
void symbol_lookup(struct symbol_object *o, const uint64_t *addresses, size_t n_addresses,
                   struct symbol_result *ret_result);
void symbol_result_free(struct symbol_result *r);

#endif
