/* Operators load and unload models, and add and remove them. */
#pragma once
#include "api/house.h"

void api_lifecycle_load(struct api *api, struct api_http_exchange *x);    /* POST /models/load */
void api_lifecycle_unload(struct api *api, struct api_http_exchange *x);  /* POST /models/unload */
void api_lifecycle_pause(struct api *api, struct api_http_exchange *x);   /* POST /models/pause */
void api_lifecycle_unpause(struct api *api, struct api_http_exchange *x); /* POST /models/unpause */
void api_lifecycle_pin(struct api *api, struct api_http_exchange *x);     /* POST /models/pin */
void api_lifecycle_unpin(struct api *api, struct api_http_exchange *x);   /* POST /models/unpin */
/* POST /models/sleep and /models/wake, with a body as to load; /models/NAME/sleep, /wake */
void api_lifecycle_sleep_one(struct api *api, struct api_http_exchange *x);
void api_lifecycle_wake_one(struct api *api, struct api_http_exchange *x);
void api_lifecycle_named(struct api *api, struct api_http_exchange *x);
void api_lifecycle_sleep(struct api *api, struct api_http_exchange *x); /* POST /sleep */
void api_lifecycle_wake(struct api *api, struct api_http_exchange *x);  /* POST /wake_up */
