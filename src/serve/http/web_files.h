/* web_files.h - the files of the page, carried inside the program. */
#ifndef SERVE_HTTP_WEB_FILES_H
#define SERVE_HTTP_WEB_FILES_H

#include <stddef.h>

struct web_file {
    const char *path; /* "/app.js" */
    const char *type; /* Content-Type */
    const char *etag; /* with its quotes; changes when the content does */
    const void *data;
    size_t len;
    const void *gzip_data; /* the same, packed, for clients that accept it */
    size_t gzip_len;
};

/* path: as in the request, without its query. "/" is the page itself. NULL when there is no such file. */
const struct web_file *web_file_find(const char *path);

/* What to send along with every one of them: nothing may be loaded from or sent to elsewhere. */
#define WEB_CONTENT_SECURITY_POLICY                                                                          \
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "  \
    "connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"

#endif
