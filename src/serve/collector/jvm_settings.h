/* jvm_settings.h - how a frontend of this host is sampled: what the settings say, for the collector and for
 * scripts alike. */
#ifndef SERVE_COLLECTOR_JVM_SETTINGS_H
#define SERVE_COLLECTOR_JVM_SETTINGS_H

#include "collect/jvm_collect.h"
#include "serve/cluster/cluster.h"

/* Fills in depth, interval, library and engine. `auto` is the flight recorder where the JVM has crashed under
 * async-profiler before (cluster_jvm_crashed). options->library stays the caller's to free: *ret_library. */
int jvm_settings_read(struct cluster *c, int32_t node, struct jvm_collect_options *options,
                      char **ret_library, struct err *err);

#endif
