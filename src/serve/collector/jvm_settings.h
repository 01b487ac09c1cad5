/* jvm_settings.h - the settings for sampling a frontend JVM on this host, for the collector and for scripts.
 */
#ifndef SERVE_COLLECTOR_JVM_SETTINGS_H
#define SERVE_COLLECTOR_JVM_SETTINGS_H

#include "collect/jvm_collect.h"
#include "serve/cluster/cluster.h"

/* Fills in depth, interval, library and engine. The engine `auto` means the flight recorder for a JVM that
 * has crashed under async-profiler before (cluster_jvm_crashed). options->library points to *ret_library,
 * which the caller frees with mem_free after use. */
int jvm_settings_read(struct cluster *c, int32_t node, struct jvm_collect_options *options,
                      char **ret_library, struct err *err);

#endif
