/* cluster: nodes keep their ids over a restart, users and their passwords, settings, the limit on guessing.
 */
#include "../../t.h"

#include <openssl/sha.h>

#include "base/file.h"
#include "base/mem.h"
#include "serve/cluster/cluster.h"

static char dir[] = "/tmp/procprof-cluster.XXXXXX";

static struct cluster *open_cluster(const char *conf_text_)
{
    struct conf conf = {0};
    struct err err = {0};
    struct cluster *c = NULL;
    server_log_level(LOG_ERROR_);
    REQUIRE(conf_parse(&conf, conf_text_, strlen(conf_text_), "test.conf", CONF_OWN_FILE, NULL, &err) == 0);
    if (cluster_open(dir, &conf, &c, &err) || cluster_add_conf_nodes(c, &conf, NULL, &err))
        T_FAIL("%s", err.text);
    REQUIRE(c);
    conf_free(&conf);
    return c;
}

static void make_dir(void)
{
    REQUIRE(mkdtemp(dir));
}

TEST(nodes_keep_their_ids)
{
    make_dir();
    struct err err = {0};
    struct cluster *c = open_cluster("node = BE 127.0.0.1:8060 http=8040 name=one token=secret\n");
    struct cluster_node n = {.role = CLUSTER_CN, .host = "::1", .port = 9}, *all;
    int32_t id = 0;
    CHECK_INT(cluster_node_add(c, &n, &id, &err), 0);
    CHECK_INT(id, 10002);
    CHECK_INT(cluster_node_add(c, &n, &id, &err), ERR_BUSY);
    CHECK_INT(cluster_node_drop(c, 10002, &err), 0);
    CHECK_INT(cluster_node_drop(c, 10002, &err), ERR_NOT_FOUND);
    CHECK_INT(cluster_node_add(c, &n, &id, &err), 0);
    CHECK_INT(id, 10003); /* never used twice */
    CHECK_INT(cluster_type_set_switch(c, 10003, "cpu", false, &err), 0);
    cluster_close(c);
    c = open_cluster("node = BE 127.0.0.1:8060\n");
    CHECK_INT(cluster_nodes(c, ~0u, &all), 2);
    CHECK_STR(all[0].name, "one");
    CHECK_STR(all[0].token, "secret");
    CHECK_INT(all[0].http_port, 8040);
    CHECK_STR(all[1].name, "[::1]:9");
    mem_free(all);
    CHECK_INT(cluster_type_switch(c, 10003, "cpu"), 0);
    CHECK_INT(cluster_type_switch(c, 10003, "heap"), -1);
    CHECK_INT(cluster_node_find(c, 1 << CLUSTER_BE, "127.0.0.1", 8040, &n), 0);
    CHECK_INT(cluster_node_find(c, 1 << CLUSTER_CN, "127.0.0.1", 8040, &n), ERR_NOT_FOUND);
    cluster_close(c);
    file_remove_tree(dir, NULL);
}

TEST(places_that_cannot_be)
{
    static const char *const bad[] = {
        "BE",       "XX a:1",   "BE a",      "BE a:0",        "BE a:65536",       "BE a/b:1",
        "BE a@b:1", "BE a#:1",  "BE [::1:1", "BE a:1 http=x", "BE a:1 color=red", "BE a:1 http",
        "FE a",     "BE a?x:1", "BE :1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct cluster_node n;
        struct err err = {0};
        if (cluster_node_parse(bad[i], &n, &err) != ERR_INPUT) T_FAIL("%s was taken", bad[i]);
        CHECK(err.text[0]);
    }
}

