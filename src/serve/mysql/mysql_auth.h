/* mysql_auth.h - the greeting and the login of a client.
 *
 * The server greets with mysql_native_password, as StarRocks does. A client that prefers
 * caching_sha2_password (MySQL 8 and later) is asked for the password itself when the connection is TLS, and
 * is switched to mysql_native_password when it is not. A login of an unknown user takes the same steps as
 * one with a wrong password.
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
    0x0038820Cu /* those of StarRocks: classic EOF packets, one statement at a time */

enum { MYSQL_SALT_BYTES = 20 };

struct mysql_login { /* a parsed login packet */
    uint32_t capabilities;
    char user[64];
    char database[128];
    char plugin[64]; /* "": the client named none */
    uint8_t answer[256];
    size_t n_answer;
    bool wants_tls; /* the short request before TLS; only the capabilities are set beside this */
};

void mysql_make_salt(uint8_t salt[MYSQL_SALT_BYTES]); /* 64 different characters: letters, digits, - and _ */
void mysql_write_greeting(struct mysql_stream *s, uint32_t connection_id,
                          const uint8_t salt[MYSQL_SALT_BYTES], bool offers_tls);
bool mysql_parse_login(const void *packet, size_t n, struct mysql_login *ret_login);
bool mysql_parse_change_user(const void *packet, size_t n,
                             struct mysql_login *ret_login); /* the packet after its command byte */

/* Authenticates the client after its login packet. On failure it has sent the error and returns false. On
 * success it has set the session's user and grants. */
bool mysql_authenticate(struct mysql_stream *s, const struct mysql_login *login,
                        const uint8_t salt[MYSQL_SALT_BYTES], bool is_tls, bool always_switch,
                        struct sql_session *session);

#endif
