/* A row of the table of endpoints. */
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
