/* guess_caller.h - where a walk would end for want of a true rule, the caller found by its call instruction.
 *
 * Three places need it: code that nobody described (the linkage table of lld, _init, hand-written assembly)
 * while it has not touched the stack; code loaded in a sandbox; and the frames above libgcc's unwinder in the
 * few instructions in which it has already overwritten the saved frame pointer with that of the handler it
 * will land in.
 */
#ifndef AGENT_HOT_GUESS_CALLER_H
#define AGENT_HOT_GUESS_CALLER_H

#include "agent/hot/unwind.h"

/* What unwind_step could not do for registers that are still those before it: 1 done, -1 lost. `rule` is the
 * one that failed. */
int guess_caller_step(struct unwind_source *source, const struct unwind_rule *rule,
                      struct unwind_registers *registers);

#endif
