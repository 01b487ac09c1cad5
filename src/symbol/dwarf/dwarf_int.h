/* dwarf_int.h - what the files of the DWARF reader share. Private to dwarf_*.c; dwarf.h is the door.
 *
 * The way of a lookup: addresses are dealt out to units by .debug_aranges or the ranges of the units
 * (dwarf_places.c); each unit that got some is gone through once by one worker: its entries (dwarf_walk.c),
 * its line program (dwarf_line.c), the names of what was found (dwarf_origin.c).
 *
 * Everything read here comes from a file we do not trust. Reads go through struct rd or a bound that was
 * checked for the whole entry; work that a small file could multiply is counted against a budget.
 */
#ifndef SYMBOL_DWARF_DWARF_INT_H
#define SYMBOL_DWARF_DWARF_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/idmap.h"
#include "base/rd.h"
#include "symbol/dwarf/address_query.h"
#include "symbol/dwarf/dwarf.h"
#include "symbol/dwarf/dwarf_names.h"
#include "symbol/dwarf/scope_names.h"
#include "symbol/elf/elf.h"

/* ---- abbreviations (dwarf_abbrev.c) ---- */

enum abbrev_kind {
    KIND_UNKNOWN,    /* no such code */
    KIND_OTHER,      /* only walked over */
    KIND_TYPE,       /* a type whose inside need not be seen, and that tells where it ends */
    KIND_NAMESPACE,  /* one that tells where it ends */
    KIND_FUNCTION,   /* subprogram with code */
    KIND_ABSTRACT,   /* subprogram without */
    KIND_INLINED,    /* inlined_subroutine with code */
    KIND_TRANSPARENT /* anything else with children, as seen inside of functions; never in the table */
};

struct abbrev_attr {
    uint16_t at, form;
    int64_t implicit; /* value of implicit_const */
};

/* How to get over the attributes of an entry: runs of fixed size, and what has a length of its own. */
struct abbrev_step {
    uint32_t n_bytes; /* then skip by form, 0: nothing more */
    uint16_t form;
};

struct abbrev {
    uint8_t kind; /* enum abbrev_kind */
    bool has_children;
    bool fixed; /* all attributes have a size known beforehand: n_fixed bytes */
    bool quick; /* low, high, ranges, sibling are where the fields below say; else read the attributes */
    bool has_ranges, has_low;
    uint8_t high_bytes;        /* 8, 4; 0: none */
    bool high_is_address;      /* else it is a length */
    int16_t low, high, ranges; /* offsets behind the code */
    int16_t sibling;           /* -1: none, or not at a fixed place */
    int16_t sibling_from_end;  /* bytes between it and the end of the attributes; -1: none, or not fixed */
    uint16_t tag;
    uint32_t n_fixed; /* bytes before the first attribute of unknown size */
    uint32_t first_attr, n_attrs, first_step;
};

struct abbrevs {
    uint64_t offset, n_bytes;
    uint32_t key;         /* sizes that forms depend on */
    struct abbrev *dense; /* code -> abbrev, for codes < n_dense */
    size_t n_dense;
    struct idmap sparse; /* larger codes -> index into extra */
    struct abbrev *extra;
    size_t n_extra, cap_extra;
    struct abbrev_attr *attrs;
    size_t n_attrs, cap_attrs;
    struct abbrev_step *steps;
    size_t n_steps, cap_steps;
};

/* ---- files and units (dwarf_unit.c) ---- */

struct dwarf_sections {
    struct span info, abbrev, str, line, line_str, ranges, rnglists, addr, str_offsets, aranges, cu_index;
};

struct unit_root { /* what the first entry of a unit tells */
    bool has_low, has_high, high_is_length, has_ranges, ranges_is_index, has_line;
    uint64_t low, high, ranges, line;
    uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;
    const char *name, *dir, *dwo_name;
    bool is_named_by_symbols; /* its language has linkage names, or nothing but symbols (assembler) */
};

struct file_entry {
    const char *name;
    uint64_t dir;
    const char *path; /* made when asked for */
};

struct line_table { /* header of a line program, parsed */
    bool parsed, good;
    uint16_t version;
    uint8_t min_instruction, opcode_base, address_bytes;
    int8_t line_base;
    uint8_t line_range;
    uint8_t lengths[256];
    const uint8_t *program, *end;
    const char **dirs;
    size_t n_dirs;
    struct file_entry *files;
    size_t n_files;
};

