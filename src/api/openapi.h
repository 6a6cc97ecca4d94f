/* GET /openapi.json: the table of endpoints as an OpenAPI 3.1 document. */
#pragma once
#include "api/house.h"

void api_openapi_show(struct api *api, struct api_http_exchange *x);
