/* dwarf_line.c - line programs: which file and line an instruction came from.
 *
 * A lookup runs the program from the first opcode until all its addresses are found, and keeps no other rows.
 * Its addresses are sorted, so that one comparison per row decides whether the row covers one of them.
 */
#include <string.h>

#include "base/mem.h"
#include "symbol/dwarf/dwarf_int.h"

enum { MAX_FILES = 1 << 22, MAX_FORMATS = 64 };

/* ---- header ---- */

struct entry_format {
    uint64_t content;
    uint16_t form;
};

static size_t read_formats(struct rd *r, struct entry_format *formats)
{
    size_t n = rd_u8(r);
    for (size_t i = 0; i < n; i++) {
        uint64_t content = rd_varint(r), form = rd_varint(r);
        if (i < MAX_FORMATS)
            formats[i] = (struct entry_format){content, form > UINT16_MAX ? UINT16_MAX : (uint16_t)form};
    }
    return n < MAX_FORMATS ? n : MAX_FORMATS;
}

static bool read_entries(struct unit *u, struct rd *r, struct arena *memory, struct file_entry **ret_files,
                         size_t *ret_n)
{
    struct entry_format formats[MAX_FORMATS];
    size_t n_formats = read_formats(r, formats);
    uint64_t n = rd_varint(r);
    /* Each entry has at least one byte, so that n cannot be larger than the bytes that are left. */
    if (r->bad || n > MAX_FILES || (n && (!n_formats || n > rd_left(r)))) return false;
    struct file_entry *files = arena_array(memory, (size_t)n + 1, sizeof *files);
    for (size_t i = 0; i < n; i++) {
        files[i] = (struct file_entry){0};
        for (size_t k = 0; k < n_formats; k++) {
            struct value v;
            form_read(u, r, &(struct abbrev_attr){.form = formats[k].form}, &v);
            if (formats[k].content == DW_LNCT_path)
                files[i].name = unit_string(u, &v);
            else if (formats[k].content == DW_LNCT_directory_index)
                files[i].dir = v.u;
        }
        if (r->bad) return false;
    }
    *ret_files = files;
    *ret_n = (size_t)n;
    return true;
}

static bool read_tables_5(struct unit *u, struct rd *r, struct line_table *t, struct arena *memory)
{
    struct file_entry *dirs;
    if (!read_entries(u, r, memory, &dirs, &t->n_dirs)) return false;
    t->dirs = arena_array(memory, t->n_dirs + 1, sizeof *t->dirs);
    for (size_t i = 0; i < t->n_dirs; i++) t->dirs[i] = dirs[i].name;
    return read_entries(u, r, memory, &t->files, &t->n_files);
}

/* Before DWARF 5 both lists start with index 1. Entry 0 is filled with the unit's own folder and name. */
static bool read_tables_old(struct unit *u, struct rd *r, struct line_table *t, struct arena *memory)
{
    size_t cap = 16, n = 1;
    t->dirs = arena_array(memory, cap, sizeof *t->dirs);
    t->dirs[0] = u->root.dir;
    while (r->p < r->end && *r->p) {
        if (n == cap) {
            const char **more = arena_array(memory, cap * 2, sizeof *more);
            memcpy(more, t->dirs, n * sizeof *more);
            t->dirs = more;
            cap *= 2;
        }
        t->dirs[n++] = rd_cstr(r);
    }
    rd_u8(r);
    t->n_dirs = n;
    cap = 64, n = 1;
    t->files = arena_array(memory, cap, sizeof *t->files);
    t->files[0] = (struct file_entry){.name = u->root.name};
    while (r->p < r->end && *r->p) {
        if (n == cap) {
            struct file_entry *more = arena_array(memory, cap * 2, sizeof *more);
            memcpy(more, t->files, n * sizeof *more);
            t->files = more;
            cap *= 2;
        }
        const char *name = rd_cstr(r);
        uint64_t dir = rd_varint(r);
        rd_varint(r); /* time */
        rd_varint(r); /* size */
        t->files[n++] = (struct file_entry){.name = name, .dir = dir};
    }
    t->n_files = n;
    return !r->bad;
}

