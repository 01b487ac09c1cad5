/* assert.h - checks of what the code itself promises.
 *
 * ASSERT(condition) states an invariant: a condition that only a bug in this program can break. Wrong input,
 * a full disk or a missing file is not a bug; it is reported through struct err.
 *
 * Builds with ASSERT=1 (`make ASSERT=1 B=build-assert`) and all builds with a sanitizer check the condition.
 * When it does not hold, one line with file, line and condition goes to stderr and the process aborts. Code
 * of src/agent/hot may not print, so there the process stops at a trap instruction without a message. Other
 * builds do not evaluate the condition, so it must not have side effects. A check that needs statements of
 * its own stands inside `if (ASSERT_ON) { ... }`.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

#ifdef PROCPROF_ASSERT
#define ASSERT_ON 1
#else
#define ASSERT_ON 0
#endif

#if !ASSERT_ON
#define ASSERT(condition) ((void)sizeof(!(condition)))
#elif defined PROCPROF_HOT
#define ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noreturn, cold, unused)) static void assert_failed(const char *file, int line,
                                                                  const char *condition)
{
    dprintf(STDERR_FILENO, "%s:%d: broken invariant: %s\n", file, line, condition);
    abort();
}

#define ASSERT(condition) ((condition) ? (void)0 : assert_failed(__FILE__, __LINE__, #condition))
#endif

#endif
