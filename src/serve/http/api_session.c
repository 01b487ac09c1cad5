/* api_session.c - the present user, login, logout. */
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/version.h"
#include "serve/http/api.h"
#include "serve/http/site.h"

static void session_json(struct http_request *q, struct buf *out)
{
    struct site *site = q->site;
    char csrf[33];
    sessions_csrf(site->sessions, q->session, csrf);
    bool login_required = site->cluster && cluster_is_protected(site->cluster);
    buf_printf(out, "{\"login_required\":%s,\"user\":", login_required ? "true" : "false");
    if (q->user[0])
        buf_json(out, q->user, strlen(q->user));
    else
        buf_str(out, "null");
    bool may_change = site->cluster != NULL;
    buf_printf(
        out,
        ",\"csrf\":\"%s\",\"can\":{\"look\":%s,\"act\":%s,\"admin\":%s},\"version\":\"%s\",\"now_ms\":%lld,"
        "\"file_mode\":%s}",
        csrf, q->grants & CLUSTER_LOOK ? "true" : "false",
        may_change && q->grants & CLUSTER_ACT ? "true" : "false",
        may_change && q->grants & CLUSTER_ADMIN ? "true" : "false", PROCPROF_VERSION,
        (long long)(clock_wall_ns() / 1000000), site->cluster ? "false" : "true");
}

void api_session(struct http_request *q, struct http_answer *a)
{
    if (!q->session[0]) sessions_begin(q->site->sessions, q, a, NULL);
    session_json(q, &a->body);
}

void api_login(struct http_request *q, struct http_answer *a)
{
    struct site *site = q->site;
    struct arena arena = {0};
    struct json_value *o = NULL;
    struct err err = {0};
    struct cluster_user user;
    int bad = api_body(q, &arena, &o, &err);
    const char *name = json_text(o, "user");
    char *password = json_text(o, "password");
    if (bad || !name || !password || strlen(name) >= sizeof user.name) {
        http_error(a, 400, "user and password are needed");
    } else if (!site->cluster) {
        session_json(q, &a->body);
    } else if (!cluster_login_allowed(site->cluster, name, q->peer)) {
        http_too_many_logins(a);
    } else {
        bool good = cluster_user_check(site->cluster, name, password) &&
                    !cluster_user_get(site->cluster, name, &user);
        cluster_login_result(site->cluster, name, q->peer, password, good);
        cluster_audit(site->cluster, name, q->peer, good ? "ok" : "denied",
                      good ? NULL : CLUSTER_WRONG_PASSWORD, "HTTP login");
        if (good) {
            sessions_begin(site->sessions, q, a, &user);
            snprintf(q->user, sizeof q->user, "%s", user.name);
            q->grants = cluster_user_may(&user);
            session_json(q, &a->body);
        } else {
            http_error(a, 401, CLUSTER_WRONG_PASSWORD);
        }
    }
    if (password) OPENSSL_cleanse(password, strlen(password));
    arena_free(&arena);
}

void api_logout(struct http_request *q, struct http_answer *a)
{
    sessions_end(q->site->sessions, q, a);
    buf_str(&a->body, "{}");
}
