/* index_page.c - see index_page.h. The page loads no script and no style sheet, so that it opens on a machine
 * without a network. */
#include "agent/http/index_page.h"

#include <fcntl.h>
#include <unistd.h>

#include "agent/sample/kinds.h"
#include "procprof.h"

static void put_escaped(struct pages_buf *b, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            pages_buf_text(b, "&lt;");
            break;
        case '>':
            pages_buf_text(b, "&gt;");
            break;
        case '&':
            pages_buf_text(b, "&amp;");
            break;
        case '"':
            pages_buf_text(b, "&quot;");
            break;
        default:
            pages_buf_bytes(b, text, 1);
        }
    }
}

static void put_command(struct pages_buf *b)
{
    char text[512] = "";
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0) close(fd);
    for (ssize_t i = 0; i + 1 < n; i++)
        if (!text[i]) text[i] = ' ';
    put_escaped(b, text);
}

void index_page_write(struct pages_buf *b)
{
    pages_buf_text(b, "<!doctype html>\n<html lang=\"en\"><head><meta "
                      "charset=\"utf-8\"><title>procprof</title>\n<style>body{font:15px/1.5 "
                      "system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}td{padding:.15em "
                      "1em .15em 0;vertical-align:top}"
                      "code{font:13px ui-monospace,monospace}</style></head><body>\n<h1>What is this process "
                      "doing?</h1>\n");
    pages_buf_format(b, "<p>procprof %s in process %d: <code>", pp_version(), (int)getpid());
    put_command(b);
    pages_buf_text(b, "</code></p>\n<table>\n");
    for (const struct kind *k = NULL; (k = kind_next(k));) {
        const char *seconds = k->is_capture ? "&amp;seconds=5" : "";
        pages_buf_format(b, "<tr><td><a href=\"/debug/pprof/%s?debug=1%s\">%s</a></td><td>%s", k->name,
                         seconds, k->name, k->title);
        if (k->control) pages_buf_format(b, " (<a href=\"/debug/pprof/%s/status\">status</a>)", k->name);
        pages_buf_text(b, "</td></tr>\n");
    }
    pages_buf_text(b,
                   "<tr><td><a href=\"/debug/pprof/cmdline\">cmdline</a></td><td>the command line</td></tr>\n"
                   "<tr><td><a href=\"/debug/pprof/status\">status</a></td><td>the state of the profiler "
                   "itself</td></tr>\n</table>\n"
                   "<p>The links show text. Tools get the format they read: <code>go tool pprof "
                   "http://HOST/debug/pprof/profile?seconds=10</code>, "
                   "<code>jeprof http://HOST/pprof/heap</code>, <code>procprof collect http://HOST</code>. "
                   "Options: <code>seconds</code>, "
                   "<code>hz</code>, <code>debug=1</code>, "
                   "<code>format=proto|legacy|text</code>.</p>\n</body></html>\n");
}
