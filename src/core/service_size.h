/* The memory that a service takes: one record for planners, which place services, and for the
 * simulator, which runs them. */
#pragma once
#include <stdint.h>

struct service_size {
    int64_t weights_bytes, activation_bytes, kv_bytes_per_token;
    int32_t n_heads; /* layers * KV heads, for a head-wise pool; 0 = heads of 512 bytes a token */
    int64_t kv_bytes_min, kv_bytes_max; /* of the pool; 0 = none */
};
