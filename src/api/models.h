/* Models as clients see them: lists, and the lifecycle for operators. */
#pragma once
#include "api/house.h"

void api_models_list(struct api *api, struct api_http_exchange *x); /* GET /v1/models */
void api_models_show(struct api *api, struct api_http_exchange *x); /* GET /v1/models/{id} */
void api_models_print_states(struct api *api, struct api_http_exchange *x); /* of the last report */
void api_models_gone(struct api *api, const struct api_model *model);       /* tells the watchers */
void api_models_watch(struct api *api, struct api_http_exchange *x);        /* GET /models/sse */
void api_models_is_asleep(struct api *api, struct api_http_exchange *x);    /* GET /is_sleeping */
void api_models_changed(struct api *api);               /* tells the watchers what is new */
void api_models_sweep(struct api *api, int64_t now_ns); /* pings them now and then */
void api_models_end_watches(struct api *api);
