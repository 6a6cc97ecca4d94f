/* Seats: a call holds one for each of its answers, from its arrival to its end.
 *
 * There are max_requests seats. When tenants are configured, parties share them by base/fair.h:
 * none may hold more than seven times what is free, so that a single one may hold 7/8 of them. */
#pragma once
#include "api/house.h"

/* False with the error set (429) when there are not enough. */
bool api_seats_take(struct api *api, struct api_party *party, int32_t n, struct api_error *error);
void api_seats_put(struct api *api, struct api_party *party, int32_t n);
/* The most that one call may hold. */
int32_t api_seats_most(const struct api *api);
