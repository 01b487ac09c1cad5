/* pull.c - see pull.h. */
#include "collect/pull.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
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

struct pull {
    CURLM *multi;
    pthread_t thread;
    pthread_mutex_t lock;
    struct transfer *waiting; /* handed over, not begun; with the lock */
    bool stopping;
    struct transfer *running; /* the thread's own */
};

static void link_in(struct transfer **list, struct transfer *t)
{
    t->next = *list;
    t->back = list;
    if (*list) (*list)->back = &t->next;
    *list = t;
}

static void unlink_from(struct transfer *t)
{
    *t->back = t->next;
    if (t->next) t->next->back = t->back;
}

static size_t take(char *data, size_t size, size_t count, void *context)
{
    struct buf *body = context;
    buf_add(body, data, size * count);
    return body->full ? 0 : size * count;
}

static void finish(struct pull *p, struct transfer *t, CURLcode rc, const char *instead)
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
    if (instead) {
        r.code = ERR_IO;
        snprintf(text, sizeof text, "%s", instead);
    } else if (t->body.full) {
        r.code = ERR_LIMIT;
        snprintf(text, sizeof text, "the answer is larger than %zu bytes", t->body.max_len);
    } else if (rc == CURLE_OPERATION_TIMEDOUT) {
        r.code = ERR_TIMEOUT;
        snprintf(text, sizeof text, "no answer within %.3g s", t->timeout_s);
    } else if (rc == CURLE_PARTIAL_FILE) {
        r.code = ERR_IO;
        snprintf(text, sizeof text, "the answer ended after %zu bytes, before its end", t->body.len);
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

static void *turn(void *context)
{
    struct pull *p = context;
    for (;;) {
        pthread_mutex_lock(&p->lock);
        bool stop = p->stopping;
        struct transfer *new = p->waiting;
        p->waiting = NULL;
        pthread_mutex_unlock(&p->lock);
        while (new) {
            struct transfer *t = new;
            new = t->next;
            link_in(&p->running, t);
            curl_multi_add_handle(p->multi, t->easy);
        }
        if (stop) break;
        int n_running;
        curl_multi_perform(p->multi, &n_running);
        CURLMsg *m;
        int n_left;
        while ((m = curl_multi_info_read(p->multi, &n_left))) {
            if (m->msg != CURLMSG_DONE) continue;
            struct transfer *t = NULL;
            CURLcode rc = m->data.result; /* m dies with the handle */
            curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
            unlink_from(t);
            finish(p, t, rc, NULL);
        }
        curl_multi_poll(p->multi, NULL, 0, 1000, NULL);
    }
    while (p->running) {
        struct transfer *t = p->running;
        unlink_from(t);
        finish(p, t, CURLE_OK, "stopped");
    }
    return NULL;
}

int pull_start(struct pull **ret_pull, struct err *err)
{
    struct pull *p = mem_zalloc(sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    p->multi = curl_multi_init();
    if (!p->multi) abort();
    curl_multi_setopt(p->multi, CURLMOPT_MAXCONNECTS, 64L);
    int rc = pthread_create(&p->thread, NULL, turn, p);
    if (rc) {
        curl_multi_cleanup(p->multi);
        mem_free(p);
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
    curl_multi_wakeup(p->multi);
    pthread_join(p->thread, NULL);
    curl_multi_cleanup(p->multi);
    pthread_mutex_destroy(&p->lock);
    mem_free(p);
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
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &t->body);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->reason);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(timeout_s * 1000));
    pthread_mutex_lock(&p->lock);
    bool stopped = p->stopping;
    if (!stopped) {
        t->next = p->waiting; /* a plain stack: back is set when it begins */
        p->waiting = t;
    }
    pthread_mutex_unlock(&p->lock);
    if (stopped)
        finish(NULL, t, CURLE_OK, "stopped");
    else
        curl_multi_wakeup(p->multi);
}
