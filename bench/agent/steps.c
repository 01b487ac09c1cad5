/* steps.c - how many instructions a pair of calls takes, counted one by one by a debugger: exact where clocks
 * are not, and needs no counters of the processor (virtual machines have none).
 *
 *     steps lock|trylock|malloc        user instructions of one lock and unlock (trylock and unlock; malloc
 * and free), on average
 *
 * The program runs itself as a child, in the same environment (LD_PRELOAD). Exit status 77: debugging is not
 * allowed here.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#if !defined(__x86_64__)
int main(void)
{
    return 77;
}
#else

#define N_PAIRS 100
#define MARK()  __asm__ volatile("int3" ::: "memory")

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *idle(void *unused)
{
    pause();
    return unused;
}

static void pairs(const char *what, int n)
{
    for (int i = 0; i < n; i++) {
        if (*what == 'l') {
            pthread_mutex_lock(&mutex);
            pthread_mutex_unlock(&mutex);
        } else if (*what == 't') {
            if (!pthread_mutex_trylock(&mutex)) pthread_mutex_unlock(&mutex);
        } else {
            void *volatile block = malloc(64);
            free(block);
        }
    }
}

static void child(const char *what)
{
    pthread_t other; /* with a second thread, as every server has it, libc uses real atomics */
    pthread_create(&other, NULL, idle, NULL);
    usleep(200000); /* the library has started */
    pairs(what, N_PAIRS);
    MARK();
    pairs(what, N_PAIRS);
    MARK();
    _exit(0);
}

/* The next stop of the child at a mark (true) or after a step; exits when there is none. */
static int is_at_mark(pid_t pid)
{
    int status;
    siginfo_t info;
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) exit(1);
    return !ptrace(PTRACE_GETSIGINFO, pid, NULL, &info) && info.si_code == SI_KERNEL;
}

int main(int argc, char **argv)
{
    if (argc == 3) child(argv[2]);
    if (argc != 2) return 2;
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL)) _exit(77);
        execl("/proc/self/exe", argv[0], "child", argv[1], (char *)NULL);
        _exit(1);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid) return 1;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL)) return 77;
    long n_steps = 0;
    do ptrace(PTRACE_CONT, pid, NULL, NULL);
    while (!is_at_mark(pid));
    do ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), n_steps++;
    while (!is_at_mark(pid));
    printf("%.2f\n", (double)n_steps / N_PAIRS);
    return 0;
}
#endif
