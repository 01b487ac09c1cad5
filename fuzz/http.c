/* What clients and nodes can send, after HTTP itself: bodies, lists of ids, names, ranges, archives, symbol
 * tables. The first byte says which. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compress/tar.h"
#include "base/mem.h"
#include "serve/collector/node_capture.h"
#include "serve/http/api.h"
#include "store/profile_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_body(const char *text, size_t len)
{
    struct http_request q = {0};
    struct arena arena = {0};
    struct json_value *object = NULL;
    struct err err = {0};
    buf_add(&q.body, text, len);
    int rc = api_body(&q, &arena, &object, &err);
    if (rc ? !err.text[0] || object : object->kind != JSON_OBJECT) abort();
    arena_free(&arena);
    buf_free(&q.body);
}

static void fuzz_ids(const char *text)
{
    int64_t *ids = NULL;
    size_t n = 0;
    if (!api_parse_ids(text, 100, &ids, &n)) return;
    if (!n || n > 100) abort();
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0) abort();
    mem_free(ids);
}

/* One rule: what passes is exactly what is printed again, and holds nothing that means something to a path or
 * a page. */
static void fuzz_name(const char *text)
{
    struct profile_name name;
    char again[PROFILE_NAME_MAX];
    if (!profile_name_parse(text, &name)) return;
    profile_name_print(&name, again);
    if (strcmp(text, again) || strpbrk(text, "/\\<>&\"'% \n") || strstr(text, "..")) abort();
}

static void fuzz_range(const char *text)
{
    uint64_t start = 0, part = 0;
    if (http_parse_range(text, 1000, &start, &part) == 1 &&
        (start >= 1000 || part == 0 || part > 1000 - start))
        abort();
}

static void fuzz_archive(const uint8_t *data, size_t size)
{
    struct bytes out = {0};
    struct err err = {0};
    int rc = tar_gz_entry(data, size, ".html", &out, &err);
    if (rc && !err.text[0]) abort();
    bytes_free(&out);
}

static void fuzz_capture(const uint8_t *data, size_t size)
{
    struct profile *p = NULL;
    const char *format = "";
    struct err err = {0};
    int rc = capture_check(data, size, "", PROFILE_CPU, &p, &format, &err);
    if (rc ? !err.text[0] : !p || !p->n_samples) abort();
    profile_free(p);
}

static const uint8_t *reply_data;
static size_t reply_size;

static int fuzz_post(void *context, const char *path, const char *body, struct bytes *ret_reply)
{
    (void)context, (void)path, (void)body;
    ret_reply->data = mem_alloc(reply_size + 1);
    memcpy(ret_reply->data, reply_data, reply_size);
    ret_reply->len = reply_size;
    ret_reply->mapped_bytes = 0;
    return 0;
}

static void fuzz_symbols(const uint8_t *data, size_t size)
{
    struct profile *p = profile_new();
    struct err err = {0};
    int64_t one = 1;
    profile_add_sample_type(p, "samples", "count");
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t l = profile_add_location(p, i + 1, 0);
        profile_add_sample(p, &l, 1, &one);
    }
    reply_data = data;
    reply_size = size;
    remote_symbols(fuzz_post, NULL, p);
    if (profile_check(p, &err)) abort();
    profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 1 << 16) return 0;
    char *text = mem_strndup((const char *)data + 1, size - 1);
    switch (data[0] % 7) {
    case 0:
        fuzz_body(text, size - 1);
        break;
    case 1:
        fuzz_ids(text);
        break;
    case 2:
        fuzz_name(text);
        break;
    case 3:
        fuzz_range(text);
        break;
    case 4:
        fuzz_archive(data + 1, size - 1);
        break;
    case 5:
        fuzz_capture(data + 1, size - 1);
        break;
    case 6:
        fuzz_symbols(data + 1, size - 1);
        break;
    }
    mem_free(text);
    return 0;
}
