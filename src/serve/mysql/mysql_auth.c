/* mysql_auth.c - see mysql_auth.h. */
#include "serve/mysql/mysql_auth.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define NATIVE       "mysql_native_password"
#define CACHING_SHA2 "caching_sha2_password"

enum { MAX_AUTH_PACKET = 4096 };

void mysql_make_salt(uint8_t salt[MYSQL_SALT_BYTES])
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    if (getrandom(salt, MYSQL_SALT_BYTES, 0) != MYSQL_SALT_BYTES) abort(); /* never a guessable salt */
    for (size_t i = 0; i < MYSQL_SALT_BYTES; i++) salt[i] = (uint8_t)letters[salt[i] % 64];
}

void mysql_write_greeting(struct mysql_stream *s, uint32_t connection_id,
                          const uint8_t salt[MYSQL_SALT_BYTES], bool offers_tls)
{
    struct buf b = {0};
    uint32_t capabilities = MYSQL_SERVER_CAPABILITIES | (offers_tls ? MYSQL_CLIENT_SSL : 0);
    buf_char(&b, 10);
    buf_add(&b, SQL_SERVER_VERSION, sizeof SQL_SERVER_VERSION);
    mysql_u32(&b, connection_id);
    buf_add(&b, salt, 8);
    buf_char(&b, 0);
    mysql_u16(&b, (uint16_t)capabilities);
    buf_char(&b, 33); /* utf8 */
    mysql_u16(&b, 0); /* status */
    mysql_u16(&b, (uint16_t)(capabilities >> 16));
    buf_char(&b, MYSQL_SALT_BYTES + 1);
    buf_fill(&b, 0, 10);
    buf_add(&b, salt + 8, MYSQL_SALT_BYTES - 8);
    buf_char(&b, 0);
    buf_add(&b, NATIVE, sizeof NATIVE);
    mysql_write(s, b.data, b.len);
    buf_free(&b);
}

static bool copy_text(char *to, size_t n_to, const char *from)
{
    if (!from || strlen(from) >= n_to) return false;
    strcpy(to, from);
    return true;
}

static bool copy_answer(struct mysql_login *l, struct rd *r, uint64_t n)
{
    const uint8_t *bytes = rd_bytes(r, n);
    if (!bytes || n > sizeof l->answer) return false;
    memcpy(l->answer, bytes, (size_t)n);
    l->n_answer = (size_t)n;
    return true;
}

bool mysql_parse_login(const void *packet, size_t n, struct mysql_login *l)
{
    struct rd r = rd_over(packet, n);
    *l = (struct mysql_login){.capabilities = rd_u32(&r)};
    if (!(l->capabilities & MYSQL_CLIENT_PROTOCOL_41)) return false; /* before MySQL 4.1 */
    rd_skip(&r, 4 + 1 + 23);                                         /* largest packet, charset, zeros */
    if (r.bad) return false;
    if (l->capabilities & MYSQL_CLIENT_SSL && rd_left(&r) == 0) {
        l->wants_tls = true;
        return true;
    }
    if (!copy_text(l->user, sizeof l->user, rd_cstr(&r))) return false;
    if (l->capabilities & MYSQL_CLIENT_PLUGIN_AUTH_LENENC) {
        if (!copy_answer(l, &r, mysql_read_lenenc(&r))) return false;
    } else if (l->capabilities & MYSQL_CLIENT_SECURE_CONNECTION) {
        if (!copy_answer(l, &r, rd_u8(&r))) return false;
    } else {
        const char *answer = rd_cstr(&r);
        if (!answer || strlen(answer) > sizeof l->answer) return false;
        l->n_answer = strlen(answer);
        memcpy(l->answer, answer, l->n_answer);
    }
    if (l->capabilities & MYSQL_CLIENT_CONNECT_WITH_DB && rd_left(&r) &&
        !copy_text(l->database, sizeof l->database, rd_cstr(&r)))
        return false;
    if (l->capabilities & MYSQL_CLIENT_PLUGIN_AUTH && rd_left(&r)) {
        /* Some clients omit the final NUL. */
        const char *plugin = (const char *)r.p;
        size_t len = strnlen(plugin, rd_left(&r));
        if (len >= sizeof l->plugin) return false;
        memcpy(l->plugin, plugin, len);
    }
    return !r.bad; /* connection attributes may follow; they are not used */
}

bool mysql_parse_change_user(const void *packet, size_t n, struct mysql_login *l)
{
    struct rd r = rd_over(packet, n);
    *l = (struct mysql_login){.capabilities = MYSQL_SERVER_CAPABILITIES};
    if (!copy_text(l->user, sizeof l->user, rd_cstr(&r))) return false;
    if (!copy_answer(l, &r, rd_u8(&r))) return false;
    if (rd_left(&r) && !copy_text(l->database, sizeof l->database, rd_cstr(&r))) return false;
    return !r.bad;
}

