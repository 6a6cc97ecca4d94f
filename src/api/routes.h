/* The endpoints: one table, from which requests are routed and GET /openapi.json is made. */
#pragma once
#include "api/house.h"

enum api_route_access { API_ROUTE_FREE, API_ROUTE_KEY, API_ROUTE_ADMIN };
struct api_route {
    enum api_http_method method;
    const char *path; /* with '*' at its end: every path with this beginning */
    enum api_route_access access;
    void (*answer)(struct api *api, struct api_http_exchange *x);
    bool is_vital;            /* answered when connections or memory are short */
    const char *about;        /* what it does, in a few words */
    const char *asks, *tells; /* schemas of openapi.c: of the body (NULL: none), of the answer */
};
const struct api_route *api_routes(int *n);
/* Finds the route of a request. Returns NULL with the error set. */
const struct api_route *api_routes_find(const struct api_http_head *head, struct api_error *error);
/* Adds the header Allow with the methods of a path; all methods when the path is unknown. */
void api_routes_allow(struct api_http_exchange *x);
