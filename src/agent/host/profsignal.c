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

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a CPU and a wall capture may begin at once */
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
    struct sigaction now;
    int asked = (int)config_number("signal", 0);
    if (taken && !sigaction(taken, NULL, &now) && now.sa_sigaction == sampler_handle) return taken;
    if (asked > 0 && asked < NSIG && asked != SIGKILL && asked != SIGSTOP) {
        if (!sigaction(asked, NULL, &now) &&
            (now.sa_handler == SIG_DFL || now.sa_sigaction == sampler_handle) && !install(asked))
            return taken = asked;
        return err_set(err, ERR_BUSY,
                       "signal %d has a handler of the program; choose another one (setting \"signal\")",
                       asked);
    }
    for (int number = SIGRTMAX - 2; number > SIGRTMIN; number--) {
        if (!sigaction(number, NULL, &now) && now.sa_handler == SIG_DFL && !install(number))
            return taken = number;
    }
    return err_set(
        err, ERR_BUSY,
        "every real-time signal has a handler of the program; name one it can spare (setting \"signal\")");
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
        struct sigaction now;
        if (sigaction(candidates[i], NULL, &now)) continue;
        bool is_ours = (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == sampler_handle;
        if (is_ours || (now.sa_handler == SIG_DFL && !install(candidates[i])))
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
