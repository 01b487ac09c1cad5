/* disassembly.c - see disassembly.h. Reads objdump's text: "name():", "file:line", "  address:\tinstruction".
 */
#include "report/disassembly.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/process.h"

static void take_line(struct disassembly *d, char *line, const char **function, const char **file,
                      int64_t *source_line)
{
    size_t len = strlen(line);
    char *at = line;
    while (*at == ' ') at++;
    char *end;
    uint64_t address = strtoull(at, &end, 16);
    if (end > at && *end == ':' && (end[1] == '\t' || end[1] == ' ')) {
        char *text = end + 1;
        while (isspace((unsigned char)*text)) text++;
        struct instruction *i = VEC_PUSH(d->items, d->n_items, d->cap_items);
        *i = (struct instruction){address, arena_strdup(&d->memory, text), *function, *file, *source_line};
        return;
    }
    if (len > 3 && !strcmp(line + len - 3, "():")) { /* name(): */
        *function = arena_strndup(&d->memory, line, len - 3);
        *file = "";
        *source_line = 0;
        return;
    }
    char *colon = strrchr(line, ':');
    if (colon && colon > line && isdigit((unsigned char)colon[1])) { /* file:line [(discriminator N)] */
        *file = arena_strndup(&d->memory, line, (size_t)(colon - line));
        *source_line = strtoll(colon + 1, NULL, 10);
        return;
    }
    char *open = strchr(line, '<'); /* 0000000000001139 <name>: */
    if (open && len > 2 && !strcmp(line + len - 2, ">:")) {
        *function = arena_strndup(&d->memory, open + 1, len - 2 - (size_t)(open + 1 - line));
        *file = "";
        *source_line = 0;
    }
}

int disassemble(const char *object, uint64_t start, uint64_t end, bool intel_syntax, struct disassembly *ret,
                struct err *err)
{
    char from[48], to[48];
    snprintf(from, sizeof from, "--start-address=%#llx", (unsigned long long)start);
    snprintf(to, sizeof to, "--stop-address=%#llx", (unsigned long long)end);
    char *argv[] = {(char *)"objdump",
                    (char *)"--disassemble",
                    (char *)"--demangle",
                    (char *)"--no-show-raw-insn",
                    (char *)"--line-numbers",
                    from,
                    to,
                    (char *)object,
                    intel_syntax ? (char *)"-M" : NULL,
                    (char *)"intel",
                    NULL};
    struct buf nothing = {0}, text = {0};
    int rc = process_filter(argv, &nothing, &text, err);
    if (rc == ERR_NOT_FOUND)
        rc = err_set(err, ERR_UNSUPPORTED, "disassembly needs objdump (Debian package: binutils)");
    if (!rc) {
        const char *function = "", *file = "";
        int64_t line = 0;
        buf_cstr(&text);
        for (char *rest = text.data, *at; (at = strsep(&rest, "\n"));)
            take_line(ret, at, &function, &file, &line);
    }
    buf_free(&text);
    return rc;
}

void disassembly_free(struct disassembly *d)
{
    mem_free(d->items);
    arena_free(&d->memory);
    *d = (struct disassembly){0};
}
