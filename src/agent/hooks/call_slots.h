/* call_slots.h - saves one jump: calls of the host go straight to the allocator (off) or to the counting
 * function (on).
 *
 * A loaded object calls malloc through a slot of its procedure linkage table. The loader has put the address
 * of our malloc there, which jumps on through heap_routes; that takes about a nanosecond. Here the slots
 * themselves are set to where the route leads. Nothing depends on it: a slot that is missed (an object loaded
 * later, code that took malloc's address) still goes by the route.
 *
 * Only slots of calls are changed (JUMP_SLOT), so the address of malloc that a program sees never changes. A
 * slot under RELRO lies in a read-only page, which is made writable for the moment of the change. If the page
 * is still writable, the loader is at work on the object, and its slots are left to the route.
 */
#ifndef AGENT_HOOKS_CALL_SLOTS_H
#define AGENT_HOOKS_CALL_SLOTS_H

#include <stdbool.h>

struct slot_target {
    const char *name;
    const void *exported, *real, *counting; /* a slot that holds one of these ... */
    const void *wanted;                     /* ... is set to this; NULL: leave it */
};

#define SLOTS_MAX_TARGETS 48

enum slots {
    SLOTS_NONE,
    SLOTS_BOUND,
    SLOTS_ALL
}; /* which slots to change: none, those that are bound, also unbound ones by name */

/* With by_name, slots that are not bound yet are changed too, by the name that they will be bound by. This
 * is right only while every loaded object looks up names in the same order, ours first: that is, before
 * the program can have opened an object by dlopen (RTLD_DEEPBIND looks elsewhere first). Later, only what
 * a slot holds counts. Takes the loader's lock, so it must not be called in the child of a fork or in a
 * handler. */
void call_slots_apply(const struct slot_target *targets, unsigned n_targets, bool by_name);

#endif
