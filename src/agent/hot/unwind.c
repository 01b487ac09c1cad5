/* unwind.c - see unwind.h. The step handles both machines: on aarch64 the return address may be in a
 * register. */
#include "agent/hot/unwind.h"

#include <stddef.h>
#include <ucontext.h>

#include "agent/hot/guess_caller.h"
#include "agent/hot/untabled_code.h"

#if defined(__x86_64__)
#define SIGNAL_PC 40 + 8 * REG_RIP /* ucontext: flags, link, stack (40 bytes), then gregs */
#define SIGNAL_SP 40 + 8 * REG_RSP
#define SIGNAL_FP 40 + 8 * REG_RBP
#define SIGNAL_LR 40 + 8 * REG_RIP /* there is none */
#else
#define SIGNAL_PC 312 + 8 * 32 /* siginfo (128), ucontext up to the fault address, then x0..x30, sp, pc */
#define SIGNAL_SP 312 + 8 * 31
#define SIGNAL_FP 312 + 8 * 29
#define SIGNAL_LR 312 + 8 * 30
#endif

#define MAX_FRAME_BYTES (8u << 20) /* a frame pointer that claims a larger frame is not believed */
#define NOT_SANITIZED   __attribute__((no_sanitize("address", "thread")))

_Atomic(const struct unwind_tables *) unwind_published;
struct epoch unwind_epoch;

static const struct unwind_rule no_rule = {.cfa = UNWIND_CFA_NONE};

NOT_SANITIZED const struct unwind_rule *unwind_find_rule(const struct unwind_tables *tables, uintptr_t pc)
{
    const struct unwind_module *m = unwind_find_module(tables, pc);
    if (!m) return &no_rule;
    uintptr_t distance = pc - m->begin;
    uint16_t in_page = (uint16_t)distance;
    uint32_t first = m->pages[distance >> 16], last = m->pages[(distance >> 16) + 1];
    while (last - first > 1) { /* finds the last row at or before in_page; the first row of a page is at 0 */
        uint32_t middle = (first + last) / 2;
        if (m->rows[middle].address <= in_page)
            first = middle;
        else
            last = middle;
    }
    return &m->rules[m->rows[first].rule];
}

/* A cache of recent rules. All threads share it, in handlers and hooks, because most stacks repeat those
 * of a moment ago. An entry is one word that is stored and loaded as a whole, so a reader never sees half
 * of one. An entry made from older tables could name a wrong rule. So it carries four bits of the tables'
 * generation and is used only when they agree, and the cache is emptied before these bits repeat. */
#define CACHE_BITS 12
static _Atomic uint64_t cache[1 << CACHE_BITS];

union cache_entry {
    uint64_t word;
    struct {
        uint64_t page : 36, rule : 16, module : 8, generation : 4;
    };
};

void unwind_cache_clear(void)
{
    for (unsigned i = 0; i < 1 << CACHE_BITS; i++) atomic_store_explicit(&cache[i], 0, memory_order_relaxed);
}

NOT_SANITIZED static const struct unwind_rule *cached_rule(const struct unwind_tables *t, uintptr_t pc)
{
    if (!t || !t->n_modules) return &no_rule;
    _Atomic uint64_t *slot = &cache[(pc ^ pc >> CACHE_BITS) & ((1 << CACHE_BITS) - 1)];
    union cache_entry e = {.word = atomic_load_explicit(slot, memory_order_relaxed)};
    if (e.word && e.page == pc >> CACHE_BITS && e.generation == (t->generation & 15) &&
        e.module < t->n_modules)
        return &t->modules[e.module].rules[e.rule];
    const struct unwind_rule *rule = unwind_find_rule(t, pc);
    for (uint32_t m = 0; rule != &no_rule && m < t->n_modules && m < 256; m++) {
        if (pc < t->modules[m].begin || pc >= t->modules[m].end) continue;
        e.page = pc >> CACHE_BITS;
        e.rule = (uint16_t)(rule - t->modules[m].rules);
        e.module = m & 255;
        e.generation = t->generation & 15;
        atomic_store_explicit(slot, e.word, memory_order_relaxed);
        break;
    }
    return rule;
}

/* Asking the loader (untabled_code.h) takes so much of the stack. A thread may have less: Rust gives each
 * thread 8 KiB for signals, and the kernel's frame takes half of it. */
#define ASKING_BYTES 5120

static bool may_ask(struct unwind_source *s)
{
    if (s->asks_loader && !s->knows_room) {
        s->asks_loader = safe_room(s->for_signals, (uintptr_t)__builtin_frame_address(0), ASKING_BYTES);
        s->knows_room = true;
    }
    return s->asks_loader;
}

