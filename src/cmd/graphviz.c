/* graphviz.c - see graphviz.h. */
#include "cmd/graphviz.h"

#include <string.h>

#include "base/process.h"

int graphviz_run(const struct buf *dot, const char *format, struct buf *out, struct err *err)
{
    char option[16] = "-T";
    strncat(option, format, sizeof option - 3);
    char *argv[] = {(char *)"dot", option, NULL};
    int rc = process_filter(argv, dot, out, err);
    if (rc == ERR_NOT_FOUND)
        return err_set(err, ERR_UNSUPPORTED,
                       "failed to execute dot. Is Graphviz installed? (Debian package: graphviz; 'flame' and "
                       "'dot' output need no program)");
    return rc;
}

/* Written for this file: keeps a view rectangle in user units and moves it. */
static const char pan_and_zoom[] =
    "<script type=\"text/ecmascript\"><![CDATA[\n"
    "(function(){var s=document.documentElement,b=s.viewBox.baseVal,drag=null;\n"
    "function at(e){var m=s.getScreenCTM().inverse(),p=s.createSVGPoint();p.x=e.clientX;p.y=e.clientY;return "
    "p.matrixTransform(m);}\n"
    "s.addEventListener('wheel',function(e){e.preventDefault();var p=at(e),k=Math.pow(1.0015,e.deltaY);\n"
    "b.x=p.x-(p.x-b.x)*k;b.y=p.y-(p.y-b.y)*k;b.width*=k;b.height*=k;},{passive:false});\n"
    "s.addEventListener('mousedown',function(e){drag=at(e);});\n"
    "s.addEventListener('mousemove',function(e){if(!drag)return;var "
    "p=at(e);b.x+=drag.x-p.x;b.y+=drag.y-p.y;});\n"
    "addEventListener('mouseup',function(){drag=null;});})();\n"
    "]]></script>\n";

void graphviz_make_interactive(struct buf *svg)
{
    const char *text = buf_cstr(svg), *open = strstr(text, "<svg "),
               *box = open ? strstr(open, "viewBox=") : NULL;
    const char *graph = open ? strstr(open, "<g id=\"graph") : NULL;
    if (!box || !graph) return;
    struct buf out = {0};
    buf_add(&out, text, (size_t)(open - text));
    buf_str(&out, "<svg width=\"100%\" height=\"100%\" ");
    buf_add(&out, box, (size_t)(graph - box));
    buf_str(&out, pan_and_zoom);
    buf_str(&out, graph);
    buf_free(svg);
    *svg = out;
}
