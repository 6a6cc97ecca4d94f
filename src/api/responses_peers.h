/* Answers that other gateways keep: a request may go on from them here too.
 *
 * A gateway asks its peers for one answer at a time, with the client's own key. So a peer shows
 * exactly what it would show to this client, and gateways need no secret between them. */
#pragma once
#include "api/api_options.h"
#include "api/error.h"
#include "base/str.h"

struct api_responses_peers {
    const char *const *urls; /* (n) http(s)://HOST:PORT of the other gateways */
    int n;
    const char *key; /* the client's; empty: it sent none */
    int64_t n_bytes_max;
    int first;        /* it is asked first, since it had the last answer */
    int64_t until_ns; /* then no other one is asked */
};
/* Returns the peers of a server, as a client with this key may ask them. */
struct api_responses_peers api_responses_peers_of(const struct api_options *options,
                                                  const struct str *key);
/* One answer, with what the request added to the conversation. */
struct api_responses_round {
    struct str items, response, previous; /* previous: empty when it begins the conversation */
};
void api_responses_peers_free(struct api_responses_round *round);
/* Appends a round as a page for other gateways. */
void api_responses_peers_print(const struct api_responses_round *round, struct str *out);
/* Returns whether a body may go on from a kept answer, so that its reading may wait for a disk or
 * for peers. */
bool api_responses_peers_may_go_on(const struct str *body);
/* Asks the peers in turn. Returns false when none has it; *error is set only when a peer that may
 * have it fails. All calls together block for some seconds at most, so that they belong on a
 * worker. */
bool api_responses_peers_find(struct api_responses_peers *peers, const char *id,
                              struct api_responses_round *round, struct api_error *error);
