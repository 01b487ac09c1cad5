/* config.h - the settings of this library.
 *
 * They come as "key=value,key=value" from the environment variable PROCPROF (preloaded) or from struct
 * pp_options (linked). docs/agent.md lists the keys. A value in such a text cannot contain a comma. A key
 * without a value ("heap") means "1". When a key occurs twice, the last value wins.
 *
 * Threads: config_load and config_add are called before the library's threads exist. After that, every thread
 * may read.
 */
#ifndef AGENT_HOST_CONFIG_H
#define AGENT_HOST_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Replaces all settings by those in text, which is copied. Fails on an unknown key, on a value that its key
 * does not allow, and on more than 4 KiB. */
int config_load(const char *text, struct err *err);

/* Adds one setting unless the key is set already. The value is used unchanged; it may contain commas. */
int config_add(const char *key, const char *value, struct err *err);

/* The value of a key, or fallback when the key is not set. */
const char *config_text(const char *key, const char *fallback); /* valid until the next config_load */
long config_number(const char *key, long fallback); /* with an optional suffix k, M, G (powers of 1024) */
bool config_flag(const char *key, bool fallback);   /* 1/0, on/off, true/false, yes/no */

#endif
