/* node_capture.h - the endpoints of a node, and the way from the bytes that it sent to a published profile.
 */
#ifndef SERVE_COLLECTOR_NODE_CAPTURE_H
#define SERVE_COLLECTOR_NODE_CAPTURE_H

#include "base/file.h"
#include "profile/profile.h"
#include "serve/cluster/cluster.h"
#include "serve/collector/remote_symbols.h"
#include "store/store.h"

struct capture_facts {
    struct cluster_node node;
    enum profile_type type;
    int64_t begin_ms; /* wall clock */
    double seconds;   /* requested */
};

enum { CAPTURE_EMPTY = 1 }; /* the capture worked but has no samples; nothing is published */

/* The path under which a node serves a profile of that type, with the seconds in its query. Number 0 is the
 * path of brpc, StarRocks and libprocprof; the next numbers are those of Go and Databend, for a node that
 * answers 404. NULL when there is no path of that number. The caller frees it with mem_free. */
char *capture_path(enum profile_type type, size_t number, double seconds);

/* The path that switches profiling of that type: verb is enable, disable, status or reset. mem_free. */
char *capture_control_path(enum profile_type type, const char *verb);

/* Decodes the bytes and checks that they are a profile of that type. The caller frees *ret_profile. Returns
 * ERR_INPUT or CAPTURE_EMPTY with the reason in err. */
int capture_check(const void *data, size_t len, const char *content_type, enum profile_type type,
                  struct profile **ret_profile, const char **ret_format, struct err *err);

/* Makes the file to be stored: profile.proto inside gzip, with names from the process when the profile came
 * without. *ret_bytes, which the caller frees with bytes_free, stays empty when `body` already is that file.
 */
void capture_pack(struct profile *p, const char *format, const struct bytes *body, enum profile_type type,
                  int64_t begin_ms, double seconds, remote_post *post, void *context,
                  struct bytes *ret_bytes);

/* Checks, packs and publishes the answer of a node. */
int capture_publish(struct cluster *cluster, struct store *store, const struct capture_facts *facts,
                    const struct bytes *body, const char *content_type, struct store_profile *ret_profile,
                    struct err *err);

/* What lists show of a decoded profile. */
int64_t capture_samples(const struct profile *p, enum profile_type type);
struct store_total capture_total(const struct profile *p);
void capture_sample_types(const struct profile *p, char *text, size_t size);

#endif
