/* Work for a client with bounded memory: reading a body, writing an answer. */
#pragma once
#include "api/house.h"

enum { API_WORK_SMALL_BYTES = 4 << 20 }; /* what any work may take, whatever its party holds */

struct api_work {
    struct api_party *party;           /* the party that it is charged to */
    int64_t n_bytes_max, n_bytes_most; /* what it may take now, and at most */
};
/* Returns the bounds of work for a request that holds n_own bytes already. For the I/O thread. */
struct api_work api_work_for(const struct api *api, struct api_party *party, size_t n_own);
/* Runs f under a guard (base/mem.h), on any thread. When memory runs out it returns false with the
 * error set; the caller then resets what f has written to. */
bool api_work_run(const struct api_work *work, void (*f)(void *arg), void *arg,
                  struct api_error *error);
/* Prints a page under a guard and replies with it, or with 503 when memory runs out. */
void api_work_reply(struct api *api, struct api_http_exchange *x, const char *type,
                    void (*print)(struct api *api, const void *of, struct str *out),
                    const void *of);
