/* flame_data.h - writes a profile, or two for a comparison, as the merged call tree that the page draws.
 *
 * The result is one block of bytes, small enough to send or to put into an HTML file, and quick to decode
 * into typed arrays. Every profile is accepted: no samples, negative values, stacks of any depth, names of
 * any length that are not UTF-8.
 *
 * The bytes: "PPF1", then sections, each a varint length and that many bytes:
 * - JSON header (sample types, times, counts; flame_data.c writes it, web/src/flame/data.ts reads it)
 * - names of functions, '\n' between; index 0 is the root ("all"); UTF-8 whatever came in
 * - files, '\n' between; index 0 is ""; modules (mapped files), the same
 * - per function: varint file; varint module; varint start line
 * - per node, in preorder (heaviest child first): varint (depth before + 1 - depth); varint function
 * - self values, per node a varint; one section per sample type, and in a comparison one more of the base
 *   behind each. header.columns says how: "0" all zero (empty section), "u" unsigned, "z" zigzag;
 *   header.scales what to multiply with
 *
 * A preview comes before a tree of FLAME_DATA_PREVIEW_FROM nodes or more. It has the same form and
 * header.preview = FLAME_DATA_PREVIEW_PIXELS. It has the frames that a picture of this width shows, and
 * frames with the exact sums of all others, so that the page can draw while most of the bytes are still
 * arriving.
 */
#ifndef REPORT_FLAME_FLAME_DATA_H
#define REPORT_FLAME_FLAME_DATA_H

#include <stddef.h>

#include "base/buf.h"
#include "profile/profile.h"

#define FLAME_DATA_MAX_NODES      ((size_t)2000000)
#define FLAME_DATA_PREVIEW_FROM   ((size_t)200000)
#define FLAME_DATA_PREVIEW_PIXELS 1280
#define FLAME_DATA_PREVIEW_ROWS   40

struct flame_data_options {     /* all zero: the defaults */
    const struct profile *base; /* compare with this: the tree is the union of both; NULL: no comparison */
    const char *title;          /* what the page calls it; NULL: nothing */
    const char *base_title;
    unsigned n_processes; /* how many processes the profile is of, for rates per process; 0 counts as 1 */
    unsigned base_n_processes;
    const char
        *sample_type; /* shown first: a name as profile_sample_index takes it; NULL: the profile's default */
    const char *extra_json; /* "\"ids\":[1,2]": more members of the header; NULL: none */
    size_t max_nodes; /* 0: FLAME_DATA_MAX_NODES. Beyond it the lightest subtrees become one frame per parent
                         that holds their exact sums and is called so */
};

void flame_data_write(const struct profile *p, const struct flame_data_options *options, struct buf *out);

#endif
