/* tag_filter.c - see tag_filter.h. */
#include "report/tag_filter.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/regex.h"
#include "profile/unit.h"

enum range_kind { NOT_A_RANGE, EXACTLY, AT_LEAST, AT_MOST, BETWEEN };

struct tag_filter {
    bool has_key;
    char *key;
    enum range_kind range;
    double low, high;
    char unit[UNIT_LABEL_BYTES];
    struct regex **expressions;
    size_t n_expressions, cap_expressions;
};

const char *tag_filter_unit_of_key(const struct profile *p, uint32_t key)
{
    uint64_t n = p->n_samples ? p->sample_label_start[p->n_samples] : 0;
    for (uint64_t i = 0; i < n; i++)
        if (p->labels[i].key == key && !p->labels[i].str && p->labels[i].unit)
            return profile_text(p, p->labels[i].unit);
    const char *name = profile_text(p, key);
    return !strcmp(name, "alignment") || !strcmp(name, "request") ? "bytes" : name;
}

struct quantity {
    int64_t value;
    char unit[32];
    size_t len; /* of its text */
};

/* [+-]digits[letters] at the start of text. */
static bool parse_quantity(const char *text, struct quantity *q)
{
    char *end;
    const char *digits = text + (*text == '+' || *text == '-');
    if (!isdigit((unsigned char)*digits)) return false;
    q->value = strtoll(text, &end, 10);
    size_t n = 0;
    while (isalpha((unsigned char)end[n])) n++;
    snprintf(q->unit, sizeof q->unit, "%.*s", (int)n, end);
    q->len = (size_t)(end - text) + n;
    return true;
}

static bool parse_range(struct tag_filter *f, const char *text)
{
    struct quantity a, b;
    const char *unit;
    bool open_low = *text == ':';
    if (!parse_quantity(text + open_low, &a)) return false;
    const char *rest = text + open_low + a.len;
    f->low = f->high = unit_scale(a.value, a.unit, a.unit, &unit);
    snprintf(f->unit, sizeof f->unit, "%s", unit);
    if (open_low) {
        if (*rest) return false;
        f->range = AT_MOST;
    } else if (!*rest) {
        f->range = EXACTLY;
    } else if (*rest == ':' && !rest[1]) {
        f->range = AT_LEAST;
    } else if (*rest == ':' && parse_quantity(rest + 1, &b) && !rest[1 + b.len]) {
        f->high = unit_scale(b.value, b.unit, f->unit, &unit);
        if (strcmp(unit, f->unit)) return false;
        f->range = BETWEEN;
    } else {
        return false;
    }
    return true;
}

static int compile_all(struct tag_filter *f, const char *option, const char *text, struct err *err)
{
    char *copy = mem_strdup(text), *at = copy;
    int rc = 0;
    for (;;) {
        char *comma = strchr(at, ',');
        if (comma) *comma = '\0';
        struct regex *re;
        rc = regex_compile(at, &re, err);
        if (rc) {
            err_prefix(err, "parsing %s regexp", option);
            break;
        }
        *VEC_PUSH(f->expressions, f->n_expressions, f->cap_expressions) = re;
        if (!comma) break;
        at = comma + 1;
    }
    mem_free(copy);
    return rc;
}

int tag_filter_new(const char *option, const char *text, const struct profile *p,
                   void (*warn)(void *, const char *), void *warn_context, struct tag_filter **ret_filter,
                   struct err *err)
{
    (void)p;
    struct tag_filter *f = mem_zalloc(sizeof *f);
    const char *equals = strchr(text, '=');
    if (equals) {
        f->has_key = true;
        f->key = mem_strndup(text, (size_t)(equals - text));
        text = equals + 1;
    }
    if (parse_range(f, text)) {
        char *note = mem_printf("%s:Interpreted '%s' as range, not regexp", option, text);
        if (warn) warn(warn_context, note);
        mem_free(note);
        *ret_filter = f;
        return 0;
    }
    f->range = NOT_A_RANGE;
    int rc = compile_all(f, option, text, err);
    if (rc)
        tag_filter_free(f);
    else
        *ret_filter = f;
    return rc;
}

void tag_filter_free(struct tag_filter *f)
{
    if (!f) return;
    for (size_t i = 0; i < f->n_expressions; i++) regex_free(f->expressions[i]);
    mem_free(f->expressions);
    mem_free(f->key);
    mem_free(f);
}

static bool in_range(const struct tag_filter *f, const struct profile *p, const struct label *l)
{
    const char *unit;
    double v = unit_scale(l->num, tag_filter_unit_of_key(p, l->key), f->unit, &unit);
    if (strcmp(unit, f->unit)) return false;
    switch (f->range) {
    case EXACTLY:
        return v == f->low;
    case AT_LEAST:
        return v >= f->low;
    case AT_MOST:
        return v <= f->high;
    case BETWEEN:
        return v >= f->low && v <= f->high;
    default:
        return false;
    }
}

static bool expression_matches(struct regex *re, const struct tag_filter *f, const struct profile *p,
                               size_t s)
{
    for (uint64_t i = p->sample_label_start[s]; i < p->sample_label_start[s + 1]; i++) {
        const struct label *l = &p->labels[i];
        if (!l->str) continue;
        const char *key = profile_text(p, l->key);
        bool matched;
        if (f->has_key) {
            if (strcmp(key, f->key)) continue;
            matched = regex_match(re, profile_text(p, l->str), profile_str(p, l->str).len);
        } else {
            char *pair = mem_printf("%s:%s", key, profile_text(p, l->str));
            matched = regex_match(re, pair, strlen(pair));
            mem_free(pair);
        }
        if (matched) return true;
    }
    return false;
}

bool tag_filter_matches(struct tag_filter *f, const struct profile *p, size_t s)
{
    if (f->range != NOT_A_RANGE) {
        for (uint64_t i = p->sample_label_start[s]; i < p->sample_label_start[s + 1]; i++) {
            const struct label *l = &p->labels[i];
            if (l->str || (f->has_key && strcmp(profile_text(p, l->key), f->key))) continue;
            if (in_range(f, p, l)) return true;
        }
        return false;
    }
    for (size_t i = 0; i < f->n_expressions; i++) {
        bool matched = expression_matches(f->expressions[i], f, p, s);
        if (f->has_key && matched) return true;    /* one of them */
        if (!f->has_key && !matched) return false; /* all of them */
    }
    return !f->has_key;
}
