/* pull.c - see pull.h.
 *
 * epoll reports the sockets that are ready, and curl handles only these. With a thousand captures that wait
 * for their seconds to pass, letting curl check each of them at every event cost more than everything else.
 *
 * Any thread hands transfers over through `waiting`, under the lock, and writes to wake_fd. pull's thread
 * moves them to `running`, which only it uses. The wakeup comes after the transfer is in the list, so that
 * the thread cannot miss it.
 */
#include "collect/pull.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/lock_rank.h"
#include "base/mem.h"

struct transfer {
    CURL *easy;
    struct curl_slist *headers;
    struct buf body;
    char reason[CURL_ERROR_SIZE];
    double timeout_s;
    pull_done *done;
    void *context;
    struct transfer *next, **back; /* in `waiting` or in `running` */
};

enum { MAX_EVENTS = 64, NEVER = -1 };

struct pull {
    CURLM *multi;
    int epoll_fd, wake_fd;
    int64_t timer_ms; /* monotonic: when curl wants to check its timeouts; or NEVER */
    pthread_t thread;
    pthread_mutex_t lock;
    struct transfer *waiting; /* handed over, not begun; guarded by the lock */
    bool stopping;            /* guarded by the lock */
    struct transfer *running; /* used by pull's thread only */
};

static void link_transfer(struct transfer **list, struct transfer *t)
{
    t->next = *list;
    t->back = list;
    if (*list) (*list)->back = &t->next;
    *list = t;
}

static void unlink_transfer(struct transfer *t)
{
    *t->back = t->next;
    if (t->next) t->next->back = t->back;
}

static size_t append_body(char *data, size_t size, size_t count, void *context)
{
    struct buf *body = context;
    buf_add(body, data, size * count);
    return body->full ? 0 : size * count;
}

static void finish(struct pull *p, struct transfer *t, CURLcode rc, const char *failure)
{
    struct pull_result r = {0};
    char text[CURL_ERROR_SIZE + 80];
    const char *type = NULL;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &r.status);
    curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
    snprintf(r.content_type, sizeof r.content_type, "%s", type ? type : "");
    struct curl_header *server = NULL;
    if (curl_easy_header(t->easy, "Server", 0, CURLH_HEADER, -1, &server) == CURLHE_OK)
        for (size_t i = 0; i + 1 < sizeof r.server && server->value[i] >= ' ' && server->value[i] < 127; i++)
            r.server[i] = server->value[i];
    if (failure) {
        r.code = ERR_IO;
        snprintf(text, sizeof text, "%s", failure);
    } else if (t->body.full) {
        r.code = ERR_LIMIT;
        snprintf(text, sizeof text, "the answer is larger than the limit of %zu bytes", t->body.max_len);
    } else if (rc == CURLE_OPERATION_TIMEDOUT) {
        r.code = ERR_TIMEOUT;
        snprintf(text, sizeof text, "no answer within %.3g s", t->timeout_s);
    } else if (rc == CURLE_PARTIAL_FILE) {
        r.code = ERR_IO;
        snprintf(text, sizeof text, "the connection was closed after %zu bytes, before the end of the answer",
                 t->body.len);
    } else if (rc != CURLE_OK) {
        r.code = ERR_IO;
        snprintf(text, sizeof text, "%s", *t->reason ? t->reason : curl_easy_strerror(rc));
    }
    r.error = text;
    if (!r.code) {
        size_t len = t->body.len;
        text[0] = 0;
        r.body = (struct bytes){.data = (uint8_t *)buf_take(&t->body), .len = len};
    }
    if (p) curl_multi_remove_handle(p->multi, t->easy);
    curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->headers);
    buf_free(&t->body);
    t->done(t->context, &r);
    bytes_free(&r.body);
    mem_free(t);
}

/* ---- callbacks of curl ---- */

static int64_t now_ms(void)
{
    return clock_monotonic_ns() / 1000000;
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *unused)
{
    (void)easy;
    (void)unused;
    struct pull *p = context;
    struct epoll_event event = {.data.fd = fd};
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(p->epoll_fd, EPOLL_CTL_DEL, fd, &event);
        return 0;
    }
    if (what & CURL_POLL_IN) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT) event.events |= EPOLLOUT;
    if (!epoll_ctl(p->epoll_fd, EPOLL_CTL_MOD, fd, &event)) return 0;
    return errno == ENOENT && !epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? 0 : -1;
}

static int set_timer(CURLM *multi, long timeout_ms, void *context)
{
    (void)multi;
    struct pull *p = context;
    p->timer_ms = timeout_ms < 0 ? NEVER : now_ms() + timeout_ms;
    return 0;
}

static void wake(struct pull *p)
{
    uint64_t one = 1;
    ssize_t n = write(p->wake_fd, &one,
                      sizeof one); /* fails only when the counter is full, and then the thread is awake */
    (void)n;
}