struct unit {
    struct dwarf_file *file;
    uint64_t offset, first_entry, end, abbrev_offset;
    uint64_t dwo_id;
    uint16_t version;
    uint8_t type, address_bytes, offset_bytes;
    bool in_aranges;
    atomic_int root_state; /* 0: not read, 1: read, 2: unreadable */
    struct unit_root root;
    struct abbrevs *abbrevs;
    struct unit *skeleton; /* of a split unit: the one in the program, which has addresses and lines */
    struct unit *split;    /* of a skeleton: its other half; NULL until sought, or none */
    bool split_sought;
};

struct dwarf_file {
    struct dwarf *dwarf;
    struct elf *elf;
    bool owns_elf, is_split;
    struct dwarf_sections s;
    struct unit *units; /* in their order, once units_listed */
    size_t n_units, cap_units;
    bool units_listed;
    uint64_t code_min;       /* nothing below is code: what the linker dropped keeps such addresses */
    struct abbrevs **tables; /* under the lock */
    size_t n_tables, cap_tables;
    struct idmap table_ids;
    uint64_t abbrev_budget;  /* bytes of .debug_abbrev that may still be parsed; under the lock */
    struct dwarf_file *next; /* of dwarf->split_files */
    char *path;
};

struct dwarf {
    struct dwarf_file *main, *alt;
    struct dwarf_file *split_files;
    struct debugfile_places places;
    bool alt_sought, dwp_sought;
    struct dwarf_file *dwp;
    unsigned n_threads;
    struct names *names;  /* NULL: do not demangle */
    pthread_mutex_t lock; /* abbreviation tables, roots, split files, alt file */
    struct arena memory;  /* under the lock */
    struct place *places_of_code;
    size_t n_places;
    bool placed;
    struct unit **unplaced; /* units that do not tell their addresses */
    size_t n_unplaced;
    dwarf_symbol_at *symbol_at; /* may be NULL */
    void *symbol_context;
    uint64_t walked_bytes;
    atomic_bool incomplete; /* a file that this one refers to was not found */
    _Atomic(const char *) problem;
    struct arena *worker_memory; /* scopes and paths; one arena per worker, so that no worker waits */
    unsigned n_worker_memory;
};

struct place { /* code of a unit */
    uint64_t low, high;
    uint64_t max_high; /* of this one and all before: where a search backwards may end */
    uint32_t unit;
};

/* A form's value, whatever its class. */
struct value {
    uint64_t u;
    const char *text; /* strings */
    uint16_t form;
};

const struct abbrevs *unit_abbrevs(struct unit *u); /* NULL when they are damaged */
bool unit_root(struct unit *u);                     /* reads it once; false when it cannot be read */
struct unit *file_unit_at(struct dwarf_file *f, uint64_t info_offset);       /* NULL: none */
struct unit *file_unit_starting(struct dwarf_file *f, uint64_t info_offset); /* NULL: none */
int dwarf_file_units(struct dwarf_file *f); /* lists them once; before the threads of a lookup start */
bool dwarf_file_sections(struct dwarf_file *f, unsigned n_threads, struct err *err);
void dwarf_file_free(struct dwarf_file *f);
struct dwarf_file *dwarf_file_open(struct dwarf *d, struct elf *elf, bool owns, bool is_split,
                                   struct err *err);
bool dwarf_file_one_unit(struct dwarf_file *f, uint64_t info_offset, struct unit *ret_unit);
struct dwarf_file *dwarf_alt(struct dwarf *d);        /* opened once; NULL: none */
struct unit *dwarf_split_unit(struct unit *skeleton); /* the other half, opened once; NULL: none */

struct abbrevs *abbrevs_parse(struct span section, uint64_t offset, const struct unit *u);
void abbrevs_free(struct abbrevs *a);
const struct abbrev *abbrev_find_sparse(const struct abbrevs *a, uint64_t code);

static inline const struct abbrev *abbrev_find(const struct abbrevs *a, uint64_t code)
{
    return code < a->n_dense ? &a->dense[code] : abbrev_find_sparse(a, code);
}

/* ---- forms (dwarf_form.c) ---- */

const uint8_t *form_skip(const struct unit *u, const uint8_t *p, const uint8_t *end,
                         uint16_t form); /* NULL: bad */
void form_read(const struct unit *u, struct rd *r, const struct abbrev_attr *a, struct value *ret);
int form_size(const struct unit *u, uint16_t form);             /* -1: not fixed */
const char *unit_string(struct unit *u, const struct value *v); /* NULL when it is none */
bool unit_address(struct unit *u, const struct value *v, uint64_t *ret_address);
const char *span_text(struct span s, uint64_t offset); /* NULL when it does not end inside */

