/* replay.c - runs a fuzz harness over its committed corpus, as part of `make test`: one TAP line a file. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : ".";
    struct dirent **entries = NULL;
    int n = scandir(folder, &entries, NULL, alphasort), n_files = 0;
    if (n < 0) {
        printf("1..0 # skip no corpus in %s\n", folder);
        return 0;
    }
    for (int i = 0; i < n; i++) {
        char path[4096];
        struct bytes bytes;
        struct err err;
        if (entries[i]->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (file_read(path, 1 << 30, &bytes, &err)) {
            printf("not ok %d - %s: %s\n", ++n_files, path, err.text);
            continue;
        }
        printf("# %s\n", path);
        fflush(stdout);
        /* A copy of exactly that size, so that ASan sees a read past its end. */
        uint8_t *copy = malloc(bytes.len ? bytes.len : 1);
        if (bytes.len) memcpy(copy, bytes.data, bytes.len);
        LLVMFuzzerTestOneInput(copy, bytes.len);
        free(copy);
        bytes_free(&bytes);
        printf("ok %d - %s\n", ++n_files, entries[i]->d_name);
    }
    for (int i = 0; i < n; i++) free(entries[i]);
    free(entries);
    printf(n_files ? "1..%d\n" : "1..%d # skip empty corpus\n", n_files);
    return 0;
}
