/* debuginfod.h - debug files from the servers named in DEBUGINFOD_URLS, kept in the same cache folder as
 * other clients use. */
#ifndef SYMBOL_ELF_DEBUGINFOD_H
#define SYMBOL_ELF_DEBUGINFOD_H

/* kind: "debuginfo" or "executable". The path of the file in the cache (mem_free), or NULL when no server is
 * set, has it, or answers in time (DEBUGINFOD_TIMEOUT seconds, default 90; a server that said no is not asked
 * again for ten minutes). */
char *debuginfod_fetch(const char *build_id_hex, const char *kind);

#endif
