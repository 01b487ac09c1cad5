/* cluster_users.c - users, passwords and the limit on failed logins.
 *
 * The database stores SHA1(SHA1(password)). The native login of the MySQL protocol cannot be checked against
 * a stronger hash, and a second, slower hash beside it would not protect anything. Only the owner can read
 * the file. */
#include <ctype.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/strtab.h"
#include "serve/cluster/cluster_int.h"

enum { MAX_USERS = 10000, MAX_PASSWORD_BYTES = 256 };
/* Wrong passwords in a minute: of one user from one address, of all users from one address, of one user from
 * all addresses. The last limit is high, because otherwise any client could lock root out. */
static const unsigned max_wrong[] = {[LOGIN_PAIR] = 5, [LOGIN_PEER] = 20, [LOGIN_USER] = 100};

static void sha1(const void *a, size_t n_a, const void *b, size_t n_b, uint8_t out[20])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    EVP_DigestInit_ex(ctx, EVP_sha1(), NULL);
    EVP_DigestUpdate(ctx, a, n_a);
    EVP_DigestUpdate(ctx, b, n_b);
    EVP_DigestFinal_ex(ctx, out, NULL);
    EVP_MD_CTX_free(ctx);
}

static void hash_password(const char *password, uint8_t out[20])
{
    uint8_t once[20];
    sha1(password, strlen(password), "", 0, once);
    sha1(once, 20, "", 0, out);
}

int cluster_users_load(struct cluster *c, struct err *err)
{
    sqlite3_stmt *s = db_query(&c->db, err, "SELECT name, native_hash, grants FROM users ORDER BY name");
    while (db_row(s)) {
        struct cluster_user *u = VEC_PUSH(c->users, c->n_users, c->cap_users);
        *u = (struct cluster_user){.grants = (unsigned)sqlite3_column_int(s, 2)};
        snprintf(u->name, sizeof u->name, "%s", db_text(s, 0));
        if (sqlite3_column_bytes(s, 1) == 20) {
            memcpy(u->native_hash, sqlite3_column_blob(s, 1), 20);
            u->has_password = true;
        }
    }
    return db_done(&c->db, s, err);
}

static struct cluster_user *find(struct cluster *c, const char *name)
{
    for (size_t i = 0; i < c->n_users; i++)
        if (!strcmp(c->users[i].name, name)) return &c->users[i];
    return NULL;
}

int cluster_user_get(struct cluster *c, const char *name, struct cluster_user *ret_user)
{
    pthread_mutex_lock(&c->lock);
    struct cluster_user *u = find(c, name);
    if (u) *ret_user = *u;
    pthread_mutex_unlock(&c->lock);
    return u ? 0 : ERR_NOT_FOUND;
}

size_t cluster_users(struct cluster *c, struct cluster_user **ret_users)
{
    pthread_mutex_lock(&c->lock);
    size_t n = c->n_users;
    *ret_users = mem_array(n ? n : 1, sizeof **ret_users);
    memcpy(*ret_users, c->users, n * sizeof **ret_users);
    pthread_mutex_unlock(&c->lock);
    return n;
}

static int save(struct cluster *c, const struct cluster_user *u, struct err *err)
{
    return u->has_password ? db_run(&c->db, err, "INSERT OR REPLACE INTO users VALUES (?, ?, ?)", "tbi",
                                    u->name, u->native_hash, 20, (int64_t)u->grants)
                           : db_run(&c->db, err, "INSERT OR REPLACE INTO users VALUES (?, NULL, ?)", "ti",
                                    u->name, (int64_t)u->grants);
}

static int check_name(const char *name, struct err *err)
{
    size_t n = strlen(name);
    if (n == 0 || n >= sizeof((struct cluster_user *)0)->name)
        return err_set(err, ERR_INPUT, "a user name must have 1 to 63 bytes");
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("_-.@", name[i]))
            return err_set(err, ERR_INPUT, "a user name may have letters, digits and _ - . @ only");
    return 0;
}

