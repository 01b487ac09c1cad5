/* sql_functions.c - see sql_functions.h. */
#include "serve/sql/sql_functions.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/buf.h"

enum { NUMBER_BYTES = 32, MAX_PATTERN_BYTES = 256 };

/* ---- values ---- */

const char *sql_spelled(const char *text)
{
    if (!text || !text[0] || text[1] != SQL_TRUE_CELL[1] || text[2]) return text;
    return *text == '1' ? "true" : *text == '0' ? "false" : text;
}

/* The text of a value; real numbers are formatted as in the result of SELECT. NULL for SQL's NULL. */
static const char *text_of(sqlite3_value *v, char number[NUMBER_BYTES])
{
    if (sqlite3_value_type(v) != SQLITE_FLOAT) return sql_spelled((const char *)sqlite3_value_text(v));
    snprintf(number, NUMBER_BYTES, "%.15g", sqlite3_value_double(v));
    return number;
}

static void give(sqlite3_context *to, const char *text) /* NULL gives SQL's NULL */
{
    sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
}

static void give_time(sqlite3_context *to, int64_t time_s, size_t n_letters)
{
    struct arena arena = {0};
    const char *text = sql_time_text(&arena, time_s);
    give(to, text ? arena_strndup(&arena, text, n_letters) : NULL);
    arena_free(&arena);
}

enum { DATE_LETTERS = 10, TIME_LETTERS = 19 };

/* SQLite hands this to each call of a function. */
struct bound {
    const struct sql_caller *caller;
    const struct function *function;
};

static const struct sql_caller *caller_of(sqlite3_context *to)
{
    return ((const struct bound *)sqlite3_user_data(to))->caller;
}

static const struct sql_session *session_of(sqlite3_context *to)
{
    return caller_of(to)->session;
}

/* ---- the session and the clock ---- */

static void version(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    (void)n_args, (void)args;
    give(to, SQL_SERVER_VERSION);
}

static void database(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    (void)n_args, (void)args;
    const char *name = session_of(to)->database;
    give(to, *name ? name : NULL);
}

static void user(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    char text[sizeof session_of(to)->user + 8];
    (void)n_args, (void)args;
    snprintf(text, sizeof text, "'%s'@'%%'", session_of(to)->user);
    give(to, text);
}

static void connection_id(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    (void)n_args, (void)args;
    sqlite3_result_int64(to, session_of(to)->connection_id);
}

static void now(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    (void)n_args, (void)args;
    give_time(to, time(NULL), TIME_LETTERS);
}

static void today(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    (void)n_args, (void)args;
    give_time(to, time(NULL), DATE_LETTERS);
}

/* Parses "2026-01-31 23:59:59", or the day alone, as local time. Other text gives NULL. */
static void unix_timestamp(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    struct tm tm = {.tm_isdst = -1};
    if (!n_args) {
        sqlite3_result_int64(to, time(NULL));
        return;
    }
    const char *text = (const char *)sqlite3_value_text(args[0]),
               *end = text ? strptime(text, "%Y-%m-%d", &tm) : NULL;
    if (end && *end) end = strptime(end, " %H:%M:%S", &tm);
    time_t t = end ? mktime(&tm) : -1;
    if (t >= 0) sqlite3_result_int64(to, t);
}

static void from_unixtime(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    (void)n_args;
    double t = sqlite3_value_double(args[0]);
    if (t >= 1 && t < 1e11) give_time(to, (int64_t)t, TIME_LETTERS);
}

/* sql_variable('name'), which sql_render writes for @@name. */
static void variable(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    const char *name = (const char *)sqlite3_value_text(args[0]),
               *value = sql_variable(session_of(to), name ? name : "");
    (void)n_args;
    if (!value) {
        char text[200];
        snprintf(text, sizeof text, "Unknown system variable '%s'", name ? name : "");
        sqlite3_result_error(to, text, -1);
    } else if (!strcmp(value, "ON") || !strcmp(value, "OFF")) {
        sqlite3_result_int(to, value[1] == 'N'); /* as MySQL answers @@autocommit */
    } else if (*value && strspn(value, "0123456789") == strlen(value) && strlen(value) < 19) {
        sqlite3_result_int64(to, atoll(value));
    } else {
        give(to, value);
    }
}

/* ---- text ---- */

