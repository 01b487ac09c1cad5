/* What is packed is unpacked to the same: every level, sizes around the limits of a member, what packs well
 * and what does not, and the same bytes each time. */
#include "base/compress/pack.h"

#include "../../t.h"
#include "base/compress/unpack.h"
#include "base/mem.h"

static uint8_t *make_data(size_t len, bool is_noise)
{
    uint8_t *data = mem_alloc(len);
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < len; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        data[i] = is_noise ? (uint8_t)state : (uint8_t)("\x0a\x10\x80\x01"[i % 4] + (state % 16 == 0));
    }
    return data;
}

static bool comes_back(const uint8_t *data, size_t len, int level, bool one_member)
{
    struct bytes packed, again, plain;
    struct err err;
    (one_member ? pack_gzip_member : pack_gzip)(data, len, level, &packed);
    (one_member ? pack_gzip_member : pack_gzip)(data, len, level, &again);
    bool ok = packed.len == again.len && !memcmp(packed.data, again.data, packed.len);
    ok = ok && unpack_gzip(packed.data, packed.len, len + 1, &plain, &err) == 0;
    ok = ok && plain.len == len && !memcmp(plain.data, data, len);
    ok = ok && packed.len < len + len / 500 + 64; /* noise is stored, not blown up */
    bytes_free(&packed);
    bytes_free(&again);
    if (ok) bytes_free(&plain);
    return ok;
}

TEST(every_size_comes_back)
{
    static const size_t sizes[] = {0, 1, 100, 65535, 65536, 1 << 20, (4 << 20) + 1};
    for (int is_noise = 0; is_noise < 2; is_noise++) {
        uint8_t *data = make_data((4 << 20) + 1, is_noise);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            CHECK(comes_back(data, sizes[i], 1, false));
            CHECK(comes_back(data, sizes[i], 1, true));
        }
        CHECK(comes_back(data, (4 << 20) + 1, 6, false));
        CHECK(comes_back(data, 1 << 20, 6, true));
        mem_free(data);
    }
}

/* What looks like the beginning of a member inside of one is none. */
TEST(a_member_is_not_cut_in_two)
{
    size_t len = 3 << 20;
    uint8_t *data = make_data(len, true);
    memcpy(data + (len >> 1), "\x1f\x8b\x08\0\0\0\0\0", 8); /* noise is stored as it is */
    struct bytes packed;
    pack_gzip_member(data, len, 1, &packed);
    CHECK(memmem(packed.data + 8, packed.len - 8, "\x1f\x8b\x08\0\0\0\0\0", 8) != NULL);
    bytes_free(&packed);
    CHECK(comes_back(data, len, 1, true));
    mem_free(data);
}

TEST(behind_what_is_there)
{
    struct buf out = {0};
    struct bytes plain;
    struct err err;
    pack_gzip_add("hello ", 6, 1, &out);
    pack_gzip_add("world", 5, 6, &out);
    REQUIRE(unpack_gzip(out.data, out.len, 100, &plain, &err) == 0);
    CHECK(plain.len == 11 && !memcmp(plain.data, "hello world", 11));
    bytes_free(&plain);
    buf_free(&out);
}

TEST_MAIN()
