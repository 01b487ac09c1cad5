/* mysql_auth.h - the greeting, the answer, and who may come in.
 *
 * The server greets with mysql_native_password, as StarRocks does. A client that prefers
 * caching_sha2_password (MySQL 8 and later) is asked for the password itself when the connection is TLS, and
 * is switched to mysql_native_password when it is not. An unknown user goes the same way as a wrong password.
 */
#ifndef SERVE_MYSQL_MYSQL_AUTH_H
#define SERVE_MYSQL_MYSQL_AUTH_H

#include "serve/mysql/mysql_packet.h"
#include "serve/sql/sql_execute.h"

enum {
    MYSQL_CLIENT_CONNECT_WITH_DB = 0x8,
    MYSQL_CLIENT_PROTOCOL_41 = 0x200,
    MYSQL_CLIENT_SSL = 0x800,
    MYSQL_CLIENT_SECURE_CONNECTION = 0x8000,
    MYSQL_CLIENT_PLUGIN_AUTH = 0x80000,
    MYSQL_CLIENT_PLUGIN_AUTH_LENENC = 0x200000,
};
#define MYSQL_SERVER_CAPABILITIES                                                                            \
    0x0038820Cu /* what StarRocks offers: classic EOF packets, one statement at a time */

enum { MYSQL_SALT_BYTES = 20 };

struct mysql_login { /* what a client says of itself */
    uint32_t capabilities;
    char user[64];
    char database[128];
    char plugin[64]; /* "": none named */
    uint8_t answer[256];
    size_t n_answer;
    bool wants_tls; /* only the short request before TLS; nothing else is set */
};

void mysql_make_salt(uint8_t salt[MYSQL_SALT_BYTES]); /* letters only */
void mysql_write_greeting(struct mysql_stream *s, uint32_t connection_id,
                          const uint8_t salt[MYSQL_SALT_BYTES], bool offers_tls);
bool mysql_parse_login(const void *packet, size_t n, struct mysql_login *ret_login);
bool mysql_parse_change_user(const void *packet, size_t n,
                             struct mysql_login *ret_login); /* behind its command byte */

/* The whole conversation after the login packet; sends the error itself when it ends badly. On success
 * session's user and grants are set. */
bool mysql_authenticate(struct mysql_stream *s, const struct mysql_login *login,
                        const uint8_t salt[MYSQL_SALT_BYTES], bool is_tls, bool always_switch,
                        struct sql_session *session);

#endif
