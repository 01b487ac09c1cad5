/* Text for people and machines: code points as UTF-8, and strings that XML and JSON can hold whatever came
 * in. */
#include "base/buf.h"

#include "../t.h"
#include "base/utf8.h"

static void check_utf8(uint32_t code_point, const char *want)
{
    struct buf b = {0};
    buf_utf8(&b, code_point);
    CHECK_STR(buf_cstr(&b), want);
    CHECK_INT(utf8_sequence_len(b.data, b.len), b.len);
    buf_free(&b);
}

static void check_escaped(void (*escape)(struct buf *, const char *, size_t), const char *s, size_t n,
                          const char *want)
{
    struct buf b = {0};
    escape(&b, s, n);
    CHECK_STR(buf_cstr(&b), want);
    buf_free(&b);
}

#define REPLACED       "\xef\xbf\xbd" /* U+FFFD */
#define XML(in, want)  check_escaped(buf_xml, in, sizeof in - 1, want)
#define JSON(in, want) check_escaped(buf_json, in, sizeof in - 1, want)

TEST(utf8_has_one_to_four_bytes)
{
    check_utf8('A', "A");
    check_utf8(0x7f, "\x7f");
    check_utf8(0x80, "\xc2\x80");
    check_utf8(0x7ff, "\xdf\xbf");
    check_utf8(0x800, "\xe0\xa0\x80");
    check_utf8(0xfffd, REPLACED);
    check_utf8(0xffff, "\xef\xbf\xbf");
    check_utf8(0x10000, "\xf0\x90\x80\x80");
    check_utf8(0x10ffff, "\xf4\x8f\xbf\xbf");
}

TEST(xml_holds_any_bytes)
{
    XML("a<b> & \"c\" 'd'\n", "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;\n");
    XML("\xc3\xa9\xf0\x9f\x94\xa5", "\xc3\xa9\xf0\x9f\x94\xa5");
    XML("\xff!\xc3", REPLACED "!" REPLACED); /* no sequence, and one cut off */
    XML("a\0b\x1b", "a" REPLACED "b" REPLACED);
    XML("", "");
}

TEST(json_holds_any_bytes)
{
    JSON("a\"b\\c", "\"a\\\"b\\\\c\"");
    JSON("\n\t\r\0\x7f</script>", "\"\\n\\t\\u000d\\u0000\\u007f\\u003c/script>\"");
    JSON("\xe6\x97\xa5\xed\xa0\x80", "\"\xe6\x97\xa5" REPLACED REPLACED REPLACED "\""); /* a surrogate */
}

TEST(a_limit_holds_for_small_and_large_appends)
{
    struct buf b = {.max_len = 100};
    for (int i = 0; i < 1000; i++) buf_char(&b, 'x');
    CHECK_INT(b.len, 100);
    CHECK(b.full);
    buf_free(&b);
    for (int i = 0; i < 1000; i++) buf_str(&b, "1234567");
    CHECK_INT(b.len, 98);
    CHECK(b.full);
    CHECK_INT(strlen(buf_cstr(&b)), 98);
    buf_free(&b);
}

TEST_MAIN()
