/* maps.h - reads the memory map at the end of an older profile: which file was mapped where.
 *
 * A line has the form of /proc/PID/maps or the brief form "start-end: file (@offset) build-id". The reader
 * removes a log prefix ("... file.cc:12] "). A line "name=value" defines "$name" for the lines below it. The
 * reader keeps executable mappings and skips all other lines.
 */
#ifndef FORMAT_MAPS_H
#define FORMAT_MAPS_H

#include "base/arena.h"
#include "base/text.h"
#include "profile/profile.h"

struct maps_entry {
    uint64_t start, limit, offset;
    const char *file, *build_id; /* "" when there is none; valid as long as the maps */
};

struct maps { /* all zero is an empty map */
    struct maps_entry *entries;
    size_t n_entries, cap_entries;
    struct arena text;
};

bool maps_is_sentinel(struct piece line); /* "--- Memory map: ---" or "MAPPED_LIBRARIES:" */

enum maps_line { MAPS_OTHER, MAPS_NOT_EXECUTABLE, MAPS_ENTRY };

/* Reads one line. file and build_id of the entry are pieces of the line. */
enum maps_line maps_parse_line(struct piece line, struct maps_entry *ret_entry, struct piece *ret_file,
                               struct piece *ret_build_id);

void maps_parse(struct maps *maps, struct piece text); /* appends */
void maps_free(struct maps *maps);

/* Joins adjacent pieces of one file and puts the main program first, as google/pprof does for older profiles.
 */
void maps_massage(struct maps *maps);

/* Adds these mappings to the profile and sets the mapping of each location that has an address and no mapping
 * yet. Locations outside every mapping share one that covers all addresses. Call it once, after the last
 * location. */
void maps_apply(struct maps *maps, struct profile *p);

#endif
