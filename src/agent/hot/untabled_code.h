/* untabled_code.h - the rule for code that has no table yet: its object was loaded a moment ago (dlopen), and
 * the housekeeping, which runs every 20 ms, has not made a table (agent/unwind/tables.h).
 *
 * A handler asks the loader where the object's frame information is, by the one function that takes no lock
 * and may be called there (_dl_find_object, glibc 2.35), and then reads and runs the one entry that matters.
 * Another thread may unload the object meanwhile. So the bytes are copied by the kernel, which reports an
 * unmapped address instead of faulting: then the rule is lost, not the process. An address takes some 2 us;
 * with a table it takes 15 ns. It needs 3 KiB of stack, more than some signal stacks have (hot/unwind.c
 * checks).
 */
#ifndef AGENT_HOT_UNTABLED_CODE_H
#define AGENT_HOT_UNTABLED_CODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/hot/unwind.h"

struct dl_find_object;

/* The loader's function. NULL when there is none, or when a sandbox might object to the system call that
 * copies (agent/unwind/tables.h decides). */
typedef int untabled_find_fn(void *pc, struct dl_find_object *result);
extern _Atomic(untabled_find_fn *) untabled_find;

/* False when pc lies in no object, or in one without frame information. Keeps errno. */
bool untabled_rule(uintptr_t pc, struct unwind_rule *ret_rule);

#endif
