/* Fuzzes the text readers of base: UTF-8, and numbers that users write. */
#include "base/mem.h"
#include "base/str.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct view v = view_of((const char *)bytes, n);
    bool is_valid = true;
    for (size_t i = 0; i < n;) {
        uint32_t codepoint;
        char again[4];
        int length = utf8_decode(view_of(v.at + i, n - i), &codepoint);
        if (length <= 0) {
            is_valid = false;
            break;
        }
        CHECK(utf8_encode(codepoint, again) == length);
        CHECK(memcmp(again, v.at + i, (size_t)length) == 0);
        i += (size_t)length;
    }
    CHECK(utf8_is_valid(v) == is_valid);

    char *text = mem_take(n + 1);
    if (n > 0)
        memcpy(text, bytes, n);
    int64_t whole;
    double real;
    if (parse_bytes(text, &whole))
        CHECK(whole >= 0);
    if (parse_duration_ns(text, &whole))
        CHECK(whole >= -1);
    if (parse_f64(text, &real))
        CHECK(real - real == 0);
    if (parse_i64(text, &whole))
        CHECK(parse_f64(text, &real));
    mem_give(text);
    return 0;
}
