/* Operators load and unload models, and add and remove them. */
#pragma once
#include "api/house.h"

void api_lifecycle_load(struct api *api, struct api_http_exchange *x);    /* POST /models/load */
void api_lifecycle_unload(struct api *api, struct api_http_exchange *x);  /* POST /models/unload */
void api_lifecycle_pause(struct api *api, struct api_http_exchange *x);   /* POST /models/pause */
void api_lifecycle_unpause(struct api *api, struct api_http_exchange *x); /* POST /models/unpause */
void api_lifecycle_pin(struct api *api, struct api_http_exchange *x);     /* POST /models/pin */
void api_lifecycle_unpin(struct api *api, struct api_http_exchange *x);   /* POST /models/unpin */
bool api_lifecycle_is_paused(const struct api *api, const struct api_model *model);
/* Writes where operators pinned the model. Returns false if they did not. */
bool api_lifecycle_pinned(const struct api *api, const struct api_model *model,
                          char out[API_PIN_BYTES]);
void api_lifecycle_sleep(struct api *api, struct api_http_exchange *x); /* POST /sleep */
void api_lifecycle_wake(struct api *api, struct api_http_exchange *x);  /* POST /wake_up */
