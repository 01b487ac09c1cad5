/* config.c - see config.h. */
#include "agent/host/config.h"

#include <stdlib.h>
#include <string.h>

/* Every key there is; the list is in docs/agent.md with what each does. */
enum form { TEXT, NUMBER, FLAG };
static const struct key {
    const char *name;
    enum form form;
    const char *also; /* a word besides on and off */
} known[] = {
    {"listen", TEXT, NULL},
    {"token", TEXT, NULL},
    {"max_seconds", NUMBER, NULL},
    {"hz", NUMBER, NULL},
    {"exe", TEXT, NULL},
    {"portfile", TEXT, NULL},
    {"fork", FLAG, NULL},
    {"signal", NUMBER, NULL},
    {"perf", FLAG, NULL},
    {"frames", NUMBER, NULL},
    {"heap", FLAG, NULL},
    {"heap_max", NUMBER, NULL},
    {"jemalloc", FLAG, "auto"},
    {"heap_interval", NUMBER, NULL},
    {"quiet", FLAG, NULL},
    {"contention", FLAG, "block"},
    {"contention_interval", TEXT, NULL},
    {"dump_dir", TEXT, NULL},
    {"wall_signals", FLAG, NULL},
};

#define MAX_PAIRS       32
#define MAX_TOKEN_BYTES 256 /* fits into the request's Authorization, also as a password */

static char text_[4096]; /* the values, and n_text bytes of it are taken */
static size_t n_text;
static struct {
    const char *key, *value;
} pairs[MAX_PAIRS];
static unsigned n_pairs;

static const struct key *find(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) return &known[i];
    return NULL;
}

static bool is_flag(const char *value)
{
    static const char *const words[] = {"1", "on", "true", "yes", "0", "off", "false", "no"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], value)) return true;
    return false;
}

static bool is_number(const char *value)
{
    size_t n = strspn(value, "0123456789");
    return n > 0 && n < 16 && (!value[n] || (strchr("kKmMgG", value[n]) && !value[n + 1]));
}

static int check(const struct key *key, const char *value, struct err *err)
{
    if (key->form == NUMBER && !is_number(value))
        return err_set(err, ERR_INPUT, "%s: \"%s\" is not a number (also 64k, 1M)", key->name, value);
    if (key->form == FLAG && !is_flag(value) && !(key->also && !strcmp(key->also, value)))
        return err_set(err, ERR_INPUT, "%s: \"%s\" is neither on nor off%s%s", key->name, value,
                       key->also ? " nor " : "", key->also ? key->also : "");
    if (!strcmp(key->name, "token") && strlen(value) > MAX_TOKEN_BYTES)
        return err_set(err, ERR_INPUT, "token: at most %d bytes", MAX_TOKEN_BYTES);
    return 0;
}

static int add_pair(const char *name, const char *value, struct err *err)
{
    const struct key *key = find(name);
    if (!key) return err_set(err, ERR_INPUT, "no setting is called \"%s\"", name);
    if (n_pairs == MAX_PAIRS) return err_set(err, ERR_LIMIT, "more than %d settings", MAX_PAIRS);
    int status = check(key, value, err);
    if (status) return status;
    pairs[n_pairs].key = key->name;
    pairs[n_pairs++].value = value;
    return 0;
}

/* A copy that stays; NULL when there is no room. */
static char *keep(const char *text)
{
    size_t n = strlen(text) + 1;
    if (n > sizeof text_ - n_text) return NULL;
    char *kept = memcpy(text_ + n_text, text, n);
    n_text += n;
    return kept;
}

static int too_long(struct err *err)
{
    return err_set(err, ERR_LIMIT, "the settings are longer than %zu bytes", sizeof text_);
}

int config_load(const char *text, struct err *err)
{
    n_pairs = 0;
    n_text = 0;
    char *at = keep(text);
    if (!at) return too_long(err);
    for (char *next; at && *at; at = next) {
        next = strchr(at, ',');
        if (next) *next++ = 0;
        while (*at == ' ') at++;
        if (!*at) continue;
        char *value = strchr(at, '=');
        if (value) *value++ = 0;
        int status = add_pair(at, value ? value : "1", err);
        if (status) return status;
    }
    return 0;
}

int config_add(const char *key, const char *value, struct err *err)
{
    if (config_text(key, NULL)) return 0;
    char *kept = keep(value);
    return kept ? add_pair(key, kept, err) : too_long(err);
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
