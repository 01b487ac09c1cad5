/* Opens the library, takes a profile, closes it and goes on: signals that are still under way, and what is
 * called at a fork, must find their code. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "procprof.h"

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
    int (*start)(const struct pp_options *), (*profile)(const struct pp_capture *, void **, size_t *);
    *(void **)&start = dlsym(library, "pp_agent_start");
    *(void **)&profile = dlsym(library, "pp_profile");
    struct pp_options options = {.size = sizeof options, .listen = "127.0.0.1:0"};
    struct pp_capture capture = {.size = sizeof capture, .kind = "profile", .seconds = 0.1};
    void *bytes;
    size_t n_bytes;
    if (start(&options) || profile(&capture, &bytes, &n_bytes)) return fprintf(stderr, "no profile\n"), 1;
    dlclose(library);
    for (int s = 1; s < 65; s++) { /* one that comes late, for every handler that was left */
        struct sigaction action;
        if (!sigaction(s, NULL, &action) && (action.sa_flags & SA_SIGINFO)) raise(s);
    }
    pid_t child = fork();
    if (!child) _exit(7);
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 0 : 1;
}
