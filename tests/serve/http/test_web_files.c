#include "../../t.h"

#include "base/compress/unpack.h"
#include "serve/http/web_files.h"

TEST(the_page_is_inside_the_program)
{
    static const char *paths[] = {"/", "/app.js", "/app.css", "/icon.svg"};
    for (size_t i = 0; i < 4; i++) {
        const struct web_file *f = web_file_find(paths[i]);
        REQUIRE(f);
        CHECK(f->len > 100);
        CHECK(f->etag[0] == '"' && strlen(f->etag) == 18);
        struct bytes plain;
        struct err err;
        REQUIRE(unpack_gzip(f->gzip_data, f->gzip_len, 10 << 20, &plain, &err) == 0);
        CHECK_INT(plain.len, f->len);
        CHECK(!memcmp(plain.data, f->data, f->len));
        bytes_free(&plain);
    }
    CHECK(web_file_find("/index.html") == web_file_find("/"));
    CHECK(memmem(web_file_find("/")->data, web_file_find("/")->len, "app.js", 6));
}

TEST(nothing_else_is)
{
    CHECK(!web_file_find(""));
    CHECK(!web_file_find("/../etc/passwd"));
    CHECK(!web_file_find("/app.js.gz"));
    CHECK(!web_file_find("//"));
}

TEST_MAIN()
