/* flame_svg.c - see flame_svg.h. The script is flame_svg.js, put into the program as it is. */
#include "report/flame/flame_svg.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "base/strtab.h"
#include "base/text.h"
#include "base/utf8.h"
#include "profile/unit.h"

__asm__(".section .rodata\n"
        ".global flame_svg_script\nflame_svg_script:\n.incbin \"src/report/flame/flame_svg.js\"\n"
        ".global flame_svg_script_end\nflame_svg_script_end:\n.byte 0\n"
        ".previous\n");
extern const char flame_svg_script[], flame_svg_script_end[];

struct rgb {
    uint8_t r, g, b;
};

struct palette {
    const char *name;
    int r, r_spread, g, g_spread, b, b_spread;
};

static const struct palette palettes[] = {
    {"hot", 205, 50, 0, 230, 0, 55},
    {"mem", 0, 0, 190, 50, 0, 210},
    {"io", 80, 60, 80, 60, 190, 55},
    {"red", 200, 55, 50, 80, 50, 80},
    {"green", 50, 60, 200, 55, 50, 60},
    {"blue", 80, 60, 80, 60, 205, 50},
    {"aqua", 50, 60, 165, 55, 165, 55},
    {"yellow", 175, 55, 175, 55, 50, 20},
    {"purple", 190, 65, 80, 60, 190, 65},
    {"orange", 190, 65, 90, 65, 0, 0},
    {"grey", 190, 45, 190, 45, 190, 45},
    {"java", 0, 0, 0, 0, 0, 0},
    {"js", 0, 0, 0, 0, 0, 0},
};

static const struct palette *find_palette(const char *name)
{
    for (size_t i = 0; i < sizeof palettes / sizeof *palettes; i++)
        if (!strcmp(palettes[i].name, name)) return &palettes[i];
    return NULL;
}

bool flame_palette_known(const char *name)
{
    return find_palette(name) != NULL;
}

static bool ends_with(const char *s, size_t len, const char *end)
{
    size_t n = strlen(end);
    return len >= n && !memcmp(s + len - n, end, n);
}

static bool contains(const char *s, size_t len, const char *what)
{
    return memmem(s, len, what, strlen(what)) != NULL;
}

/* The language a frame is of decides its colour: by the marks of perf-map agents and async-profiler, else by
 * its spelling. */
static const char *java_family(const char *s, size_t len)
{
    if (ends_with(s, len, "_[j]") || ends_with(s, len, "_[0]")) return "green";
    if (ends_with(s, len, "_[i]") || ends_with(s, len, "_[1]")) return "aqua";
    if (ends_with(s, len, "_[k]")) return "orange";
    if (contains(s, len, "::")) return "yellow";
    if (contains(s, len, "/") || (contains(s, len, ".") && !contains(s, len, " "))) return "green";
    return "red";
}

static const char *js_family(const char *s, size_t len)
{
    if (ends_with(s, len, "_[j]") || contains(s, len, ".js")) return "green";
    if (ends_with(s, len, "_[k]")) return "orange";
    if (contains(s, len, "::")) return "yellow";
    if (contains(s, len, ":")) return "aqua";
    return "red";
}

/* One name, one colour, in every picture. */
static struct rgb color_of(const struct palette *p, const char *name, size_t len)
{
    if (!strcmp(p->name, "java")) p = find_palette(java_family(name, len));
    if (!strcmp(p->name, "js")) p = find_palette(js_family(name, len));
    uint32_t h = hash_bytes(name, len);
    double v1 = (h & 0xff) / 255.0, v2 = (h >> 8 & 0xff) / 255.0, v3 = (h >> 16 & 0xff) / 255.0;
    return (struct rgb){(uint8_t)(p->r + p->r_spread * v3), (uint8_t)(p->g + p->g_spread * v1),
                        (uint8_t)(p->b + p->b_spread * v2)};
}

/* White where nothing changed, red where it grew, blue where it shrank. */
static struct rgb color_of_change(int64_t delta, int64_t largest)
{
    double part = largest ? fmin(1, fabs((double)delta) / (double)largest) : 0;
    uint8_t pale = (uint8_t)(255 - 200 * sqrt(part));
    if (!delta) return (struct rgb){240, 240, 240};
    return delta > 0 ? (struct rgb){255, pale, pale} : (struct rgb){pale, pale, 255};
}

