/* The wishes of operators on a model. */
#pragma once
#include "api/house.h"

bool api_wishes_is_paused(const struct api *api, const struct api_model *model);
/* Writes where operators pinned the model. Returns false if they did not. */
bool api_wishes_pinned(const struct api *api, const struct api_model *model,
                       char out[API_PIN_BYTES]);
