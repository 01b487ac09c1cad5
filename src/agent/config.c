/* config.c - see config.h. */
#include "agent/config.h"

#include <stdlib.h>
#include <string.h>

/* Every key there is; the list is in docs/agent.md with what each does. */
static const char *const known[] = {
    "listen",
    "token",
    "max_seconds",
    "hz",
    "exe",
    "portfile",
    "fork",
    "signal",
    "perf",
    "frames",
    "heap",
    "heap_max",
    "jemalloc",
    "heap_interval",
    "quiet",
    "contention",
    "contention_interval",
    "dump_dir",
    "wall_signals",
};

#define MAX_PAIRS 32

static char text_[4096];
static struct {
    const char *key, *value;
} pairs[MAX_PAIRS];
static unsigned n_pairs;

static bool is_known(const char *key)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i], key)) return true;
    return false;
}

int config_load(const char *text, struct err *err)
{
    n_pairs = 0;
    if (strlen(text) >= sizeof text_)
        return err_set(err, ERR_LIMIT, "the settings are longer than %zu bytes", sizeof text_);
    strcpy(text_, text);
    for (char *at = text_, *next; at && *at; at = next) {
        next = strchr(at, ',');
        if (next) *next++ = 0;
        while (*at == ' ') at++;
        if (!*at) continue;
        char *value = strchr(at, '=');
        if (value) *value++ = 0;
        if (!is_known(at)) return err_set(err, ERR_INPUT, "no setting is called \"%s\"", at);
        if (n_pairs == MAX_PAIRS) return err_set(err, ERR_LIMIT, "more than %d settings", MAX_PAIRS);
        pairs[n_pairs].key = at;
        pairs[n_pairs++].value = value ? value : "1";
    }
    return 0;
}

const char *config_text(const char *key, const char *otherwise)
{
    for (unsigned i = n_pairs; i-- > 0;) /* the last one wins */
        if (!strcmp(pairs[i].key, key)) return pairs[i].value;
    return otherwise;
}

long config_number(const char *key, long otherwise)
{
    const char *text = config_text(key, NULL);
    if (!text) return otherwise;
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text) return otherwise;
    switch (*end) {
    case 'k':
    case 'K':
        return value << 10;
    case 'm':
    case 'M':
        return value << 20;
    case 'g':
    case 'G':
        return value << 30;
    default:
        return value;
    }
}

bool config_flag(const char *key, bool otherwise)
{
    const char *text = config_text(key, NULL);
    if (!text) return otherwise;
    return strcmp(text, "0") && strcmp(text, "off") && strcmp(text, "false") && strcmp(text, "no");
}
