/* Address space that costs nothing until it is touched. */
#pragma once
#include <stdint.h>

unsigned char *kv_range_take(int64_t n_bytes);
void kv_range_give(unsigned char *base, int64_t n_bytes);
