/* load.h - sources to one profile: fetch, decode, merge, subtract a base, find names. What every report
 * command begins with. */
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
    bool name_places; /* code without names is called object+0xOFFSET: for what people read */
    bool all_frames;  /* keep what the profile's drop_frames names */
    bool drop_signal_frames;
    const char *only_type; /* as in format.h */
    const char *comment;
    const char *tls_cert, *tls_key, *tls_ca;
    const char *const *search; /* folders with binaries, NULL-ended */
    bool add_fake_mapping;     /* a profile without mappings gets one, as google/pprof does */
    bool quiet;
    void (*say)(void *context, const char *line);  /* "Fetching profile over HTTP from ..." */
    void (*warn)(void *context, const char *line); /* what could not be read, but is not fatal */
    void *context;
};

/* ret_remote (may be NULL): at least one source came over HTTP. *ret_symbolizer (may be NULL) stays open for
 * source and disassembly and is the caller's. */
int load_profile(const struct load_options *options, struct profile **ret_profile, bool *ret_remote,
                 struct symbolizer **ret_symbolizer, struct err *err);

#endif
