/* conf: the keys of the documentation, ${VAR}, refusals with file and line, the nearest name. */
#include "../../t.h"

#include "base/buf.h"
#include "serve/cluster/conf.h"

static struct buf warnings;

static void take_warning(const char *text)
{
    buf_printf(&warnings, "%s\n", text);
}

static int parse(struct conf *conf, const char *text, enum conf_file kind, struct err *err)
{
    return conf_parse(conf, text, strlen(text), "dir/conf/x.conf", kind, take_warning, err);
}

TEST(presets_are_those_of_the_documentation)
{
    struct conf c = {0};
    CHECK_INT(conf_int(&c, CONF_PROC_PROFILE_CPU_ENABLE), 1);
    CHECK_INT(conf_int(&c, CONF_PROC_PROFILE_MEM_ENABLE), 1);
    CHECK_INT(conf_int(&c, CONF_PROC_PROFILE_COLLECT_TIME_S), 120);
    CHECK_INT(conf_int(&c, CONF_PROC_PROFILE_JSTACK_DEPTH), 128);
    CHECK_INT(conf_int(&c, CONF_PROC_PROFILE_FILE_RETAINED_DAYS), 1);
    CHECK_INT(conf_int(&c, CONF_PROC_PROFILE_FILE_RETAINED_SIZE_BYTES), 2147483648);
    CHECK_INT(conf_int(&c, CONF_COLLECT_BE_PROFILE_INTERVAL), 60);
    CHECK_INT(conf_int(&c, CONF_BRPC_PORT), 8060);
}

TEST(a_real_fe_conf)
{
    struct conf c = {0};
    struct err err = {0};
    setenv("PP_TEST_LOG", "/logs", 1);
    CHECK_INT(parse(&c,
                    "# comment\nLOG_DIR = ${PP_TEST_LOG}\nJAVA_OPTS=\"-Xmx8g -XX:+UseG1GC\"\nsys_log_dir = "
                    "${LOG_DIR}/fe\n"
                    "proc_profile_cpu_enable = FALSE\nproc_profile_collect_time_s=30\r\nmeta_dir = "
                    "${NOT_SET_ANYWHERE}/meta\n",
                    CONF_FE_FILE, &err),
              0);
    CHECK_STR(conf_text(&c, CONF_SYS_LOG_DIR), "/logs/fe");
    CHECK_STR(conf_text(&c, CONF_PROC_PROFILE_CPU_ENABLE), "false");
    CHECK_INT(conf_int(&c, CONF_PROC_PROFILE_COLLECT_TIME_S), 30);
    CHECK_STR(buf_cstr(&warnings), ""); /* StarRocks' other keys are none of our business */
    conf_free(&c);
}

TEST(a_real_be_conf)
{
    struct conf c = {0};
    struct err err = {0};
    unsetenv("STARROCKS_HOME");
    CHECK_INT(parse(&c,
                    "sys_log_dir = ${STARROCKS_HOME}/log\nbrpc_port = 8061\nCOLLECT_BE_PROFILE_INTERVAL = "
                    "15\nflamegraph_tool_dir = /x\n",
                    CONF_BE_FILE, &err),
              0);
    CHECK_STR(conf_text(&c, CONF_BE_SYS_LOG_DIR), "dir/conf/../log");
    CHECK_INT(conf_int(&c, CONF_BRPC_PORT), 8061);
    CHECK_INT(conf_int(&c, CONF_COLLECT_BE_PROFILE_INTERVAL), 15);
    CHECK(strstr(buf_cstr(&warnings), "x.conf:4: flamegraph_tool_dir is no longer needed"));
    conf_free(&c);
}

TEST(wrong_values_are_refused_with_file_and_line)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"\nproc_profile_collect_time_s = soon\n",
         "x.conf:2: proc_profile_collect_time_s: 'soon' is not a whole number"},
        {"proc_profile_cpu_enable = maybe",
         "x.conf:1: proc_profile_cpu_enable: 'maybe' is not true or false"},
        {"http_port = 70000", "x.conf:1: http_port: 70000 is not between 0 and 65535"},
        {"proc_profile_collect_time_s = 0", "is not between 1 and 3600"},
        {"sys_log_dir = ${NOT_SET_ANYWHERE}/x", "x.conf:1: sys_log_dir: ${NOT_SET_ANYWHERE} is set neither"},
        {"be_profile_types = cpu,disk", "'cpu,disk' is not a list of"},
        {"fe_engine = perf", "'perf' is not auto, async-profiler or jfr"},
        {"just words", "is not of the form key = value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct conf c = {0};
        struct err err = {0};
        CHECK_INT(parse(&c, cases[i].text, CONF_OWN_FILE, &err), ERR_INPUT);
        if (!strstr(err.text, cases[i].want)) T_FAIL("case %zu says: %s", i, err.text);
        conf_free(&c);
    }
}

TEST(nothing_of_a_refused_file_is_taken)
{
    struct conf c = {0};
    struct err err = {0};
    CHECK(parse(&c, "http_port = 1234\nquery_port = x\n", CONF_OWN_FILE, &err) < 0);
    CHECK_INT(conf_int(&c, CONF_HTTP_PORT), 8030);
}

TEST(unknown_keys_name_the_nearest)
{
    struct conf c = {0};
    struct err err = {0};
    CHECK_INT(parse(&c, "proc_profile_cpu_enabel = true\nqqqq = 1\n", CONF_OWN_FILE, &err), 0);
    CHECK(strstr(buf_cstr(&warnings),
                 "x.conf:1: unknown key 'proc_profile_cpu_enabel'; did you mean 'proc_profile_cpu_enable'?"));
    CHECK(strstr(buf_cstr(&warnings), "x.conf:2: unknown key 'qqqq'\n"));
    buf_free(&warnings);
    CHECK_INT(
        parse(&c, "proc_profile_colect_time_s = 30\npriority_networks = 10.0.0.0/8\n", CONF_FE_FILE, &err),
        0);
    CHECK_STR(buf_cstr(&warnings), "dir/conf/x.conf:1: unknown key 'proc_profile_colect_time_s'; did you "
                                   "mean 'proc_profile_collect_time_s'?\n");
}

TEST(on_the_command_line_they_are_refused)
{
    struct conf c = {0};
    struct err err = {0};
    buf_free(&warnings);
    CHECK_INT(parse(&c, "http_port = 1\nbe_profile_type = cpu\n", CONF_COMMAND_LINE, &err), ERR_INPUT);
    CHECK(strstr(err.text, "conf/x.conf: unknown key 'be_profile_type'; did you mean 'be_profile_types'?"));
    CHECK_INT(parse(&c, "qqqq = ${NOT_SET_ANYWHERE}\n", CONF_COMMAND_LINE, &err), ERR_INPUT);
    CHECK(strstr(err.text, "unknown key 'qqqq'; --settings lists"));
    CHECK_INT(parse(&c, "http_port = 1\nnode = BE h:1\n", CONF_COMMAND_LINE, &err), 0);
    CHECK_INT(conf_int(&c, CONF_HTTP_PORT), 1);
    CHECK_STR(c.nodes[0].where, "dir/conf/x.conf");
    CHECK_INT((int)warnings.len, 0);
    conf_free(&c);
}
TEST_MAIN()
