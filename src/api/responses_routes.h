/* GET and DELETE of /v1/responses/{id}. */
#pragma once
#include "api/house.h"

void api_responses_routes_show(struct api *api, struct api_http_exchange *x);
void api_responses_routes_delete(struct api *api, struct api_http_exchange *x);
