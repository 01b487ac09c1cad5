/* cpu_event.c - see cpu_event.h. */
#include "agent/sample/cpu_event.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/host/config.h"
#include "agent/host/own_fd.h"
#include "agent/host/profsignal.h"
#include "agent/hot/sampler.h"

static int open_event(uint32_t tid, int64_t first_ns)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_TASK_CLOCK;
    attr.sample_period = (uint64_t)first_ns;
    attr.wakeup_events = 1;
    attr.disabled = 1;
    return (int)syscall(SYS_perf_event_open, &attr, (pid_t)tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

bool cpu_event_allowed(int *ret_signal)
{
    if (!config_flag("perf", true)) return false;
    /* A system call filter may end the process over a call that it does not know. */
    if (prctl(PR_GET_SECCOMP) != 0) return false;
    int fd = open_event((uint32_t)syscall(SYS_gettid), 1000000000);
    if (fd < 0) return false;
    close(fd);
    *ret_signal = profsignal_take_plain();
    return *ret_signal > 0;
}

/* Moves the descriptor out of the way of hosts that use select() or count on small numbers. */
static int move_up(int fd)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return fd;
    rlim_t highest = limit.rlim_cur < SAMPLER_MAX_EVENT_FD ? limit.rlim_cur / 4 * 3 : SAMPLER_MAX_EVENT_FD;
    int lowest = highest > 2 * OWN_FD_LOWEST ? OWN_FD_LOWEST : (int)highest / 2;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, lowest);
    close(fd);
    if (moved >= 0 && (rlim_t)moved >= highest) {
        close(moved);
        return -1;
    }
    return moved;
}

bool cpu_event_open(struct cpu_event *event, uint32_t tid, uint32_t index, int64_t first_ns,
                    int signal_number)
{
    event->fd = -1;
    int fd = open_event(tid, first_ns);
    if (fd >= 0) fd = move_up(fd);
    if (fd < 0) return false;
    struct f_owner_ex owner = {F_OWNER_TID, (pid_t)tid};
    if (ioctl(fd, PERF_EVENT_IOC_ID, &event->id) || fcntl(fd, F_SETSIG, signal_number) ||
        fcntl(fd, F_SETOWN_EX, &owner) || fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK)) {
        close(fd);
        return false;
    }
    event->fd = fd;
    atomic_store(&sampler_event_thread[fd], index + 1);
    /* The first period is a random part of a whole one and runs once: the event stops itself, and the
     * handler starts it again with the whole period. */
    if (ioctl(fd, PERF_EVENT_IOC_REFRESH, 1)) {
        cpu_event_silence(event);
        cpu_event_close(event);
        return false;
    }
    return true;
}

static bool is_still_ours(const struct cpu_event *event)
{
    uint64_t id = 0;
    return event->fd >= 0 && !ioctl(event->fd, PERF_EVENT_IOC_ID, &id) && id == event->id;
}

void cpu_event_silence(struct cpu_event *event)
{
    if (event->fd < 0) return;
    atomic_store(&sampler_event_thread[event->fd], 0);
    if (is_still_ours(event)) ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0);
}

void cpu_event_close(struct cpu_event *event)
{
    if (is_still_ours(event)) close(event->fd);
    event->fd = -1;
}
