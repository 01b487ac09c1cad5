/* graphviz.h - makes pictures from DOT text with the program `dot`. */
#ifndef CMD_GRAPHVIZ_H
#define CMD_GRAPHVIZ_H

#include "base/buf.h"
#include "base/err.h"

/* format: svg, pdf, png, ps, gif ... ERR_UNSUPPORTED means that dot is not installed; the text names the
 * Debian package. */
int graphviz_run(const struct buf *dot, const char *format, struct buf *out, struct err *err);

/* Makes dot's SVG fill the window and move with the mouse: drag to pan, wheel to zoom. One file, no network.
 */
void graphviz_make_interactive(struct buf *svg);

#endif
