/* Seats: a request holds one for each of its answers, from its arrival to its end.
 *
 * All seats together are max_requests. Where there are tenants, they share them by base/fair.h: no
 * party may hold more than seven times what is free, so one alone may hold 7/8 of them. */
#pragma once
#include "api/house.h"

/* False with the error set (429; 400 for more than there ever are). */
bool api_seats_take(struct api *api, struct api_party *party, int32_t n, struct api_error *error);
void api_seats_put(struct api *api, struct api_party *party, int32_t n);
/* The most that one request may hold. */
int32_t api_seats_most(const struct api *api);
