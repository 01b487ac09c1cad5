/* procprof.h - the profiler inside a native server. */
#ifndef PROCPROF_H
#define PROCPROF_H

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0" */
const char *pp_version(void);

#ifdef __cplusplus
}
#endif
#endif
