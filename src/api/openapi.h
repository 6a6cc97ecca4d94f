/* The table of endpoints as an OpenAPI 3.1 document. */
#pragma once
#include "api/route.h"

void api_openapi_print(const struct api_route *routes, int n, const char *version, struct str *out);
