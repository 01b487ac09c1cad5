/* flame_svg.h - writes a flame graph as one self-contained SVG file with zoom, search, reset and keyboard
 * control. */
#ifndef REPORT_FLAME_FLAME_SVG_H
#define REPORT_FLAME_FLAME_SVG_H

#include "base/buf.h"
#include "base/err.h"
#include "report/flame/flame_layout.h"

struct flame_svg_options {        /* all zero: the defaults */
    const char *title, *subtitle; /* NULL: "Flame Graph", none */
    const char *type;             /* what is counted: "samples", "cpu" ... */
    const char *unit; /* of the values ("nanoseconds", "bytes"): shown scaled; NULL or "count": plain */
    double width_px;  /* 0: 1200 */
    double frame_px;  /* height of a frame; 0: 16 */
    double font_px;   /* 0: 12 */
    const char
        *palette; /* hot (default), mem, io, java, js, red, green, blue, aqua, yellow, purple, orange, grey */
    bool icicle;  /* root on top */
};

bool flame_palette_known(const char *name);
void flame_svg_write(const struct flame_layout *layout, const struct flame_svg_options *options,
                     struct buf *out);

#endif
