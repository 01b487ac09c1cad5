/* process_files.h - finds the files of a live process through /proc. */
#ifndef SYMBOL_PROCESS_FILES_H
#define SYMBOL_PROCESS_FILES_H

/* Returns a path to the contents of a mapped file that was deleted or replaced since the process mapped it.
 * path is its name as in /proc/PID/maps. Returns NULL if the name still leads to the mapped file, if the
 * process does not map it, or if its contents cannot be read. The caller frees the result with mem_free. */
char *process_deleted_file(int pid, const char *path);

/* Returns the path of the file in which a virtual machine writes the names of the code it compiled, or NULL
 * if there is none. The file is perf-PID.map in the /tmp of the process. PID is the number that the process
 * has in its own container. The caller frees the result with mem_free. */
char *process_perf_map(int pid);

#endif
