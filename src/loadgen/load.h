/* The load: many streaming requests at once from one thread, over libcurl's sockets and epoll.
 *
 * Open loop: each request is sent when it is due, whatever became of those before. Closed loop: so
 * many are under way at any time. How late the client itself was is in each record (late_ns). */
#pragma once
#include "base/hist.h"
#include "base/str.h"
#include "metrics/record.h"

struct loadgen_call {
    struct record record; /* in: id, service, arrived_ns, n_prompt, n_wanted, n_predicted */
    uint64_t text_hash;   /* out: of the answer's text */
    char *wrong;          /* out: what was wrong with the answer, for mem_give; NULL: nothing */
};
struct client_options;
struct loadgen_load {
    const char *url;                     /* of the endpoint */
    const struct client_options *client; /* the bearer's key, and whom to trust */
    int32_t n_at_once;                   /* > 0: closed loop; 0: open loop by arrived_ns */
    int64_t timeout_ns;                  /* of one request */
    bool may_stop_early, ends_by_stop;   /* as in struct loadgen_end */
    /* The body of call i; asked before it is due. */
    void (*body)(void *self, size_t i, struct str *out);
    void *self;
    void (*progress)(void *self, size_t n_over, size_t n); /* about ten times a second, or NULL */
    struct hist *gaps;                                     /* all waits between pieces, or NULL */
};
struct loadgen_ran {
    size_t n;         /* calls that were sent: all of them, or those before the server was gone */
    size_t n_now_max; /* the most that were under way at once */
    bool was_reached; /* some connection was made */
    int why_not;      /* else libcurl's code of the last that was not */
};
enum { LOADGEN_REFUSED_MAX = 16 };
/* Runs all n calls to their ends; times are from the start of the run. Where the first connection
 * can't be made, or after that LOADGEN_REFUSED_MAX in a row can't, no more calls are sent. */
struct loadgen_ran loadgen_load_run(const struct loadgen_load *load, struct loadgen_call *calls,
                                    size_t n);
