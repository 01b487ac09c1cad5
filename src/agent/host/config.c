/* config.c - see config.h. */
#include "agent/host/config.h"

#include <stdlib.h>
#include <string.h>

/* All keys. docs/agent.md describes each of them. */
enum value_form { TEXT, NUMBER, FLAG };
static const struct key {
    const char *name;
    enum value_form value_form;
    const char *third; /* a value allowed besides on and off; NULL: there is none */
} known_keys[] = {
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
#define MAX_TOKEN_BYTES 256 /* fits into http_request.authorization, also when sent as a Basic password */

static char storage[4096]; /* copies of all values; the first n_storage bytes are used */
static size_t n_storage;
static struct {
    const char *key, *value;
} pairs[MAX_PAIRS];
static unsigned n_pairs;

static const struct key *find(const char *name)
{
    for (size_t i = 0; i < sizeof known_keys / sizeof *known_keys; i++)
        if (!strcmp(known_keys[i].name, name)) return &known_keys[i];
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
    if (key->value_form == NUMBER && !is_number(value))
        return err_set(err, ERR_INPUT, "setting %s: \"%s\" is not a number; write it like 100, 64k or 1M",
                       key->name, value);
    if (key->value_form == FLAG && !is_flag(value) && !(key->third && !strcmp(key->third, value)))
        return err_set(err, ERR_INPUT, "setting %s: \"%s\" is not allowed; use on%s%s or off", key->name,
                       value, key->third ? ", " : "", key->third ? key->third : "");
    if (!strcmp(key->name, "token") && strlen(value) > MAX_TOKEN_BYTES)
        return err_set(err, ERR_INPUT, "setting token: it has %zu bytes; use at most %d", strlen(value),
                       MAX_TOKEN_BYTES);
    return 0;
}

static int add_pair(const char *name, const char *value, struct err *err)
{
    const struct key *key = find(name);
    if (!key)
        return err_set(err, ERR_INPUT, "unknown setting \"%s\"; docs/agent.md lists all settings", name);
    if (n_pairs == MAX_PAIRS)
        return err_set(err, ERR_LIMIT, "there are more than %d settings; remove some", MAX_PAIRS);
    int status = check(key, value, err);
    if (status) return status;
    pairs[n_pairs].key = key->name;
    pairs[n_pairs++].value = value;
    return 0;
}

/* Copies text into storage; NULL when there is no room. */
static char *store(const char *text)
{
    size_t n = strlen(text) + 1;
    if (n > sizeof storage - n_storage) return NULL;
    char *stored = memcpy(storage + n_storage, text, n);
    n_storage += n;
    return stored;
}

static int too_long(struct err *err)
{
    return err_set(err, ERR_LIMIT, "the settings are longer than %zu bytes; shorten them", sizeof storage);
}

int config_load(const char *text, struct err *err)
{
    n_pairs = 0;
    n_storage = 0;
    char *at = store(text);
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
    char *stored = store(value);
    return stored ? add_pair(key, stored, err) : too_long(err);
}

const char *config_text(const char *key, const char *fallback)
{
    for (unsigned i = n_pairs; i-- > 0;) /* the last one wins */
        if (!strcmp(pairs[i].key, key)) return pairs[i].value;
    return fallback;
}

long config_number(const char *key, long fallback)
{
    const char *text = config_text(key, NULL);
    if (!text) return fallback;
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text) return fallback;
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

bool config_flag(const char *key, bool fallback)
{
    const char *text = config_text(key, NULL);
    if (!text) return fallback;
    return strcmp(text, "0") && strcmp(text, "off") && strcmp(text, "false") && strcmp(text, "no");
}