/* ---- the conversation ---- */

/* Asks for the other plugin's answer, which arrives in *packet. */
static bool switch_plugin(struct mysql_stream *s, const char *plugin, const uint8_t salt[MYSQL_SALT_BYTES],
                          struct buf *packet)
{
    struct buf b = {0};
    buf_char(&b, (char)0xfe);
    buf_add(&b, plugin, strlen(plugin) + 1);
    buf_add(&b, salt, MYSQL_SALT_BYTES);
    buf_char(&b, 0);
    mysql_write(s, b.data, b.len);
    buf_free(&b);
    return mysql_flush(s) && mysql_read(s, MAX_AUTH_PACKET, packet, NULL);
}

/* Asks for the password itself, under TLS: the "full authentication" of caching_sha2_password. */
static bool ask_password(struct mysql_stream *s, struct buf *packet)
{
    static const uint8_t full[2] = {1, 4};
    mysql_write(s, full, sizeof full);
    return mysql_flush(s) && mysql_read(s, MAX_AUTH_PACKET, packet, NULL);
}

enum verdict { GOOD, WRONG, GONE };

static enum verdict check(struct mysql_stream *s, const struct mysql_login *l,
                          const uint8_t salt[MYSQL_SALT_BYTES], bool is_tls, bool always_switch,
                          struct cluster *cluster, bool *ret_used_password)
{
    struct buf packet = {0};
    enum verdict verdict = GONE;
    bool native = !*l->plugin || !strcmp(l->plugin, NATIVE), fits = false;
    if (native && !always_switch) {
        *ret_used_password = l->n_answer > 0;
        fits = cluster_user_check_native(cluster, l->user, l->answer, l->n_answer, salt);
        verdict = GOOD;
    } else if (is_tls && !strcmp(l->plugin, CACHING_SHA2)) {
        /* The first answer was made without our salt. The second one only tells whether there is a password:
         * it is empty, or a lone NUL, when there is none. */
        if (switch_plugin(s, CACHING_SHA2, salt, &packet)) {
            *ret_used_password = packet.len > 1 || (packet.len == 1 && packet.data[0]);
            if (!*ret_used_password) {
                fits = cluster_user_check(cluster, l->user, "");
                verdict = GOOD;
            } else if (ask_password(s, &packet)) {
                fits = cluster_user_check(cluster, l->user, buf_cstr(&packet));
                verdict = GOOD;
            }
        }
    } else if (switch_plugin(s, NATIVE, salt, &packet)) {
        *ret_used_password = packet.len > 0;
        fits = cluster_user_check_native(cluster, l->user, (const uint8_t *)packet.data, packet.len, salt);
        verdict = GOOD;
    }
    if (packet.data) OPENSSL_cleanse(packet.data, packet.cap);
    buf_free(&packet);
    return verdict == GOOD && !fits ? WRONG : verdict;
}

static void login_done(struct cluster *cluster, const char *user, const char *peer, bool good)
{
    cluster_login_result(cluster, user, peer, NULL, good);
    cluster_audit(cluster, user, peer, good ? "ok" : "denied", good ? NULL : CLUSTER_WRONG_PASSWORD,
                  "MySQL login");
}

bool mysql_authenticate(struct mysql_stream *s, const struct mysql_login *l,
                        const uint8_t salt[MYSQL_SALT_BYTES], bool is_tls, bool always_switch,
                        struct sql_session *session)
{
    struct cluster *cluster = session->cluster->cluster;
    struct cluster_user user;
    char text[256];
    bool used_password = false;
    enum verdict verdict = WRONG;
    if (!cluster_login_allowed(cluster, l->user, session->peer)) {
        snprintf(text, sizeof text, "Access denied for user '%s': too many failed logins, wait a little",
                 l->user);
    } else {
        verdict = check(s, l, salt, is_tls, always_switch, cluster, &used_password);
        if (verdict == GOOD && cluster_user_get(cluster, l->user, &user)) verdict = WRONG; /* just dropped */
        if (verdict != GONE) login_done(cluster, l->user, session->peer, verdict == GOOD);
        snprintf(text, sizeof text, "Access denied for user '%s' (using password: %s)", l->user,
                 used_password ? "YES" : "NO");
    }
    if (verdict == GOOD) {
        snprintf(session->user, sizeof session->user, "%s", l->user);
        session->grants = user.grants;
    } else if (verdict == WRONG) {
        mysql_write_error(s, SQL_ERROR_ACCESS, "28000", text);
        mysql_flush(s);
    }
    return verdict == GOOD;
}
