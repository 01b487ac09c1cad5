/* file.h - whole files in, whole files out.
 *
 * Reading gives one block of bytes however the file is stored; writing is atomic: readers see the old file or
 * the new one, never a part, and a failed write leaves nothing behind.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct bytes { /* all zero: none. Release with bytes_free. */
    uint8_t *data;
    size_t len;
    size_t mapped_bytes; /* >0: data is a mapping of that size; 0: data came from mem_alloc */
};

/* Regular files are mapped read-only; pipes and the like are read to their end. "-" is standard input.
 * max_bytes bounds what is taken (ERR_LIMIT). A directory, a missing or unreadable file: ERR_IO naming it. */
int file_read(const char *path, size_t max_bytes, struct bytes *ret_bytes, struct err *err);
int file_read_fd(int fd, const char *name_for_errors, size_t max_bytes, struct bytes *ret_bytes,
                 struct err *err);
/* The same for a file of somebody who is not trusted: never a mapping of it, which would end us by SIGBUS
 * when its owner cuts it short. What it holds now is copied; a large one into an unnamed file in $TMPDIR or
 * /tmp, and that is mapped. Only a regular file (ERR_IO). */
int file_read_foreign_fd(int fd, const char *name_for_errors, size_t max_bytes, struct bytes *ret_bytes,
                         struct err *err);
void bytes_free(struct bytes *bytes);

/* Writes a temporary file beside path, syncs it when durable is asked for, renames it into place. A link
 * stays a link: its target is replaced. What is no file (/dev/null, a pipe) is written into. */
int file_write_atomic(const char *path, const void *data, size_t len, unsigned mode, bool durable,
                      struct err *err);

/* The same for what is made piece by piece: append to `out` between begin and end. After a begin that went
 * well comes an end, always; when that fails, the old file is as it was. */
struct file_writing {
    struct buf out;
    char *path, *temporary; /* temporary: NULL when the file is written into */
    unsigned mode;
};
int file_begin_atomic(const char *path, unsigned mode, struct file_writing *ret_writing, struct err *err);
int file_end_atomic(struct file_writing *w, bool durable, struct err *err);

int file_make_dirs(const char *path, unsigned mode, struct err *err); /* mkdir -p */
int file_remove_tree(const char *path, struct err *err);              /* rm -r, does not follow links */

/* $XDG_<kind>_HOME/procprof or ~/<fallback>/procprof; mem_free it. kind: "CACHE", "DATA", "CONFIG", "STATE".
 */
char *file_user_dir(const char *kind);

#endif
