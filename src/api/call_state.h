/* The state of a completion call, for the files that submit, count and answer it. */
#pragma once
#include "api/choice.h"
#include "api/house.h"
#include "api/prompts.h"
#include "api/spend.h"
#include "api/work.h"

struct api_call {
    struct api_job job; /* first: a job is a call */
    struct api *api;
    uint16_t tenant;
    struct api_spend spend;
    int64_t guided_bytes; /* charged to its party for its grammar, and a state for each answer */
    uint64_t tenant_hash;
    bool has_peers;              /* it may wait for other gateways */
    struct str key;              /* the client's, for the peers of its stored answers */
    struct api_http_exchange *x; /* NULL: the client has left */
    struct api_call *next, *prev;
    const struct api_family *family;
    enum api_ask_kind kind;  /* the family's */
    bool is_away;            /* being read or written; a worker may have it */
    struct api_party *party; /* the party that its memory is charged to */
    struct api_work work;
    struct str body, answer;
    struct api_catalog *catalog; /* the catalog that its model belongs to */
    struct api_prompts prompts;
    struct api_stops stops;
    struct api_choice_rules rules;
    int32_t n_choices, n_open, n_seats;
    int32_t n_unsent; /* number of choices that are still to be submitted: the last ones */
    struct api_choice *choices;
    char id[48], request_id[128]; /* ours, and X-Request-Id */
    int64_t created_unix_s, arrived_ns, deadline_ns, wrote_ns;
    struct service_slo slo;
    struct str prefix; /* of every chunk, up to the choices */
    struct {           /* of a stream with blocks: Anthropic's, Responses */
        bool is_open;  /* a block is */
        int kind;      /* of told.h */
        int32_t n;     /* blocks that were begun */
        int64_t sequence;
    } blocks;
};
