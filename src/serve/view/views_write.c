/* views_write.c - writes one profile, and perhaps a base, as one view. */
#include "base/mem.h"
#include "format/format.h"
#include "profile/compat.h"
#include "profile/filter.h"
#include "report/flame/flame_data.h"
#include "report/flame/flame_html.h"
#include "report/flame/flame_svg.h"
#include "report/report.h"
#include "report/simple_names.h"
#include "report/source_json.h"
#include "report/speedscope.h"
#include "report/top_json.h"
#include "serve/view/views_int.h"

static int sample_index(const struct profile *p, const char *sample, size_t *ret_index, struct err *err)
{
    if (!p->n_sample_types) return err_set(err, ERR_INPUT, "the profile has no sample types");
    int index = sample ? profile_sample_index(p, sample) : (int)profile_default_sample_index(p);
    if (index < 0) return err_set(err, ERR_INPUT, "the profile has no sample type '%.60s'", sample);
    *ret_index = (size_t)index;
    return 0;
}

static int write_svg(struct profile *p, size_t index, const char *title, struct buf *out)
{
    struct flame_layout layout;
    struct flame_layout_options how = {.min_fraction = 0.1 / 1180};
    flame_layout_profile(p, index, &how, &layout);
    struct flame_svg_options svg = {.title = title,
                                    .type = profile_text(p, p->sample_types[index].type),
                                    .unit = profile_text(p, p->sample_types[index].unit)};
    flame_svg_write(&layout, &svg, out);
    flame_layout_free(&layout);
    return 0;
}

static int write_report(struct profile *p, enum report_format format, const char *sample, struct buf *out,
                        struct err *err)
{
    struct report_options o = report_options_default(format);
    if (sample) o.sample_index = sample;
    return report_write(p, &o, out, err);
}

int view_write(struct profile **p, struct profile *base, const struct view_request *r,
               const struct flame_data_options *flame, const char *search_path, struct buf *out,
               struct err *err)
{
    enum view_kind kind = r->kind;
    bool wants_full_names =
        kind == VIEW_FLAME || kind == VIEW_HTML || kind == VIEW_SOURCE || kind == VIEW_PPROF;
    enum name_detail detail = wants_full_names ? NAME_FULL : NAME_SIMPLE;
    profile_simplify_names(*p, detail, false);
    if (base) profile_simplify_names(base, detail, false);
    if (kind != VIEW_PPROF) profile_drop_uninteresting(*p, NULL);
    if (base) profile_drop_uninteresting(base, NULL);
    size_t index = 0, base_index = 0;
    int bad = kind == VIEW_PPROF ? 0 : sample_index(*p, r->sample, &index, err);
    if (bad) return bad;
    switch (kind) {
    case VIEW_FLAME:
        flame_data_write(*p, flame, out);
        return 0;
    case VIEW_HTML: {
        struct flame_html_options html = {.data = *flame};
        return flame_html_write(*p, &html, out, err);
    }
    case VIEW_TOP:
        bad =
            base ? sample_index(base, profile_text(*p, (*p)->sample_types[index].type), &base_index, err) : 0;
        if (!bad) top_json_write(*p, index, base, base_index, r->n_rows, out);
        return bad;
    case VIEW_SOURCE:
        return source_json_write(*p, index, r->function ? r->function : "", search_path, out, err);
    default:
        break;
    }
    char *sample =
        mem_strdup(*p && (*p)->n_sample_types ? profile_text(*p, (*p)->sample_types[index].type) : "");
    if (base) {
        struct profile *both[] = {*p, base};
        bad = profile_make_compatible(both, 2, err);
        if (!bad) bad = profile_subtract(p, base, true, false, err);
        int at = profile_sample_index(*p, sample);
        index = at < 0 ? 0 : (size_t)at;
    }
    if (!bad) {
        switch (kind) {
        case VIEW_DOT:
            bad = write_report(*p, REPORT_DOT, sample, out, err);
            break;
        case VIEW_FOLDED:
            bad = write_report(*p, REPORT_COLLAPSED, sample, out, err);
            break;
        case VIEW_CSV:
            bad = write_report(*p, REPORT_CSV, sample, out, err);
            break;
        case VIEW_SVG:
            bad = write_svg(*p, index, flame->title, out);
            break;
        case VIEW_SPEEDSCOPE:
            speedscope_write(*p, index, out);
            break;
        case VIEW_PPROF:
            format_write_proto(*p, out);
            break;
        default:
            break;
        }
    }
    mem_free(sample);
    return bad;
}
