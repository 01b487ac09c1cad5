/* file.h - reads and writes whole files.
 *
 * Reading returns one block of bytes. Writing is atomic: other programs see the old file or the new one,
 * never a part of it, and a failed write leaves no file behind.
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

/* Read a whole file. A regular file is mapped read-only; a pipe or device is read to its end. The path "-" is
 * standard input. Return ERR_LIMIT if the file has more than max_bytes, and ERR_IO with the name if it is a
 * directory, missing or unreadable. The caller frees the bytes with bytes_free. */
int file_read(const char *path, size_t max_bytes, struct bytes *ret_bytes, struct err *err);
int file_read_fd(int fd, const char *name_for_errors, size_t max_bytes, struct bytes *ret_bytes,
                 struct err *err);

/* Does the same for a file of an untrusted user. It never maps the file itself, because its owner could
 * truncate it, which would end this process with SIGBUS. It copies the current content instead. A large file
 * is copied to an unnamed file in $TMPDIR or /tmp, which is mapped. Returns ERR_IO if it is not a regular
 * file. */
int file_read_foreign_fd(int fd, const char *name_for_errors, size_t max_bytes, struct bytes *ret_bytes,
                         struct err *err);
void bytes_free(struct bytes *bytes);

/* Writes a temporary file beside path and renames it to path, without waiting for the disk. If path is a
 * symbolic link, its target is replaced and the link stays. A device or a pipe is written to directly. */
int file_write_atomic(const char *path, const void *data, size_t len, unsigned mode, struct err *err);

/* The two functions below do the same for content that is made piece by piece. Append it to `out` between
 * begin and end. Every successful begin needs an end. If the end fails, the old file is unchanged. */
struct file_writing {
    struct buf out;
    char *path, *temporary; /* temporary is NULL if path is a device or a pipe */
    unsigned mode;
};
int file_begin_atomic(const char *path, unsigned mode, struct file_writing *ret_writing, struct err *err);
int file_end_atomic(struct file_writing *w, struct err *err);

int file_make_dirs(const char *path, unsigned mode, struct err *err); /* mkdir -p */
int file_remove_tree(const char *path, struct err *err);              /* rm -r, does not follow links */

/* $XDG_<kind>_HOME/procprof or ~/<fallback>/procprof; mem_free it. kind: "CACHE", "DATA", "CONFIG", "STATE".
 */
char *file_user_dir(const char *kind);

#endif
