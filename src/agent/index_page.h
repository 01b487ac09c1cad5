/* index_page.h - the page at /debug/pprof/: what can be asked for here. */
#ifndef AGENT_INDEX_PAGE_H
#define AGENT_INDEX_PAGE_H

#include "agent/pages.h"

void index_page_write(struct pages_buf *into);

#endif
