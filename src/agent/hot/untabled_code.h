/* untabled_code.h - the rule for code that has no table yet: an object that was loaded a moment ago (dlopen),
 * before the housekeeping has made one (agent/unwind/tables.h, every 20 ms).
 *
 * The loader is asked where the object's frame information is, by the one function of it that takes no lock
 * and may be called in a handler (_dl_find_object, glibc 2.35), and the one entry that matters is read and
 * run. Reading goes through the kernel, as a stranger would: an object that another thread unloads meanwhile
 * costs the rule, not the process. Some 2 us an address, where a table takes 15 ns. Takes 3 KiB of stack: not
 * for the small ones that signals may have (hot/unwind.c).
 */
#ifndef AGENT_HOT_UNTABLED_CODE_H
#define AGENT_HOT_UNTABLED_CODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/hot/unwind.h"

struct dl_find_object;

/* The loader's function; NULL: there is none, or a sandbox might object to the way we read
 * (agent/unwind/tables.h decides). */
typedef int untabled_find_fn(void *pc, struct dl_find_object *result);
extern _Atomic(untabled_find_fn *) untabled_find;

/* False when pc lies in no object, or in one without frame information. Keeps errno. */
bool untabled_rule(uintptr_t pc, struct unwind_rule *ret_rule);

#endif