/* The rule of pc. `room` holds a rule that is in no table. */
NOT_SANITIZED static const struct unwind_rule *rule_of(struct unwind_source *s, uintptr_t pc,
                                                       struct unwind_rule *room)
{
    const struct unwind_rule *rule =
        s->is_published ? cached_rule(s->tables, pc) : unwind_find_rule(s->tables, pc);
    if (__builtin_expect(rule == &no_rule, 0) && may_ask(s) && untabled_rule(pc, room)) return room;
    return rule;
}

NOT_SANITIZED static int step_signal_frame(struct unwind_source *s, struct unwind_registers *r)
{
    uintptr_t pc, sp, fp, lr;
    if (!safe_load(&s->memory, r->sp + SIGNAL_PC, &pc) || !safe_load(&s->memory, r->sp + SIGNAL_SP, &sp) ||
        !safe_load(&s->memory, r->sp + SIGNAL_FP, &fp) || !safe_load(&s->memory, r->sp + SIGNAL_LR, &lr))
        return -1;
    if (!s->memory.shift && (sp < s->memory.lo || sp >= s->memory.hi))
        s->memory = (struct safe_memory){0}; /* the handler ran on a stack of its own */
    *r = (struct unwind_registers){
        .pc = pc, .sp = sp, .fp = fp, .lr = lr, .pc_is_exact = true, .lr_is_live = true};
    return 1;
}

/* For code without a table. The frame pointer is believed only when it points up the stack and not too
 * far. */
NOT_SANITIZED static int step_frame_pointer(struct unwind_source *s, struct unwind_registers *r)
{
    uintptr_t fp = r->fp, next_fp, pc;
    if (fp < r->sp || fp - r->sp > MAX_FRAME_BYTES || (fp & 7)) return -1;
    if (!safe_load(&s->memory, fp, &next_fp) || !safe_load(&s->memory, fp + 8, &pc)) return -1;
    pc &= s->address_mask;
    if (pc < SAFE_PAGE) return pc == 0 && next_fp == 0 ? 0 : -1;
    *r = (struct unwind_registers){.pc = pc, .sp = fp + 16, .fp = next_fp};
    return 1;
}

NOT_SANITIZED int unwind_step(struct unwind_source *s, const struct unwind_rule *rule,
                              struct unwind_registers *r)
{
    uintptr_t cfa, pc, fp = r->fp;
    int ra_offset = rule->ra_offset;
    bool fp_is_unknown = r->fp_is_unknown;
    if (fp_is_unknown && (rule->cfa == UNWIND_CFA_FP || rule->cfa == UNWIND_CFA_DEREF_FP ||
                          rule->cfa == UNWIND_CFA_NONE || rule->fp == UNWIND_FP_AT_FP))
        return -1;
    switch (rule->cfa) {
    case UNWIND_CFA_SP:
        cfa = r->sp + (intptr_t)rule->cfa_offset;
        break;
    case UNWIND_CFA_FP:
        cfa = r->fp + (intptr_t)rule->cfa_offset;
        break;
    case UNWIND_CFA_PLT:
        cfa = r->sp + 8 + ((intptr_t)(r->pc & 15) >= rule->cfa_offset ? 8 : 0);
        break;
    case UNWIND_CFA_REGISTER:
        if (!r->all || rule->cfa_register > 31) return -1;
        cfa = r->all[rule->cfa_register] + (intptr_t)rule->cfa_offset;
        break;
    case UNWIND_CFA_DEREF_SP:
    case UNWIND_CFA_DEREF_FP:
        if (!safe_load(&s->memory,
                       (rule->cfa == UNWIND_CFA_DEREF_SP ? r->sp : r->fp) + (intptr_t)rule->ra_offset, &cfa))
            return -1;
        cfa += (intptr_t)rule->cfa_offset;
        ra_offset = -(int)sizeof(uintptr_t);
        break;
    case UNWIND_CFA_SIGNAL:
        return step_signal_frame(s, r);
    case UNWIND_CFA_END:
        return 0;
    default:
        return step_frame_pointer(s, r);
    }
    if (rule->ra == UNWIND_RA_IN_LR) {
        if (!r->lr_is_live) return -1;
        pc = r->lr;
    } else if (!safe_load(&s->memory, cfa + (intptr_t)ra_offset, &pc)) {
        return -1;
    }
    if (rule->fp == UNWIND_FP_AT_CFA) {
        if (!safe_load(&s->memory, cfa + (intptr_t)rule->fp_offset, &fp)) return -1;
        fp_is_unknown = false;
    } else if (rule->fp == UNWIND_FP_AT_FP) {
        if (!safe_load(&s->memory, r->fp + (intptr_t)rule->fp_offset, &fp)) return -1;
    } else if (rule->fp == UNWIND_FP_UNKNOWN) {
        fp = 0;
    }
    pc &= s->address_mask;
    /* Each step must go up the stack. Only a leaf that has not touched its stack (aarch64) may stay where
     * it is, once. */
    if (cfa < r->sp || (cfa == r->sp && rule->ra != UNWIND_RA_IN_LR)) return -1;
    if (pc < SAFE_PAGE) return pc == 0 ? 0 : -1;
    *r = (struct unwind_registers){.pc = pc, .sp = cfa, .fp = fp, .fp_is_unknown = fp_is_unknown};
    return 1;
}

