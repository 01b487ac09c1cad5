/* Switches heap profiling on and off while another thread is in dlopen, in the middle of filling in slots. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "procprof.h"

static void *open_plugin(void *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*run)(void);
    if (!library) return NULL;
    *(void **)&run = dlsym(library, "plugin");
    run();
    return library;
}

int main(int argc, char **argv)
{
    struct pp_options options = {.size = sizeof options};
    int is_inside[2], go_on[2];
    pthread_t thread;
    char byte = 0;
    void *library = NULL;
    if (argc < 2 || pipe(is_inside) || pipe(go_on) || dup2(is_inside[1], 100) < 0 || dup2(go_on[0], 101) < 0)
        return 1;
    if (pp_agent_start(&options)) return fprintf(stderr, "%s\n", pp_error_text()), 1;
    pthread_create(&thread, NULL, open_plugin, argv[1]);
    if (read(is_inside[0], &byte, 1) != 1) return 1;
    for (int i = 0; i < 3; i++)
        if (pp_control("heap", "enable", NULL, NULL, 0) || pp_control("heap", "disable", NULL, NULL, 0))
            return fprintf(stderr, "%s\n", pp_error_text()), 1;
    if (write(go_on[1], &byte, 1) != 1) return 1;
    pthread_join(thread, &library);
    return library ? 0 : 1;
}
