/* A mirror of the house: what its engines last reported, asked for every second; and asks of it. */
#pragma once
#include "api/house.h"

void api_mirror_open(struct api *api);
/* Room for so many engines, of which nothing is known yet; nothing when it has as many already. */
void api_mirror_set_engines(struct api *api, int32_t n_engines);
void api_mirror_close(struct api *api);
/* Every second: asks for the state, gives up asks that got no answer. */
void api_mirror_sweep(struct api *api, int64_t now_ns);
/* A model's status changed on an engine: the watchers are told. */
void api_mirror_change(struct api *api, const struct service_change *change);
/* The list of models changed: forgets what it knows of services that have just joined, and tells
 * the watchers which models came and which left. */
void api_mirror_renew(struct api *api, const struct api_catalog *before);
void api_mirror_take(struct api *api, const struct control_answer *answer, int64_t now_ns);
/* Asks; the exchange (may be NULL) is answered when the house has answered. */
void api_mirror_ask(struct api *api, enum control_kind kind, uint16_t service,
                    struct api_http_exchange *x);
/* Asks for every model; the exchange is answered when the house has answered for all: with success,
 * or with the first failure. */
void api_mirror_ask_all(struct api *api, enum control_kind kind, struct api_http_exchange *x);
/* Answers GET /models with what is now; false: too many ask. */
bool api_mirror_refresh(struct api *api, struct api_http_exchange *x);
/* Is the house able to serve? False with a sentence. */
bool api_mirror_is_well(const struct api *api, int64_t now_ns, char *why, size_t n_max);

struct api_model_state { /* a service over all engines */
    enum service_status status;
    int percent;
    int64_t weights_bytes, activation_bytes, kv_used_bytes, kv_cached_bytes;
    int32_t n_waiting, n_running;
};
struct api_model_state api_mirror_state(const struct api *api, uint16_t service);
