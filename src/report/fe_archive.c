/* fe_archive.c - see fe_archive.h. */
#include "report/fe_archive.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/pack.h"
#include "report/flame_html.h"

/* POSIX ustar: a header block, the bytes filled up to whole blocks, two empty blocks. */
void fe_archive_tar(const char *name, const void *data, size_t len, int64_t time_s, struct buf *out)
{
    struct {
        char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6],
            version[2], user[32], group[32], device[16], prefix[155], rest[12];
    } header;
    _Static_assert(sizeof header == 512, "a tar header is one block");
    memset(&header, 0, sizeof header);
    snprintf(header.name, sizeof header.name, "%s", name);
    memcpy(header.mode, "0000644", 8);
    memcpy(header.uid, "0000000", 8);
    memcpy(header.gid, "0000000", 8);
    char number[32];
    snprintf(number, sizeof number, "%011llo", (unsigned long long)len & 077777777777);
    memcpy(header.size, number, sizeof header.size);
    snprintf(number, sizeof number, "%011llo", (unsigned long long)(time_s > 0 ? time_s : 0) & 077777777777);
    memcpy(header.mtime, number, sizeof header.mtime);
    header.type = '0';
    memcpy(header.magic, "ustar", 6);
    memcpy(header.version, "00", 2);
    memset(header.checksum, ' ', sizeof header.checksum);
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof header; i++) sum += ((unsigned char *)&header)[i];
    snprintf(number, sizeof number, "%06o", sum & 0777777);
    memcpy(header.checksum, number, 7); /* six digits, NUL; the blank behind stays */
    buf_add(out, &header, sizeof header);
    buf_add(out, data, len);
    buf_fill(out, 0, (512 - len % 512) % 512 + 1024);
}

int fe_archive_write(const struct profile *p, const struct fe_archive_options *o, const char *folder,
                     char ret_path[512], struct err *err)
{
    char stamp[32], name[64], path[512];
    time_t start_s = (time_t)(o->start_ns / 1000000000);
    struct tm local;
    localtime_r(&start_s, &local);
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
    snprintf(name, sizeof name, "%.16s-profile-%s.html", o->type, stamp);
    if (snprintf(path, sizeof path, "%s/%s.tar.gz", folder, name) >= (int)sizeof path)
        return err_set(err, ERR_LIMIT, "the folder's name is too long: %.100s", folder);
    struct buf html = {0}, tar = {0};
    struct flame_html_options page = {
        .data = {.title = o->title ? o->title : name, .sample_type = o->sample_type}};
    int rc = flame_html_write(p, &page, &html, err);
    if (rc == 0) rc = file_make_dirs(folder, 0755, err);
    if (rc == 0) {
        struct bytes packed;
        fe_archive_tar(name, html.data, html.len, start_s, &tar);
        pack_gzip(tar.data, tar.len, 6, &packed);
        rc = file_write_atomic(path, packed.data, packed.len, 0644, false, err);
        bytes_free(&packed);
    }
    buf_free(&html);
    buf_free(&tar);
    if (rc == 0 && ret_path) snprintf(ret_path, 512, "%s", path);
    return rc;
}