static void concat(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    struct buf b = {0};
    char number[NUMBER_BYTES];
    int i = 0;
    for (const char *text; i < n_args && b.len <= SQL_MAX_BYTES && (text = text_of(args[i], number)); i++)
        buf_str(&b, text);
    if (b.len > SQL_MAX_BYTES)
        sqlite3_result_error_toobig(to);
    else if (i == n_args)
        give(to, buf_cstr(&b));
    buf_free(&b);
}

static void if_else(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    (void)n_args;
    sqlite3_result_value(to, args[sqlite3_value_double(args[0]) != 0 ? 1 : 2]);
}

/* The position of `part` in `text`, from 1, ignoring case; 0 when it is not there. */
static void find(sqlite3_context *to, sqlite3_value *part_value, sqlite3_value *text_value, double from)
{
    char numbers[2][NUMBER_BYTES];
    const char *part = text_of(part_value, numbers[0]), *text = text_of(text_value, numbers[1]);
    if (!part || !text) return;
    bool is_inside = from >= 1 && from <= (double)strlen(text) + 1;
    const char *found = is_inside ? strcasestr(text + (size_t)from - 1, part) : NULL;
    sqlite3_result_int64(to, found ? found - text + 1 : 0);
}

static void locate(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    find(to, args[0], args[1], n_args > 2 ? sqlite3_value_double(args[2]) : 1);
}

static void instr(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    (void)n_args;
    find(to, args[1], args[0], 1);
}

/* REPLACE(text, from, to) in linear time; SQLite's own takes longer. */
static void replace(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    char numbers[3][NUMBER_BYTES];
    const char *text = text_of(args[0], numbers[0]), *from = text_of(args[1], numbers[1]),
               *by = text_of(args[2], numbers[2]);
    struct buf b = {0};
    (void)n_args;
    if (!text || !from || !by) return;
    size_t from_len = strlen(from), by_len = strlen(by);
    for (const char *found; from_len && b.len <= SQL_MAX_BYTES && (found = strstr(text, from));
         text = found + from_len) {
        buf_add(&b, text, (size_t)(found - text));
        buf_add(&b, by, by_len);
    }
    if (b.len > SQL_MAX_BYTES) {
        sqlite3_result_error(to, "REPLACE() gives more than 1 MiB", -1);
    } else {
        buf_str(&b, text);
        give(to, buf_cstr(&b));
    }
    buf_free(&b);
}

static void trim_sides(sqlite3_context *to, sqlite3_value *value, bool left, bool right)
{
    char number[NUMBER_BYTES];
    const char *text = text_of(value, number);
    if (!text) return;
    if (left) text += strspn(text, " ");
    size_t len = strlen(text);
    while (right && len && text[len - 1] == ' ') len--;
    sqlite3_result_text(to, text, (int)len, SQLITE_TRANSIENT);
}

static void trim(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    (void)n_args;
    trim_sides(to, args[0], true, true);
}

static void ltrim(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    (void)n_args;
    trim_sides(to, args[0], true, false);
}

static void rtrim(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    (void)n_args;
    trim_sides(to, args[0], false, true);
}

static void give_end(sqlite3_context *to, sqlite3_value **args, bool from_right)
{
    char number[NUMBER_BYTES];
    const char *text = text_of(args[0], number);
    double n = sqlite3_value_double(args[1]);
    if (!text) return;
    size_t len = strlen(text), kept = n < 0 ? 0 : n < (double)len ? (size_t)n : len;
    sqlite3_result_text(to, from_right ? text + len - kept : text, (int)kept, SQLITE_TRANSIENT);
}

static void left(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    (void)n_args;
    give_end(to, args, false);
}

static void right(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    (void)n_args;
    give_end(to, args, true);
}

/* Fails the call because the statement has to end. sql_query replaces this text by the reason. */
static void end_early(sqlite3_context *to)
{
    sqlite3_result_error(to, "ended", -1);
}

/* ---- LIKE ---- */

static bool is_same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

