/* process_files.c - see process_files.h. */
#include "symbol/process_files.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mem.h"

/* Returns true if the path, in the file system of the process, still leads to the file that is mapped. */
static bool is_still_there(int pid, const char *path, unsigned major_number, unsigned minor_number,
                           uint64_t inode)
{
    char *seen = mem_printf("/proc/%d/root%s", pid, path);
    struct stat st;
    /* In an overlay file system, stat shows another device than the map does, but the same inode. */
    bool there = stat(seen, &st) == 0 && st.st_ino == inode &&
                 ((major(st.st_dev) == major_number && minor(st.st_dev) == minor_number) ||
                  major_number == 0 || major(st.st_dev) == 0);
    mem_free(seen);
    return there;
}

char *process_deleted_file(int pid, const char *path)
{
    static const char deleted[] = " (deleted)";
    size_t n_path = strlen(path), n_deleted = sizeof deleted - 1;
    bool has_suffix = n_path > n_deleted && !strcmp(path + n_path - n_deleted, deleted);
    size_t n_name = has_suffix ? n_path - n_deleted : n_path;
    char *maps_path = mem_printf("/proc/%d/maps", pid), *line = NULL, *found = NULL;
    FILE *maps = fopen(maps_path, "re");
    size_t cap = 0;
    while (maps && !found && getline(&line, &cap, maps) > 0) {
        uint64_t start, limit, inode;
        unsigned major_number, minor_number;
        int at = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*x %x:%x %" SCNu64 " %n", &start, &limit,
                   &major_number, &minor_number, &inode, &at) < 5 ||
            !at)
            continue;
        char *name = line + at;
        name[strcspn(name, "\n")] = '\0';
        if (strncmp(name, path, n_name) || (name[n_name] && strcmp(name + n_name, deleted))) continue;
        bool is_deleted = name[n_name] != '\0';
        if (is_deleted || !is_still_there(pid, name, major_number, minor_number, inode))
            found = mem_printf("/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, start, limit);
        else
            break;
    }
    if (maps) fclose(maps);
    free(line);
    mem_free(maps_path);
    if (found && access(found, R_OK) != 0) {
        /* This user may not read map_files. If the file is the program itself, /proc/PID/exe leads to it too.
         */
        char *exe = mem_printf("/proc/%d/exe", pid), target[4096 + 16];
        ssize_t n = readlink(exe, target, sizeof target - 1);
        mem_free(found);
        found = NULL;
        if (n > 0) {
            target[n] = '\0';
            if (!strncmp(target, path, n_name) && (!target[n_name] || !strcmp(target + n_name, deleted)))
                found = mem_strdup(exe);
        }
        mem_free(exe);
    }
    return found;
}

char *process_perf_map(int pid)
{
    char *status_path = mem_printf("/proc/%d/status", pid), *line = NULL;
    FILE *status = fopen(status_path, "re");
    size_t cap = 0;
    int inside = pid; /* the last number in NSpid is the pid in the innermost container */
    while (status && getline(&line, &cap, status) > 0) {
        if (strncmp(line, "NSpid:", 6)) continue;
        char *last = strrchr(line, '\t');
        if (last && atoi(last + 1) > 0) inside = atoi(last + 1);
    }
    if (status) fclose(status);
    free(line);
    mem_free(status_path);
    char *path = mem_printf("/proc/%d/root/tmp/perf-%d.map", pid, inside);
    if (access(path, R_OK) == 0) return path;
    mem_free(path);
    return NULL;
}
