/* guess_caller.h - finds the caller by its call instruction, where a walk would end because no rule is right.
 *
 * Three places need it: code without frame information (the linkage table of lld, _init, hand-written
 * assembly) while it has not touched the stack; code that was loaded in a sandbox; and the frames above
 * libgcc's unwinder, during the few instructions in which it has already overwritten the saved frame pointer
 * with that of the handler it will land in.
 */
#ifndef AGENT_HOT_GUESS_CALLER_H
#define AGENT_HOT_GUESS_CALLER_H

#include "agent/hot/unwind.h"

/* Called when unwind_step has failed; the registers are still those before it, and `rule` is the one that
 * failed. 1: done, -1: no caller was found. */
int guess_caller_step(struct unwind_source *source, const struct unwind_rule *rule,
                      struct unwind_registers *registers);

#endif
