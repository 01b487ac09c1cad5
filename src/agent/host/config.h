/* config.h - the settings of this library: "key=value,key=value" from PROCPROF (preloaded) or struct
 * pp_options (linked).
 *
 * Keys are listed in docs/agent.md. In such a text a value may not hold a comma. A key alone ("heap") is "1".
 */
#ifndef AGENT_HOST_CONFIG_H
#define AGENT_HOST_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Takes the text over (copied, at most 4 KiB); replaces what was there. Fails on a key nobody knows. */
int config_load(const char *text, struct err *err);

/* One more setting, for a key the text does not name; the value is taken as it is, commas and all. */
int config_add(const char *key, const char *value, struct err *err);

const char *config_text(const char *key, const char *otherwise); /* valid until the next config_load */
long config_number(const char *key, long otherwise); /* accepts k, M, G (powers of 1024) behind the number */
bool config_flag(const char *key, bool otherwise);   /* 1/0, on/off, true/false, yes/no */

#endif
