/* regex.c - see regex.h. */
#include "base/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/mem.h"

struct regex {
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

int regex_compile(const char *pattern, struct regex **ret_regex, struct err *err)
{
    int why;
    PCRE2_SIZE at;
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_NEVER_BACKSLASH_C, &why, &at, NULL);
    if (!code) {
        PCRE2_UCHAR reason[128];
        pcre2_get_error_message(why, reason, sizeof reason);
        return err_set(err, ERR_INPUT, "regular expression '%.80s': %s (at character %zu)", pattern,
                       (char *)reason, (size_t)at);
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* may fail; the interpreter is then used */
    struct regex *regex = mem_zalloc(sizeof *regex);
    regex->code = code;
    regex->match = pcre2_match_data_create_from_pattern(code, NULL);
    regex->limits = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(regex->limits, 1000000);
    *ret_regex = regex;
    return 0;
}

bool regex_match(struct regex *regex, const char *s, size_t len)
{
    return pcre2_match(regex->code, (PCRE2_SPTR)s, len, 0, 0, regex->match, regex->limits) >= 0;
}

bool regex_find(struct regex *regex, const char *s, size_t len, unsigned group, size_t *ret_start,
                size_t *ret_end)
{
    int n = pcre2_match(regex->code, (PCRE2_SPTR)s, len, 0, 0, regex->match, regex->limits);
    if (n < 0 || group >= pcre2_get_ovector_count(regex->match)) return false;
    PCRE2_SIZE *place = pcre2_get_ovector_pointer(regex->match);
    if (group >= (unsigned)n || place[2 * group] == PCRE2_UNSET) return false;
    *ret_start = place[2 * group];
    *ret_end = place[2 * group + 1];
    return true;
}

void regex_free(struct regex *regex)
{
    if (!regex) return;
    pcre2_match_context_free(regex->limits);
    pcre2_match_data_free(regex->match);
    pcre2_code_free(regex->code);
    mem_free(regex);
}