static int check_password(const char *password, struct err *err)
{
    return strlen(password) > MAX_PASSWORD_BYTES
               ? err_set(err, ERR_LIMIT, "a password has at most %d bytes", MAX_PASSWORD_BYTES)
               : 0;
}

static void put_password(struct cluster_user *u, const char *password)
{
    u->has_password = *password != 0;
    memset(u->native_hash, 0, sizeof u->native_hash);
    if (u->has_password) hash_password(password, u->native_hash);
}

int cluster_user_create(struct cluster *c, const char *name, const char *password, unsigned grants,
                        struct err *err)
{
    int bad = check_name(name, err);
    if (!bad) bad = check_password(password, err);
    if (bad) return bad;
    struct cluster_user u = {.grants = grants};
    snprintf(u.name, sizeof u.name, "%s", name);
    put_password(&u, password);
    pthread_mutex_lock(&c->lock);
    if (find(c, name))
        bad = err_set(err, ERR_BUSY, "user '%s' exists already", name);
    else if (c->n_users >= MAX_USERS)
        bad = err_set(err, ERR_LIMIT, "more than %d users", MAX_USERS);
    else
        bad = save(c, &u, err);
    if (!bad) *VEC_PUSH(c->users, c->n_users, c->cap_users) = u;
    pthread_mutex_unlock(&c->lock);
    return bad;
}

int cluster_user_drop(struct cluster *c, const char *name, struct err *err)
{
    if (!strcmp(name, "root")) return err_set(err, ERR_DENIED, "root cannot be dropped");
    pthread_mutex_lock(&c->lock);
    struct cluster_user *u = find(c, name);
    int bad = u ? db_run(&c->db, err, "DELETE FROM users WHERE name = ?", "t", name)
                : err_set(err, ERR_NOT_FOUND, "no user '%.63s'", name);
    if (!bad) *u = c->users[--c->n_users];
    pthread_mutex_unlock(&c->lock);
    return bad;
}

/* Changes one user by `change`, saves the user, and calls the bind hooks when root got or lost its password.
 */
static int change_user(struct cluster *c, const char *name,
                       void (*change)(struct cluster_user *u, const void *with), const void *with,
                       struct err *err)
{
    pthread_mutex_lock(&c->lock);
    struct cluster_user *u = find(c, name), changed;
    int bad = u ? 0 : err_set(err, ERR_NOT_FOUND, "no user '%.63s'", name);
    bool was_protected = false, is_protected = false;
    if (!bad) {
        changed = *u;
        change(&changed, with);
        bad = save(c, &changed, err);
    }
    if (!bad) {
        was_protected = find(c, "root")->has_password;
        *u = changed;
        is_protected = find(c, "root")->has_password;
    }
    pthread_mutex_unlock(&c->lock);
    if (was_protected != is_protected)
        for (size_t i = 0; i < c->n_bind_hooks; i++) c->bind_hook[i](c->bind_hook_context[i]);
    return bad;
}

static void change_password(struct cluster_user *u, const void *password)
{
    put_password(u, password);
}

static void change_hash(struct cluster_user *u, const void *hash)
{
    memcpy(u->native_hash, hash, 20);
    u->has_password = true;
}

static void change_grants(struct cluster_user *u, const void *grants)
{
    u->grants = *(const unsigned *)grants;
}

int cluster_user_set_password(struct cluster *c, const char *name, const char *password, struct err *err)
{
    int bad = check_password(password, err);
    return bad ? bad : change_user(c, name, change_password, password, err);
}

int cluster_user_set_password_hash(struct cluster *c, const char *name, const uint8_t hash[20],
                                   struct err *err)
{
    return change_user(c, name, change_hash, hash, err);
}

int cluster_user_set_grants(struct cluster *c, const char *name, unsigned grants, struct err *err)
{
    if (!strcmp(name, "root")) return err_set(err, ERR_DENIED, "the grants of root cannot be changed");
    return change_user(c, name, change_grants, &grants, err);
}

