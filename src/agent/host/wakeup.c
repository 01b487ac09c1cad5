/* wakeup.c - see wakeup.h. Uses a pair of sockets: own_fd.h cannot tell our eventfd from one of the host's.
 */
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

/* Jobs, captures and pp_agent_stop call wakeup_send in their own threads while the library's thread may be in
 * wakeup_close. They share the descriptors and the fallback. Without the lock, a sender could check a
 * descriptor, lose it to close() and write into the file that the host opens next under the same number. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct own_fd receiver, sender;
static void (*fallback)(void);
static _Atomic uint32_t n_wakeups;

bool wakeup_open(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair)) return false;
    pthread_mutex_lock(&lock);
    bool has_receiver = own_fd_take(&receiver, pair[0]), has_sender = own_fd_take(&sender, pair[1]);
    pthread_mutex_unlock(&lock);
    if (has_receiver && has_sender) return true;
    wakeup_close();
    return false;
}

void wakeup_close(void)
{
    pthread_mutex_lock(&lock);
    own_fd_close(&receiver);
    own_fd_close(&sender);
    fallback = NULL;
    pthread_mutex_unlock(&lock);
}

void wakeup_forked(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    wakeup_close();
}

void wakeup_set_fallback(void (*new_fallback)(void))
{
    pthread_mutex_lock(&lock);
    fallback = new_fallback;
    pthread_mutex_unlock(&lock);
}

void wakeup_send(void)
{
    int saved_errno = errno;
    atomic_fetch_add(&n_wakeups, 1);
    syscall(SYS_futex, &n_wakeups, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_mutex_lock(&lock);
    int fd = own_fd_number(&sender);
    if (fd >= 0)
        (void)send(fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* if full, a wakeup is already pending */
    else if (fallback)
        fallback();
    pthread_mutex_unlock(&lock);
    errno = saved_errno;
}

int wakeup_fd(void)
{
    return own_fd_number(&receiver);
}

bool wakeup_drain(void)
{
    char bytes[256];
    ssize_t n = recv(own_fd_number(&receiver), bytes, sizeof bytes, MSG_DONTWAIT);
    return n > 0 || (n < 0 && errno == EAGAIN);
}

uint32_t wakeup_count(void)
{
    return atomic_load(&n_wakeups);
}

void wakeup_wait(uint32_t count, int timeout_ms)
{
    struct timespec t = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};
    syscall(SYS_futex, &n_wakeups, FUTEX_WAIT_PRIVATE, count, timeout_ms < 0 ? NULL : &t, NULL, 0);
}
