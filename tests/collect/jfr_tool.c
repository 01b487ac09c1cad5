/* jfr_tool.c - a JFR file as collapsed stacks, in the spelling of jfrconv: jfr_tool FILE TYPE[+TYPE]...
 * [scaled] [ranges=BYTES]
 *
 * Frames end in what they are: _[j] compiled, _[i] inlined, _[0] interpreted, _[1] C1, _[k] kernel. Where a
 * sample has a class, it is the leaf. Values as recorded, unless "scaled". "ranges": on two threads. Also
 * prints comments as "# ..." lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/strtab.h"
#include "format/format.h"

static const char *mark_of(const char *mapping)
{
    static const char *const marks[][2] = {{"[jit]", "_[j]"},         {"[inlined]", "_[i]"},
                                           {"[interpreted]", "_[0]"}, {"[c1]", "_[1]"},
                                           {"[kernel]", "_[k]"},      {"[java native]", ""}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (!strcmp(mapping, marks[i][0])) return marks[i][1];
    return "";
}

static void add_frame(const struct profile *p, uint32_t location, struct buf *out)
{
    const struct location *l = &p->locations[location];
    const char *name = profile_text(p, p->functions[p->lines[l->first_line].function].name);
    const char *mapping = l->mapping ? profile_text(p, p->mappings[l->mapping - 1].filename) : "";
    if (out->len) buf_char(out, ';');
    buf_str(out, name);
    buf_str(out, mark_of(mapping));
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    struct bytes bytes;
    struct err err;
    struct profile *p;
    struct format_options options = {.jfr_as_recorded = true};
    for (int i = 3; i < argc; i++) {
        if (!strcmp(argv[i], "scaled")) options.jfr_as_recorded = false;
        if (!strncmp(argv[i], "ranges=", 7)) options.jfr_range_bytes = strtoul(argv[i] + 7, NULL, 10);
    }
    if (file_read(argv[1], (size_t)8 << 30, &bytes, &err) < 0 ||
        format_read(bytes.data, bytes.len, argv[1], &options, &p, &err) < 0 || profile_check(p, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < p->n_comments; i++) printf("# %s\n", profile_text(p, p->comments[i]));
    struct strtab stacks = {0};
    int64_t *totals = NULL;
    size_t cap_totals = 0;
    for (char *type = strtok(argv[2], "+"); type; type = strtok(NULL, "+")) {
        int index = profile_sample_index(p, type);
        if (index < 0) continue;
        for (size_t s = 0; s < p->n_samples; s++) {
            int64_t value = profile_sample_values(p, s)[index];
            struct buf line = {0};
            if (!value) continue;
            for (size_t i = profile_sample_depth(p, s); i--;)
                add_frame(p, profile_sample_frames(p, s)[i], &line);
            for (uint64_t l = p->sample_label_start[s]; l < p->sample_label_start[s + 1]; l++)
                if (!strcmp(profile_text(p, p->labels[l].key), "class")) {
                    buf_char(&line, ';');
                    buf_str(&line, profile_text(p, p->labels[l].str));
                    buf_str(&line, "_[i]");
                }
            uint32_t id = strtab_add(&stacks, line.data, line.len);
            size_t had = cap_totals;
            totals = mem_grow(totals, &cap_totals, id + 1, sizeof *totals);
            for (size_t t = had; t < cap_totals; t++) totals[t] = 0;
            totals[id] += value;
            buf_free(&line);
        }
    }
    for (uint32_t id = 1; id < stacks.n_items; id++)
        printf("%s %lld\n", strtab_get(&stacks, id).s, (long long)totals[id]);
    strtab_free(&stacks);
    mem_free(totals);
    profile_free(p);
    bytes_free(&bytes);
    return 0;
}
