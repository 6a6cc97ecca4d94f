/* Divides the memory that a server may have between engines, clients and the rest, so that all
 * parts together fit. */
#pragma once
#include "config/config.h"

struct serve_memory {
    int64_t http_bytes; /* of requests and answers: the account of the API */
    int64_t body_bytes; /* of token sequences, for each engine */
    int64_t bus_bytes;  /* of each port of the bus */
};
/* What n engines get together where the configuration does not say it: 70% of the total, or less
 * where that leaves too little for the rest, but a quarter at least. */
int64_t serve_memory_usual(const struct config *config, int64_t total_bytes, int n_engines);
/* Divides the total between n engines that want this much together and the rest. A fault gives the
 * arithmetic where it is not enough. */
enum status serve_memory_divide(const struct config *config, int64_t total_bytes, int n_engines,
                                int64_t wanted_bytes, struct serve_memory *out,
                                struct fault *fault) MUST_USE;
