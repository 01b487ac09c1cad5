/* Fuzz: the agent's HTTP parser. A request is found whole or refused, and where it ends does not depend on
 * how its bytes were cut. */
#include <stdlib.h>

#include "agent/http/http_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_request whole, part;
    int status = http_request_parse((const char *)data, size, &whole);
    if (status < 0 || status > 599) abort();
    if (status == 1) {
        if (whole.n_head_bytes > size || whole.n_body_bytes > size - whole.n_head_bytes) abort();
        if (whole.path[0] != '/') abort();
        /* One byte less is not whole any more; what stands behind it does not matter. */
        size_t end = whole.n_head_bytes + whole.n_body_bytes;
        if (http_request_parse((const char *)data, end, &part) != 1 ||
            part.n_head_bytes != whole.n_head_bytes)
            abort();
        if (end && http_request_parse((const char *)data, end - 1, &part) == 1) abort();
    }
    /* Bytes that come one after the other are refused no later than all at once, and never taken for whole
     * before. */
    for (size_t n = 0; n < size && n < 600; n++) {
        int early = http_request_parse((const char *)data, n, &part);
        if (early == 1 && (status != 1 || part.n_head_bytes + part.n_body_bytes > n)) abort();
    }
    return 0;
}
