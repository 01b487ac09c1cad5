/* fe_archive.h - writes a profile as StarRocks frontends keep theirs: cpu-profile-YYYYmmdd-HHMMSS.html.tar.gz
 * with one self-contained HTML file inside. */
#ifndef REPORT_FLAME_FE_ARCHIVE_H
#define REPORT_FLAME_FE_ARCHIVE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "profile/profile.h"

struct fe_archive_options {
    const char *type;        /* "cpu" or "mem": how the name begins */
    const char *sample_type; /* shown first ("cpu", "alloc_space"); NULL: the profile's default */
    const char *title;       /* NULL: the file's name */
    int64_t start_ns;        /* wall clock when the capture began: the name's time, in this host's zone */
};

/* Writes the archive into the folder and creates the folder when it is missing. Other processes see the whole
 * archive or no file. *ret_path becomes its path; ret_path may be NULL. */
int fe_archive_write(const struct profile *p, const struct fe_archive_options *options, const char *folder,
                     char ret_path[512], struct err *err);

#endif
