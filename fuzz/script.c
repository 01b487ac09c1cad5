/* Script text: compiled and run, with a host that has two methods and calls nobody. */
#include <stdint.h>
#include <string.h>

#include "serve/script/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int call(void *context, const char *name, bool is_static, const char *method, bool getter,
                const struct script_value *args, size_t n_args, struct arena *arena, struct script_value *ret,
                struct err *err)
{
    (void)context, (void)args, (void)n_args, (void)arena;
    if (is_static && !getter && !strcmp(method, "getInstance")) {
        *ret = (struct script_value){.kind = SCRIPT_INSTANCE, .s = name};
        return 0;
    }
    if (!strcmp(method, "fails")) return err_set(err, ERR_IO, "as asked");
    return SCRIPT_NO_METHOD;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const classes[] = {"HeapProf", NULL};
    struct script_host host = {.classes = classes, .call = call};
    struct buf out = {.max_len = 1 << 20};
    if (size > 1 << 12) return 0;
    script_run((const char *)data, size, &host, &out);
    buf_free(&out);
    return 0;
}
