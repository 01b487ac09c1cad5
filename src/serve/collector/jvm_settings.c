/* jvm_settings.c - see jvm_settings.h. */
#include "serve/collector/jvm_settings.h"

#include "base/mem.h"

int jvm_settings_read(struct cluster *c, int32_t node, struct jvm_collect_options *options,
                      char **ret_library, struct err *err)
{
    options->jstack_depth = (unsigned)cluster_setting_int(c, CONF_PROC_PROFILE_JSTACK_DEPTH);
    options->alloc_interval_bytes = (uint64_t)cluster_setting_int(c, CONF_FE_ALLOC_INTERVAL_BYTES);
    *ret_library = cluster_setting_text(c, CONF_ASYNC_PROFILER_LIB);
    options->library = **ret_library ? *ret_library : NULL;
    char *engine = cluster_setting_text(c, CONF_FE_ENGINE);
    int bad = jvm_engine_parse(engine, &options->engine, err);
    mem_free(engine);
    if (!bad && options->engine == JVM_ENGINE_AUTO && cluster_jvm_has_crashed(c, node))
        options->engine = JVM_ENGINE_FLIGHT_RECORDER;
    return bad;
}
