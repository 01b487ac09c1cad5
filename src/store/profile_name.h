/* profile_name.h - file names of profiles, in the form that StarRocks uses. A file is a profile if and only
 * if profile_name_parse accepts its name.
 *
 *   cpu-profile-20251101-101500-pprof.gz
 *       a profile (proto) in gzip
 *   mem-profile-20251101-101500.html.tar.gz
 *       an archive with a page; archives that procprof made have the profile too
 *   cpu-profile-20251101-101500-flame.html.gz
 *       a page made from the first file, kept to save time and deleted together with it
 *
 * The stamp is the local time at which the capture began.
 */
#ifndef STORE_PROFILE_NAME_H
#define STORE_PROFILE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum profile_type {
    PROFILE_CPU,
    PROFILE_MEM,
    PROFILE_HEAP,
    PROFILE_CONTENTION,
    PROFILE_WALL,
    PROFILE_N_TYPES
};
enum profile_form { PROFILE_PPROF, PROFILE_ARCHIVE, PROFILE_FLAME, PROFILE_N_FORMS };

enum { PROFILE_NAME_MAX = 64, PROFILE_STAMP_LEN = 15 };

struct profile_name {
    enum profile_type type;
    enum profile_form form;
    char stamp[PROFILE_STAMP_LEN + 1]; /* "20251101-101500" */
};

/* Returns the type as in file names and in the API ("cpu"). */
const char *profile_type_name(enum profile_type type);

/* Returns the type as StarRocks shows it: "CPU", "Memory", "Heap", "Contention" or "Wall". */
const char *profile_type_title(enum profile_type type);

/* Parses a type as in file names. Returns false if there is no such type. */
bool profile_type_parse(const char *text, enum profile_type *ret_type);

/* Parses a file name. Returns false if it is not exactly one of the forms above with an existing time. */
bool profile_name_parse(const char *text, struct profile_name *ret_name);
void profile_name_print(const struct profile_name *name, char text[PROFILE_NAME_MAX]);

/* Parse and print names in a list of several nodes, which have the node's id before the form:
 * cpu-profile-20251101-101500-10003-pprof.gz. No file has such a name. A name without an id is of node 0. */
bool profile_name_parse_listed(const char *text, struct profile_name *ret_name, int32_t *ret_node);
void profile_name_print_listed(const struct profile_name *name, int32_t node, char text[PROFILE_NAME_MAX]);

/* Writes the stamp of a time, in local time. */
void profile_stamp(int64_t time_ms, char stamp[PROFILE_STAMP_LEN + 1]);

/* Returns the time of a stamp in milliseconds since 1970, or -1 if there is no such time. */
int64_t profile_stamp_ms(const char *stamp);

#endif
