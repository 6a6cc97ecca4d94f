/* Sends the load: many concurrent streaming requests from one thread, over libcurl's sockets and
 * epoll.
 *
 * Open loop: each request is sent when it is due, whatever happened to earlier ones. Closed loop: a
 * fixed number is in flight at any time. The record of each request has the client's own delay
 * (late_ns). */
#pragma once
#include "base/hist.h"
#include "base/str.h"
#include "metrics/record.h"

struct loadgen_call {
    struct record record; /* in: id, service, arrived_ns, n_prompt, n_wanted, n_predicted */
    uint64_t text_hash;   /* out: of the answer's text */
    char *wrong;          /* out: the fault of the answer, for mem_give; NULL: none */
};
struct client_options;
struct loadgen_load {
    const char *url;                     /* of the endpoint */
    const struct client_options *client; /* the bearer's key, and the trusted certificates */
    int32_t n_at_once;                   /* > 0: closed loop; 0: open loop by arrived_ns */
    int64_t timeout_ns;                  /* of one request */
    bool may_stop_early, ends_by_stop;   /* as in struct loadgen_end */
    /* Writes the body of call i, and is called before the call is due. */
    void (*body)(void *self, size_t i, struct str *out);
    void *self;
    void (*progress)(void *self, size_t n_over, size_t n); /* about ten times a second, or NULL */
    struct hist *gaps;                                     /* all waits between pieces, or NULL */
};
struct loadgen_ran {
    size_t n;         /* calls that were sent: all, or those before the server stopped answering */
    size_t n_now_max; /* the most that were under way at once */
    bool was_reached; /* some connection was made */
    int why_not;      /* else libcurl's code of the last failure */
};
enum { LOADGEN_REFUSED_MAX = 16 };
/* Runs all n calls to their ends; times are from the start of the run. If the first connection
 * fails, or LOADGEN_REFUSED_MAX in a row fail later, no more calls are sent. */
struct loadgen_ran loadgen_load_run(const struct loadgen_load *load, struct loadgen_call *calls,
                                    size_t n);
