/* guess_caller.c - see guess_caller.h. On x86-64, a return address is an address right behind a call
 * instruction. A direct call also names the function that it calls, which must be the one that the walk is
 * in. On aarch64 nothing is guessed. */
#include "agent/hot/guess_caller.h"

#include "agent/hot/untabled_code.h"

#define NOT_SANITIZED __attribute__((no_sanitize("address", "thread")))

#if defined(__x86_64__)

#define MAX_WORDS          64
#define MAX_FUNCTION_BYTES (64u << 10)

enum call { NO_CALL, CALLS_ANYTHING, CALLS_US };

/* Is pc in known code, with room for a call instruction before it? */
NOT_SANITIZED static bool is_code(const struct unwind_tables *t, uintptr_t pc)
{
    const struct unwind_module *m = unwind_find_module(t, pc);
    return m && pc - m->begin >= 8;
}

/* Which call stands before a return address: call rel32 (e8), or a call through register or memory (ff
 * /2). */
NOT_SANITIZED static enum call call_before(uintptr_t pc, uintptr_t inside)
{
    uint64_t bytes; /* the last one highest */
    if (safe_copy(pc - sizeof bytes, &bytes, sizeof bytes) != sizeof bytes) return NO_CALL;
#define BYTE(before) ((uint8_t)(bytes >> (64 - 8 * (before))))
    if (BYTE(5) == 0xe8) {
        uintptr_t target = pc + (uintptr_t)(intptr_t)(int32_t)(bytes >> 32);
        return target <= inside && inside - target < MAX_FUNCTION_BYTES ? CALLS_US : CALLS_ANYTHING;
    }
    for (unsigned length = 2; length <= 7; length++)
        if (BYTE(length) == 0xff && (BYTE(length - 1) >> 3 & 7) == 2) return CALLS_ANYTHING;
    return NO_CALL;
#undef BYTE
}

NOT_SANITIZED static int return_to(struct unwind_source *s, struct unwind_registers *r, uintptr_t place,
                                   uintptr_t pc, bool has_frame_pointer)
{
    uintptr_t fp = r->fp;
    bool fp_is_unknown = r->fp_is_unknown;
    if (has_frame_pointer && place > r->sp) {
        if (!safe_load(&s->memory, place - 8, &fp)) return -1;
        fp_is_unknown = false;
    }
    *r = (struct unwind_registers){.pc = pc, .sp = place + 8, .fp = fp, .fp_is_unknown = fp_is_unknown};
    return 1;
}

NOT_SANITIZED int guess_caller_step(struct unwind_source *s, const struct unwind_rule *rule,
                                    struct unwind_registers *r)
{
    bool is_bare_leaf = rule->cfa == UNWIND_CFA_NONE && r->pc_is_exact, uses_fp = rule->cfa == UNWIND_CFA_FP;
    uintptr_t inside = r->pc - !r->pc_is_exact, pc;
    if ((!is_bare_leaf && !uses_fp) || !s->asks_loader ||
        !atomic_load_explicit(&untabled_find, memory_order_relaxed))
        return -1;
    unsigned n_words = uses_fp ? MAX_WORDS : 2; /* a linkage table entry may have pushed a number */
    for (unsigned i = 0; i < n_words; i++) {
        uintptr_t place = r->sp + 8 * i;
        if (!safe_load(&s->memory, place, &pc)) return -1;
        if (!is_code(s->tables, pc)) continue;
        enum call call = call_before(pc, inside);
        if (call == CALLS_US || (call == CALLS_ANYTHING && is_bare_leaf && i == 0))
            return return_to(s, r, place, pc, uses_fp);
    }
    return -1;
}

#else

int guess_caller_step(struct unwind_source *s, const struct unwind_rule *rule, struct unwind_registers *r)
{
    (void)s, (void)rule, (void)r;
    return -1;
}

#endif