/* A length with one decimal, quickly: there may be a hundred thousand of them. */
static void put_px(struct buf *out, double px)
{
    int64_t tenths = (int64_t)(px * 10 + 0.5);
    buf_i64(out, tenths / 10);
    if (tenths % 10) {
        buf_char(out, '.');
        buf_char(out, (char)('0' + tenths % 10));
    }
}

static void put_rgb(struct buf *out, struct rgb c)
{
    char text[8] = "#";
    text_hex((uint8_t[]){c.r, c.g, c.b}, 3, text + 1);
    buf_add(out, text, 7);
}

static void put_percent(struct buf *out, int64_t value, int64_t total)
{
    int64_t hundredths =
        total ? (int64_t)(10000.0 * (double)value / (double)total + (value < 0 ? -0.5 : 0.5)) : 0;
    if (hundredths < 0) {
        buf_char(out, '-');
        hundredths = -hundredths;
    }
    buf_i64(out, hundredths / 100);
    buf_char(out, '.');
    buf_char(out, (char)('0' + hundredths / 10 % 10));
    buf_char(out, (char)('0' + hundredths % 10));
    buf_char(out, '%');
}

static void put_grouped(struct buf *out, int64_t value)
{
    char digits[32];
    int n = 0;
    uint64_t u = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    for (int group = 0; n == 0 || u; u /= 10, group++) {
        if (group && group % 3 == 0) digits[n++] = ',';
        digits[n++] = (char)('0' + u % 10);
    }
    if (value < 0) buf_char(out, '-');
    while (n) buf_char(out, digits[--n]);
}

struct writer {
    const struct flame_layout *l;
    const struct flame_svg_options *o;
    const struct palette *palette;
    struct buf *out;
    double width, frame, font, char_px, top, height;
    int64_t largest_change;
    bool scaled; /* values have a unit */
};

static void put_value(struct writer *w, int64_t value)
{
    if (w->scaled) {
        char text[UNIT_LABEL_BYTES];
        buf_str(w->out, unit_label(value, w->o->unit, "auto", text));
    } else {
        put_grouped(w->out, value);
        buf_char(w->out, ' ');
        buf_str(w->out, w->o->type ? w->o->type : "samples");
    }
}

static void put_label(struct writer *w, const char *name, size_t len, double width, double x, double y)
{
    size_t room = width > 6 ? (size_t)((width - 6) / w->char_px) : 0;
    if (room < 3) return;
    size_t shown = len;
    if (len > room) {
        shown = room - 2;
        while (shown && ((unsigned char)name[shown] & 0xc0) == 0x80) shown--; /* not inside a character */
    }
    buf_str(w->out, "<text x=\"");
    put_px(w->out, x + 3);
    buf_str(w->out, "\" y=\"");
    put_px(w->out, y + w->frame - 4.5);
    buf_str(w->out, "\">");
    buf_xml(w->out, name, shown);
    if (shown < len) buf_str(w->out, "..");
    buf_str(w->out, "</text>");
}

static void put_frame(struct writer *w, const struct flame_frame *f)
{
    struct buf *out = w->out;
    double per_unit = w->l->total ? (w->width - 20) / (double)w->l->total : 0;
    double x = 10 + (double)f->start * per_unit,
           width = f->depth ? (double)f->total * per_unit : w->width - 20;
    double y = w->o->icicle ? w->top + f->depth * w->frame : w->height - 34 - (f->depth + 1) * w->frame;
    buf_str(out, "<g class=\"f\" data-d=\"");
    buf_u64(out, f->depth);
    buf_str(out, "\"><title>");
    buf_xml(out, f->name, f->name_len);
    buf_str(out, " (");
    put_value(w, f->total);
    buf_str(out, ", ");
    put_percent(out, f->total, w->l->total);
    if (w->l->compares) {
        buf_str(out, f->delta < 0 ? "; " : "; +");
        put_percent(out, f->delta, w->l->total);
    }
    buf_str(out, ")</title><rect x=\"");
    put_px(out, x);
    buf_str(out, "\" y=\"");
    put_px(out, y);
    buf_str(out, "\" width=\"");
    put_px(out, width);
    buf_str(out, "\" height=\"");
    put_px(out, w->frame - 1);
    buf_str(out, "\" fill=\"");
    put_rgb(out, w->l->compares ? color_of_change(f->delta, w->largest_change)
                 : f->depth     ? color_of(w->palette, f->name, f->name_len)
                                : (struct rgb){224, 224, 224});
    buf_str(out, "\"/>");
    put_label(w, f->name, f->name_len, width, x, y);
    buf_str(out, "</g>\n");
}

