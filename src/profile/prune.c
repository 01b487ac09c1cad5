/* prune.c - cuts stacks below a function and makes frames from labels. See filter.h. */
#include <string.h>

#include "base/idmap.h"
#include "base/mem.h"
#include "profile/filter.h"

/* Returns the name without its argument list, which begins at the first '(' that is not part of a C++ name
 * such as "operator()" or "(anonymous namespace)". */
static size_t simple_name_len(const char *s, size_t len)
{
    static const char *const own[] = {"(anonymous namespace)", "operator()"};
    for (size_t i = 0; i < len;) {
        size_t skip = 0;
        for (size_t k = 0; k < 2; k++) {
            size_t n = strlen(own[k]);
            if (len - i >= n && !memcmp(s + i, own[k], n)) skip = n;
        }
        if (skip) {
            i += skip;
        } else if (s[i] == '(') {
            return i;
        } else {
            i++;
        }
    }
    return len;
}

static bool name_matches(struct regex *re, const struct profile *p, uint32_t name)
{
    struct str s = profile_str(p, name);
    const char *at = s.s;
    size_t len = s.len;
    if (len && *at == '.') at++, len--; /* PowerPC's dot symbols */
    return regex_match(re, at, simple_name_len(at, len));
}

enum { KEEP = 0, PRUNE_ALL = 1, PRUNE_BELOW = 2 };

static void cut_stacks(struct profile *p, const uint8_t *action)
{
    uint64_t end = 0;
    for (size_t s = 0; s < p->n_samples; s++) {
        const uint32_t *frames = profile_sample_frames(p, s);
        size_t n = profile_sample_depth(p, s), from = 0;
        bool found_user =
            false; /* seen from the root, nothing is pruned before the first frame that does not match */
        for (size_t i = n; i > 0; i--) {
            uint8_t a = action[frames[i - 1]];
            if (a == KEEP) {
                found_user = true;
            } else if (found_user) {
                from = a == PRUNE_ALL ? i : i - 1;
                break;
            }
        }
        memmove(p->sample_locations + end, frames + from, (n - from) * sizeof *frames);
        p->sample_location_start[s] = end; /* read already: frames and n were taken before */
        end += n - from;
        /* start[s + 1] still holds the old value, which the next round needs */
    }
    if (p->n_samples) p->sample_location_start[p->n_samples] = end;
}

int profile_drop_uninteresting(struct profile *p, struct err *err)
{
    if (!p->drop_frames) return 0;
    struct regex *drop = NULL, *keep = NULL;
    char *pattern = mem_printf("^(?:%s)$", profile_text(p, p->drop_frames));
    int rc = regex_compile(pattern, &drop, err);
    mem_free(pattern);
    if (!rc && p->keep_frames) {
        pattern = mem_printf("^(?:%s)$", profile_text(p, p->keep_frames));
        rc = regex_compile(pattern, &keep, err);
        mem_free(pattern);
    }
    if (!rc) {
        uint8_t *action = mem_zalloc(p->n_locations),
                *known = mem_zalloc(p->strings.n_items); /* known: 1 stays, 2 goes */
        for (size_t i = 0; i < p->n_locations; i++) {
            struct location *l = &p->locations[i];
            for (uint32_t k = l->n_lines; k > 0; k--) {
                uint32_t name = p->functions[p->lines[l->first_line + k - 1].function].name;
                if (!name) continue;
                if (!known[name])
                    known[name] =
                        name_matches(drop, p, name) && !(keep && name_matches(keep, p, name)) ? 2 : 1;
                if (known[name] == 1) continue;
                if (k == l->n_lines) {
                    action[i] = PRUNE_ALL;
                } else {
                    action[i] = PRUNE_BELOW;
                    l->first_line += k;
                    l->n_lines -= k;
                }
                break;
            }
        }
        cut_stacks(p, action);
        mem_free(action);
        mem_free(known);
    }
    regex_free(drop);
    regex_free(keep);
    return rc;
}

void profile_prune_from(struct profile *p, struct regex *re)
{
    uint8_t *is_cut = mem_zalloc(p->n_locations);
    for (size_t i = 0; i < p->n_locations; i++) {
        struct location *l = &p->locations[i];
        for (uint32_t k = 0; k < l->n_lines && !is_cut[i]; k++) {
            uint32_t name = p->functions[p->lines[l->first_line + k].function].name;
            if (!name || !name_matches(re, p, name)) continue;
            is_cut[i] = 1;
            l->first_line += k;
            l->n_lines -= k;
        }
    }
    uint64_t end = 0;
    for (size_t s = 0; s < p->n_samples; s++) {
        const uint32_t *frames = profile_sample_frames(p, s);
        size_t n = profile_sample_depth(p, s), from = 0;
        while (from < n && !is_cut[frames[from]]) from++;
        if (from == n) from = 0;
        memmove(p->sample_locations + end, frames + from, (n - from) * sizeof *frames);
        p->sample_location_start[s] = end;
        end += n - from;
    }
    if (p->n_samples) p->sample_location_start[p->n_samples] = end;
    mem_free(is_cut);
}

