/* kinds.c - the table of kinds, and query parameters. */
#include "agent/sample/kinds.h"

#include <string.h>

#include "agent/sample/capture.h"
#include "base/text.h"

/* The linker gathers the entries that KIND_REGISTER puts into the section. Weak, so that a library without
 * kinds still links. */
extern const struct kind *const __start_procprof_kinds[] __attribute__((weak, visibility("hidden")));
extern const struct kind *const __stop_procprof_kinds[] __attribute__((weak, visibility("hidden")));

static bool is_available(const struct kind *k)
{
    return !k->available || k->available();
}

const struct kind *kind_next(const struct kind *previous)
{
    bool found = !previous;
    for (const struct kind *const *k = __start_procprof_kinds; k < __stop_procprof_kinds; k++) {
        if (found && is_available(*k)) return *k;
        if (*k == previous) found = true;
    }
    return NULL;
}

const struct kind *kind_find(const char *name, size_t length)
{
    for (const struct kind *const *k = __start_procprof_kinds; k < __stop_procprof_kinds; k++)
        if (!strncmp((*k)->name, name, length) && !(*k)->name[length] && is_available(*k)) return *k;
    return NULL;
}

unsigned kind_number(const struct kind *kind)
{
    for (const struct kind *const *k = __start_procprof_kinds; k < __stop_procprof_kinds; k++)
        if (*k == kind) return (unsigned)(k - __start_procprof_kinds);
    return KINDS_MAX - 1;
}

bool kind_query(const char *query, const char *name, char *value, size_t size)
{
    size_t length = strlen(name), n = 0;
    value[0] = 0;
    const char *at = query;
    while (*at &&
           !(strncmp(at, name, length) == 0 && (at[length] == '=' || at[length] == '&' || !at[length]))) {
        at += strcspn(at, "&");
        if (*at) at++;
    }
    if (!*at) return false;
    at += length;
    if (*at == '=') at++;
    for (; *at && *at != '&' && n + 1 < size; at++) {
        char c = *at == '+' ? ' ' : *at;
        int byte = text_percent_byte(at, strnlen(at, 3));
        if (byte >= 0) {
            c = (char)byte;
            at += 2;
        }
        if (c == 0) break;
        value[n++] = c;
    }
    value[n] = 0;
    return true;
}

void kinds_forked(void)
{
    captures_forked();
    for (const struct kind *const *k = __start_procprof_kinds; k < __stop_procprof_kinds; k++)
        if ((*k)->forked) (*k)->forked();
}

void kinds_agent_started(void)
{
    for (const struct kind *const *k = __start_procprof_kinds; k < __stop_procprof_kinds; k++)
        if ((*k)->agent_started) (*k)->agent_started();
}

void kinds_agent_stopped(void)
{
    for (const struct kind *const *k = __start_procprof_kinds; k < __stop_procprof_kinds; k++)
        if ((*k)->agent_stopped) (*k)->agent_stopped();
}
