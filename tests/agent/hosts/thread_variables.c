/* More thread variables than the library's threads have stack: they lie on it. */
#include <stdio.h>
#include <string.h>

#include "procprof.h"

static __thread char variables[1 << 20];

int main(void)
{
    struct pp_options options = {.size = sizeof options, .listen = "127.0.0.1:0"};
    struct pp_capture capture = {.size = sizeof capture, .kind = "wall", .seconds = 0.1};
    void *bytes;
    size_t n_bytes;
    memset(variables, 1, sizeof variables);
    if (pp_agent_start(&options) || pp_profile(&capture, &bytes, &n_bytes))
        return fprintf(stderr, "%s\n", pp_error_text()), 1;
    return 0;
}
