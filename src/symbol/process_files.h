/* process_files.h - where /proc shows the files of a live process. */
#ifndef SYMBOL_PROCESS_FILES_H
#define SYMBOL_PROCESS_FILES_H

/* A way to the contents of a file that the process has mapped under this name (as in /proc/PID/maps) and that
 * is not there any more, or is another one now. NULL: the name is right, or nobody holds it. mem_free it. */
char *process_deleted_file(int pid, const char *path);

/* The file in which its virtual machine writes the names of what it compiled (perf-PID.map, by the pid it
 * knows itself by, in its own /tmp). NULL: there is none. mem_free it. */
char *process_perf_map(int pid);

#endif