const uint8_t *abbrev_skip_slow(const struct unit *u, const struct abbrevs *t, const struct abbrev *a,
                                const uint8_t *p, const uint8_t *end);

/* Over the attributes of an entry; NULL when it is cut off. */
static inline const uint8_t *abbrev_skip(const struct unit *u, const struct abbrevs *t,
                                         const struct abbrev *a, const uint8_t *p, const uint8_t *end)
{
    if (a->fixed) return (size_t)(end - p) >= a->n_fixed ? p + a->n_fixed : NULL;
    return abbrev_skip_slow(u, t, a, p, end);
}

/* ---- ranges (dwarf_ranges.c) ---- */

struct range {
    uint64_t low, high;
};

struct range_list {
    struct range *items;
    size_t n, cap;
    uint64_t budget; /* entries that may still be read; 0: stop */
};

/* The ranges of an entry: low and high, or a list. Empty and dropped ones are left out. */
void ranges_read(struct unit *u, uint64_t offset, bool is_index, struct range_list *into);
bool range_is_code(const struct unit *u, uint64_t low, uint64_t high);

/* ---- lines (dwarf_line.c) ---- */

struct line_row {
    uint64_t address;
    uint32_t file, line, column, discriminator;
};

bool line_table_parse(struct unit *u, struct line_table *t, struct arena *memory);
const char *line_file_path(struct unit *u, struct line_table *t, uint64_t file, struct arena *memory);

/* Runs the program; each address of the queries that it covers gets its row (found[i] says so). */
void line_lookup(const struct unit *u, const struct line_table *t, const struct query *queries, size_t n,
                 struct line_row *rows, uint8_t *found);

struct line_rows { /* all rows; a row with line UINT32_MAX ends a sequence */
    struct line_row *items;
    size_t n, cap;
};
void line_all(const struct unit *u, const struct line_table *t, struct line_rows *ret_rows);

/* ---- names (dwarf_origin.c) ---- */

struct origin { /* what is known of a function, wherever it is told */
    const char *name, *linkage_name;
    uint32_t line;
};

void origin_read(struct unit *u, uint64_t info_offset, struct origin *ret);

/* ---- the walk (dwarf_walk.c) ---- */

struct known_origin {
    uint64_t key; /* entry offset + 1; 0: free */
    struct origin origin;
    const char *function;
    bool is_plain;   /* it has no linkage name */
    uint32_t number; /* of the image's function + 1; 0: none yet */
};

struct level { /* an entry that is open */
    const struct scope *scope;
    uint32_t first, end; /* queries that may be in it */
};

struct worker { /* what a thread keeps between units */
    struct dwarf *dwarf;
    bool alone;           /* no other unit is in work: a second thread may be started for this one */
    struct arena *memory; /* scopes and paths: stays */
    struct arena scratch; /* of the unit */
    struct range_list ranges;
    uint64_t line_budget; /* bytes of line tables that may still be read */
    struct line_row *rows;
    uint8_t *found;
    const struct scope **scope_of; /* innermost scope of a query, so far */
    size_t cap_queries;
    struct known_origin *origins; /* open addressing; of the unit */
    size_t n_origins, n_origin_slots;
    struct level *levels;
    size_t cap_levels;
};

/* A worker's budgets are for all the units that it goes through: a hostile file may have each of many units
 * refer to the same long table. */
void worker_init(struct worker *w, struct dwarf *d, struct arena *memory);

/* The line table of a unit, within the budget; not good when it is damaged or too much. */
void worker_line_table(struct worker *w, struct unit *u, struct line_table *ret_table);

void dwarf_note_problem(struct dwarf *d, const char *text); /* text: a constant */

/* Looks the queries up in the unit: hits[query.index]. */
void unit_lookup(struct worker *w, struct unit *u, const struct query *queries, size_t n, struct hit *hits);
void worker_free(struct worker *w);

/* ---- where code is (dwarf_places.c) ---- */

void dwarf_find_places(struct dwarf *d);

/* For a handful: units[i] is set when .debug_aranges says where the address is. Of other sections only the
 * headers of these units are looked at. */
void dwarf_units_of_few(struct dwarf *d, const struct query *queries, size_t n, struct unit **units);

/* The k-th unit, in the order of the file, that has code at the address; NULL: no more. */
struct unit *dwarf_unit_at(struct dwarf *d, uint64_t address, unsigned k);

#endif
