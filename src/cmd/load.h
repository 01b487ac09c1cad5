/* load.h - turns sources into one profile: fetches, decodes, merges, subtracts a base and finds names. Every
 * report command begins with it. */
#ifndef CMD_LOAD_H
#define CMD_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "profile/profile.h"
#include "report/simple_names.h"
#include "symbol/symbol.h"

struct load_options { /* all zero: the defaults */
    const char *const *sources;
    size_t n_sources;
    const char *const *bases;
    size_t n_bases;
    bool is_diff; /* bases are for comparison (-diff_base), not subtraction (-base) */
    bool normalize;
    const char *binary, *build_id; /* of the main mapping */
    double seconds, timeout_s;
    bool no_symbols, local_only, remote_only, fast_local, force_symbols, want_lines;
    enum name_detail name_detail;
    bool name_places; /* name code without a symbol object+0xOFFSET; for reports only, see name_places.h */
    bool all_frames;  /* keep frames that the profile's drop_frames matches */
    bool drop_signal_frames;
    const char *only_type; /* as in format.h */
    const char *comment;
    const char *tls_cert, *tls_key, *tls_ca;
    const char *const *search; /* folders with binaries, NULL-ended */
    bool add_fake_mapping;     /* a profile without mappings gets one, as google/pprof does */
    void (*say)(void *context, const char *line);  /* "Fetching profile over HTTP from ..." */
    void (*warn)(void *context, const char *line); /* what could not be read, but is not fatal */
    void *context;
};

/* *ret_remote tells whether at least one source came over HTTP. *ret_symbolizer stays open for source and
 * disassembly, and the caller owns it. Both pointers may be NULL. */
int load_profile(const struct load_options *options, struct profile **ret_profile, bool *ret_remote,
                 struct symbolizer **ret_symbolizer, struct err *err);

#endif
