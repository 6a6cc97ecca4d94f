/* Counts seats, in total and for each party. */
#include "api/seats.h"

int32_t api_seats_most(const struct api *api)
{
    int32_t n_max = api->options.n_requests_max;
    return api->tenants.n_keys > 0 ? (int32_t)fair_most(n_max) : n_max;
}

bool api_seats_take(struct api *api, struct api_party *party, int32_t n, struct api_error *error)
{
    int32_t n_max = api->options.n_requests_max;
    bool has_tenants = api->tenants.n_keys > 0;
    if (api->n_seats + n > n_max)
        api_error_set(error, ERROR_QUEUE_FULL, NULL,
                      "the queue is full (%d requests), try again later", n_max);
    else if (has_tenants && fair_room(party->n_seats, api->n_seats, n_max) < n)
        api_error_set(error, ERROR_QUEUE_FULL, NULL,
                      "this tenant or client holds its share of the queue (%d of %d requests, and "
                      "%d are free), try again later",
                      party->n_seats, n_max, n_max - api->n_seats);
    if (error->is_set)
        return false;
    api->n_seats += n;
    party->n_seats += n;
    return true;
}

void api_seats_put(struct api *api, struct api_party *party, int32_t n)
{
    api->n_seats -= n;
    party->n_seats -= n;
}
