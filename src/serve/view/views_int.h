/* views_int.h - private to serve/view. views.c loads, merges and caches; views_write.c writes a view. */
#ifndef SERVE_VIEW_VIEWS_INT_H
#define SERVE_VIEW_VIEWS_INT_H

#include "report/flame/flame_data.h"
#include "serve/view/views.h"

/* May change or replace *p, and may change base. */
int view_write(struct profile **p, struct profile *base, const struct view_request *r,
               const struct flame_data_options *flame, const char *search_path, struct buf *out,
               struct err *err);

#endif
