/* index_page.h - the page at /debug/pprof/, which lists the profiles of this process. */
#ifndef AGENT_HTTP_INDEX_PAGE_H
#define AGENT_HTTP_INDEX_PAGE_H

#include "agent/host/pages.h"

void index_page_write(struct pages_buf *into);

#endif
