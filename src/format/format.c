/* format.c - recognises the format of a profile. It undoes compression, opens a frontend's archive, and
 * then tries each reader in turn; see format.h. */
#include "format/format.h"

#include <string.h>
#include <strings.h>

#include "base/assert.h"
#include "base/compress/tar.h"
#include "base/compress/unpack.h"

/* Tried in this order: strict readers first, readers that accept almost any text last. */
static const struct format_reader *const readers[] = {
    &format_jfr,  &format_symbolized, &format_cpu,         &format_heap,   &format_go_count, &format_threadz,
    &format_java, &format_contention, &format_perf_script, &format_folded, &format_proto,
};

/* The most common mistake is an error page saved as a profile. */
static bool looks_like_html(const char *text, size_t len)
{
    while (len && (*text == ' ' || *text == '\n' || *text == '\r' || *text == '\t')) text++, len--;
    return (len >= 14 && !strncasecmp(text, "<!doctype html", 14)) ||
           (len >= 5 && !strncasecmp(text, "<html", 5));
}

/* The reader of profile.proto takes any bytes for a damaged file. For a text its error message is
 * meaningless, so the other readers are tried. */
static bool looks_like_text(const char *text, size_t len)
{
    for (size_t i = 0; i < len && i < 512; i++)
        if ((unsigned char)text[i] < ' ' && !memchr("\t\n\r", text[i], 3)) return false;
    return true;
}

static int decode(const void *data, size_t len, const struct format_options *options,
                  struct profile **ret_profile, struct err *err)
{
    if (!len) return err_set(err, ERR_INPUT, "empty input file");
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        struct profile *p = profile_new();
        int rc = readers[i]->read(data, len, options, p, err);
        if (rc == 0) {
            ASSERT(!profile_check(p, NULL));
            if (options->ret_format) *options->ret_format = readers[i]->name;
            *ret_profile = p;
            return 0;
        }
        profile_free(p);
        if (rc != FORMAT_NOT_MINE && !(readers[i] == &format_proto && looks_like_text(data, len))) return rc;
    }
    if (looks_like_html(data, len))
        return err_set(err, ERR_INPUT, "this is an HTML page, not a profile (an error page of the server?)");
    return err_set(err, ERR_INPUT, "unrecognized profile format");
}

/* Reads a profile that may be compressed. An archive contains one profile, which may be compressed but is
 * not an archive itself. */
static int read_layers(const void *data, size_t len, const struct format_options *options, bool is_inside,
                       struct profile **ret_profile, struct err *err)
{
    size_t max_bytes = options->max_bytes ? options->max_bytes : FORMAT_MAX_BYTES;
    struct format_options unpacked = *options;
    struct bytes plain = {0};
    int rc = 0;
    if (unpack_is_packed(data, len)) {
        rc = unpack(data, len, max_bytes, &plain, err);
        data = plain.data;
        len = plain.len;
        unpacked.is_file_mapping = false; /* dropped pages of memory would be lost */
        options = &unpacked;
    }
    if (!rc && !is_inside && tar_is(data, len)) {
        struct tar_file file;
        rc = tar_find(data, len, ".pprof", &file, err);
        if (rc == ERR_NOT_FOUND)
            rc = err_set(
                err, ERR_INPUT,
                "this archive holds no profile (a file .pprof); unpack it to see what it holds, a page "
                "opens in a browser");
        if (!rc) rc = read_layers(file.data, file.len, options, true, ret_profile, err);
    } else if (!rc) {
        rc = decode(data, len, options, ret_profile, err);
    }
    bytes_free(&plain);
    return rc;
}

int format_read(const void *data, size_t len, const char *name, const struct format_options *options,
                struct profile **ret_profile, struct err *err)
{
    static const struct format_options defaults;
    int rc = read_layers(data, len, options ? options : &defaults, false, ret_profile, err);
    return rc && name ? err_prefix(err, "%s", name) : rc;
}
