/* fe_archive.c - see fe_archive.h. */
#include "report/flame/fe_archive.h"

#include <stdio.h>
#include <time.h>

#include "base/compress/pack.h"
#include "base/compress/tar.h"
#include "base/file.h"
#include "report/flame/flame_html.h"

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
        tar_make(&(struct tar_file){name, html.data, html.len}, 1, start_s, &tar);
        pack_gzip(tar.data, tar.len, 6, &packed);
        rc = file_write_atomic(path, packed.data, packed.len, 0644, err);
        bytes_free(&packed);
    }
    buf_free(&html);
    buf_free(&tar);
    if (rc == 0 && ret_path) snprintf(ret_path, 512, "%s", path);
    return rc;
}
