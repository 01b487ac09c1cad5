/* Conf files: the first byte says whose. Everything or nothing is taken, and what is wrong is said in one
 * line. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "serve/cluster/cluster.h"
#include "serve/cluster/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void warn(const char *text)
{
    if (!*text || strchr(text, '\n')) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum conf_file kinds[] = {CONF_FE_FILE, CONF_BE_FILE, CONF_OWN_FILE};
    if (size < 1 || size > 1 << 16) return 0;
    struct conf conf = {0};
    struct err err = {0};
    int rc = conf_parse(&conf, (const char *)data + 1, size - 1, "fuzz.conf", kinds[data[0] % 3], warn, &err);
    if (rc) {
        if (!err.text[0] || strchr(err.text, '\n')) abort();
        for (int k = 0; k < CONF_N_KEYS; k++)
            if (conf.from[k]) abort();
    }
    for (int k = 0; k < CONF_N_KEYS; k++) {
        const struct conf_key_info *info = conf_key_info((enum conf_key)k);
        if (!conf_text(&conf, (enum conf_key)k)) abort();
        if (info->kind == CONF_INT) {
            int64_t value = conf_int(&conf, (enum conf_key)k);
            if (value < info->min || value > info->max) abort();
        }
    }
    for (size_t i = 0; i < conf.n_nodes; i++) {
        struct cluster_node node;
        if (!cluster_node_parse(conf.nodes[i].text, &node, &err) && !node.host[0]) abort();
    }
    conf_free(&conf);
    return 0;
}
