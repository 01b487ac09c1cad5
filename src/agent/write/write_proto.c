/* write_proto.c - profile.proto with names, gzip, for Go clients and the procprof program. */
#include <string.h>

#include "agent/host/mappings.h"
#include "agent/names/agent_symbols.h"
#include "agent/write/gzip.h"
#include "agent/write/output.h"

/* ---- protobuf */

static void put_varint(struct pages_buf *b, uint64_t v)
{
    uint8_t bytes[10];
    unsigned n = 0;
    for (; v >= 0x80; v >>= 7) bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    pages_buf_bytes(b, bytes, n);
}

static void put_int(struct pages_buf *b, unsigned field, uint64_t v)
{
    if (!v) return;
    put_varint(b, field << 3);
    put_varint(b, v);
}

static void put_bytes(struct pages_buf *b, unsigned field, const void *bytes, size_t n)
{
    put_varint(b, field << 3 | 2);
    put_varint(b, n);
    pages_buf_bytes(b, bytes, n);
}

/* Appends the message that was built in `scratch`, and empties scratch. */
static void put_message(struct pages_buf *b, unsigned field, struct pages_buf *scratch)
{
    if (scratch->failed) b->failed = true;
    put_bytes(b, field, scratch->data, scratch->size);
    scratch->size = 0;
}

/* ---- the string table */

struct strings {
    struct pages_buf text;    /* all strings, NUL-terminated, in order */
    struct pages_buf offsets; /* uint32_t[] */
    uint32_t *slots;          /* hash: index + 1 */
    uint32_t mask;
};

static bool strings_grow(struct strings *t)
{
    uint32_t old_mask = t->mask, *old = t->slots;
    t->mask = old ? (old_mask + 1) * 2 - 1 : 4095;
    t->slots = pages_map(((size_t)t->mask + 1) * sizeof *t->slots);
    if (!t->slots) {
        t->slots = old;
        t->mask = old_mask;
        return false;
    }
    for (uint32_t i = 0; old && i <= old_mask; i++) {
        if (!old[i]) continue;
        uint64_t h = 14695981039346656037u;
        for (const char *c = t->text.data + ((uint32_t *)(void *)t->offsets.data)[old[i] - 1]; *c; c++)
            h = (h ^ (unsigned char)*c) * 1099511628211u;
        uint32_t at = (uint32_t)(h >> 20) & t->mask;
        while (t->slots[at]) at = (at + 1) & t->mask;
        t->slots[at] = old[i];
    }
    if (old) pages_unmap(old, ((size_t)old_mask + 1) * sizeof *old);
    return true;
}

static bool strings_failed(const struct strings *t)
{
    return t->text.failed || t->offsets.failed;
}

static uint64_t string_index(struct strings *t, const char *s)
{
    uint32_t n = (uint32_t)(t->offsets.size / 4);
    if (strings_failed(t)) return 0;
    if (!t->slots || n * 2 > t->mask) {
        if (!strings_grow(t)) {
            t->text.failed = true;
            return 0;
        }
        if (n == 0) { /* index 0 is the empty string, always */
            uint32_t zero = 0;
            pages_buf_bytes(&t->text, "", 1);
            pages_buf_bytes(&t->offsets, &zero, 4);
            if (strings_failed(t)) return 0;
            n = 1;
        }
    }
    if (!*s) return 0;
    uint64_t h = 14695981039346656037u;
    for (const char *c = s; *c; c++) h = (h ^ (unsigned char)*c) * 1099511628211u;
    uint32_t at = (uint32_t)(h >> 20) & t->mask;
    for (; t->slots[at]; at = (at + 1) & t->mask)
        if (!strcmp(t->text.data + ((uint32_t *)(void *)t->offsets.data)[t->slots[at] - 1], s))
            return t->slots[at] - 1;
    uint32_t offset = (uint32_t)t->text.size;
    pages_buf_bytes(&t->text, s, strlen(s) + 1);
    pages_buf_bytes(&t->offsets, &offset, 4);
    if (strings_failed(t)) return 0; /* a slot may only name a string that is there */
    t->slots[at] = n + 1;
    return n;
}

static void strings_free(struct strings *t)
{
    pages_buf_free(&t->text);
    pages_buf_free(&t->offsets);
    if (t->slots) pages_unmap(t->slots, ((size_t)t->mask + 1) * sizeof *t->slots);
}

/* ---- the profile */

