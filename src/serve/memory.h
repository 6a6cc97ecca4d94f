/* Divides the memory that a server may have between engines, clients and the rest, so that all
 * parts together fit. */
#pragma once
#include "config/config.h"

struct serve_memory {
    int64_t http_bytes; /* for requests and answers: the account of the API */
    int64_t body_bytes; /* of token sequences, for each engine */
    int64_t bus_bytes;  /* of each port of the bus */
};
/* Returns what n engines get together if the configuration does not set it: 70% of the total, or
 * less if that leaves too little for the rest, but at least a quarter. */
int64_t serve_memory_usual(const struct config *config, int64_t total_bytes, int n_engines);
/* Divides the total between n engines, which want this much together, and the rest. If it is not
 * enough, the fault has the arithmetic. */
enum status serve_memory_divide(const struct config *config, int64_t total_bytes, int n_engines,
                                int64_t wanted_bytes, struct serve_memory *out,
                                struct fault *fault) MUST_USE;