/* ---- the thread ---- */

/* Begins the transfers that were handed over. False when pull_stop was called. */
static bool begin_new(struct pull *p)
{
    pthread_mutex_lock(&p->lock);
    bool stop = p->stopping;
    struct transfer *new = p->waiting;
    p->waiting = NULL;
    pthread_mutex_unlock(&p->lock);
    while (new) {
        struct transfer *t = new;
        new = t->next;
        link_transfer(&p->running, t);
        curl_multi_add_handle(p->multi, t->easy); /* curl sets its timer to now */
    }
    return !stop;
}

static void wait_and_transfer(struct pull *p)
{
    struct epoll_event events[MAX_EVENTS];
    int64_t wait_ms = p->timer_ms == NEVER ? NEVER : p->timer_ms - now_ms();
    if (p->timer_ms != NEVER && wait_ms < 0) wait_ms = 0;
    if (wait_ms > 1000) wait_ms = 1000;
    int n = epoll_wait(p->epoll_fd, events, MAX_EVENTS, (int)wait_ms), n_running;
    for (int i = 0; i < n; i++) {
        if (events[i].data.fd == p->wake_fd) {
            uint64_t count;
            ssize_t got = read(p->wake_fd, &count, sizeof count);
            (void)got;
            continue;
        }
        unsigned e = events[i].events;
        int what = (e & (EPOLLIN | EPOLLHUP | EPOLLERR) ? CURL_CSELECT_IN : 0) |
                   (e & EPOLLOUT ? CURL_CSELECT_OUT : 0) | (e & EPOLLERR ? CURL_CSELECT_ERR : 0);
        curl_multi_socket_action(p->multi, events[i].data.fd, what, &n_running);
    }
    if (p->timer_ms == NEVER || p->timer_ms > now_ms()) return;
    p->timer_ms = NEVER;
    curl_multi_socket_action(p->multi, CURL_SOCKET_TIMEOUT, 0, &n_running);
}

static void finish_done(struct pull *p)
{
    CURLMsg *m;
    int n_left;
    while ((m = curl_multi_info_read(p->multi, &n_left))) {
        if (m->msg != CURLMSG_DONE) continue;
        struct transfer *t = NULL;
        CURLcode rc = m->data.result; /* m is invalid once the handle is removed */
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
        unlink_transfer(t);
        finish(p, t, rc, NULL);
    }
}

static void *run(void *context)
{
    struct pull *p = context;
    while (begin_new(p)) {
        wait_and_transfer(p);
        finish_done(p);
    }
    while (p->running) {
        struct transfer *t = p->running;
        unlink_transfer(t);
        finish(p, t, CURLE_OK, "stopped");
    }
    return NULL;
}

static void destroy(struct pull *p)
{
    curl_multi_cleanup(p->multi);
    if (p->wake_fd >= 0) close(p->wake_fd);
    if (p->epoll_fd >= 0) close(p->epoll_fd);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
}

int pull_start(struct pull **ret_pull, struct err *err)
{
    struct pull *p = mem_zalloc(sizeof *p);
    lock_rank_init(&p->lock, LOCK_PULL, NULL);
    p->multi = curl_multi_init();
    if (!p->multi) abort();
    curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, 64L);
    curl_multi_setopt(p->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
    curl_multi_setopt(p->multi, CURLMOPT_SOCKETDATA, p);
    curl_multi_setopt(p->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(p->multi, CURLMOPT_TIMERDATA, p);
    p->timer_ms = NEVER;
    p->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = p->wake_fd};
    int rc = p->epoll_fd < 0 || p->wake_fd < 0 || epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, p->wake_fd, &event)
                 ? errno
                 : pthread_create(&p->thread, NULL, run, p);
    if (rc) {
        destroy(p);
        return err_errno(err, rc, "cannot start a thread");
    }
    *ret_pull = p;
    return 0;
}

void pull_stop(struct pull *p)
{
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_mutex_unlock(&p->lock);
    wake(p);
    pthread_join(p->thread, NULL);
    destroy(p);
}

void pull_add(struct pull *p, CURL *easy, struct curl_slist *headers, double timeout_s, size_t max_bytes,
              pull_done *done, void *context)
{
    struct transfer *t = mem_zalloc(sizeof *t);
    *t = (struct transfer){.easy = easy,
                           .headers = headers,
                           .body = {.max_len = max_bytes},
                           .timeout_s = timeout_s,
                           .done = done,
                           .context = context};
    curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, append_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &t->body);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->reason);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(timeout_s * 1000));
    pthread_mutex_lock(&p->lock);
    bool stopped = p->stopping;
    if (!stopped) {
        t->next = p->waiting; /* a stack; t->back is set when the transfer begins */
        p->waiting = t;
    }
    pthread_mutex_unlock(&p->lock);
    if (stopped)
        finish(NULL, t, CURLE_OK, "stopped");
    else
        wake(p);
}