NOT_SANITIZED static int step(struct unwind_source *s, struct unwind_registers *r)
{
    struct unwind_rule room;
    const struct unwind_rule *rule = rule_of(s, r->pc - !r->pc_is_exact, &room);
    int done = unwind_step(s, rule, r);
    return __builtin_expect(done < 0, 0) ? guess_caller_step(s, rule, r) : done;
}

NOT_SANITIZED unsigned unwind_walk(struct unwind_source *s, struct unwind_registers *r, uintptr_t *pcs,
                                   unsigned max, bool *ret_complete)
{
    unsigned n = 0;
    int went = 1;
    while (n < max && went > 0) {
        pcs[n++] = r->pc;
        went = step(s, r);
    }
    if (ret_complete) *ret_complete = went == 0;
    return n;
}

#if defined(__aarch64__)
#define ADDRESS_MASK (((uintptr_t)1 << 48) - 1) /* user addresses; the rest may be a signature */
#else
#define ADDRESS_MASK (~(uintptr_t)0)
#endif

static struct safe_memory known_stack(uintptr_t from, uintptr_t to)
{
    /* The page that holds the byte below `to` is in use, so it can be read to its end. */
    return (struct safe_memory){.lo = from, .hi = ((to - 1) | (SAFE_PAGE - 1)) + 1};
}

NOT_SANITIZED unsigned unwind_context(const void *ucontext, uintptr_t *pcs, unsigned max, bool *ret_complete)
{
    const ucontext_t *uc = ucontext;
    struct unwind_registers r = {.pc_is_exact = true, .lr_is_live = true};
    uintptr_t all[32] = {0};
#if defined(__x86_64__)
    static const uint8_t greg[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                     REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (unsigned i = 0; i < 16; i++) all[i] = (uintptr_t)uc->uc_mcontext.gregs[greg[i]];
    r.pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
    r.sp = all[7];
    r.fp = all[6];
#else
    for (unsigned i = 0; i < 31; i++) all[i] = uc->uc_mcontext.regs[i];
    all[31] = uc->uc_mcontext.sp;
    r.pc = uc->uc_mcontext.pc;
    r.sp = all[31];
    r.fp = all[29];
    r.lr = all[30];
#endif
    r.all = all;
    struct unwind_source s = {.address_mask = ADDRESS_MASK};
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (r.sp > here && r.sp - here < (64u << 10))
        s.memory = known_stack(here, r.sp); /* the interrupted code ran on this same stack */
    unsigned ticket = epoch_enter(&unwind_epoch);
    s.tables = atomic_load(&unwind_published);
    s.is_published = true;
    s.asks_loader = true;
    s.for_signals = &uc->uc_stack;
    unsigned n = unwind_walk(&s, &r, pcs, max, ret_complete);
    epoch_leave(&unwind_epoch, ticket);
    return n;
}

/* This library is always built with frame pointers, so one step leads from our own registers to those at
 * the return to the caller. On aarch64 the frame pointer does not say where the frame ends, so that step
 * uses the tables. */
NOT_SANITIZED __attribute__((noinline)) unsigned unwind_here(uintptr_t *pcs, unsigned max, unsigned skip)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    struct unwind_registers r = {
        .pc = (uintptr_t)__builtin_return_address(0), .sp = here + 16, .fp = *(const uintptr_t *)here};
    struct unwind_source s = {.address_mask = ADDRESS_MASK, .memory = known_stack(here, here + 16)};
    r.pc &= s.address_mask;
    unsigned ticket = epoch_enter(&unwind_epoch);
    s.tables = atomic_load(&unwind_published);
    s.is_published = true; /* asks_loader stays off: it is not known whether a sandbox filters this thread's
                              system calls (tables_filter_seen) */
#if defined(__aarch64__)
    struct unwind_registers ours = {.fp = here, .pc_is_exact = true};
    __asm__ volatile("adr %0, .\n\tmov %1, sp" : "=r"(ours.pc), "=r"(ours.sp));
    if (ours.sp < s.memory.lo) s.memory.lo = ours.sp;
    if (step(&s, &ours) > 0) r = ours;
#endif
    unsigned n = 0;
    int went = 1;
    for (unsigned depth = 0; n < max && went > 0; depth++) {
        if (depth >= skip) pcs[n++] = r.pc;
        went = step(&s, &r);
    }
    epoch_leave(&unwind_epoch, ticket);
    return n;
}
