/* dwarf_int.h - declarations that the files of the DWARF reader share. Private to dwarf_*.c and image_*.c.
 * Other code includes dwarf.h.
 *
 * A lookup first assigns its addresses to units, with .debug_aranges or the ranges of the units
 * (dwarf_places.c). One worker then reads each unit that got addresses once: its entries (dwarf_walk.c), its
 * line program (dwarf_line.c), and the names of the functions it found (dwarf_origin.c).
 *
 * The files may be hostile. Every read goes through struct rd or through a bound that was checked for the
 * whole entry. Where a small file could cause much work, a budget limits the work.
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
    KIND_UNKNOWN,   /* the table has no such code */
    KIND_OTHER,     /* the walk steps over these entries */
    KIND_TYPE,      /* a type with a sibling attribute, so that the walk can jump over its children */
    KIND_NAMESPACE, /* a namespace with a sibling attribute */
    KIND_FUNCTION,  /* subprogram with code */
    KIND_ABSTRACT,  /* subprogram without code */
    KIND_INLINED    /* inlined_subroutine with code */
};

struct abbrev_attr {
    uint16_t at, form;
    int64_t implicit; /* value of implicit_const */
};

/* One step over the attributes of an entry: a run of attributes of fixed size, then one attribute whose size
 * depends on its value. */
struct abbrev_step {
    uint32_t n_bytes; /* of the run */
    uint16_t form;    /* of the attribute behind the run; 0: this is the last step */
};

struct abbrev {
    uint8_t kind; /* enum abbrev_kind */
    bool has_children;
    bool fixed; /* the sizes of all attributes are known beforehand; together they have n_fixed bytes */
    bool quick; /* low, high and ranges are at the offsets below; if false, each attribute must be read */
    bool has_ranges, has_low;
    uint8_t high_bytes;        /* 8 or 4; 0: none */
    bool high_is_address;      /* if false, high is a length */
    int16_t low, high, ranges; /* offsets from the first byte behind the abbreviation code */
    int16_t sibling;           /* such an offset too; -1: no sibling, or not at a fixed offset */
    int16_t sibling_from_end;  /* bytes from the sibling to the end of the attributes; -1: as above */
    uint16_t tag;
    uint32_t n_fixed; /* bytes before the first attribute of unknown size */
    uint32_t first_attr, n_attrs, first_step;
};

