/* web_files.h - the files of the page, which are part of the program. */
#ifndef SERVE_HTTP_WEB_FILES_H
#define SERVE_HTTP_WEB_FILES_H

#include <stddef.h>

struct web_file {
    const char *path; /* "/app.js" */
    const char *type; /* Content-Type */
    const char *etag; /* with quotes; changes with the content */
    const void *data;
    size_t len;
    const void *gzip_data; /* the same file as gzip, for clients that accept it */
    size_t gzip_len;
};

/* path is the path of the request without its query; "/" is the page. Returns NULL when there is no such
 * file. */
const struct web_file *web_file_find(const char *path);

/* The Content-Security-Policy of every file: the page may not load from or send to other hosts. */
#define WEB_CONTENT_SECURITY_POLICY                                                                          \
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "  \
    "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"

#endif
