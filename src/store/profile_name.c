/* profile_name.c - see profile_name.h. */
#include "store/profile_name.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const type_names[] = {"cpu", "mem", "heap", "contention", "wall"};
static const char *const type_titles[] = {"CPU", "Memory", "Heap", "Contention", "Wall"};
static const char *const suffixes[] = {"-pprof.gz", ".html.tar.gz", "-flame.html.gz"};

const char *profile_type_name(enum profile_type type)
{
    return type_names[type];
}

const char *profile_type_title(enum profile_type type)
{
    return type_titles[type];
}

bool profile_type_parse(const char *text, enum profile_type *ret_type)
{
    for (int t = 0; t < PROFILE_N_TYPES; t++) {
        if (strcmp(type_names[t], text)) continue;
        *ret_type = (enum profile_type)t;
        return true;
    }
    return false;
}

static int digits(const char *text, int n)
{
    int value = 0;
    for (int i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9') return -1;
        value = value * 10 + (text[i] - '0');
    }
    return value;
}

static bool stamp_parts(const char *s, struct tm *tm)
{
    for (int i = 0; i < PROFILE_STAMP_LEN; i++)
        if (i == 8 ? s[i] != '-' : s[i] < '0' || s[i] > '9') return false;
    static const int month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    *tm = (struct tm){.tm_year = digits(s, 4) - 1900,
                      .tm_mon = digits(s + 4, 2) - 1,
                      .tm_mday = digits(s + 6, 2),
                      .tm_hour = digits(s + 9, 2),
                      .tm_min = digits(s + 11, 2),
                      .tm_sec = digits(s + 13, 2),
                      .tm_isdst = -1};
    return tm->tm_year >= 70 && tm->tm_mon >= 0 && tm->tm_mon < 12 && tm->tm_mday >= 1 &&
           tm->tm_mday <= month_days[tm->tm_mon] && tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 60;
}

bool profile_name_parse(const char *text, struct profile_name *ret_name)
{
    if (strnlen(text, PROFILE_NAME_MAX) >= PROFILE_NAME_MAX) return false;
    for (int t = 0; t < PROFILE_N_TYPES; t++) {
        size_t n = strlen(type_names[t]);
        if (strncmp(text, type_names[t], n) || strncmp(text + n, "-profile-", 9)) continue;
        const char *stamp = text + n + 9;
        struct tm tm;
        if (strlen(stamp) < PROFILE_STAMP_LEN || !stamp_parts(stamp, &tm)) return false;
        for (int f = 0; f < PROFILE_N_FORMS; f++) {
            if (strcmp(stamp + PROFILE_STAMP_LEN, suffixes[f])) continue;
            *ret_name = (struct profile_name){.type = (enum profile_type)t, .form = (enum profile_form)f};
            memcpy(ret_name->stamp, stamp, PROFILE_STAMP_LEN);
            return true;
        }
        return false;
    }
    return false;
}

void profile_name_print(const struct profile_name *name, char text[PROFILE_NAME_MAX])
{
    snprintf(text, PROFILE_NAME_MAX, "%s-profile-%s%s", type_names[name->type], name->stamp,
             suffixes[name->form]);
}

bool profile_name_parse_listed(const char *text, struct profile_name *ret_name, int32_t *ret_node)
{
    *ret_node = 0;
    if (profile_name_parse(text, ret_name)) return true;
    if (strnlen(text, PROFILE_NAME_MAX) >= PROFILE_NAME_MAX) return false;
    const char *stamp = strstr(text, "-profile-"), *id;
    if (!stamp || strlen(stamp += 9) <= PROFILE_STAMP_LEN + 1) return false;
    id = stamp + PROFILE_STAMP_LEN + 1;
    size_t n_digits = strspn(id, "0123456789");
    if (id[-1] != '-' || !n_digits || n_digits > 9 || id[0] == '0') return false;
    char plain[PROFILE_NAME_MAX];
    snprintf(plain, sizeof plain, "%.*s%s", (int)(id - 1 - text), text, id + n_digits);
    *ret_node = digits(id, (int)n_digits);
    return profile_name_parse(plain, ret_name);
}

void profile_name_print_listed(const struct profile_name *name, int32_t node, char text[PROFILE_NAME_MAX])
{
    if (node)
        snprintf(text, PROFILE_NAME_MAX, "%s-profile-%s-%d%s", type_names[name->type], name->stamp, node,
                 suffixes[name->form]);
    else
        profile_name_print(name, text);
}

void profile_stamp(int64_t time_ms, char stamp[PROFILE_STAMP_LEN + 1])
{
    time_t seconds = (time_t)(time_ms / 1000);
    struct tm tm;
    localtime_r(&seconds, &tm);
    strftime(stamp, PROFILE_STAMP_LEN + 1, "%Y%m%d-%H%M%S", &tm);
}

/* mktime takes more time than all other work on a name. Names of one folder are mostly of the same hour, so
 * that the last result is reused within an hour. */
int64_t profile_stamp_ms(const char *stamp)
{
    static __thread char last_hour[12];
    static __thread int64_t last_hour_s;
    struct tm tm;
    if (strlen(stamp) != PROFILE_STAMP_LEN || !stamp_parts(stamp, &tm)) return -1;
    int64_t within_s = tm.tm_min * 60 + tm.tm_sec;
    if (memcmp(last_hour, stamp, 11)) {
        tm.tm_min = tm.tm_sec = 0;
        last_hour_s = mktime(&tm);
        memcpy(last_hour, stamp, 11);
    }
    return last_hour_s == -1 ? -1 : (last_hour_s + within_s) * 1000;
}