bool sql_like(const char *s, const char *pattern)
{
    /* Only the last % needs a second try, which bounds the time by the product of both lengths. */
    const char *after_percent = NULL, *retry = NULL;
    while (*s) {
        if (*pattern == '%') {
            after_percent = ++pattern;
            retry = s;
            continue;
        }
        bool is_escape = *pattern == '\\' && pattern[1];
        const char *letter = pattern + is_escape;
        if (*letter && ((*letter == '_' && !is_escape) || is_same_letter(*s, *letter))) {
            pattern = letter + 1;
            s++;
        } else if (after_percent) {
            pattern = after_percent;
            s = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '%') pattern++;
    return !*pattern;
}

/* SQLite calls like(pattern, text) for text LIKE pattern. */
static void like(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    char numbers[2][NUMBER_BYTES];
    const char *pattern = text_of(args[0], numbers[0]), *text = text_of(args[1], numbers[1]);
    const char *escape = n_args > 2 ? (const char *)sqlite3_value_text(args[2]) : "\\";
    const struct sql_caller *caller = caller_of(to);
    if (!pattern || !text) return;
    if (!escape || strcmp(escape, "\\"))
        sqlite3_result_error(to, "the ESCAPE character of LIKE can only be a backslash", -1);
    else if (strlen(pattern) > MAX_PATTERN_BYTES)
        sqlite3_result_error(to, "a pattern of LIKE may have 256 bytes", -1);
    else if (caller->may_work(caller->context, strlen(text) * strlen(pattern)))
        sqlite3_result_int(to, sql_like(text, pattern));
    else
        end_early(to);
}

/* ---- comparison ---- */

static bool is_number(sqlite3_value *v)
{
    return sqlite3_value_type(v) == SQLITE_INTEGER || sqlite3_value_type(v) == SQLITE_FLOAT;
}

static const char *truth_of(const char *text)
{
    return !strcmp(text, "1") ? "true" : !strcmp(text, "0") ? "false" : text;
}

/* Compares as MySQL does: as numbers if one value is a number, otherwise as text without regard to case.
 * Neither value is NULL. */
static int compare(sqlite3_value *a, sqlite3_value *b)
{
    if (sqlite3_value_type(a) == SQLITE_INTEGER && sqlite3_value_type(b) == SQLITE_INTEGER) {
        int64_t x = sqlite3_value_int64(a), y = sqlite3_value_int64(b);
        return (x > y) - (x < y);
    }
    if (is_number(a) || is_number(b)) {
        double x = sqlite3_value_double(a), y = sqlite3_value_double(b);
        return (x > y) - (x < y);
    }
    const char *x = (const char *)sqlite3_value_text(a), *y = (const char *)sqlite3_value_text(b);
    if (!x || !y) return 0; /* no memory; SQLite ends the statement */
    const char *spelled_x = sql_spelled(x), *spelled_y = sql_spelled(y);
    if (spelled_x != x) spelled_y = truth_of(spelled_y);
    if (spelled_y != y) spelled_x = truth_of(spelled_x);
    return strcasecmp(spelled_x, spelled_y);
}

static bool is_null(sqlite3_value *v)
{
    return sqlite3_value_type(v) == SQLITE_NULL;
}

/* b REGEXP a, which sql_render writes for b = a, and b REGEXP a ESCAPE c, for b BETWEEN a AND c. */
static void equal(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    if (is_null(args[1]) || (n_args == 2 && is_null(args[0]))) return;
    if (n_args == 2) {
        sqlite3_result_int(to, !compare(args[1], args[0]));
        return;
    }
    bool is_below = !is_null(args[0]) && compare(args[1], args[0]) < 0,
         is_above = !is_null(args[2]) && compare(args[1], args[2]) > 0;
    if (is_below || is_above)
        sqlite3_result_int(to, 0);
    else if (!is_null(args[0]) && !is_null(args[2]))
        sqlite3_result_int(to, 1);
}

static void less(sqlite3_context *to, int n_args, sqlite3_value **args) /* b GLOB a, for b < a */
{
    (void)n_args;
    if (!is_null(args[0]) && !is_null(args[1])) sqlite3_result_int(to, compare(args[1], args[0]) < 0);
}

static void greater(sqlite3_context *to, int n_args, sqlite3_value **args) /* b MATCH a, for b > a */
{
    (void)n_args;
    if (!is_null(args[0]) && !is_null(args[1])) sqlite3_result_int(to, compare(args[1], args[0]) > 0);
}

/* ---- numbers ---- */

/* True if both are whole numbers and can be divided as such. */
static bool are_whole(sqlite3_value **args)
{
    return sqlite3_value_type(args[0]) == SQLITE_INTEGER && sqlite3_value_type(args[1]) == SQLITE_INTEGER &&
           sqlite3_value_int64(args[1]) != -1; /* the least number DIV -1 would overflow */
}

static void divide(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    double by = sqlite3_value_double(args[1]);
    (void)n_args;
    if (by == 0 || is_null(args[0])) return; /* NULL */
    if (are_whole(args)) {
        sqlite3_result_int64(to, sqlite3_value_int64(args[0]) / sqlite3_value_int64(args[1]));
        return;
    }
    double quotient = trunc(sqlite3_value_double(args[0]) / by);
    if (fabs(quotient) < 0x1p63)
        sqlite3_result_int64(to, (int64_t)quotient);
    else
        sqlite3_result_double(to, quotient);
}

static void modulo(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    double by = sqlite3_value_double(args[1]);
    (void)n_args;
    if (by == 0 || is_null(args[0])) return; /* NULL */
    if (are_whole(args))
        sqlite3_result_int64(to, sqlite3_value_int64(args[0]) % sqlite3_value_int64(args[1]));
    else if (sqlite3_value_type(args[0]) == SQLITE_INTEGER && sqlite3_value_type(args[1]) == SQLITE_INTEGER)
        sqlite3_result_int(to, 0); /* modulo -1 */
    else
        sqlite3_result_double(to, fmod(sqlite3_value_double(args[0]), by));
}

/* SQLite's own takes at least two arguments. */
static void coalesce(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    for (int i = 0; i < n_args; i++)
        if (!is_null(args[i])) {
            sqlite3_result_value(to, args[i]);
            return;
        }
}

/* ---- the list ---- */

static const struct function {
    const char *name;
    int min_args, max_args;
    void (*run)(sqlite3_context *to, int n_args, sqlite3_value **args);
} functions[] = {
    {"VERSION", 0, 0, version},
    {"CURRENT_VERSION", 0, 0, version},
    {"DATABASE", 0, 0, database},
    {"SCHEMA", 0, 0, database},
    {"USER", 0, 0, user},
    {"CURRENT_USER", 0, 0, user},
    {"SESSION_USER", 0, 0, user},
    {"SYSTEM_USER", 0, 0, user},
    {"CONNECTION_ID", 0, 0, connection_id},
    {"NOW", 0, 0, now},
    {"CURDATE", 0, 0, today},
    {"UNIX_TIMESTAMP", 0, 1, unix_timestamp},
    {"FROM_UNIXTIME", 1, 1, from_unixtime},
    {"CONCAT", 1, INT_MAX, concat},
    {"IF", 3, 3, if_else},
    {"LOCATE", 2, 3, locate},
    {"INSTR", 2, 2, instr},
    {"REPLACE", 3, 3, replace},
    {"TRIM", 1, 1, trim},
    {"LTRIM", 1, 1, ltrim},
    {"RTRIM", 1, 1, rtrim},
    {"LEFT", 2, 2, left},
    {"RIGHT", 2, 2, right},
    {"LIKE", 2, 3, like},
    {"REGEXP", 2, 3, equal},
    {"GLOB", 2, 2, less},
    {"MATCH", 2, 2, greater},
    {"MOD", 2, 2, modulo},
    {"COALESCE", 1, INT_MAX, coalesce},
    {"sql_div", 2, 2, divide},
    {"sql_variable", 1, 1, variable},
};

enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

bool sql_functions_has(const char *name)
{
    for (size_t i = 0; i < N_FUNCTIONS; i++)
        if (!strcasecmp(functions[i].name, name)) return true;
    return false;
}

static void call(sqlite3_context *to, int n_args, sqlite3_value **args)
{
    const struct bound *bound = sqlite3_user_data(to);
    const struct function *f = bound->function;
    size_t n_bytes = 0;
    if (n_args < f->min_args || n_args > f->max_args) {
        char text[100];
        snprintf(text, sizeof text, "wrong number of arguments to function %s()", f->name);
        sqlite3_result_error(to, text, -1);
        return;
    }
    for (int i = 0; i < n_args; i++) n_bytes += (size_t)sqlite3_value_bytes(args[i]);
    if (bound->caller->may_work(bound->caller->context, n_bytes))
        f->run(to, n_args, args);
    else
        end_early(to);
}

/* Every function takes any number of arguments as far as SQLite knows. If it had an exact number, a call with
 * another number would reach SQLite's own function of that name, such as the slow trim(text, letters). */
int sql_functions_add(sqlite3 *db, const struct sql_caller *caller)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < N_FUNCTIONS; i++) {
        struct bound *bound = sqlite3_malloc(sizeof *bound);
        if (!bound) return SQLITE_NOMEM;
        *bound = (struct bound){caller, &functions[i]};
        /* Every database has a MATCH of two arguments, which fails. */
        int n_args = functions[i].run == greater ? 2 : -1;
        rc = sqlite3_create_function_v2(db, functions[i].name, n_args, SQLITE_UTF8, bound, call, NULL, NULL,
                                        sqlite3_free);
    }
    return rc;
}
