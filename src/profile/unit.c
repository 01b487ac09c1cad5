/* unit.c - see unit.h. Families of units with their spellings; the texts are the ones google/pprof prints. */
#include "profile/unit.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

struct unit {
    const char *name;
    const char *aliases; /* blank-separated, lower case, singular */
    double factor;
};

struct family {
    const char *default_name;
    double default_factor;
    struct unit units[10];
};

static const struct family families[] = {
    {"B",
     1,
     {{"B", "b byte", 1},
      {"kB", "kb kbyte kilobyte", 0x1p10},
      {"MB", "mb mbyte megabyte", 0x1p20},
      {"GB", "gb gbyte gigabyte", 0x1p30},
      {"TB", "tb tbyte terabyte", 0x1p40},
      {"PB", "pb pbyte petabyte", 0x1p50}}},
    {"s",
     1e9,
     {{"ns", "ns nanosecond", 1},
      {"us", "\xce\xbcs us microsecond", 1e3},
      {"ms", "ms millisecond", 1e6},
      {"s", "s sec second", 1e9},
      {"hrs", "hour hr", 3600e9}}},
    {"GCU",
     1,
     {{"n*GCU", "nanogcu", 1e-9},
      {"u*GCU", "microgcu", 1e-6},
      {"m*GCU", "milligcu", 1e-3},
      {"GCU", "gcu", 1},
      {"k*GCU", "kilogcu", 1e3},
      {"M*GCU", "megagcu", 1e6},
      {"G*GCU", "gigagcu", 1e9},
      {"T*GCU", "teragcu", 1e12},
      {"P*GCU", "petagcu", 1e15}}},
};

static bool has_word(const char *words, const char *word, size_t len)
{
    for (const char *at = words; *at;) {
        size_t n = strcspn(at, " ");
        if (n == len && !memcmp(at, word, n)) return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

static const struct unit *find_unit(const struct family *f, const char *text)
{
    char lower[32];
    size_t len = strlen(text);
    if (len >= sizeof lower) return NULL;
    for (size_t i = 0; i <= len; i++) lower[i] = (char)tolower((unsigned char)text[i]);
    if (utf8_count(lower) > 2 && lower[len - 1] == 's') len--;
    if (!len) return NULL;
    for (const struct unit *u = f->units; u < f->units + 10 && u->name; u++)
        if (has_word(u->aliases, lower, len)) return u;
    return NULL;
}

int unit_known(const char *text)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (find_unit(&families[i], text)) return (int)i + 1;
    return 0;
}

static bool is_automatic(const char *unit)
{
    return !strcmp(unit, "minimum") || !strcmp(unit, "auto");
}

static double convert(const struct family *f, const struct unit *from, int64_t value, const char *to_unit,
                      const char **ret_unit)
{
    double v = (double)value * from->factor;
    const struct unit *to = NULL;
    if (is_automatic(to_unit)) {
        for (const struct unit *u = f->units; u < f->units + 10 && u->name; u++)
            if ((!to || u->factor >= to->factor) && v / u->factor >= 1.0) to = u;
    } else {
        to = find_unit(f, to_unit);
    }
    *ret_unit = to ? to->name : f->default_name;
    return v / (to ? to->factor : f->default_factor);
}

double unit_scale(int64_t value, const char *from_unit, const char *to_unit, const char **ret_unit)
{
    if (value < 0 && value != INT64_MIN) return -unit_scale(-value, from_unit, to_unit, ret_unit);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const struct unit *from = find_unit(&families[i], from_unit);
        if (from) return convert(&families[i], from, value, to_unit, ret_unit);
    }
    bool dull = is_automatic(to_unit) || !strcmp(to_unit, "count") || !strcmp(to_unit, "sample") ||
                !strcmp(to_unit, "unit");
    *ret_unit = dull ? "" : to_unit;
    return (double)value;
}

const char *unit_label(int64_t value, const char *from_unit, const char *to_unit, char into[UNIT_LABEL_BYTES])
{
    const char *unit;
    double v = unit_scale(value, from_unit, to_unit, &unit);
    int n = snprintf(into, UNIT_LABEL_BYTES, "%.2f", v);
    if (n > 3 && !strcmp(into + n - 3, ".00")) into[n -= 3] = '\0';
    if (!strcmp(into, "0") || !strcmp(into, "-0")) return strcpy(into, "0");
    snprintf(into + n, (size_t)(UNIT_LABEL_BYTES - n), "%s", unit);
    return into;
}

const char *unit_percentage(int64_t value, int64_t total, char into[16])
{
    double ratio = total ? fabs((double)value / (double)total) * 100 : 0;
    if (ratio >= 99.95 && ratio <= 100.05) return strcpy(into, "  100%");
    if (ratio >= 1.0) {
        snprintf(into, 16, "%5.2f%%", ratio);
        return into;
    }
    char digits[12];
    snprintf(digits, sizeof digits, "%.2g", ratio);
    snprintf(into, 16, "%5.12s%%", digits);
    return into;
}

const char *unit_percentage_trimmed(int64_t value, int64_t total, char into[16])
{
    unit_percentage(value, total, into);
    char *at = into;
    while (*at == ' ') at++;
    memmove(into, at, strlen(at) + 1);
    return into;
}
