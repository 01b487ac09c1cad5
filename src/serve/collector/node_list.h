/* node_list.h - reads the answer of a StarRocks BE or of another procprof to /api/proc_profile/list. */
#ifndef SERVE_COLLECTOR_NODE_LIST_H
#define SERVE_COLLECTOR_NODE_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/profile_name.h"

struct node_list_entry {
    char file[PROFILE_NAME_MAX]; /* the name under which the node serves the file */
    struct profile_name name;
    int64_t size_bytes; /* 0 when the answer does not have it */
};

/* Gives the entries of the answer, at most `max`, in its order. An entry whose "filename" is not the name of
 * a profile is left out. Returns the error of json_read, with no entries, when the answer is not JSON or has
 * too many values. The caller frees *ret_entries with mem_free. */
int node_list_parse(const void *text, size_t len, size_t max, struct node_list_entry **ret_entries,
                    size_t *ret_n_entries, struct err *err);

#endif
