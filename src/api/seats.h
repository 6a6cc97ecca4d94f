/* Seats: a call holds one for each of its answers, from its arrival to its end.
 *
 * There are max_requests seats. When tenants are configured, parties share them by base/fair.h: no
 * party may hold more than seven times the free ones, so that a single party may hold 7/8 of
 * them. */
#pragma once
#include "api/house.h"

/* Takes n seats. Returns false with the error set (429) when there are too few. */
bool api_seats_take(struct api *api, struct api_party *party, int32_t n, struct api_error *error);
void api_seats_put(struct api *api, struct api_party *party, int32_t n);
/* Returns the most seats that one call may hold. */
int32_t api_seats_most(const struct api *api);
