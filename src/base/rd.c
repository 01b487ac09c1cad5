/* rd.c - the slow paths of rd.h. */
#include "base/rd.h"

uint64_t rd_varint_slow(struct rd *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; r->p < r->end; shift += 7) {
        uint8_t byte = *r->p++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
        if (shift > 7 * 10) break;
    }
    rd_fail(r);
    return 0;
}

int64_t rd_sleb(struct rd *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; r->p < r->end;) {
        uint8_t byte = *r->p++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte < 0x80) {
            if (shift < 64 && (byte & 0x40)) value |= ~(uint64_t)0 << shift;
            return (int64_t)value;
        }
        if (shift > 7 * 11) break;
    }
    rd_fail(r);
    return 0;
}
