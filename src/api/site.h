/* The web page of the server. */
#pragma once
#include "api/house.h"

bool api_site_has(struct view path);
void api_site_show(struct api *api, struct api_http_exchange *x);