bool cluster_user_check(struct cluster *c, const char *name, const char *password)
{
    struct cluster_user u = {0};
    bool known = cluster_user_get(c, name, &u) == 0;
    uint8_t hash[20];
    hash_password(strlen(password) > MAX_PASSWORD_BYTES ? "" : password,
                  hash); /* also for an unknown user, so that both take the same time */
    if (!known) return false;
    if (!u.has_password) return *password == 0;
    return *password && CRYPTO_memcmp(hash, u.native_hash, 20) == 0;
}

bool cluster_user_check_native(struct cluster *c, const char *name, const uint8_t *answer, size_t n_answer,
                               const uint8_t salt[20])
{
    struct cluster_user u = {0};
    bool known = cluster_user_get(c, name, &u) == 0;
    if (!known) u.has_password = true; /* so that an unknown user takes as long as a wrong password */
    if (!u.has_password) return n_answer == 0;
    if (n_answer != 20) return false;
    uint8_t mask[20], once[20], twice[20];
    sha1(salt, 20, u.native_hash, 20, mask);
    for (int i = 0; i < 20; i++) once[i] = answer[i] ^ mask[i];
    sha1(once, 20, "", 0, twice);
    return CRYPTO_memcmp(twice, u.native_hash, 20) == 0 && known;
}

bool cluster_is_protected(struct cluster *c)
{
    pthread_mutex_lock(&c->lock);
    struct cluster_user *root = find(c, "root");
    bool is_protected = root && root->has_password;
    pthread_mutex_unlock(&c->lock);
    return is_protected;
}

char *cluster_bind_host(struct cluster *c)
{
    return cluster_is_protected(c) ? cluster_setting_text(c, CONF_LISTEN) : mem_strdup("127.0.0.1");
}

void cluster_on_bind_change(struct cluster *c, void (*hook)(void *), void *context)
{
    if (c->n_bind_hooks == sizeof c->bind_hook / sizeof *c->bind_hook) return;
    c->bind_hook[c->n_bind_hooks] = hook;
    c->bind_hook_context[c->n_bind_hooks++] = context;
}

/* ---- failed logins ---- */

static struct login_failures *slot(struct cluster *c, enum login_kind kind, const char *user,
                                   const char *peer)
{
    char who[160];
    int n = snprintf(who, sizeof who, "%.70s@%.70s", kind == LOGIN_PEER ? "" : user,
                     kind == LOGIN_USER ? "" : peer);
    struct login_failures *f = &c->failures[kind][hash_bytes(who, (size_t)n) % LOGIN_SLOTS];
    int64_t now_ns = clock_monotonic_ns();
    /* Names with the same hash share a slot and its count, so an attacker cannot evict his count by inventing
     * names. */
    if (now_ns - f->since_ns > 60000000000) *f = (struct login_failures){.since_ns = now_ns};
    return f;
}

bool cluster_login_allowed(struct cluster *c, const char *user, const char *peer)
{
    bool allowed = true;
    pthread_mutex_lock(&c->lock);
    for (int k = 0; k < LOGIN_N_KINDS; k++)
        allowed = allowed && slot(c, (enum login_kind)k, user, peer)->count < max_wrong[k];
    pthread_mutex_unlock(&c->lock);
    return allowed;
}

void cluster_login_result(struct cluster *c, const char *user, const char *peer, const char *password,
                          bool good)
{
    uint32_t hash = password ? hash_bytes(password, strlen(password)) | 1 : 0;
    pthread_mutex_lock(&c->lock);
    struct login_failures *pair = slot(c, LOGIN_PAIR, user, peer);
    if (good) {
        pair->count = 0;
    } else if (!hash || pair->last_wrong != hash) {
        pair->last_wrong = hash;
        for (int k = 0; k < LOGIN_N_KINDS; k++) slot(c, (enum login_kind)k, user, peer)->count++;
    }
    pthread_mutex_unlock(&c->lock);
}