/* ---- frames made from labels ---- */

struct key_list {
    uint32_t ids[64]; /* strings of the keys */
    size_t n;
};

static void parse_keys(struct profile *p, const char *text, struct key_list *keys)
{
    while (*text && keys->n < 64) {
        size_t n = strcspn(text, ",");
        if (n) keys->ids[keys->n++] = profile_string(p, text, n);
        text += n + (text[n] == ',');
    }
}

struct label_frames {
    struct profile *p;
    struct idmap location_of; /* value string << 32 | key string -> location */
    format_number *format;
    void *context;
};

static uint32_t values_of(struct label_frames *f, size_t sample, uint32_t key, bool *ret_any)
{
    struct profile *p = f->p;
    struct buf_like {
        char text[1024];
        size_t n;
    } joined = {.n = 0};
    for (int pass = 0; pass < 2; pass++) { /* text labels first, then numbers */
        for (uint64_t i = p->sample_label_start[sample]; i < p->sample_label_start[sample + 1]; i++) {
            const struct label *l = &p->labels[i];
            if (l->key != key || (l->str != 0) == (pass == 1)) continue;
            const char *value =
                l->str ? profile_text(p, l->str) : f->format(f->context, l->num, profile_text(p, l->unit));
            size_t len = strlen(value);
            if (joined.n + len + 2 > sizeof joined.text) break;
            if (*ret_any) joined.text[joined.n++] = ',';
            memcpy(joined.text + joined.n, value, len);
            joined.n += len;
            *ret_any = true;
        }
    }
    return profile_string(p, joined.text, joined.n);
}

static bool push_frames(struct label_frames *f, size_t sample, const struct key_list *keys, uint32_t *into,
                        size_t *n_into)
{
    bool matched = false;
    for (size_t k = keys->n; k > 0; k--) { /* the first key is nearest to the root */
        bool any = false, is_new;
        uint32_t key = keys->ids[k - 1], value = values_of(f, sample, key, &any);
        uint32_t *location = idmap_slot(&f->location_of, (uint64_t)value << 32 | key, &is_new);
        if (is_new) {
            uint64_t next_function = 1, next_location = 1;
            for (size_t i = 0; i < f->p->n_functions; i++)
                if (f->p->functions[i].id >= next_function) next_function = f->p->functions[i].id + 1;
            for (size_t i = 0; i < f->p->n_locations; i++)
                if (f->p->locations[i].id >= next_location) next_location = f->p->locations[i].id + 1;
            uint32_t function = profile_add_function(f->p, value, 0, key, 0);
            *location = profile_add_location(f->p, 0, 0);
            profile_add_line(f->p, function, 0, 0);
            f->p->functions[function].id = next_function;
            f->p->locations[*location].id = next_location;
        }
        into[(*n_into)++] = *location;
        matched |= any;
    }
    return matched;
}

void profile_add_label_frames(struct profile *p, const char *roots, const char *leaves, format_number *format,
                              void *context, bool *ret_roots_matched, bool *ret_leaves_matched)
{
    struct key_list root_keys = {.n = 0}, leaf_keys = {.n = 0};
    *ret_roots_matched = *ret_leaves_matched = false;
    parse_keys(p, roots ? roots : "", &root_keys);
    parse_keys(p, leaves ? leaves : "", &leaf_keys);
    if (!root_keys.n && !leaf_keys.n) return;
    struct label_frames f = {.p = p, .format = format, .context = context};
    uint64_t old_total = p->n_samples ? p->sample_location_start[p->n_samples] : 0;
    uint32_t *frames = mem_array(old_total + p->n_samples * (root_keys.n + leaf_keys.n), sizeof *frames);
    uint64_t end = 0, from = 0;
    for (size_t s = 0; s < p->n_samples; s++) {
        uint64_t to = p->sample_location_start[s + 1];
        size_t n = 0;
        p->sample_location_start[s] = end;
        *ret_leaves_matched |= push_frames(&f, s, &leaf_keys, frames + end, &n);
        memcpy(frames + end + n, p->sample_locations + from, (size_t)(to - from) * sizeof *frames);
        n += (size_t)(to - from);
        *ret_roots_matched |= push_frames(&f, s, &root_keys, frames + end, &n);
        from = to;
        end += n;
    }
    if (p->n_samples) p->sample_location_start[p->n_samples] = end;
    mem_free(p->sample_locations);
    p->sample_locations = frames;
    p->cap_sample_locations = end;
    idmap_free(&f.location_of);
}
