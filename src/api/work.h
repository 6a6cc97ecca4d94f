/* Work for a client on memory that is bounded: reading a body, writing an answer. */
#pragma once
#include "api/house.h"

enum { API_WORK_SMALL_BYTES = 4 << 20 }; /* what every work may take, whatever its party holds */

struct api_work {
    struct api_party *party;           /* who pays */
    int64_t n_bytes_max, n_bytes_most; /* that it may take: now, and in the best of cases */
};
/* How much work for the party may take from now on, of a request that has n_own bytes already; on
 * the I/O thread. */
struct api_work api_work_for(const struct api *api, struct api_party *party, size_t n_own);
/* Runs f under a guard (base/mem.h), on any thread. False with the error set when there is not
 * enough memory: the caller resets what f has written to. */
bool api_work_run(const struct api_work *work, void (*f)(void *arg), void *arg,
                  struct api_error *error);
/* Prints a page under a guard, and replies with it: 503 where there is no memory. */
void api_work_reply(struct api *api, struct api_http_exchange *x, const char *type,
                    void (*print)(struct api *api, const void *of, struct str *out),
                    const void *of);
