/* flame_html.c - see flame_html.h.
 *
 * The template is web/viewer.html with the bundled script and style (tools/make/web.mk). The data is gzip in
 * base64. The browser unpacks it; web/src/flame/unpack.ts has an inflate for browsers that cannot.
 */
#include "report/flame/flame_html.h"

#include "base/compress/pack.h"

#ifndef WEB_DIR
#error "WEB_DIR: the folder of the bundled page (tools/make/web.mk)"
#endif

__asm__(".section .rodata\n"
        ".global viewer_html_start\n.hidden viewer_html_start\nviewer_html_start:\n"
        ".incbin \"" WEB_DIR "/viewer.html\"\n"
        ".global viewer_html_end\n.hidden viewer_html_end\nviewer_html_end:\n.byte 0\n.previous\n");
extern const char viewer_html_start[], viewer_html_end[];

static void add_base64(struct buf *out, const uint8_t *s, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    buf_reserve(out, n / 3 * 4 + 5);
    for (; n >= 3; s += 3, n -= 3) {
        uint32_t v = (uint32_t)s[0] << 16 | (uint32_t)s[1] << 8 | s[2];
        char four[4] = {digits[v >> 18], digits[v >> 12 & 63], digits[v >> 6 & 63], digits[v & 63]};
        buf_add(out, four, 4);
    }
    if (!n) return;
    uint32_t v = (uint32_t)s[0] << 16 | (n == 2 ? (uint32_t)s[1] << 8 : 0);
    char four[4] = {digits[v >> 18], digits[v >> 12 & 63], n == 2 ? digits[v >> 6 & 63] : '=', '='};
    buf_add(out, four, 4);
}

/* Appends the template up to the mark ("@@NAME@@") and moves *at behind it. Returns false if there is no such
 * mark. */
static bool add_until(struct buf *out, const char **at, const char *mark)
{
    const char *found = memmem(*at, (size_t)(viewer_html_end - *at), mark, strlen(mark));
    if (!found) return false;
    buf_add(out, *at, (size_t)(found - *at));
    *at = found + strlen(mark);
    return true;
}

static void add_start_state(struct buf *out, const struct flame_html_options *options)
{
    buf_str(out, "{");
    if (options->root_at_bottom) buf_str(out, "\"dir\":\"up\",");
    if (options->reversed) buf_str(out, "\"rev\":\"1\",");
    buf_str(out, "\"q\":");
    buf_json(out, options->search ? options->search : "", options->search ? strlen(options->search) : 0);
    buf_char(out, '}');
}

int flame_html_write(const struct profile *p, const struct flame_html_options *options, struct buf *out,
                     struct err *err)
{
    static const struct flame_html_options defaults;
    if (!options) options = &defaults;
    const char *title = options->data.title ? options->data.title : "procprof", *at = viewer_html_start;
    struct buf data = {0};
    flame_data_write(p, &options->data, &data);
    if (data.len > (size_t)1 << 30) {
        size_t len = data.len;
        buf_free(&data);
        return err_set(err, ERR_LIMIT,
                       "the call tree takes %zu MB, more than a browser opens; narrow it (--focus) or lower "
                       "the node limit",
                       len >> 20);
    }
    struct bytes packed;
    pack_gzip_member(data.data, data.len, data.len > (size_t)64 << 20 ? 6 : 9, &packed);
    buf_free(&data);
    bool good = add_until(out, &at, "@@TITLE@@");
    buf_xml(out, title, strlen(title));
    good = good && add_until(out, &at, "@@START@@");
    add_start_state(out, options);
    good = good && add_until(out, &at, "@@DATA@@");
    add_base64(out, packed.data, packed.len);
    buf_add(out, at, (size_t)(viewer_html_end - at));
    bytes_free(&packed);
    return good ? 0 : err_set(err, ERR_UNSUPPORTED, "the program was built with a damaged viewer.html");
}
