/* A mirror of the engines' state: their last report, which is refreshed every second. Commands to
 * them start here too. */
#pragma once
#include "api/house.h"

void api_mirror_open(struct api *api);
/* Makes room for this many engines and forgets what earlier ones reported. It does nothing when the
 * number is the same. Returns false when there is no memory; then the mirror stays as it was. */
bool api_mirror_set_engines(struct api *api, int32_t n_engines);
void api_mirror_close(struct api *api);
/* Once a second: asks for the state, and gives up commands that got no answer. */
void api_mirror_sweep(struct api *api, int64_t now_ns);
/* Tells the watchers that a model's status changed on an engine. */
void api_mirror_change(struct api *api, const struct service_change *change);
/* Called when the list of models changed. Forgets the state of services that have just joined, and
 * tells the watchers which models came and which left. */
void api_mirror_renew(struct api *api, const struct api_catalog *before);
void api_mirror_take(struct api *api, const struct control_answer *answer, int64_t now_ns);
/* Sends a command. The exchange (may be NULL) is answered when the result is known. */
void api_mirror_ask(struct api *api, enum control_kind kind, uint16_t service,
                    struct api_http_exchange *x);
/* Sends a command for every model. The exchange is answered when all results are known: with
 * success, or with the first failure. */
void api_mirror_ask_all(struct api *api, enum control_kind kind, struct api_http_exchange *x);
/* Asks the engines for a fresh report. Returns false when too many commands are under way. */
bool api_mirror_refresh(struct api *api);
void api_mirror_states(struct api *api, struct api_http_exchange *x); /* GET /models */
/* Returns whether the engines are able to serve; otherwise why holds a sentence. */
bool api_mirror_is_well(const struct api *api, int64_t now_ns, char *why, size_t n_max);
