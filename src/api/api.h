/* The HTTP side: OpenAI endpoints, model lifecycle, health and metrics over one listener.
 *
 * Strings end in this room: the rooms below handle token ids. The api submits every request to a
 * service (the gateway) and sends commands to the engines through a control. One I/O thread runs
 * api_run. Worker threads render and tokenize long prompts, and write large answers. Only http.c,
 * its output and its watches use libevent. */
#pragma once
#include "api/api_options.h"

struct api;
enum status api_open(struct api **out, const struct api_options *options,
                     struct fault *fault) MUST_USE;
int api_port(const struct api *api);
/* Runs until SIGTERM or SIGINT and until the drain that follows is over. A second signal cuts the
 * drain off and sends waiting clients an error; a third stops at once. Returns 0, or 1 after an
 * engine failed. */
int api_run(struct api *api);
struct api_keys { /* As in the options. The two keys must outlive the api, or last until the next
                     reload. */
    const char *api_key, *admin_key;
    const char *const *tenants;
    int n_tenants;
    const char *const *quotas;
    int n_quotas;
    const char *tls_cert, *tls_key;
};
/* Replaces the keys and, for new connections, the certificate by what its files hold now. A fault
 * changes nothing. Whether TLS is used at all does not change. */
enum status api_reload(struct api *api, const struct api_keys *keys, struct fault *fault) MUST_USE;
/* Replaces the models, at most API_MODELS_MAX. Calls under way keep the models that they have. A
 * removed model must stay in memory until api_uses_model returns false. */
void api_set_models(struct api *api, const struct api_model *const *models, int n);
/* Reports that the model that the operator asked to add is there, or the fault that prevented
 * it. */
void api_lifecycle_added(struct api *api, enum status status, const struct fault *fault,
                         uint16_t service);
bool api_uses_model(const struct api *api, const struct api_model *model);
void api_close(struct api *api);
