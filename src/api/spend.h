/* Usage and quotas by key: see usage/usage.h and usage/quotas.h.
 *
 * A key is known by the first digits of its SHA-256, and "-" is a request without one. The tenant
 * of the API key, and of no key, is "". The admin key has no quota. */
#pragma once
#include "api/house.h"
#include "usage/quotas.h"

struct api_spend { /* of a call */
    char tenant[USAGE_NAME_BYTES], key[USAGE_KEY_BYTES];
    int32_t meter; /* USAGE_METER_NONE: it has no quota */
};
enum status api_spend_open(struct api *api, struct fault *fault) MUST_USE;
void api_spend_close(struct api *api);
void api_spend_sweep(struct api *api); /* once a second */
/* Counts a request of the exchange, and adds the headers that tell what is left. Returns false with
 * the error set when a quota is used up. */
bool api_spend_enter(struct api *api, struct api_http_exchange *x, struct api_spend *spend,
                     struct api_error *error);
void api_spend_tokens(struct api *api, const struct api_spend *spend, int64_t n_tokens);
void api_spend_end(struct api *api, const struct api_spend *spend,
                   const struct usage_counts *counts);
void api_spend_show(struct api *api, struct api_http_exchange *x); /* GET /usage */
