/* source.h - source files named in profiles, found on this machine and read line by line. */
#ifndef REPORT_SOURCE_H
#define REPORT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct source_reader;

/* search_path and trim_path: colon-separated folders; "" means the working folder, and no trimming. */
struct source_reader *source_reader_new(const char *search_path, const char *trim_path);
void source_reader_free(struct source_reader *reader);

/* Line number (from 1) of file; NULL past its end, or when it cannot be read (then err says why). Until the
 * reader is freed. */
const char *source_line(struct source_reader *reader, const char *file, long line, struct err *err);

/* The path without the prefixes that trim_path names, or (when it names none) up to a folder with the name of
 * one of search_path's. */
const char *source_trim_path(const char *file, const char *trim_path, const char *search_path);

#endif
