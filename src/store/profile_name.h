/* profile_name.h - file names of profiles, as StarRocks makes them: the one rule for what is a profile and
 * what is not.
 *
 *   cpu-profile-20251101-101500-pprof.gz        gzip of a profile (proto)
 *   mem-profile-20251101-101500.html.tar.gz     an archive with a page, and with the profile behind it when
 * we made it cpu-profile-20251101-101500-flame.html.gz   made from the first, kept to be quick: goes with it
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

const char *profile_type_name(enum profile_type type); /* "cpu", as in names and in our API */
const char *profile_type_title(
    enum profile_type type); /* "CPU", "Memory", "Heap", "Contention", "Wall", as StarRocks shows them */
bool profile_type_parse(const char *text, enum profile_type *ret_type);

/* Exactly one of the forms above, digits where digits belong, and a time that exists. Nothing else passes. */
bool profile_name_parse(const char *text, struct profile_name *ret_name);
void profile_name_print(const struct profile_name *name, char text[PROFILE_NAME_MAX]);

/* Where files of several nodes stand in one list, with the id of the node before the form:
 * cpu-profile-20251101-101500-10003-pprof.gz. No file has such a name. A plain name is of node 0. */
bool profile_name_parse_listed(const char *text, struct profile_name *ret_name, int32_t *ret_node);
void profile_name_print_listed(const struct profile_name *name, int32_t node, char text[PROFILE_NAME_MAX]);

void profile_stamp(int64_t time_ms, char stamp[PROFILE_STAMP_LEN + 1]); /* in local time */
int64_t profile_stamp_ms(const char *stamp);                            /* back again; -1: no such time */

#endif
