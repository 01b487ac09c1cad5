/* node_list.h - the answer of /api/proc_profile/list, as a backend and as another procprof give it. */
#ifndef SERVE_COLLECTOR_NODE_LIST_H
#define SERVE_COLLECTOR_NODE_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "store/profile_name.h"

struct node_list_entry {
    char file[PROFILE_NAME_MAX]; /* as it stands there: how it is asked for */
    struct profile_name name;
    int64_t size_bytes; /* 0: not said */
};

/* Only "filename" and "size" of each object are used; names that are none of a profile are left out. At most
 * `max` entries, in their order. mem_free the result. */
size_t node_list_parse(const void *text, size_t len, size_t max, struct node_list_entry **ret_entries);

#endif
