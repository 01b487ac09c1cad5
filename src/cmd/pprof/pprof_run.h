/* pprof_run.h - one report of `procprof pprof`, from the command line or from its shell. */
#ifndef CMD_PPROF_PPROF_RUN_H
#define CMD_PPROF_PPROF_RUN_H

#include "cmd/pprof/pprof_config.h"
#include "profile/profile.h"
#include "symbol/symbol.h"

/* Frees p. Output goes to config->output, to a viewer, or to standard output, but binary output never goes to
 * a terminal. */
int pprof_run(struct profile *p, const struct pprof_command *command, const char *symbol,
              const struct pprof_config *config, struct symbolizer *symbolizer, bool in_shell,
              struct err *err);

/* Reads commands until the input ends, frees p and returns the exit status. */
int pprof_shell(struct profile *p, struct pprof_config *config, struct symbolizer *symbolizer);

#endif
