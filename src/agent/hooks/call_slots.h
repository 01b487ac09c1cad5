/* call_slots.h - the last jump saved: calls of the host go straight to the allocator (off) or to the counting
 * function (on).
 *
 * A loaded object calls malloc through a slot of its procedure linkage table, and the loader put the address
 * of our malloc there, which jumps on through heap_routes: about a nanosecond. Here the slots themselves are
 * pointed at where the route leads. Only an economy: a slot that is missed (an object loaded later, code that
 * took malloc's address) still goes by the route.
 *
 * Only slots of calls are touched (JUMP_SLOT): what a program sees as the address of malloc never changes.
 * Slots behind RELRO are made writable for the moment of the change, when their page is read-only: when it is
 * not, the loader is still at work on the object, and they are left to the route.
 */
#ifndef AGENT_HOOKS_CALL_SLOTS_H
#define AGENT_HOOKS_CALL_SLOTS_H

#include <stdbool.h>

struct slot_target {
    const char *name;
    const void *exported, *real, *counting; /* a slot that holds one of these ... */
    const void *wanted;                     /* ... shall hold this; NULL: leave it */
};

#define SLOTS_MAX_TARGETS 48

enum slots {
    SLOTS_NONE,
    SLOTS_BOUND,
    SLOTS_ALL
}; /* for those who switch: none, by what they hold, by name too */

/* by_name: also slots that are not bound yet, by the name they will be bound by. Right only while every
 * loaded object looks names up in the same order, ours first: before the program can have opened any by
 * dlopen (RTLD_DEEPBIND looks elsewhere first). Later a slot counts by what it holds. Takes the loader's
 * lock: not in the child of a fork, not in a handler. */
void call_slots_apply(const struct slot_target *targets, unsigned n_targets, bool by_name);

#endif
