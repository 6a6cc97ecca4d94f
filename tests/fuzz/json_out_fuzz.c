/* Fuzzes the JSON writer: any bytes of a string give one valid UTF-8 line in quotes. */
#include "base/json_out.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct str out;
    struct json_out json;
    str_init(&out);
    json_out_init(&json, &out);
    json_out_view(&json, view_of((const char *)bytes, n));
    CHECK(utf8_is_valid(view_of(out.at, out.n)));
    CHECK(out.n >= n + 2 && out.at[0] == '"' && out.at[out.n - 1] == '"');
    for (size_t i = 1; i + 1 < out.n; i++) {
        CHECK((unsigned char)out.at[i] >= 0x20 && out.at[i] != '"');
        if (out.at[i] == '\\')
            i++;
    }
    str_free(&out);
    return 0;
}
