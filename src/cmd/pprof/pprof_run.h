/* pprof_run.h - one report of `procprof pprof`, from the command line or from its shell. */
#ifndef CMD_PPROF_PPROF_RUN_H
#define CMD_PPROF_PPROF_RUN_H

#include "cmd/pprof/pprof_config.h"
#include "profile/profile.h"
#include "symbol/symbol.h"

/* Takes p over. Output goes to config->output, a viewer, or standard output (never binary onto a terminal).
 */
int pprof_run(struct profile *p, const struct pprof_command *command, const char *symbol,
              const struct pprof_config *config, struct symbolizer *symbolizer, bool in_shell,
              struct err *err);

/* Reads commands until the end; returns the exit status. Takes p over. */
int pprof_shell(struct profile *p, struct pprof_config *config, struct symbolizer *symbolizer);

#endif
