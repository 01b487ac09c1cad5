/* cmd_addr2line.c - `procprof addr2line`, or a link of that name: stands in for binutils' addr2line, its
 * options and its output to the letter, so that perf, jeprof and scripts can use it without a change.
 *
 * Addresses are looked up in one batch as far as they are there. On a pipe that is kept open whole lines are
 * answered as soon as nothing more can be read at once, which is what callers that ask line by line wait for.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/text.h"
#include "base/version.h"
#include "cmd/command.h"
#include "symbol/elf/elf.h"
#include "symbol/symbol.h"

enum { MAX_BATCH = 200000, LOOK_AHEAD_FRAMES = 8, LINE_BYTES = 64 };

struct addr2line {
    const char *name; /* of this program, for messages */
    bool addresses, functions, inlines, pretty, basenames, demangle;
    const char *exe, *section;
    unsigned n_digits;
    uint64_t section_start, section_bytes;
    struct symbol_object *object;
    struct buf out;
};

static int usage(FILE *to, const char *name)
{
    fprintf(to,
            "Usage: %s [option(s)] [addr(s)]\n"
            " Convert addresses into line number/file name pairs.\n"
            " If no addresses are specified on the command line, they will be read from stdin\n"
            " The options are:\n"
            "  @<file>                Read options from <file>\n"
            "  -a --addresses         Show addresses\n"
            "  -b --target=<bfdname>  Set the binary file format\n"
            "  -e --exe=<executable>  Set the input file name (default is a.out)\n"
            "  -i --inlines           Unwind inlined functions\n"
            "  -j --section=<name>    Read section-relative offsets instead of addresses\n"
            "  -p --pretty-print      Make the output easier to read for humans\n"
            "  -s --basenames         Strip directory names\n"
            "  -f --functions         Show function names\n"
            "  -C --demangle[=style]  Demangle function names\n"
            "  -R --recurse-limit     Enable a limit on recursion whilst demangling.  [Default]\n"
            "  -r --no-recurse-limit  Disable a limit on recursion whilst demangling\n"
            "  -h --help              Display this information\n"
            "  -v --version           Display the program's version\n"
            "\n"
            "The symbol cache is used when it pays; PROCPROF_SYMBOL_CACHE names its folder, and turns it off "
            "when "
            "empty.\n",
            name);
    return to == stdout ? 0 : 1;
}

