/* sessions.c - see sessions.h. */
#include "serve/http/sessions.h"

#include <microhttpd.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock_rank.h"
#include "base/mem.h"
#include "base/text.h"
#include "serve/http/site.h"

enum { COOKIE_BYTES = 32, LIFE_S = 24 * 3600, MAX_LOGINS = 4096 };

#define COOKIE "PROCPROF_SESSION"

struct login {
    char cookie[2 * COOKIE_BYTES + 1];
    struct cluster_user user; /* a copy from the time of the login */
    int64_t until_ns;         /* monotonic */
};

struct sessions {
    pthread_mutex_t lock;
    unsigned char secret[32];
    struct login *logins;
    size_t n_logins, cap_logins;
};

struct sessions *sessions_new(void)
{
    struct sessions *s = mem_zalloc(sizeof *s);
    lock_rank_init(&s->lock, LOCK_SESSIONS, NULL);
    if (RAND_bytes(s->secret, sizeof s->secret) != 1) abort();
    return s;
}

void sessions_free(struct sessions *s)
{
    if (!s) return;
    OPENSSL_cleanse(s->secret, sizeof s->secret);
    mem_free(s->logins);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

static void drop_old(struct sessions *s, int64_t now_ns)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_logins; i++)
        if (s->logins[i].until_ns > now_ns) s->logins[n++] = s->logins[i];
    s->n_logins = n;
}

void sessions_begin(struct sessions *s, struct http_request *q, struct http_answer *a,
                    const struct cluster_user *user)
{
    unsigned char bytes[COOKIE_BYTES];
    if (RAND_bytes(bytes, sizeof bytes) != 1) abort();
    text_hex(bytes, sizeof bytes, q->session);
    if (user) {
        int64_t now_ns = clock_monotonic_ns();
        pthread_mutex_lock(&s->lock);
        drop_old(s, now_ns);
        if (s->n_logins == MAX_LOGINS) { /* drop the first, which is the oldest */
            memmove(s->logins, s->logins + 1, (s->n_logins - 1) * sizeof *s->logins);
            s->n_logins--;
        }
        struct login *l = VEC_PUSH(s->logins, s->n_logins, s->cap_logins);
        *l = (struct login){.until_ns = now_ns + LIFE_S * 1000000000LL, .user = *user};
        snprintf(l->cookie, sizeof l->cookie, "%s", q->session);
        pthread_mutex_unlock(&s->lock);
    }
    http_add_header(a, "Set-Cookie", COOKIE "=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s",
                    q->session, LIFE_S, q->site->is_tls ? "; Secure" : "");
}

void sessions_end(struct sessions *s, struct http_request *q, struct http_answer *a)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = s->n_logins; i-- > 0;) {
        if (strcmp(s->logins[i].cookie, q->session)) continue;
        memmove(&s->logins[i], &s->logins[i + 1], (s->n_logins - i - 1) * sizeof *s->logins);
        s->n_logins--;
    }
    pthread_mutex_unlock(&s->lock);
    http_add_header(a, "Set-Cookie", COOKIE "=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
}

bool sessions_user(struct sessions *s, struct cluster *cluster, const char *cookie,
                   struct cluster_user *ret_user)
{
    bool found = false;
    struct cluster_user then;
    int64_t now_ns = clock_monotonic_ns();
    size_t n = strlen(cookie);
    if (n != 2 * COOKIE_BYTES) return false;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n_logins; i++) {
        if (s->logins[i].until_ns <= now_ns || CRYPTO_memcmp(s->logins[i].cookie, cookie, n)) continue;
        then = s->logins[i].user;
        found = true;
    }
    pthread_mutex_unlock(&s->lock);
    return found && !cluster_user_get(cluster, then.name, ret_user) &&
           ret_user->has_password == then.has_password &&
           !CRYPTO_memcmp(ret_user->native_hash, then.native_hash, sizeof then.native_hash);
}

void sessions_csrf(struct sessions *s, const char *cookie, char token[33])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (!HMAC(EVP_sha256(), s->secret, sizeof s->secret, (const unsigned char *)cookie, strlen(cookie),
              digest, &n))
        abort();
    text_hex(digest, 16, token);
}

bool sessions_csrf_matches(struct sessions *s, struct http_request *q)
{
    const char *sent = http_header(q, "X-CSRF-Token");
    char want[33];
    if (!sent || !q->session[0] || strlen(sent) != 32) return false;
    sessions_csrf(s, q->session, want);
    return CRYPTO_memcmp(sent, want, 32) == 0;
}

/* ---- the user of a request ---- */

static bool check_password(struct site *site, struct http_request *q, const char *user, const char *password)
{
    q->refused = HTTP_TOO_MANY_LOGINS;
    if (!cluster_login_allowed(site->cluster, user, q->peer)) return false;
    bool good = cluster_user_check(site->cluster, user, password);
    q->refused = good ? HTTP_NOT_REFUSED : HTTP_WRONG_PASSWORD;
    cluster_login_result(site->cluster, user, q->peer, password, good);
    if (!good) cluster_audit(site->cluster, user, q->peer, "denied", CLUSTER_WRONG_PASSWORD, "HTTP login");
    return good;
}

void site_identify(struct site *site, struct http_request *q)
{
    const char *cookie = MHD_lookup_connection_value(q->connection, MHD_COOKIE_KIND, COOKIE);
    if (cookie && strlen(cookie) == 2 * COOKIE_BYTES && strspn(cookie, TEXT_HEX_DIGITS) == 2 * COOKIE_BYTES)
        snprintf(q->session, sizeof q->session, "%s", cookie);
    if (!site->cluster || !cluster_is_protected(site->cluster)) {
        q->grants = CLUSTER_LOOK | CLUSTER_ACT | CLUSTER_ADMIN;
        return;
    }
    const char *header = http_header(q, "Authorization");
    bool known = false;
    struct cluster_user user;
    if (header && !strncmp(header, "Bearer ", 7)) {
        const char *token = header + 7;
        if (site->agent_token && strlen(token) == strlen(site->agent_token) &&
            !CRYPTO_memcmp(token, site->agent_token, strlen(token))) {
            snprintf(q->user, sizeof q->user, "(node token)");
            q->grants = CLUSTER_LOOK | CLUSTER_ACT;
            q->by_header = true;
        }
        return;
    }
    if (header && !strncmp(header, "Basic ", 6)) {
        char *password = NULL, *name = MHD_basic_auth_get_username_password(q->connection, &password);
        if (name && strlen(name) < sizeof user.name &&
            check_password(site, q, name, password ? password : ""))
            known = q->by_header = !cluster_user_get(site->cluster, name, &user);
        MHD_free(name);
        if (password) OPENSSL_cleanse(password, strlen(password));
        MHD_free(password);
    } else if (q->session[0]) {
        known = sessions_user(site->sessions, site->cluster, q->session, &user);
    }
    if (!known) return;
    snprintf(q->user, sizeof q->user, "%s", user.name);
    q->grants = cluster_user_may(&user);
}
