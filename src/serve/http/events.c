/* events.c - see events.h.
 *
 * The threads that make changes append to one ring of texts; the threads of the connections read it. Each
 * listener remembers the number of its next event. The lock protects the ring and n_sent. A listener that
 * falls more than a ring behind loses the oldest events instead of delaying the senders. */
#include "serve/http/events.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/lock_rank.h"
#include "base/mem.h"

enum { RING = 1024, MAX_LISTENERS = 64, KEEP_ALIVE_S = 15 };

struct events {
    pthread_mutex_t lock;
    pthread_cond_t more;
    char *ring[RING];
    uint64_t n_sent; /* ring[n % RING] is event n */
    unsigned n_listeners;
    bool stopping;
};

struct listener {
    struct events *events;
    uint64_t next;
    char *text; /* the event that is being sent */
    size_t at, len;
};

struct events *events_new(void)
{
    struct events *e = mem_zalloc(sizeof *e);
    lock_rank_init(&e->lock, LOCK_EVENTS, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&e->more, &monotonic);
    return e;
}

void events_free(struct events *e)
{
    if (!e) return;
    for (size_t i = 0; i < RING; i++) mem_free(e->ring[i]);
    pthread_cond_destroy(&e->more);
    pthread_mutex_destroy(&e->lock);
    mem_free(e);
}

void events_stop(struct events *e)
{
    pthread_mutex_lock(&e->lock);
    e->stopping = true;
    pthread_cond_broadcast(&e->more);
    pthread_mutex_unlock(&e->lock);
}

bool events_wanted(struct events *e)
{
    pthread_mutex_lock(&e->lock);
    bool wanted = e->n_listeners > 0;
    pthread_mutex_unlock(&e->lock);
    return wanted;
}

void events_send(struct events *e, const char *kind, const char *data)
{
    pthread_mutex_lock(&e->lock);
    if (e->n_listeners) {
        char **slot = &e->ring[e->n_sent % RING];
        mem_free(*slot);
        *slot = mem_printf("event: %s\ndata: %s\n\n", kind, data);
        e->n_sent++;
        pthread_cond_broadcast(&e->more);
    }
    pthread_mutex_unlock(&e->lock);
}

/* Waits for the next event. It may block because each connection has its own thread. */
static ssize_t read_more(void *context, uint64_t pos, char *out, size_t max)
{
    (void)pos;
    struct listener *l = context;
    struct events *e = l->events;
    if (l->at == l->len) {
        mem_free(l->text);
        l->text = NULL;
        int64_t until_ns = clock_monotonic_ns() + KEEP_ALIVE_S * 1000000000LL;
        struct timespec until = {.tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000};
        pthread_mutex_lock(&e->lock);
        bool in_time = true;
        while (!e->stopping && l->next >= e->n_sent && in_time)
            in_time = !pthread_cond_timedwait(&e->more, &e->lock, &until);
        bool stopping = e->stopping;
        if (!stopping && l->next < e->n_sent) {
            if (e->n_sent - l->next > RING) l->next = e->n_sent - RING; /* the older events are overwritten */
            l->text = mem_strdup(e->ring[l->next % RING]);
            l->next++;
        }
        pthread_mutex_unlock(&e->lock);
        if (stopping) return MHD_CONTENT_READER_END_OF_STREAM;
        if (!l->text) l->text = mem_strdup(": still here\n\n");
        l->at = 0;
        l->len = strlen(l->text);
    }
    size_t n = l->len - l->at < max ? l->len - l->at : max;
    memcpy(out, l->text + l->at, n);
    l->at += n;
    return (ssize_t)n;
}

static void forget(void *context)
{
    struct listener *l = context;
    pthread_mutex_lock(&l->events->lock);
    l->events->n_listeners--;
    pthread_mutex_unlock(&l->events->lock);
    mem_free(l->text);
    mem_free(l);
}

void events_listen(struct events *e, struct http_answer *a)
{
    pthread_mutex_lock(&e->lock);
    bool room = e->n_listeners < MAX_LISTENERS && !e->stopping;
    uint64_t next = e->n_sent;
    if (room) e->n_listeners++;
    pthread_mutex_unlock(&e->lock);
    if (!room) {
        http_error(a, 503, "too many pages are open; close one and reload");
        http_add_header(a, "Retry-After", "30");
        return;
    }
    struct listener *l = mem_zalloc(sizeof *l);
    *l = (struct listener){.events = e, .next = next};
    l->text = mem_strdup("retry: 3000\n\n");
    l->len = strlen(l->text);
    a->type = "text/event-stream";
    a->stream = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_more, l, forget);
}
