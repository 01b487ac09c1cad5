/* node_capture.h - from the bytes a node sent to a published profile, or to the reason why not. */
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
    double seconds;   /* asked for */
};

enum { CAPTURE_EMPTY = 1 }; /* all went well and there was nothing: no error, nothing published */

/* The path under which a node serves a profile of that type, with the seconds in its query. Number 0 is the
 * path of brpc, StarRocks and libprocprof; the next numbers are those of Go and Databend, for a node that
 * answers 404. NULL when there is no path of that number. The caller frees it with mem_free. */
char *capture_path(enum profile_type type, size_t number, double seconds);

/* The path that switches profiling of that type: verb is enable, disable, status or reset. mem_free. */
char *capture_control_path(enum profile_type type, const char *verb);

/* Decodes and checks; *ret_profile is the caller's. ERR_INPUT with the reason, CAPTURE_EMPTY with it too. */
int capture_check(const void *data, size_t len, const char *content_type, enum profile_type type,
                  struct profile **ret_profile, const char **ret_format, struct err *err);

/* The file to be kept: proto, packed, with names where the process could be asked for them. mem_free-able
 * bytes; *ret_bytes stays empty when `body` is that file already. */
void capture_pack(struct profile *p, const char *format, const struct bytes *body, enum profile_type type,
                  int64_t begin_ms, double seconds, remote_post *post, void *context,
                  struct bytes *ret_bytes);

/* Publishes what came back. */
int capture_publish(struct cluster *cluster, struct store *store, const struct capture_facts *facts,
                    const struct bytes *body, const char *content_type, struct store_profile *ret_profile,
                    struct err *err);

/* What a list shows of a decoded profile. */
int64_t capture_samples(const struct profile *p, enum profile_type type);
struct store_total capture_total(const struct profile *p);
void capture_sample_types(const struct profile *p, char *text, size_t size);

#endif