bool line_table_parse(struct unit *u, struct line_table *t, struct arena *memory)
{
    *t = (struct line_table){0};
    if (!u->root.has_line) return false;
    struct span s = u->file->s.line;
    struct rd r = rd_over(s.p, s.n);
    rd_skip(&r, u->root.line);
    /* A line table may be 32-bit DWARF in a 64-bit unit or the reverse, so that its own size class counts. */
    struct unit as = *u;
    as.offset_bytes = 4;
    uint64_t length = rd_u32(&r);
    if (length == 0xffffffff) {
        length = rd_u64(&r);
        as.offset_bytes = 8;
    }
    if (r.bad || length > rd_left(&r)) return false;
    r.end = r.p + length;
    t->end = r.end;
    t->version = rd_u16(&r);
    if (t->version < 2 || t->version > 5) return false;
    t->address_bytes = u->address_bytes;
    if (t->version >= 5) {
        t->address_bytes = rd_u8(&r);
        rd_u8(&r); /* segment selector */
    }
    uint64_t header_bytes = as.offset_bytes == 8 ? rd_u64(&r) : rd_u32(&r);
    if (r.bad || header_bytes > rd_left(&r)) return false;
    t->program = r.p + header_bytes;
    t->min_instruction = rd_u8(&r);
    if (t->version >= 4) rd_u8(&r); /* operations per instruction: 1, except on VLIW machines */
    rd_u8(&r);                      /* default_is_stmt */
    t->line_base = (int8_t)rd_u8(&r);
    t->line_range = rd_u8(&r);
    t->opcode_base = rd_u8(&r);
    for (unsigned i = 1; i < t->opcode_base; i++) t->lengths[i] = rd_u8(&r);
    if (r.bad || !t->opcode_base) return false;
    t->good = t->version >= 5 ? read_tables_5(&as, &r, t, memory) : read_tables_old(&as, &r, t, memory);
    return t->good;
}

const char *line_file_path(struct unit *u, struct line_table *t, uint64_t file, struct arena *memory)
{
    if (!t->good || file >= t->n_files) return NULL;
    struct file_entry *f = &t->files[file];
    if (f->path) return f->path;
    if (!f->name) return NULL;
    const char *dir = f->dir < t->n_dirs ? t->dirs[f->dir] : NULL, *base = u->root.dir;
    bool first_dir = f->dir == 0; /* the unit's own folder */
    if (f->name[0] == '/')
        f->path = f->name;
    else if (!dir || !*dir)
        f->path = base && *base ? arena_printf(memory, "%s/%s", base, f->name) : f->name;
    else if (dir[0] == '/' || !base || !*base || (first_dir && (t->version < 5 || !strcmp(dir, base))))
        f->path = arena_printf(memory, "%s/%s", dir, f->name);
    else
        f->path = arena_printf(memory, "%s/%s/%s", base, dir, f->name);
    return f->path;
}

/* ---- program ---- */

struct sink { /* what receives the rows: the sorted queries of a lookup, or the list of all rows */
    const struct query *queries;
    size_t n, n_left;
    struct line_row *rows;
    uint8_t *found;
    struct line_rows *all;
    uint64_t code_min;
    /* State of the current sequence: */
    size_t cursor; /* index of the next query */
    uint64_t want; /* its address */
    struct line_row last;
    bool started;
};

static void start_sequence(struct sink *k, uint64_t address)
{
    k->started = true;
    k->cursor = address < k->code_min ? k->n : queries_below(k->queries, k->n, address);
    k->want = k->cursor < k->n ? k->queries[k->cursor].address : UINT64_MAX;
}

/* Gives the last row to all queries below the address until, where the next row starts. */
static __attribute__((noinline)) void answer(struct sink *k, uint64_t until)
{
    while (k->want < until) {
        if (!k->found[k->cursor]) {
            k->rows[k->cursor] = k->last;
            k->found[k->cursor] = 1;
            k->n_left--;
        }
        k->cursor++;
        if (k->cursor >= k->n) {
            k->want = UINT64_MAX;
            return;
        }
        k->want = k->queries[k->cursor].address;
    }
}

static inline __attribute__((always_inline)) void emit(struct sink *k, const struct line_row *row, bool ends,
                                                       const bool all)
{
    if (all) {
        struct line_row *r = VEC_PUSH(k->all->items, k->all->n, k->all->cap);
        *r = *row;
        if (ends) r->line = UINT32_MAX;
        return;
    }
    if (!k->started || row->address < k->last.address)
        start_sequence(k, row->address);
    else if (k->want < row->address)
        answer(k, row->address);
    k->last = *row;
    if (ends) k->started = false;
}

/* Returns true if every query has its row, so that the program need not run on. */
static bool is_done(const struct sink *k, const bool all)
{
    return !all && !k->n_left;
}

/* Runs the opcodes that make up nearly all of a program, with operands of one or two bytes, while addresses
 * only grow. Returns at the first other opcode, or when all queries have their rows. The state is in local
 * variables so that the compiler can keep it in registers. */