struct writer {
    const struct output *o;
    struct pages_buf body, scratch, inner;
    struct strings strings;
    struct mappings mappings;
    struct symbols symbols;       /* an entry for each location: location id = its index + 1 */
    struct pages_buf function_of; /* uint32_t by location index; 0: none */
};

static void put_value_type(struct writer *w, unsigned field, const struct output_type *t)
{
    put_int(&w->scratch, 1, string_index(&w->strings, t->type));
    put_int(&w->scratch, 2, string_index(&w->strings, t->unit));
    put_message(&w->body, field, &w->scratch);
}

static void put_label(struct writer *w, const char *key, const char *text, int64_t number, const char *unit)
{
    put_int(&w->inner, 1, string_index(&w->strings, key));
    if (text)
        put_int(&w->inner, 2, string_index(&w->strings, text));
    else {
        put_int(&w->inner, 3, (uint64_t)number);
        if (unit) put_int(&w->inner, 4, string_index(&w->strings, unit));
    }
    put_message(&w->scratch, 3, &w->inner);
}

static void put_sample(struct writer *w, const struct output_sample *s)
{
    const uintptr_t *pcs = output_pcs(w->o, s);
    for (unsigned i = 0; i < s->n_pcs; i++) {
        const struct symbols_entry *e = symbols_find(&w->symbols, output_address(s, pcs, i));
        if (e)
            put_varint(&w->inner,
                       (uint64_t)(e - (const struct symbols_entry *)(const void *)w->symbols.entries.data) +
                           1);
    }
    put_message(&w->scratch, 1, &w->inner);
    for (unsigned i = 0; i < w->o->n_types; i++) put_varint(&w->inner, (uint64_t)output_values(w->o, s)[i]);
    put_message(&w->scratch, 2, &w->inner);
    const struct output_label *labels = output_labels(w->o, s);
    for (unsigned i = 0; i < s->n_labels; i++)
        put_label(w, labels[i].key, output_label_text(w->o, &labels[i]), labels[i].num, labels[i].unit);
    put_message(&w->body, 2, &w->scratch);
}

#define LOST_LOCATION(w) ((w)->symbols.entries.size / sizeof(struct symbols_entry) + 1)

/* Adds the lost samples as one sample on a frame of its own: totals stay right, and the loss is visible in
 * every report. */
static void put_lost(struct writer *w)
{
    if (!w->o->n_lost) return;
    put_varint(&w->inner, LOST_LOCATION(w));
    put_message(&w->scratch, 1, &w->inner);
    for (unsigned i = 0; i < w->o->n_types; i++)
        put_varint(&w->inner, w->o->n_lost * (uint64_t)(i == 0 ? 1 : w->o->period ? w->o->period : 1));
    put_message(&w->scratch, 2, &w->inner);
    put_label(w, "lost", NULL, (int64_t)w->o->n_lost, "samples");
    put_message(&w->body, 2, &w->scratch);
}

static void put_mappings(struct writer *w)
{
    /* In the order of addresses, which puts the program first as a rule; clients take the first mapping for
     * the main binary. */
    for (unsigned i = 0; i < mappings_count(&w->mappings); i++) {
        const struct mapping *m = mappings_at(&w->mappings, i);
        put_int(&w->scratch, 1, i + 1);
        put_int(&w->scratch, 2, m->start);
        put_int(&w->scratch, 3, m->limit);
        put_int(&w->scratch, 4, m->offset);
        put_int(&w->scratch, 5, string_index(&w->strings, m->path[0] ? m->path : "//anon"));
        put_int(&w->scratch, 6, string_index(&w->strings, m->build_id));
        put_int(&w->scratch, 7, 1); /* has_functions: asking us again would find no more names */
        put_message(&w->body, 3, &w->scratch);
    }
}

static void put_locations(struct writer *w)
{
    const struct symbols_entry *e = (const struct symbols_entry *)(const void *)w->symbols.entries.data;
    size_t n = w->symbols.entries.size / sizeof *e;
    const uint32_t *function_of = (const uint32_t *)(const void *)w->function_of.data;
    for (size_t i = 0; i < n; i++) {
        put_int(&w->scratch, 1, i + 1);
        put_int(&w->scratch, 2, (uint64_t)(e[i].mapping + 1));
        put_int(&w->scratch, 3, e[i].address);
        if (function_of[i]) {
            put_int(&w->inner, 1, function_of[i]);
            put_message(&w->scratch, 4, &w->inner);
        }
        put_message(&w->body, 4, &w->scratch);
    }
}

