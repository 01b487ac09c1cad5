/* JSON from other programs: what is accepted, what is refused, and where. */
#include "base/json_read.h"

#include "../t.h"
#include "base/buf.h"

static struct arena arena;
static struct err err;

static struct json_value *read_json(const char *text)
{
    struct json_value *value = NULL;
    arena_free(&arena);
    json_read(text, strlen(text), &arena, &value, &err);
    return value;
}

TEST(values_of_every_kind)
{
    double number = 0;
    bool b = false;
    struct json_value *o = read_json(
        " {\"t\":\"a\\n\\u00e9\\ud83d\\ude00\",\"n\":-1.5e2,\"b\":true,\"z\":null,\"l\":[1,[],{}]}\n");
    REQUIRE(o);
    CHECK_STR(json_text(o, "t"), "a\n\xc3\xa9\xf0\x9f\x98\x80");
    CHECK(json_number(o, "n", &number) && number == -150);
    CHECK(json_bool(o, "b", &b) && b);
    CHECK(json_member(o, "z") && json_member(o, "z")->kind == JSON_NULL);
    struct json_value *list = json_member(o, "l");
    REQUIRE(list && list->items && list->items->next && list->items->next->next);
    CHECK_INT(list->items->number, 1);
    CHECK(list->items->next->kind == JSON_ARRAY && !list->items->next->items);
    CHECK(list->items->next->next->kind == JSON_OBJECT && !list->items->next->next->next);
    CHECK(!json_text(o, "n") && !json_number(o, "t", &number) && !json_bool(o, "z", &b));
    CHECK(!json_member(o, "none") && !json_member(list, "t") && !json_member(NULL, "t"));
    o = read_json("{\"a\":1,\"a\":2}");
    CHECK(json_number(o, "a", &number) && number == 2);
}

TEST(malformed_text_is_refused_with_its_place)
{
    static const char *const texts[] = {
        "",           " ",         "{",           "[1,2",        "{\"a\"}",     "{\"a\":}",
        "{\"a\":1,}", "[,]",       "nul",         "1 2",         "\"a",         "\"a\\",
        "\"\\x\"",    "\"\\u12\"", "\"\\u0000\"", "\"\\ud83d\"", "\"\\ude00\"", "\"\xff\"",
        "\"\n\"",     "--1",       "1e999",       "{1:2}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        err.text[0] = '\0';
        CHECK(!read_json(texts[i]));
        CHECK(strstr(err.text, "not JSON from byte ") != NULL);
    }
    read_json("{\"a\": x}");
    CHECK_STR(err.text, "not JSON from byte 6 on");
}

TEST(depth_and_number_of_values_are_bounded)
{
    struct buf b = {0};
    for (int i = 0; i < JSON_MAX_DEPTH; i++) buf_char(&b, '[');
    for (int i = 0; i < JSON_MAX_DEPTH; i++) buf_char(&b, ']');
    CHECK(read_json(buf_cstr(&b)) != NULL);
    b.len = 0;
    for (int i = 0; i < 100000; i++) buf_char(&b, '[');
    CHECK(!read_json(buf_cstr(&b)));
    CHECK_INT(err.code, ERR_LIMIT);
    b.len = 0;
    buf_char(&b, '[');
    for (int i = 0; i < JSON_MAX_VALUES; i++) buf_str(&b, "0,");
    buf_str(&b, "0]");
    CHECK(!read_json(buf_cstr(&b)));
    CHECK_INT(err.code, ERR_LIMIT);
    buf_free(&b);
    arena_free(&arena);
}

TEST_MAIN()
