/* profile.proto: what is read must be valid, and must come back the same after it was written. */
#include <string.h>

#include "reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct format_options options = {0};
    struct profile *p = profile_new(), *again = profile_new();
    struct err err = {0};
    int rc = format_proto.read(data, size, &options, p, &err);
    if (rc < 0 && !err.text[0]) abort();
    if (rc == 0) {
        struct buf first = {0}, second = {0};
        if (profile_check(p, &err)) goto bad;
        format_write_proto(p, &first);
        if (format_proto.read(first.data, first.len, &options, again, &err)) goto bad;
        if (again->n_samples != p->n_samples || again->n_locations != p->n_locations) {
            err_set(&err, ERR_INPUT, "samples or locations got lost on the way out and in");
            goto bad;
        }
        format_write_proto(again, &second);
        if (first.len != second.len || (first.len && memcmp(first.data, second.data, first.len))) {
            err_set(&err, ERR_INPUT, "written twice, it is not the same");
            goto bad;
        }
        buf_free(&first);
        buf_free(&second);
    }
    profile_free(p);
    profile_free(again);
    return 0;
bad:
    fprintf(stderr, "%s\n", err.text);
    abort();
}