static __attribute__((noinline)) const uint8_t *run_quick(const struct line_table *t, struct sink *k,
                                                          const uint8_t *p, const uint8_t *end,
                                                          const uint16_t *address_step,
                                                          const int16_t *line_step, struct line_row *now)
{
    const unsigned base = t->opcode_base;
    uint64_t address = now->address, want = k->want;
    uint32_t file = now->file, line = now->line, column = now->column, discriminator = now->discriminator;
    struct line_row last = k->last;
    while (end - p >= 4) {
        const unsigned op = p[0];
        if (op >= base || op == DW_LNS_copy) {
            if (op >= base) {
                address += address_step[op];
                line += (uint32_t)line_step[op];
            }
            p++;
            if (want < address) {
                k->last = last;
                answer(k, address);
                want = k->want;
                if (!k->n_left) break;
            }
            last.address = address;
            last.file = file;
            last.line = line;
            last.column = column;
            last.discriminator = discriminator;
            discriminator = 0;
            continue;
        }
        if (op == DW_LNS_negate_stmt) {
            p++;
            continue;
        }
        if (op == 0) { /* a discriminator below 128 */
            if (p[1] != 2 || p[2] != DW_LNE_set_discriminator || p[3] >= 128) break;
            discriminator = p[3];
            p += 4;
            continue;
        }
        if (op != DW_LNS_advance_line && op != DW_LNS_set_file && op != DW_LNS_set_column) break;
        uint32_t operand = p[1] & 127;
        unsigned spare = 25, n = 2;
        if (p[1] & 128) {
            if (p[2] & 128) break;
            operand |= (uint32_t)p[2] << 7;
            spare = 18;
            n = 3;
        }
        p += n;
        if (op == DW_LNS_advance_line)
            line += (uint32_t)((int32_t)(operand << spare) >> spare);
        else if (op == DW_LNS_set_file)
            file = operand;
        else
            column = operand;
    }
    k->last = last;
    *now = (struct line_row){address, file, line, column, discriminator};
    return p;
}

static inline __attribute__((always_inline)) void run(const struct line_table *t, struct sink *k,
                                                      const bool all)
{
    uint16_t address_step[256];
    int16_t line_step[256];
    const unsigned base = t->opcode_base, range = t->line_range ? t->line_range : 1;
    const uint64_t top = t->address_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    for (unsigned op = base; op < 256; op++) {
        address_step[op] = (uint16_t)((op - base) / range * t->min_instruction);
        line_step[op] = (int16_t)(t->line_base + (int)((op - base) % range));
    }
    struct rd r = {.p = t->program, .end = t->end};
    const uint64_t first_file = 1;
    struct line_row row = {.file = (uint32_t)first_file, .line = 1};
    bool quick = base > DW_LNS_negate_stmt; /* the opcodes mean what they usually do */
    while (r.p < r.end) {
        if (!all && quick && k->started) {
            r.p = run_quick(t, k, r.p, r.end, address_step, line_step, &row);
            if (!k->n_left) return;
        }
        unsigned op = *r.p++;
        if (op >= base) {
            row.address += address_step[op];
            row.line += (uint32_t)line_step[op];
            emit(k, &row, false, all);
            row.discriminator = 0;
            if (!all && k->n_left == 0) return;
            continue;
        }
        switch (op) {
        case 0: {
            struct rd x = rd_sub(&r, rd_varint(&r));
            unsigned extended = rd_u8(&x);
            if (extended == DW_LNE_end_sequence) {
                emit(k, &row, true, all);
                if (is_done(k, all)) return;
                row = (struct line_row){.file = (uint32_t)first_file, .line = 1};
            } else if (extended == DW_LNE_set_address) {
                row.address = rd_left(&x) >= 8 ? rd_u64(&x) : rd_u32(&x);
                if (row.address >= top - 15) row.address = 0; /* code that the linker dropped */
            } else if (extended == DW_LNE_set_discriminator) {
                row.discriminator = (uint32_t)rd_varint(&x);
            }
            break;
        }
        case DW_LNS_copy:
            emit(k, &row, false, all);
            row.discriminator = 0;
            break;
        case DW_LNS_advance_pc:
            row.address += rd_varint(&r) * t->min_instruction;
            break;
        case DW_LNS_advance_line:
            row.line += (uint32_t)rd_sleb(&r);
            break;
        case DW_LNS_set_file:
            row.file = (uint32_t)rd_varint(&r);
            break;
        case DW_LNS_set_column:
            row.column = (uint32_t)rd_varint(&r);
            break;
        case DW_LNS_const_add_pc:
            row.address += (255u - base) / range * t->min_instruction;
            break;
        case DW_LNS_fixed_advance_pc:
            row.address += rd_u16(&r);
            break;
        case DW_LNS_negate_stmt:
        case DW_LNS_set_basic_block:
        case DW_LNS_set_prologue_end:
        case DW_LNS_set_epilogue_begin:
            break;
        default: /* set_isa and unknown opcodes */
            for (unsigned i = 0; i < t->lengths[op]; i++) rd_varint(&r);
        }
    }
}

static uint64_t code_min_of(const struct unit *u)
{
    return u->file->code_min;
}

void line_lookup(const struct unit *u, const struct line_table *t, const struct query *queries, size_t n,
                 struct line_row *rows, uint8_t *found)
{
    struct sink k = {
        .queries = queries, .n = n, .n_left = n, .rows = rows, .found = found, .code_min = code_min_of(u)};
    if (t->good && t->program <= t->end) run(t, &k, false);
}

void line_all(const struct unit *u, const struct line_table *t, struct line_rows *ret_rows)
{
    struct sink k = {.all = ret_rows, .code_min = code_min_of(u)};
    if (t->good && t->program <= t->end) run(t, &k, true);
}
