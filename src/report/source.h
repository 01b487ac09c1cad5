/* source.h - finds the source files that a profile names on this machine and reads them line by line. */
#ifndef REPORT_SOURCE_H
#define REPORT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct source_reader;

/* search_path and trim_path: colon-separated folders; "" means the working folder, and no trimming. */
struct source_reader *source_reader_new(const char *search_path, const char *trim_path);
void source_reader_free(struct source_reader *reader);

/* The text of a line, counted from 1, valid until the reader is freed. NULL past the end of the file and when
 * the file cannot be read; in that case err has the reason. */
const char *source_line(struct source_reader *reader, const char *file, long line, struct err *err);

/* The path without the prefixes that trim_path lists. When trim_path is empty, the path without everything up
 * to a folder that has the same name as a folder of search_path. */
const char *source_trim_path(const char *file, const char *trim_path, const char *search_path);

#endif
