/* The endpoints: one table, from which requests are routed and GET /openapi.json is made. */
#pragma once
#include "api/route.h"

/* Finds the route of a request. Returns NULL with the error set. */
const struct api_route *api_routes_find(const struct api_http_head *head, struct api_error *error);
/* Adds the header Allow with the methods of a path; all methods when the path is unknown. */
void api_routes_allow(struct api_http_exchange *x);