/* As bfd_scan_vma: hexadecimal digits, with or without 0x, up to the first that is none. */
static uint64_t scan_address(const char *text, size_t n)
{
    uint64_t value = 0;
    const char *end = text + n;
    while (text < end && (*text == ' ' || *text == '\t')) text++;
    if (end - text > 2 && text[0] == '0' && (text[1] | 32) == 'x') text += 2;
    for (; text < end; text++) {
        unsigned c = (unsigned char)*text, lower = c | 32;
        if (c >= '0' && c <= '9')
            value = value << 4 | (c - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value << 4 | (lower - 'a' + 10);
        else
            break;
    }
    return value;
}

static void put_address(const struct addr2line *t, struct buf *out, uint64_t address)
{
    char text[24] = "0x";
    for (unsigned i = 0; i < t->n_digits; i++)
        text[2 + i] = TEXT_HEX_DIGITS[address >> (4 * (t->n_digits - 1 - i)) & 15];
    buf_add(out, text, 2 + t->n_digits);
    if (t->pretty)
        buf_add(out, ": ", 2);
    else
        buf_char(out, '\n');
}

static void put_frame(const struct addr2line *t, struct buf *out, const struct symbol_frame *f,
                      uint32_t discriminator)
{
    if (t->functions) {
        if (!f->function || !*f->function)
            buf_add(out, "??", 2);
        else
            buf_add(out, f->function, f->function_bytes ? f->function_bytes : strlen(f->function));
        if (t->pretty)
            buf_add(out, " at ", 4);
        else
            buf_char(out, '\n');
    }
    const char *file = f->file ? f->file : "??", *slash = t->basenames ? strrchr(file, '/') : NULL;
    if (slash)
        buf_str(out, slash + 1);
    else
        buf_add(out, file, f->file_bytes ? f->file_bytes : strlen(file));
    buf_char(out, ':');
    if (f->line) {
        buf_u64(out, f->line);
        /* Binutils repeats the innermost frame's for all of the chain; so must we. */
        if (discriminator) {
            buf_add(out, " (discriminator ", 16);
            buf_u64(out, discriminator);
            buf_char(out, ')');
        }
        buf_char(out, '\n');
    } else {
        buf_add(out, "?\n", 2);
    }
}

static void put_unknown(const struct addr2line *t, struct buf *out)
{
    if (t->functions) buf_str(out, t->pretty ? "?? " : "??\n");
    buf_str(out, "??:0\n");
}

struct answers {
    const struct addr2line *tool;
    const uint64_t *addresses;
    const struct symbol_result *result;
};

/* Names lie anywhere in hundreds of megabytes: the memory is asked for them before they are copied. */
static void look_ahead(const struct symbol_result *r, size_t frame)
{
    if (frame >= r->first_frame[r->n_addresses]) return;
    const struct symbol_frame *f = &r->frames[frame];
    if (f->function)
        for (uint32_t at = 0; at <= f->function_bytes; at += LINE_BYTES) __builtin_prefetch(f->function + at);
}

static void put_answers(void *context, size_t from, size_t to, struct buf *out)
{
    const struct answers *a = context;
    const struct addr2line *t = a->tool;
    const struct symbol_result *r = a->result;
    for (size_t i = from; i < to; i++) {
        size_t first = r->first_frame[i], end = r->first_frame[i + 1];
        if (t->addresses) put_address(t, out, a->addresses[i]);
        if (first == end) {
            put_unknown(t, out);
            continue;
        }
        uint32_t discriminator = r->frames[first].discriminator;
        for (size_t k = first; k < (t->inlines ? end : first + 1); k++) {
            look_ahead(r, k + LOOK_AHEAD_FRAMES);
            if (k > first && t->pretty) buf_str(out, " (inlined by) ");
            put_frame(t, out, &r->frames[k], discriminator);
        }
    }
}

static int answer(struct addr2line *t, const uint64_t *addresses, size_t n, struct err *err)
{
    uint64_t *shifted = NULL;
    if (t->section) {
        shifted = mem_array(n, sizeof *shifted);
        for (size_t i = 0; i < n; i++)
            shifted[i] = addresses[i] < t->section_bytes ? addresses[i] + t->section_start : UINT64_MAX;
    }
    struct symbol_result r;
    symbol_lookup(t->object, shifted ? shifted : addresses, n, &r);
    struct answers a = {.tool = t, .addresses = addresses, .result = &r};
    parallel_write(&t->out, n, put_answers, &a);
    symbol_result_free(&r);
    mem_free(shifted);
    if (buf_flush(&t->out) < 0) return err_errno(err, t->out.write_errno, "standard output: cannot write");
    return 0;
}

/* ---- standard input ---- */

struct input {
    char *text;
    size_t n, cap;
    bool ended;
};

/* Reads until the end, or until a whole line is there and nothing more is at hand. */
static int fill(struct input *in, struct err *err)
{
    bool has_line = memchr(in->text ? in->text : "", '\n', in->n) != NULL;
    while (!in->ended && in->n < 8 << 20) {
        struct pollfd p = {.fd = 0, .events = POLLIN};
        if (has_line && poll(&p, 1, 0) == 0) return 0;
        if (in->cap - in->n < 1 << 16) in->text = mem_grow(in->text, &in->cap, in->n + (1 << 16), 1);
        ssize_t got = read(0, in->text + in->n, in->cap - in->n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return err_errno(err, errno, "standard input: cannot read");
        if (got == 0)
            in->ended = true;
        else
            has_line |= memchr(in->text + in->n, '\n', (size_t)got) != NULL;
        in->n += (size_t)got;
    }
    return 0;
}

static int answer_input(struct addr2line *t, struct err *err)
{
    struct input in = {0};
    uint64_t *addresses = NULL;
    size_t cap = 0;
    int rc = 0;
    while (rc == 0 && !(in.ended && !in.n)) {
        rc = fill(&in, err);
        size_t n = 0, at = 0;
        while (rc == 0 && at < in.n && n < MAX_BATCH) {
            char *line = in.text + at, *newline = memchr(line, '\n', in.n - at);
            if (!newline && !in.ended) break;
            size_t length = newline ? (size_t)(newline - line) : in.n - at;
            *VEC_PUSH(addresses, n, cap) = scan_address(line, length);
            at += length + (newline != NULL);
        }
        if (in.n) memmove(in.text, in.text + at, in.n - at);
        in.n -= at;
        if (rc == 0 && n) rc = answer(t, addresses, n, err);
    }
    mem_free(addresses);
    mem_free(in.text);
    return rc;
}

/* ---- options ---- */

static struct arena until_exit; /* the words of "@file": they are arguments, and last as long */

/* Arguments "@file" are replaced by the words of the file; quotes and backslashes work as in a shell. */
static void add_words(const char *text, size_t n, char ***args, size_t *n_args, size_t *cap)
{
    struct buf word = {0};
    char quote = 0;
    bool in_word = false;
    for (size_t i = 0; i <= n; i++) {
        char c = i < n ? text[i] : ' ';
        if (c == '\\' && i + 1 < n) {
            buf_char(&word, text[++i]);
            in_word = true;
        } else if (quote) {
            if (c == quote)
                quote = 0;
            else
                buf_char(&word, c);
        } else if (c == '\'' || c == '"') {
            quote = c;
            in_word = true;
        } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            if (in_word)
                *VEC_PUSH(*args, *n_args, *cap) =
                    arena_strndup(&until_exit, word.len ? word.data : "", word.len);
            word.len = 0;
            in_word = false;
        } else {
            buf_char(&word, c);
            in_word = true;
        }
    }
    buf_free(&word);
}

static char **expand(int argc, char **argv, int *ret_argc)
{
    char **args = NULL;
    size_t n = 0, cap = 0;
    for (int i = 0; i < argc; i++) {
        struct bytes bytes = {0};
        if (i > 0 && argv[i][0] == '@' && file_read(argv[i] + 1, 1 << 24, &bytes, NULL) == 0) {
            add_words((const char *)bytes.data, bytes.len, &args, &n, &cap);
            bytes_free(&bytes);
        } else {
            *VEC_PUSH(args, n, cap) = argv[i];
        }
    }
    *ret_argc = (int)n;
    char **kept = arena_array(&until_exit, n + 1, sizeof *kept);
    if (n) memcpy(kept, args, n * sizeof *kept);
    kept[n] = NULL;
    mem_free(args);
    return kept;
}

static int parse(struct addr2line *t, int argc, char **argv)
{
    static const struct option longs[] = {{"addresses", no_argument, NULL, 'a'},
                                          {"basenames", no_argument, NULL, 's'},
                                          {"demangle", optional_argument, NULL, 'C'},
                                          {"exe", required_argument, NULL, 'e'},
                                          {"functions", no_argument, NULL, 'f'},
                                          {"inlines", no_argument, NULL, 'i'},
                                          {"pretty-print", no_argument, NULL, 'p'},
                                          {"recurse-limit", no_argument, NULL, 'R'},
                                          {"recursion-limit", no_argument, NULL, 'R'},
                                          {"no-recurse-limit", no_argument, NULL, 'r'},
                                          {"no-recursion-limit", no_argument, NULL, 'r'},
                                          {"section", required_argument, NULL, 'j'},
                                          {"target", required_argument, NULL, 'b'},
                                          {"help", no_argument, NULL, 'H'},
                                          {"version", no_argument, NULL, 'V'},
                                          {0}};
    int c;
    optind = 1;
    while ((c = getopt_long(argc, argv, "ab:Ce:rRsfHhij:pVv", longs, NULL)) != -1) {
        switch (c) {
        case 'a':
            t->addresses = true;
            break;
        case 'C':
            t->demangle = true;
            break;
        case 'e':
            t->exe = optarg;
            break;
        case 's':
            t->basenames = true;
            break;
        case 'f':
            t->functions = true;
            break;
        case 'i':
            t->inlines = true;
            break;
        case 'j':
            t->section = optarg;
            break;
        case 'p':
            t->pretty = true;
            break;
        case 'b': /* one kind of file is read, and it tells itself */
        case 'r': /* demangling is bounded anyway */
        case 'R':
            break;
        case 'v':
        case 'V':
            printf("procprof addr2line %s (options and output of GNU addr2line 2.40)\n", PROCPROF_VERSION);
            return 0;
        case 'h':
        case 'H':
            return usage(stdout, t->name);
        default:
            return usage(stderr, t->name);
        }
    }
    return -1;
}

static int find_section(struct addr2line *t, const char *path, struct err *err)
{
    struct elf *elf;
    int rc = elf_open(path, &elf, err);
    if (rc < 0) return rc;
    t->n_digits = elf->is_64 ? 16 : 8;
    bool found = !t->section;
    for (size_t i = 0; i < elf->n_sections && !found; i++) {
        if (strcmp(elf->sections[i].name, t->section)) continue;
        found = true;
        t->section_start = elf->sections[i].address;
        t->section_bytes = elf->sections[i].size_bytes;
    }
    struct err damage = elf->damage;
    elf_close(elf);
    if (damage.code) {
        *err = damage;
        return damage.code;
    }
    return found ? 0 : err_set(err, ERR_NOT_FOUND, "%s: cannot find section %s", t->exe, t->section);
}

static int run(int argc, char **argv)
{
    struct addr2line t = {.name = argv[0], .exe = "a.out", .out = buf_to_fd(1)};
    int n_args;
    char **args = expand(argc, argv, &n_args);
    int rc = parse(&t, n_args, args);
    if (rc >= 0) return rc;
    struct stat st;
    if (stat(t.exe, &st) != 0) {
        fprintf(stderr, errno == ENOENT ? "%s: '%s': No such file\n" : "%s: '%s': cannot be read\n", t.name,
                t.exe);
        return 1;
    }
    struct symbolizer *s = symbolizer_new(
        &(struct symbol_options){.no_demangle = !t.demangle, .no_inlines = !t.inlines, .one_name = true});
    struct err err = {0};
    rc = find_section(&t, t.exe, &err);
    if (rc == 0) rc = symbolizer_open(s, t.exe, NULL, &t.object, &err);
    if (rc == 0 && optind < n_args) {
        size_t n = (size_t)(n_args - optind);
        uint64_t *addresses = mem_array(n, sizeof *addresses);
        for (size_t i = 0; i < n; i++)
            addresses[i] = scan_address(args[optind + (int)i], strlen(args[optind + (int)i]));
        rc = answer(&t, addresses, n, &err);
        mem_free(addresses);
    } else if (rc == 0) {
        rc = answer_input(&t, &err);
    }
    if (rc < 0) fprintf(stderr, "%s: %s\n", t.name, err.text);
    const char *problem = t.object ? symbol_object_problem(t.object) : NULL;
    if (problem) fprintf(stderr, "%s: %s\n", t.name, problem);
    symbolizer_free(s);
    buf_free(&t.out);
    return rc < 0 ? 1 : 0;
}

COMMAND(addr2line, "addr2line", "personality",
        "name the functions, files and lines of addresses, as binutils' addr2line", run)
