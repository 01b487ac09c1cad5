/* node_list.h - reads the answer of a StarRocks BE or of another procprof to /api/proc_profile/list. */
#ifndef SERVE_COLLECTOR_NODE_LIST_H
#define SERVE_COLLECTOR_NODE_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "store/profile_name.h"

struct node_list_entry {
    char file[PROFILE_NAME_MAX]; /* the name under which the node serves the file */
    struct profile_name name;
    int64_t size_bytes; /* 0 when the answer does not have it */
};

/* Returns the number of entries, at most `max`, in the order of the answer. An entry whose "filename" is not
 * the name of a profile is left out; an answer that is not JSON has no entries. The caller frees the result
 * with mem_free. */
size_t node_list_parse(const void *text, size_t len, size_t max, struct node_list_entry **ret_entries);

#endif
