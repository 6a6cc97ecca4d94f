/* Random 128-bit names: of a manager's process, and of a cluster's life (its nonce). */
#pragma once
#include "base/base.h"

struct store_id {
    uint64_t high, low;
};
static inline bool store_id_equal(struct store_id a, struct store_id b)
{
    return a.high == b.high && a.low == b.low;
}
static inline bool store_id_is_none(struct store_id id)
{
    return id.high == 0 && id.low == 0;
}
enum { STORE_ID_TEXT = 33 }; /* 32 hexadecimal digits and a zero byte */
void store_id_write(struct store_id id, char text[STORE_ID_TEXT]);
/* False: it is not exactly 32 lower-case hexadecimal digits. */
bool store_id_read(const char *text, size_t n, struct store_id *out) MUST_USE;