struct abbrevs {
    uint64_t offset, n_bytes;
    uint32_t key;         /* version, address size and offset size, which the sizes of forms depend on */
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

struct unit_root { /* the attributes of a unit's first entry */
    bool has_low, has_high, has_ranges, ranges_is_index, has_line;
    uint64_t low, high, ranges, line;
    uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;
    const char *name, *dir, *dwo_name;
    bool is_named_by_symbols; /* its language has linkage names, or has only symbols (assembler) */
};

struct file_entry {
    const char *name;
    uint64_t dir;
    const char *path; /* NULL until line_file_path builds it */
};

struct line_table { /* the parsed header of a line program */
    bool good;
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
    struct unit *skeleton; /* of a split unit: the unit in the program, which has addresses and lines */
    struct unit *split;    /* of a skeleton: its split unit; NULL before the search, or if there is none */
    bool split_sought;
};

struct dwarf_file {
    struct dwarf *dwarf;
    struct elf *elf;
    bool owns_elf, is_split;
    struct dwarf_sections s;
    struct unit *units; /* in the order of the file; complete when units_listed is true */
    size_t n_units, cap_units;
    bool units_listed;
    uint64_t code_min;       /* lowest address of code; code that the linker dropped has lower addresses */
    struct abbrevs **tables; /* under dwarf->lock */
    size_t n_tables, cap_tables;
    struct idmap table_ids;
    uint64_t abbrev_budget;  /* bytes of .debug_abbrev that may still be parsed; under dwarf->lock */
    struct dwarf_file *next; /* in the list dwarf->split_files */
    char *path;
};

struct dwarf {
    struct dwarf_file *main, *alt; /* alt: the file that dwz made */
    struct dwarf_file *split_files;
    struct debugfile_places places;
    bool alt_sought, dwp_sought;
    struct dwarf_file *dwp;
    unsigned n_threads;
    struct names *names;  /* NULL: do not demangle */
    pthread_mutex_t lock; /* guards abbreviation tables, roots of units, split files, alt */
    struct arena memory;  /* under the lock */
    struct place *places_of_code;
    size_t n_places;
    bool placed;
    struct unit **unplaced; /* units whose addresses are not known */
    size_t n_unplaced;
    dwarf_symbol_at *symbol_at; /* may be NULL */
    void *symbol_context;
    uint64_t walked_bytes;
    atomic_bool incomplete;        /* a file that this one refers to was not found */
    _Atomic(const char *) problem; /* the first damage that a worker noticed; NULL: none */
    struct arena *worker_memory;   /* scopes and paths; one arena per worker, so that no worker waits */
    unsigned n_worker_memory;
};

struct place { /* code of a unit */
    uint64_t low, high;
    uint64_t max_high; /* the highest high of this place and all before; ends a search backwards */
    uint32_t unit;     /* index into the units of the main file */
};

/* The value of an attribute of any class. */
struct value {
    uint64_t u;
    const char *text; /* of DW_FORM_string only */
    uint16_t form;    /* 0: there is no value */
};

/* Returns the abbreviations of a unit, or NULL if they or the unit's first entry are damaged. */
const struct abbrevs *unit_abbrevs(struct unit *u);

/* Fills u->root and u->abbrevs from the unit's first entry, once. Returns false if it cannot be read. Several
 * threads may call this for the same unit. */
bool unit_root(struct unit *u);

/* Return the unit that has an entry at info_offset, or whose header starts at info_offset. NULL: none. */
struct unit *file_unit_at(struct dwarf_file *f, uint64_t info_offset);
struct unit *file_unit_starting(struct dwarf_file *f, uint64_t info_offset);

/* Lists the units of a file, once. Returns -1 if there are none. Call it before the threads of a lookup
 * start, because no lock guards the list. */
int dwarf_file_units(struct dwarf_file *f);

/* Loads the debug sections of a file, large compressed ones with up to n_threads threads. Returns false and
 * sets *err if a section is damaged. */
bool dwarf_file_sections(struct dwarf_file *f, unsigned n_threads, struct err *err);

/* Opens the debug information in elf. If owns is true, the result owns elf, and elf is closed at once on
 * failure. Returns NULL and sets *err if it cannot be read or if there is none. Free the result with
 * dwarf_file_free, which accepts NULL. */
struct dwarf_file *dwarf_file_open(struct dwarf *d, struct elf *elf, bool owns, bool is_split,
                                   struct err *err);
void dwarf_file_free(struct dwarf_file *f);

/* Reads the header of the unit at info_offset without listing the units before it. False: there is none. */
bool dwarf_file_one_unit(struct dwarf_file *f, uint64_t info_offset, struct unit *ret_unit);

/* Returns the file that dwz made, or NULL if it cannot be found. The first call opens it. */
struct dwarf_file *dwarf_alt(struct dwarf *d);

/* Returns the split unit of a skeleton, or NULL if it cannot be found. The first call opens its file. */
struct unit *dwarf_split_unit(struct unit *skeleton);

/* Parses the abbreviation table at offset for the sizes of u. Returns NULL if it is damaged. Free the result
 * with abbrevs_free. */
struct abbrevs *abbrevs_parse(struct span section, uint64_t offset, const struct unit *u);
void abbrevs_free(struct abbrevs *a);

/* Does what abbrev_find does, for codes that are not in the dense array. */
const struct abbrev *abbrev_find_sparse(const struct abbrevs *a, uint64_t code);

/* Returns the abbreviation with this code. It is never NULL; its kind is KIND_UNKNOWN if there is no such
 * code. */
static inline const struct abbrev *abbrev_find(const struct abbrevs *a, uint64_t code)
{
    return code < a->n_dense ? &a->dense[code] : abbrev_find_sparse(a, code);
}

/* ---- forms (dwarf_form.c) ---- */

/* Returns the first byte behind a value of this form at p, or NULL if it is cut off or the form is unknown.
 */
const uint8_t *form_skip(const struct unit *u, const uint8_t *p, const uint8_t *end, uint16_t form);

/* Reads the value of an attribute and moves r behind it. Sets r->bad if it is cut off or the form is unknown.
 */
void form_read(const struct unit *u, struct rd *r, const struct abbrev_attr *a, struct value *ret);

/* Returns how many bytes each value of this form has, or -1 if that depends on the value. */
int form_size(const struct unit *u, uint16_t form);

/* Returns the string that v stands for, or NULL if v is not a string or its offset is outside the section.
 * The result lives as long as the file that it is in. */
const char *unit_string(struct unit *u, const struct value *v);

/* Sets *ret_address to the address that v stands for. Returns false if v is not a valid address. */
bool unit_address(struct unit *u, const struct value *v, uint64_t *ret_address);

/* Returns the string at offset in s, or NULL if it does not end inside s. */
const char *span_text(struct span s, uint64_t offset);

/* Does what abbrev_skip does, for entries whose size is not fixed. */
const uint8_t *abbrev_skip_slow(const struct unit *u, const struct abbrevs *t, const struct abbrev *a,
                                const uint8_t *p, const uint8_t *end);

/* Returns the first byte behind the attributes of the entry, or NULL if the entry is cut off. p is the first
 * byte of the attributes. */
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
    uint64_t budget; /* entries that may still be read; readers stop at 0 */
};

