/* index_page.h - the page at /debug/pprof/: what can be asked for here. */
#ifndef AGENT_HTTP_INDEX_PAGE_H
#define AGENT_HTTP_INDEX_PAGE_H

#include "agent/host/pages.h"

void index_page_write(struct pages_buf *into);

#endif
