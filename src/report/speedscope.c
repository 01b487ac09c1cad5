/* speedscope.c - see speedscope.h. */
#include "report/speedscope.h"

#include <string.h>

#include "base/mem.h"

/* Units that speedscope knows; other values are plain numbers. */
static const char *known_unit(const char *unit)
{
    static const char *const known[] = {"nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i], unit)) return unit;
    return "none";
}

/* The functions are frames 0 to n_functions - 1. The locations without a line follow, and
 * ret_unnamed[location] is the frame of each. */
static void write_frames(const struct profile *p, uint32_t *ret_unnamed, struct buf *out)
{
    for (size_t i = 0; i < p->n_functions; i++) {
        struct str name = profile_str(p, p->functions[i].name),
                   file = profile_str(p, p->functions[i].filename);
        buf_str(out, i ? ",{\"name\":" : "{\"name\":");
        buf_json(out, name.len ? name.s : "?", name.len ? name.len : 1);
        if (file.len) {
            buf_str(out, ",\"file\":");
            buf_json(out, file.s, file.len);
        }
        buf_char(out, '}');
    }
    size_t n_frames = p->n_functions;
    for (size_t i = 0; i < p->n_locations; i++) {
        if (p->locations[i].n_lines) continue;
        buf_printf(out, "%s{\"name\":\"0x%llx\"}", n_frames ? "," : "",
                   (unsigned long long)p->locations[i].address);
        ret_unnamed[i] = (uint32_t)n_frames++;
    }
}

static void write_stack(const struct profile *p, size_t sample, const uint32_t *unnamed, struct buf *out)
{
    const uint32_t *frames = profile_sample_frames(p, sample);
    bool is_first = true;
    buf_char(out, '[');
    for (size_t f = profile_sample_depth(p, sample); f-- > 0;) {
        const struct location *l = &p->locations[frames[f]];
        for (size_t k = l->n_lines ? l->n_lines : 1; k-- > 0; is_first = false) {
            if (!is_first) buf_char(out, ',');
            buf_u64(out, l->n_lines ? p->lines[l->first_line + k].function : unnamed[frames[f]]);
        }
    }
    buf_char(out, ']');
}

void speedscope_write(const struct profile *p, size_t sample_index, struct buf *out)
{
    struct str type = profile_str(p, p->sample_types[sample_index].type);
    const char *unit = known_unit(profile_text(p, p->sample_types[sample_index].unit));
    buf_str(out,
            "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":{\"frames\":[");
    uint32_t *unnamed = mem_array(p->n_locations + 1, sizeof *unnamed);
    write_frames(p, unnamed, out);
    buf_str(out, "]},\"profiles\":[{\"type\":\"sampled\",\"name\":");
    buf_json(out, type.s, type.len);
    buf_printf(out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%lld,\"samples\":[", unit,
               (long long)profile_total(p, sample_index));
    struct buf weights = {0};
    for (size_t s = 0; s < p->n_samples; s++) {
        int64_t value = profile_sample_values(p, s)[sample_index];
        if (value <= 0) continue;
        if (weights.len) {
            buf_char(out, ',');
            buf_char(&weights, ',');
        }
        write_stack(p, s, unnamed, out);
        buf_i64(&weights, value);
    }
    buf_str(out, "],\"weights\":[");
    buf_add(out, weights.data, weights.len);
    buf_str(out, "]}],\"exporter\":\"procprof\"}");
    buf_free(&weights);
    mem_free(unnamed);
}
