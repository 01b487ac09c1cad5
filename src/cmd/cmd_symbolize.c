/* cmd_symbolize.c - `procprof symbolize`: fills a profile with functions, lines and inlined frames. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "collect/fetch.h"
#include "format/format.h"
#include "report/symbolize.h"
#include "symbol/demangle/demangle.h"
#include "symbol/symbol.h"

/* Standard input, line by line: mangled names in, names for people out. */
static int filter_names(void)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    struct buf out = buf_to_fd(1);
    while ((n = getline(&line, &cap, stdin)) >= 0) {
        bool ended = n > 0 && line[n - 1] == '\n';
        if (ended) line[n - 1] = '\0';
        char *name = symbol_demangle(line);
        buf_str(&out, name);
        mem_free(name);
        if (ended) buf_char(&out, '\n');
    }
    free(line);
    int rc = buf_flush(&out);
    buf_free(&out);
    return rc < 0 ? command_failf("cannot write to standard output: %s", strerror(out.write_errno)) : 0;
}

static void warn(void *context, const char *text)
{
    (void)context;
    command_warnf("%s", text);
}

static int write_profile(const struct profile *p, const char *path, struct err *err)
{
    if (!strcmp(path, "-")) {
        struct buf out = buf_to_fd(1);
        format_write_proto_gzip(p, 4, &out);
        int rc = buf_flush(&out) ? err_errno(err, out.write_errno, "cannot write to standard output") : 0;
        buf_free(&out);
        return rc;
    }
    struct file_writing file;
    int rc = file_begin_atomic(path, 0644, &file, err);
    if (rc) return rc;
    format_write_proto_gzip(p, 4, &file.out);
    return file_end_atomic(&file, err);
}

static int run(int argc, char **argv)
{
    const char *output = "-", *binary = NULL, *cache = NULL;
    struct option_list search = {0};
    bool force = false, demangle_only = false, no_inlines = false, no_cache = false, symbols_only = false;
    int64_t n_threads = 0, pid = 0;
    const struct option table[] = {
        {'o', "output", OPTION_TEXT, &output, "FILE",
         "output file (profile.proto, gzip); - is standard output"},
        {0, "path", OPTION_LIST, &search, "FOLDER",
         "also search here for programs, libraries and debug files; may be repeated"},
        {0, "pid", OPTION_INT, &pid, "PID",
         "the process, still running, whose files to read, deleted ones included"},
        {0, "binary", OPTION_TEXT, &binary, "FILE", "the program, instead of the one that the profile names"},
        {0, "force", OPTION_FLAG, &force, NULL, "also name locations that already have names"},
        {0, "no-inlines", OPTION_FLAG, &no_inlines, NULL, "one frame per address"},
        {0, "symbols-only", OPTION_FLAG, &symbols_only, NULL,
         "read only symbol tables: names without files and lines"},
        {0, "cache", OPTION_TEXT, &cache, "FOLDER", "folder of the symbol cache"},
        {0, "no-cache", OPTION_FLAG, &no_cache, NULL, "do not use the symbol cache"},
        {0, "threads", OPTION_INT, &n_threads, "N", "number of threads (one per core)"},
        {0, "demangle", OPTION_FLAG, &demangle_only, NULL,
         "demangle the names on standard input, and nothing else"},
        {0},
    };
    const struct options_help help = {
        .usage = "procprof symbolize [OPTIONS] PROFILE -o OUT",
        .text =
            "Looks up the addresses of a profile in its programs and libraries, and writes the profile with\n"
            "functions, files, lines and inlined frames.",
        .examples = "  procprof symbolize cpu.prof -o named.pb.gz\n"
                    "  procprof symbolize --path /mnt/image heap.pb.gz -o named.pb.gz\n",
    };
    int n = options_parse(argc, argv, table, &help);
    if (n < 0) return n == OPTIONS_DONE ? 0 : 2;
    if (demangle_only) return filter_names();
    if (n != 1)
        return command_failf("symbolize needs one profile, not %d; 'procprof symbolize --help' shows how", n),
               2;

    struct err err = {0};
    struct bytes bytes = {0};
    struct profile *profile = NULL;
    struct symbolizer *symbolizer =
        symbolizer_new(&(struct symbol_options){.cache_dir = no_cache ? "" : cache,
                                                .search = search.items,
                                                .pid = pid > 0 && pid <= INT32_MAX ? (int)pid : 0,
                                                .n_threads = n_threads > 0 ? (unsigned)n_threads : 0,
                                                .no_inlines = no_inlines,
                                                .symbol_table_only = symbols_only});
    int rc = fetch(argv[1], NULL, &bytes, &err);
    if (rc == 0) rc = format_read(bytes.data, bytes.len, argv[1], NULL, &profile, &err);
    if (rc == 0)
        profile_symbolize(profile, symbolizer,
                          &(struct symbolize_options){.binary = binary, .force = force, .warn = warn});
    if (rc == 0) rc = write_profile(profile, output, &err);
    bytes_free(&bytes);
    profile_free(profile);
    symbolizer_free(symbolizer);
    return rc < 0 ? command_fail(&err) : 0;
}

COMMAND(symbolize, "symbolize", "other", "add functions, lines and inlined frames to a profile", run)
