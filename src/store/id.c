/* Ids as 32 hexadecimal digits. */
#include "store/id.h"

#include <stdio.h>

void store_id_write(struct store_id id, char text[STORE_ID_TEXT])
{
    snprintf(text, STORE_ID_TEXT, "%016llx%016llx", (unsigned long long)id.high,
             (unsigned long long)id.low);
}

static bool read_half(const char *text, uint64_t *out)
{
    *out = 0;
    for (int i = 0; i < 16; i++) {
        char c = text[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint64_t)digit;
    }
    return true;
}

bool store_id_read(const char *text, size_t n, struct store_id *out)
{
    return n == STORE_ID_TEXT - 1 && read_half(text, &out->high) && read_half(text + 16, &out->low);
}
