/* profsignal.c - see profsignal.h. */
#include "agent/host/profsignal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/host/config.h"
#include "agent/hot/sampler.h"

/* A CPU and a wall-clock capture may begin at the same time, each in a thread of its own. Both choose the
 * signal here; the lock keeps them from taking two different ones. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int taken, taken_plain;

void profsignal_forked(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static int install(int number)
{
    struct sigaction action = {.sa_sigaction = sampler_handle,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    return sigaction(number, &action, NULL);
}

static int take_locked(struct err *err)
{
    struct sigaction current;
    int requested = (int)config_number("signal", 0);
    if (taken && !sigaction(taken, NULL, &current) && current.sa_sigaction == sampler_handle) return taken;
    if (requested > 0 && requested < NSIG && requested != SIGKILL && requested != SIGSTOP) {
        if (!sigaction(requested, NULL, &current) &&
            (current.sa_handler == SIG_DFL || current.sa_sigaction == sampler_handle) && !install(requested))
            return taken = requested;
        return err_set(err, ERR_BUSY,
                       "cannot sample with signal %d: the program has a handler for it; choose another one "
                       "(setting \"signal\")",
                       requested);
    }
    for (int number = SIGRTMAX - 2; number > SIGRTMIN; number--) {
        if (!sigaction(number, NULL, &current) && current.sa_handler == SIG_DFL && !install(number))
            return taken = number;
    }
    return err_set(err, ERR_BUSY,
                   "cannot sample: the program has a handler for every real-time signal; name a signal that "
                   "the profiler may take over (setting \"signal\")");
}

int profsignal_take(struct err *err)
{
    pthread_mutex_lock(&lock);
    int number = take_locked(err);
    pthread_mutex_unlock(&lock);
    return number;
}

int profsignal_take_plain(void)
{
    static const int candidates[] = {SIGSTKFLT, SIGPROF};
    for (unsigned i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        struct sigaction current;
        if (sigaction(candidates[i], NULL, &current)) continue;
        bool is_ours = (current.sa_flags & SA_SIGINFO) && current.sa_sigaction == sampler_handle;
        if (is_ours || (current.sa_handler == SIG_DFL && !install(candidates[i])))
            return taken_plain = candidates[i];
    }
    return 0;
}

void profsignal_others(sigset_t *ret_others)
{
    int numbers[] = {taken, taken_plain};
    sigfillset(ret_others);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i]) sigdelset(ret_others, numbers[i]);
}

int profsignal_send(uint32_t tid, int signal_number, void *value)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = signal_number;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = value;
    return (int)syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)tid, signal_number, &info);
}
