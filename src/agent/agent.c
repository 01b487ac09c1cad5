/* agent.c - the public functions of include/procprof.h. */
#include "procprof.h"

__attribute__((visibility("default"))) const char *pp_version(void)
{
    return "0.1.0";
}
