/* maps.h - the memory map at the end of an old profile: which file was mapped where.
 *
 * Lines of /proc/PID/maps, or the brief form "start-end: file (@offset) build-id"; a log prefix ("...
 * file.cc:12] ") is taken off; "name=value" lines define what "$name" means below them. Only executable
 * mappings are kept. Anything else is passed over.
 */
#ifndef FORMAT_MAPS_H
#define FORMAT_MAPS_H

#include "base/arena.h"
#include "base/text.h"
#include "profile/profile.h"

struct maps_entry {
    uint64_t start, limit, offset;
    const char *file, *build_id; /* "" when there is none; text lives as long as the maps */
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

/* What google/pprof does to the map of an old profile: adjacent pieces of one file become one, the main
 * program comes first. */
void maps_massage(struct maps *maps);

/* Gives the profile these mappings, and each of its locations (that has an address and no mapping yet) the
 * one it lies in; strays get one mapping over everything. Call it once, after the last location. */
void maps_apply(struct maps *maps, struct profile *p);

#endif
