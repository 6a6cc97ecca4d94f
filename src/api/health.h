/* Health for load balancers, supervisors and Prometheus: is the server alive, ready and well? */
#pragma once
#include "api/house.h"

void api_health_live(struct api *api, struct api_http_exchange *x);    /* GET /livez */
void api_health_ready(struct api *api, struct api_http_exchange *x);   /* GET /readyz, /health */
void api_health_version(struct api *api, struct api_http_exchange *x); /* GET /version */
void api_health_metrics(struct api *api, struct api_http_exchange *x); /* GET /metrics */