static void put_function(struct writer *w, uint64_t id, const char *name)
{
    put_int(&w->scratch, 1, id);
    put_int(&w->scratch, 2, string_index(&w->strings, name));
    put_int(&w->scratch, 3, string_index(&w->strings, name));
    put_message(&w->body, 5, &w->scratch);
}

/* Numbers the functions, one for each start address; neighbours in the sorted entries share one. Locations
 * come before functions in the file and refer to them, so the numbers must be known first. */
static unsigned number_functions(struct writer *w)
{
    const struct symbols_entry *e = (const struct symbols_entry *)(const void *)w->symbols.entries.data;
    size_t n = w->symbols.entries.size / sizeof *e;
    uint32_t n_functions = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t id = 0;
        if (e[i].start) id = i && e[i - 1].start == e[i].start ? n_functions : ++n_functions;
        pages_buf_bytes(&w->function_of, &id, sizeof id);
    }
    return n_functions;
}

static void put_functions(struct writer *w)
{
    const struct symbols_entry *e = (const struct symbols_entry *)(const void *)w->symbols.entries.data;
    size_t n = w->symbols.entries.size / sizeof *e;
    const uint32_t *function_of = (const uint32_t *)(const void *)w->function_of.data;
    for (size_t i = 0; i < n; i++)
        if (function_of[i] && (i == 0 || function_of[i - 1] != function_of[i]))
            put_function(w, function_of[i], symbols_name(&w->symbols, &e[i]));
}

static void collect_addresses(struct writer *w)
{
    for (unsigned i = 0; i < output_n_samples(w->o); i++) {
        const struct output_sample *s = output_sample_at(w->o, i);
        const uintptr_t *pcs = output_pcs(w->o, s);
        for (unsigned k = 0; k < s->n_pcs; k++) symbols_add(&w->symbols, output_address(s, pcs, k));
    }
}

static void put_profile(struct writer *w)
{
    const struct output *o = w->o;
    unsigned n_functions = number_functions(w);
    if (w->function_of.failed) return;
    (void)string_index(&w->strings, "");
    for (unsigned i = 0; i < o->n_types; i++) put_value_type(w, 1, &o->types[i]);
    for (unsigned i = 0; i < output_n_samples(o); i++) put_sample(w, output_sample_at(o, i));
    put_lost(w);
    put_mappings(w);
    put_locations(w);
    if (o->n_lost) {
        put_int(&w->scratch, 1, LOST_LOCATION(w));
        put_int(&w->inner, 1, n_functions + 1);
        put_message(&w->scratch, 4, &w->inner);
        put_message(&w->body, 4, &w->scratch);
    }
    put_functions(w);
    if (o->n_lost) put_function(w, n_functions + 1, "[lost]");
    put_int(&w->body, 9, (uint64_t)o->time_ns);
    put_int(&w->body, 10, (uint64_t)o->duration_ns);
    if (o->period_type.type) put_value_type(w, 11, &o->period_type);
    put_int(&w->body, 12, (uint64_t)o->period);
    for (unsigned i = 0; i < o->n_comments; i++)
        put_int(&w->body, 13, string_index(&w->strings, o->comments[i]));
    if (o->default_type) put_int(&w->body, 14, string_index(&w->strings, o->default_type));
    if (strings_failed(&w->strings)) return;
    const uint32_t *offsets = (const uint32_t *)(const void *)w->strings.offsets.data;
    for (size_t i = 0; i < w->strings.offsets.size / 4; i++) {
        const char *text = w->strings.text.data + offsets[i];
        put_bytes(&w->body, 6, text, strlen(text));
    }
}

int output_write_proto(const struct output *o, struct pages_buf *b, struct err *err)
{
    struct writer w = {.o = o};
    (void)mappings_read(&w.mappings);
    collect_addresses(&w);
    int status = symbols_resolve(&w.symbols, &w.mappings) ? ERR_LIMIT : 0;
    if (!status) put_profile(&w);
    if (w.body.failed || w.scratch.failed || w.inner.failed || strings_failed(&w.strings) ||
        w.function_of.failed)
        status = ERR_LIMIT;
    if (!status) gzip_write(b, w.body.data, w.body.size);
    if (b->failed) status = ERR_LIMIT;
    pages_buf_free(&w.body);
    pages_buf_free(&w.scratch);
    pages_buf_free(&w.inner);
    pages_buf_free(&w.function_of);
    strings_free(&w.strings);
    symbols_free(&w.symbols);
    mappings_free(&w.mappings);
    return status ? err_set(err, status, "%s: the profile does not fit in memory", o->name) : 0;
}
