/* debuginfod.h - fetches debug files from the servers in DEBUGINFOD_URLS. The files are kept in the cache
 * folder that other debuginfod clients use too. */
#ifndef SYMBOL_ELF_DEBUGINFOD_H
#define SYMBOL_ELF_DEBUGINFOD_H

/* Returns the path of the file in the cache, downloading it first if needed. kind is "debuginfo" or
 * "executable". The caller frees the path with mem_free. Returns NULL if no server is set, no server has the
 * file, or the download is too slow for DEBUGINFOD_TIMEOUT seconds (default 90). If the servers do not have a
 * file, they are not asked for it again for ten minutes. */
char *debuginfod_fetch(const char *build_id_hex, const char *kind);

#endif
