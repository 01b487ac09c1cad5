/* web_files.c - see web_files.h. tools/make/web.mk bundles the files and writes their ETags before this is
 * compiled. */
#include "serve/http/web_files.h"

#include <pthread.h>
#include <string.h>

#include "web/etags.h"

#ifndef WEB_DIR
#error "WEB_DIR: the folder of the bundled page (tools/make/web.mk)"
#endif

/* web_NAME_start .. web_NAME_end are the bytes of FILE, web_NAME_gz_* those of FILE.gz. */
#define EMBED_ONE(label, file)                                                                               \
    ".section .rodata\n.hidden web_" label "_start\n.global web_" label "_start\nweb_" label "_start:\n"     \
    ".incbin \"" WEB_DIR "/" file "\"\n.hidden web_" label "_end\n.global web_" label "_end\nweb_" label     \
    "_end:\n"                                                                                                \
    ".byte 0\n.previous\n"
#define EMBED(name, file)                                                                                    \
    __asm__(EMBED_ONE(#name, file) EMBED_ONE(#name "_gz", file ".gz"));                                      \
    extern const char web_##name##_start[], web_##name##_end[], web_##name##_gz_start[], web_##name##_gz_end[]

EMBED(index, "index.html");
EMBED(app_js, "app.js");
EMBED(app_css, "app.css");
EMBED(icon, "icon.svg");

#define N_FILES 4
static struct web_file files[N_FILES];
static pthread_once_t files_once = PTHREAD_ONCE_INIT;

/* A length is the difference of two addresses, which is not a constant in C, so lengths are computed once. */
static void fill_files(void)
{
#define FILE_OF(path, type, etag, name)                                                                      \
    (struct web_file){path,                                                                                  \
                      type,                                                                                  \
                      etag,                                                                                  \
                      web_##name##_start,                                                                    \
                      (size_t)(web_##name##_end - web_##name##_start),                                       \
                      web_##name##_gz_start,                                                                 \
                      (size_t)(web_##name##_gz_end - web_##name##_gz_start)}
    files[0] = FILE_OF("/", "text/html; charset=utf-8", WEB_ETAG_index_html, index);
    files[1] = FILE_OF("/app.js", "text/javascript; charset=utf-8", WEB_ETAG_app_js, app_js);
    files[2] = FILE_OF("/app.css", "text/css; charset=utf-8", WEB_ETAG_app_css, app_css);
    files[3] = FILE_OF("/icon.svg", "image/svg+xml", WEB_ETAG_icon_svg, icon);
}

const struct web_file *web_file_find(const char *path)
{
    pthread_once(&files_once, fill_files);
    if (!strcmp(path, "/index.html")) path = "/";
    for (size_t i = 0; i < N_FILES; i++)
        if (!strcmp(files[i].path, path)) return &files[i];
    return NULL;
}
