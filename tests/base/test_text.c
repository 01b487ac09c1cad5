#include "../t.h"

#include "base/buf.h"
#include "base/path.h"
#include "base/text.h"

TEST(a_whole_number_has_nothing_around_it)
{
    int64_t value = 7;
    CHECK(text_to_int("-12", -20, 20, &value));
    CHECK_INT(value, -12);
    CHECK(text_to_int("9223372036854775807", 0, INT64_MAX, &value));
    const char *const bad[] = {"", "-", "1x", "x1", "1 ", "21", "-21", "9223372036854775808"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (text_to_int(bad[i], -20, 20, &value)) T_FAIL("'%s' is taken as a number", bad[i]);
    CHECK_INT(value, INT64_MAX);
}

TEST(a_port_is_digits_from_1_to_65535)
{
    uint16_t port = 0;
    CHECK(text_to_port("8030", &port));
    CHECK_INT(port, 8030);
    const char *const bad[] = {"", "0", "65536", "-1", "+1", " 1", "80a", "18446744073709551617"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (text_to_port(bad[i], &port)) T_FAIL("'%s' is taken as a port", bad[i]);
}

TEST(the_first_line_is_cut_at_control_bytes_and_whole_characters)
{
    static const struct {
        const char *data;
        size_t size;
        const char *want;
    } cases[] = {{"one\ntwo", 20, "one"},
                 {"\r\n  one\r\n", 20, "one"},
                 {"", 20, ""},
                 {" \n ", 20, ""},
                 {"abcdef", 4, "abc"},
                 {"a\x7f"
                  "b",
                  20, "a"},
                 {"caf\xc3\xa9 au lait", 5, "caf"},
                 {"caf\xc3\xa9", 6, "caf\xc3\xa9"},
                 {"x\xff"
                  "y",
                  20, "x"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[32];
        text_first_line(cases[i].data, strlen(cases[i].data), line, cases[i].size);
        CHECK_STR(line, cases[i].want);
    }
    char line[4];
    text_first_line(NULL, 0, line, sizeof line);
    CHECK_STR(line, "");
}

TEST(hexadecimal_and_percent_codes)
{
    char text[9];
    text_hex("\x00\xff\x1a\x9c", 4, text);
    CHECK_STR(text, "00ff1a9c");
    CHECK_INT(text_percent_byte("%4a", 3), 'J');
    CHECK_INT(text_percent_byte("%4A", 3), 'J');
    CHECK_INT(text_percent_byte("%4a", 2), -1);
    CHECK_INT(text_percent_byte("%4g", 3), -1);
    CHECK_INT(text_percent_byte("41%", 3), -1);
    struct buf out = {0};
    buf_url(&out, "a-b_c.d~ /\xc3\xa9&");
    CHECK_STR(buf_cstr(&out), "a-b_c.d~%20%2F%C3%A9%26");
    buf_free(&out);
}

TEST(trim_and_parts_of_paths)
{
    char text[] = " \t a b \r\n";
    CHECK_STR(text_trim(text), "a b");
    char blank[] = "  ";
    CHECK_STR(text_trim(blank), "");
    CHECK_STR(path_base_name("/usr/bin/x"), "x");
    CHECK_STR(path_base_name("x"), "x");
    CHECK_STR(path_base_name("/usr/"), "/usr/");
    char *folder = path_folder("/usr/bin/x"), *none = path_folder("x");
    CHECK_STR(folder, "/usr/bin");
    CHECK_STR(none, ".");
    mem_free(folder);
    mem_free(none);
}

TEST_MAIN()
