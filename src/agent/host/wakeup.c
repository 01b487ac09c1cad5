/* wakeup.c - see wakeup.h. A pair of sockets, not an eventfd: those cannot be told from one of the host's. */
#include "agent/host/wakeup.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/host/own_fd.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over the sockets: others ring while one closes */
static struct own_fd ear, hammer;
static void (*when_lost)(void);
static _Atomic uint32_t n_rings;

bool wakeup_open(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair)) return false;
    pthread_mutex_lock(&lock);
    bool has_ear = own_fd_take(&ear, pair[0]), has_hammer = own_fd_take(&hammer, pair[1]);
    pthread_mutex_unlock(&lock);
    if (has_ear && has_hammer) return true;
    wakeup_close();
    return false;
}

void wakeup_close(void)
{
    pthread_mutex_lock(&lock);
    own_fd_close(&ear);
    own_fd_close(&hammer);
    when_lost = NULL;
    pthread_mutex_unlock(&lock);
}

void wakeup_forked(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    wakeup_close();
}

void wakeup_otherwise(void (*otherwise)(void))
{
    pthread_mutex_lock(&lock);
    when_lost = otherwise;
    pthread_mutex_unlock(&lock);
}

void wakeup_ring(void)
{
    int saved_errno = errno;
    atomic_fetch_add(&n_rings, 1);
    syscall(SYS_futex, &n_rings, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_mutex_lock(&lock);
    int fd = own_fd_number(&hammer);
    if (fd >= 0)
        (void)send(fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* full: it rings already */
    else if (when_lost)
        when_lost();
    pthread_mutex_unlock(&lock);
    errno = saved_errno;
}

int wakeup_number(void)
{
    return own_fd_number(&ear);
}

bool wakeup_was_heard(void)
{
    char rings[256];
    ssize_t n = recv(own_fd_number(&ear), rings, sizeof rings, MSG_DONTWAIT);
    return n > 0 || (n < 0 && errno == EAGAIN);
}

uint32_t wakeup_count(void)
{
    return atomic_load(&n_rings);
}

void wakeup_wait(uint32_t count, int timeout_ms)
{
    struct timespec t = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};
    syscall(SYS_futex, &n_rings, FUTEX_WAIT_PRIVATE, count, timeout_ms < 0 ? NULL : &t, NULL, 0);
}
