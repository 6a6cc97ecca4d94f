/* A store (store/store.h) over etcd 3.4 or later, through its HTTP/JSON gateway.
 *
 * A thread of its own makes the HTTP calls with libcurl, so no function here waits for the network.
 * Calls go to one endpoint until it fails, then to the next. A call that only reads, and the
 * renewal of a lease, are made again at another endpoint within their timeout. A change is never
 * made twice: it ends UNSURE when its answer is lost.
 *
 * The watch asks for a leader and for progress. It lists again (LISTED) after each break, and when
 * it was silent for a while and a linearizable list shows something else. A list whose revision or
 * raft term is lower than seen before, or whose cluster id is another, is BACK.
 *
 * Answers are hostile: their sizes are bounded and their JSON is checked. */
#pragma once
#include "base/status.h"
#include "store/store.h"

struct etcd_options {
    const char *const *endpoints; /* (n_endpoints) copied: "https://10.0.0.1:2379" */
    int n_endpoints;
    const char *cert, *key, *ca; /* PEM files for https, copied; all NULL: the endpoints are http */
    int64_t silence_ns;          /* of the watch, before it is checked by a list; 0: 3 s */
};
/* Refuses what is not http://HOST:PORT or https://HOST:PORT. */
enum status etcd_check_endpoint(const char *endpoint, struct fault *fault) MUST_USE;
/* Returns NULL after a fault. Its close() ends it. An etcd that is not there is no fault. */
struct store *etcd_open(const struct etcd_options *options, struct fault *fault);