static void put_frames(void *context, size_t first, size_t end, struct buf *piece)
{
    struct writer w = *(const struct writer *)context;
    w.out = piece;
    for (size_t i = first; i < end; i++) put_frame(&w, &w.l->frames[i]);
}

void flame_svg_write(const struct flame_layout *l, const struct flame_svg_options *o, struct buf *out)
{
    struct writer w = {.l = l,
                       .o = o,
                       .out = out,
                       .width = o->width_px > 0 ? o->width_px : 1200,
                       .frame = o->frame_px > 0 ? o->frame_px : 16,
                       .font = o->font_px > 0 ? o->font_px : 12};
    w.palette = find_palette(o->palette ? o->palette : "hot");
    if (!w.palette) w.palette = &palettes[0];
    w.char_px = w.font * 0.59;
    w.top = o->subtitle ? 56 : 40;
    w.height = w.top + (l->max_depth + 1) * w.frame + 40;
    w.scaled = o->unit && unit_known(o->unit);
    for (size_t i = 1; i < l->n_frames; i++) {
        int64_t d = l->frames[i].delta < 0 ? -l->frames[i].delta : l->frames[i].delta;
        if (d > w.largest_change) w.largest_change = d;
    }
    const char *title = o->title ? o->title : "Flame Graph";
    buf_printf(out,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
               "version=\"1.1\" width=\"100%%\" "
               "viewBox=\"0 0 %g %g\" preserveAspectRatio=\"xMidYMin\" data-width=\"%g\" data-char=\"%g\" "
               "data-icicle=\"%d\" role=\"img\" "
               "aria-label=\"flame graph\">\n",
               w.width, w.height, w.width, w.char_px, o->icicle);
    buf_printf(out,
               "<style>svg{background:#fff}text{font-family:system-ui,sans-serif;font-size:%gpx;fill:#000;"
               "pointer-events:none}"
               ".f rect{rx:2;stroke:#fff;stroke-width:.4}.f{cursor:pointer;outline:none}.f:hover "
               "rect,.f:focus rect{stroke:#000;stroke-width:.8}"
               "#title{font-size:17px;text-anchor:middle}#subtitle{text-anchor:middle;fill:#666}.button{"
               "cursor:pointer;pointer-events:auto;fill:#05a}"
               "#unzoom{opacity:.2}#ic{opacity:.3}#ic.on{opacity:1}#matched{text-anchor:end}</style>\n",
               w.font);
    buf_str(out, "<script type=\"text/ecmascript\"><![CDATA[");
    buf_add(out, flame_svg_script, (size_t)(flame_svg_script_end - flame_svg_script));
    buf_str(out, "]]></script>\n<text id=\"title\" x=\"");
    put_px(out, w.width / 2);
    buf_str(out, "\" y=\"24\">");
    buf_xml(out, title, strlen(title));
    buf_str(out, "</text>\n");
    if (o->subtitle) {
        buf_printf(out, "<text id=\"subtitle\" x=\"%g\" y=\"42\">", w.width / 2);
        buf_xml(out, o->subtitle, strlen(o->subtitle));
        buf_str(out, "</text>\n");
    }
    buf_str(out, "<text id=\"unzoom\" class=\"button\" x=\"10\" y=\"24\">Reset Zoom</text>\n");
    buf_printf(out, "<text id=\"search\" class=\"button\" x=\"%g\" y=\"24\">Search</text>\n", w.width - 110);
    buf_printf(out, "<text id=\"ic\" class=\"button on\" x=\"%g\" y=\"24\">ic</text>\n", w.width - 24);
    parallel_write(out, l->n_frames, put_frames, &w);
    buf_printf(out,
               "<text id=\"details\" x=\"10\" y=\"%g\"> </text>\n<text id=\"matched\" x=\"%g\" y=\"%g\"> "
               "</text>\n</svg>\n",
               w.height - 12, w.width - 10, w.height - 12);
}
