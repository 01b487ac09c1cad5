/* unwind.h - the stack of a thread, from tables made beforehand.
 *
 * May be called in a signal handler, inside malloc and around a lock. It takes no lock, allocates nothing and
 * keeps errno, and a load that would fault ends the stack instead of the process. The rules come from the
 * tables that agent/unwind/tables.h publishes; threads of the library make them from .eh_frame. Code without
 * a table (JIT, hand-written assembly) is stepped over by its frame pointer.
 *
 * The leaf comes first in the result. Every pc is a return address, except the first one and those right
 * above a signal frame: look up names at pc - 1.
 */
#ifndef AGENT_HOT_UNWIND_H
#define AGENT_HOT_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/hot/epoch.h"
#include "agent/hot/safe_load.h"

#define UNWIND_MAX_FRAMES 256

/* How the frame address (CFA) of a function is found. */
enum unwind_cfa {
    UNWIND_CFA_NONE = 0, /* no rule for this code: try the frame pointer */
    UNWIND_CFA_SP,       /* sp + cfa_offset */
    UNWIND_CFA_FP,       /* fp + cfa_offset */
    UNWIND_CFA_REGISTER, /* register cfa_register + cfa_offset: only where all registers are known (leaf) */
    UNWIND_CFA_DEREF_SP, /* *(sp + ra_offset) + cfa_offset */
    UNWIND_CFA_DEREF_FP, /* *(fp + ra_offset) + cfa_offset; the return address is then at its usual place */
    UNWIND_CFA_PLT,      /* x86-64 procedure linkage table: sp + 8, and 8 more when (pc & 15) >= cfa_offset */
    UNWIND_CFA_SIGNAL,   /* a signal frame: all registers are in the ucontext at sp */
    UNWIND_CFA_END,      /* the outermost frame: _start, clone */
};
enum unwind_fp { UNWIND_FP_SAME = 0, UNWIND_FP_AT_CFA, UNWIND_FP_AT_FP, UNWIND_FP_UNKNOWN };
enum unwind_ra { UNWIND_RA_AT_CFA = 0, UNWIND_RA_IN_LR };

struct unwind_rule { /* 12 bytes; an object has a few hundred different ones */
    uint8_t cfa, cfa_register, fp, ra;
    int32_t cfa_offset;
    int16_t fp_offset, ra_offset;
};

struct unwind_row { /* from this address on (low 16 bits of its distance from the module's begin) this rule
                       holds */
    uint16_t address, rule;
};

struct unwind_module {
    uintptr_t begin, end;  /* of its code in memory */
    const uint32_t *pages; /* for each 64 KiB from begin: its first row; one more at the end. Each page starts
                              with a row at 0 */
    const struct unwind_row *rows;
    const struct unwind_rule *rules;
};

struct unwind_tables {
    uint32_t n_modules;
    uint32_t generation;
    struct unwind_module modules[]; /* sorted, no overlaps */
};

struct unwind_registers {
    uintptr_t pc, sp, fp, lr;
    const uintptr_t *all; /* by DWARF number, where the thread was interrupted; NULL in callers */
    bool pc_is_exact;     /* not a return address */
    bool lr_is_live;      /* aarch64: the leaf's, or right above a signal frame */
    bool fp_is_unknown;   /* the stack of a sleeping thread, seen from outside: only pc and sp are known */
};

/* The module that holds pc, or NULL. */
__attribute__((no_sanitize("address", "thread"))) static inline const struct unwind_module *
unwind_find_module(const struct unwind_tables *tables, uintptr_t pc)
{
    if (!tables || !tables->n_modules) return NULL;
    uint32_t low = 0, high = tables->n_modules;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (tables->modules[middle].begin <= pc)
            low = middle;
        else
            high = middle;
    }
    const struct unwind_module *m = &tables->modules[low];
    return pc >= m->begin && pc < m->end ? m : NULL;
}

/* What a walk may use. Tests make their own; the process's tables are unwind_published. */
struct unwind_source {
    const struct unwind_tables *tables; /* may be NULL: frame pointers only */
    struct safe_memory memory;
    uintptr_t address_mask; /* clears pointer authentication bits; all ones on x86-64 */
    bool is_published;      /* tables are unwind_published, so the cache of recent rules may be used */
    bool asks_loader;       /* the code is in this process: the loader may be asked about code without a table
                               (untabled_code.h), and code may be read through the kernel (guess_caller.h) */
    bool knows_room;        /* asks_loader already takes into account how much stack is left */
    const stack_t *for_signals; /* signal stack of the walking thread; may be NULL */
};

extern _Atomic(const struct unwind_tables *) unwind_published;
extern struct epoch unwind_epoch;

/* Empties the cache of recent rules. Must be called at least every eighth time that new tables are
 * published, when no reader of the old ones is left. */
void unwind_cache_clear(void);

/* The stack of the calling thread. The first `skip` frames above the function that calls this are left
 * out; with 0, pcs[0] lies in that function. */
unsigned unwind_here(uintptr_t *pcs, unsigned max, unsigned skip);

/* A walk in a handler takes at most so much of the stack. Before it asks the loader, which takes more, it
 * checks for itself. */
#define UNWIND_STACK_BYTES 1024

/* The stack that a signal interrupted, from the third argument of an SA_SIGINFO handler. *ret_complete
 * (may be NULL) says whether the walk reached an outermost frame. */
unsigned unwind_context(const void *ucontext, uintptr_t *pcs, unsigned max, bool *ret_complete);

/* The walk itself, from registers; the two functions above end here. */
unsigned unwind_walk(struct unwind_source *source, struct unwind_registers *registers, uintptr_t *pcs,
                     unsigned max, bool *ret_complete);

/* One step: the registers become the caller's. 1: done, 0: this was the outermost frame, -1: no rule
 * works. */
int unwind_step(struct unwind_source *source, const struct unwind_rule *rule,
                struct unwind_registers *registers);

/* The rule for an address; never NULL (an unknown address has the rule UNWIND_CFA_NONE). */
const struct unwind_rule *unwind_find_rule(const struct unwind_tables *tables, uintptr_t pc);

#endif