/* Appends the ranges of the list at offset (or with that index, if is_index is true) to *into. Ranges that
 * are empty or belong to code that the linker dropped are left out. */
void ranges_read(struct unit *u, uint64_t offset, bool is_index, struct range_list *into);

/* Returns false if the range is empty or belongs to code that the linker dropped. */
bool range_is_code(const struct unit *u, uint64_t low, uint64_t high);

/* ---- lines (dwarf_line.c) ---- */

struct line_row {
    uint64_t address;
    uint32_t file, line, column, discriminator;
};

/* Parses the header of the unit's line program. Its lists are allocated in memory. Returns t->good, which is
 * false if the unit has no line program or the header is damaged. */
bool line_table_parse(struct unit *u, struct line_table *t, struct arena *memory);

/* Returns the path of a file of the table, or NULL if it is unknown. A path that has to be put together is
 * allocated in memory. */
const char *line_file_path(struct unit *u, struct line_table *t, uint64_t file, struct arena *memory);

/* Runs the line program. For each of the n sorted queries that it covers, sets rows[i] and found[i] = 1. */
void line_lookup(const struct unit *u, const struct line_table *t, const struct query *queries, size_t n,
                 struct line_row *rows, uint8_t *found);

struct line_rows { /* a row with line UINT32_MAX ends a sequence */
    struct line_row *items;
    size_t n, cap;
};

/* Runs the line program and appends all its rows to *ret_rows. */
void line_all(const struct unit *u, const struct line_table *t, struct line_rows *ret_rows);

/* ---- names (dwarf_origin.c) ---- */

struct origin { /* names and line of a function, collected from all entries that describe it */
    const char *name, *linkage_name;
    uint32_t line;
};

/* Reads the names and the line of the function whose entry is at info_offset. Follows references to other
 * entries, at most 16 of them. Fields that are unknown are zero. */
void origin_read(struct unit *u, uint64_t info_offset, struct origin *ret);

/* ---- the walk (dwarf_walk.c) ---- */

struct known_origin {
    uint64_t key; /* entry offset + 1; 0: the slot is free */
    struct origin origin;
    const char *function; /* the readable name */
    bool is_plain;        /* the entry has no linkage name; origin.linkage_name is its plain name */
    uint32_t number;      /* of the image's function + 1; 0: none yet */
};

struct level { /* an entry whose children are being read */
    const struct scope *scope;
    uint32_t first, end; /* queries that may be in it */
};

struct worker { /* what a thread keeps between units */
    struct dwarf *dwarf;
    bool alone;           /* the lookup has only one unit, so that a second thread may help with it */
    struct arena *memory; /* scopes and paths; the dwarf owns it */
    struct arena scratch; /* freed after each unit */
    struct range_list ranges;
    uint64_t line_budget; /* bytes of line tables that may still be read */
    struct line_row *rows;
    uint8_t *found;
    const struct scope **scope_of; /* the innermost scope found so far, for each query */
    size_t cap_queries;
    struct known_origin *origins; /* hash table with open addressing, for one unit */
    size_t n_origins, n_origin_slots;
    struct level *levels;
    size_t cap_levels;
};

/* Prepares a worker and its budgets. A budget covers all units that the worker reads, because in a hostile
 * file each of many units may refer to the same long table. Free the worker with worker_free, which leaves
 * memory alone. */
void worker_init(struct worker *w, struct dwarf *d, struct arena *memory);
void worker_free(struct worker *w);

/* Parses the line table of a unit within the worker's budget. ret_table->good is false if the table is
 * damaged or the budget is used up. */
void worker_line_table(struct worker *w, struct unit *u, struct line_table *ret_table);

/* Keeps text for dwarf_problem if it is the first problem. text must be a constant. */
void dwarf_note_problem(struct dwarf *d, const char *text);

/* Looks the n sorted queries up in the unit and writes the result of each query to hits[query.index]. */
void unit_lookup(struct worker *w, struct unit *u, const struct query *queries, size_t n, struct hit *hits);

/* ---- where code is (dwarf_places.c) ---- */

/* Fills places_of_code and unplaced from all units, once. */
void dwarf_find_places(struct dwarf *d);

/* Sets units[i] if .debug_aranges has the address of queries[i]. It is meant for a handful of queries,
 * because it reads only the beginning of their units and does not list the others. */
void dwarf_units_of_few(struct dwarf *d, const struct query *queries, size_t n, struct unit **units);

/* Returns the k-th unit, in the order of the file, that has code at the address, or NULL if there are no more
 * than k such units. */
struct unit *dwarf_unit_at(struct dwarf *d, uint64_t address, unsigned k);

#endif
