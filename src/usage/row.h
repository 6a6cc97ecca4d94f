/* A row of usage: the counts of a tenant's key on a day. */
#pragma once
#include "base/base.h"

enum {
    USAGE_NAME_BYTES = 128, /* of a tenant, with its zero byte */
    USAGE_KEY_BYTES = 12,   /* of a key's name, with its zero byte: never the key itself */
    USAGE_ROWS_MAX = 16384, /* beyond, the oldest day leaves memory, and a single day's
                               further keys count as one: "(others)" */
};

struct usage_counts {
    int64_t n_requests, n_in, n_out,
        n_cached; /* n_cached: tokens of prompts that were not computed */
    int64_t device_ns;
};
struct usage_row {
    char tenant[USAGE_NAME_BYTES], key[USAGE_KEY_BYTES];
    int32_t day; /* days since 1970, UTC */
    struct usage_counts counts;
};