TEST(passwords)
{
    make_dir();
    struct err err = {0};
    struct cluster *c = open_cluster("listen = 0.0.0.0\n");
    CHECK(!cluster_is_protected(c));
    char *host = cluster_bind_host(c);
    CHECK_STR(host, "127.0.0.1");
    mem_free(host);
    CHECK(cluster_user_check(c, "root", ""));
    CHECK(!cluster_user_check(c, "root", "x"));
    CHECK_INT(cluster_user_set_password(c, "root", "s3cret", &err), 0);
    CHECK(cluster_is_protected(c));
    host = cluster_bind_host(c);
    CHECK_STR(host, "0.0.0.0");
    mem_free(host);
    CHECK(cluster_user_check(c, "root", "s3cret"));
    CHECK(!cluster_user_check(c, "root", ""));
    CHECK(!cluster_user_check(c, "nobody", ""));
    /* mysql_native_password: SHA1(password) xor SHA1(salt + SHA1(SHA1(password))) */
    uint8_t salt[20] = "abcdefghijklmnopqrs", once[20], both[40], mask[20], answer[20];
    SHA1((const uint8_t *)"s3cret", 6, once);
    memcpy(both, salt, 20);
    SHA1(once, 20, both + 20);
    SHA1(both, 40, mask);
    for (int i = 0; i < 20; i++) answer[i] = once[i] ^ mask[i];
    CHECK(cluster_user_check_native(c, "root", answer, 20, salt));
    answer[3] ^= 1;
    CHECK(!cluster_user_check_native(c, "root", answer, 20, salt));
    CHECK(!cluster_user_check_native(c, "root", answer, 0, salt));
    CHECK_INT(cluster_user_create(c, "eve", "pw", CLUSTER_LOOK, &err), 0);
    CHECK_INT(cluster_user_create(c, "eve", "pw", CLUSTER_LOOK, &err), ERR_BUSY);
    CHECK_INT(cluster_user_create(c, "a b", "pw", CLUSTER_LOOK, &err), ERR_INPUT);
    CHECK_INT(cluster_user_drop(c, "root", &err), ERR_DENIED);
    cluster_close(c);
    c = open_cluster("");
    CHECK(cluster_user_check(c, "eve", "pw"));
    CHECK(cluster_is_protected(c));
    cluster_close(c);
    file_remove_tree(dir, NULL);
}

TEST(guessing_is_limited)
{
    make_dir();
    struct cluster *c = open_cluster("");
    for (int i = 0; i < 5; i++) {
        CHECK(cluster_login_allowed(c, "root", "10.0.0.1"));
        cluster_login_result(c, "root", "10.0.0.1", NULL, false);
    }
    CHECK(!cluster_login_allowed(c, "root", "10.0.0.1"));
    CHECK(cluster_login_allowed(c, "root", "10.0.0.2")); /* nobody keeps root out from elsewhere */
    CHECK(cluster_login_allowed(c, "other", "10.0.0.1"));
    for (int i = 0; i < 20; i++) { /* one address, many names */
        char name[16], password[16];
        snprintf(name, sizeof name, "user%d", i);
        snprintf(password, sizeof password, "pw%d", i);
        cluster_login_result(c, name, "10.0.0.3", password, false);
    }
    CHECK(!cluster_login_allowed(c, "other", "10.0.0.3"));
    cluster_close(c); /* counts are kept by hash: not beside those above */
    c = open_cluster("");
    for (int i = 0; i < 100; i++) { /* one name, many addresses */
        char peer[16];
        snprintf(peer, sizeof peer, "10.1.0.%d", i);
        CHECK(cluster_login_allowed(c, "eve", peer));
        cluster_login_result(c, "eve", peer, NULL, false);
    }
    CHECK(!cluster_login_allowed(c, "eve", "10.2.0.1"));
    cluster_close(c);
    file_remove_tree(dir, NULL);
}

TEST(an_old_password_of_a_script_is_no_guessing)
{
    make_dir();
    struct cluster *c = open_cluster("");
    for (int i = 0; i < 1000; i++) cluster_login_result(c, "root", "10.0.0.1", "last year's", false);
    CHECK(cluster_login_allowed(c, "root", "10.0.0.1"));
    char password[16];
    for (int i = 0; i < 4; i++) {
        CHECK(cluster_login_allowed(c, "root", "10.0.0.1"));
        snprintf(password, sizeof password, "guess%d", i);
        cluster_login_result(c, "root", "10.0.0.1", password, false);
    }
    CHECK(!cluster_login_allowed(c, "root", "10.0.0.1"));
    cluster_close(c);
    file_remove_tree(dir, NULL);
}

TEST(settings)
{
    make_dir();
    struct err err = {0};
    struct cluster *c = open_cluster("");
    CHECK_INT(cluster_setting_set(c, "proc_profile_collect_time_s", "7", true, &err), 0);
    CHECK_INT(cluster_setting_set(c, "proc_profile_mem_enable", "false", false, &err), 0);
    CHECK_INT(cluster_setting_set(c, "proc_profile_collect_time", "7", false, &err), ERR_NOT_FOUND);
    CHECK(strstr(err.text, "did you mean 'proc_profile_collect_time_s'?"));
    CHECK_INT(cluster_setting_set(c, "http_port", "7", false, &err), ERR_DENIED);
    CHECK_INT(cluster_setting_set(c, "proc_profile_collect_time_s", "-7", false, &err), ERR_INPUT);
    cluster_close(c);
    c = open_cluster("");
    CHECK_INT(cluster_setting_int(c, CONF_PROC_PROFILE_COLLECT_TIME_S), 7);
    CHECK_INT(cluster_setting_int(c, CONF_PROC_PROFILE_MEM_ENABLE), 1);
    cluster_close(c);
    file_remove_tree(dir, NULL);
}
TEST_MAIN()
