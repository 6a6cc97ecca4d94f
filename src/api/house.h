/* The state of the api room, for its own files alone. */
#pragma once
#include "api/api_options.h"
#include "api/catalog.h"
#include "api/error.h"
#include "api/http.h"
#include "api/parties.h"
#include "api/tenants.h"
#include "api/workers.h"
#include "base/map.h"
#include "base/pace.h"
#include "base/slots.h"
#include "core/report.h"
#include "metrics/metrics.h"

struct api_call;
struct usage;
struct usage_quotas;
struct api_choice;

struct api_round { /* a command to all models: it is answered when the result of each is known */
    struct api_http_exchange *x; /* NULL: the client has left */
    int32_t n_asks;              /* results that are missing; 0: a free place */
    struct api_error error;      /* of the first model that failed */
};
struct api_pending { /* a command of the control that an exchange waits for */
    uint64_t id;
    uint8_t kind;
    uint16_t service;
    int64_t since_ns;
    struct api_http_exchange *x; /* NULL: it left, or there is none, or it is the round's */
    struct api_round *round;     /* NULL: it belongs to no round */
};
enum { API_PENDING_MAX = 256, API_ROUNDS_MAX = 8, API_WATCHERS_MAX = 64 };
enum { API_PING_S = 15 }; /* a quiet stream is pinged this often */

struct api_mirror {                /* what the engines last reported */
    struct engine_report *engines; /* (n_engines) */
    int32_t n_engines;
    int64_t said_ns; /* time of the last report */
    bool is_healthy, is_draining;
    struct api_steps { /* does an engine that has work make progress? */
        int64_t n_steps, moved_ns;
    } * steps; /* (n_engines) */
    uint64_t counter;
    struct api_pending pending[API_PENDING_MAX];
    struct api_round rounds[API_ROUNDS_MAX];
    struct api_http_exchange *watchers[API_WATCHERS_MAX]; /* of /models/sse */
    int64_t pinged_ns;                                    /* when they were last pinged */
    uint8_t seen[LIMIT_SERVICES][2];     /* status and percent that the watchers know */
    struct fault faults[LIMIT_SERVICES]; /* why the last load failed; cleared by the next success */
};

struct api {
    struct api_options options;
    struct api_http *http;
    struct ssl_ctx_st *tls; /* for new connections; NULL: plain HTTP */
    struct api_workers *workers;
    struct metrics *metrics;
    struct api_catalog *catalog; /* the newest */
    struct api_responses_store *responses;
    uint64_t counter;                   /* low bits of request ids */
    char request_id[128];               /* X-Request-Id of the exchange that is being answered */
    bool is_draining, is_cut, has_told; /* is_cut: the drain was ended by a signal */
    bool is_nudged;
    int64_t drain_end_ns, linger_end_ns, sweep_ns;
    int64_t due_ns; /* the latest time at which the loop was to run again */
    struct pace pace;

    /* Calls: choices by request id. The number of seats bounds them. */
    struct map ids;
    struct slots slots;
    struct api_choice **choices; /* by slot */
    struct api_call *calls;
    int32_t n_seats, n_unsent; /* n_unsent: choices that are still to be submitted */

    struct api_tenants tenants;
    struct usage *usage;
    struct usage_quotas *quotas;
    struct api_mirror mirror;
    struct api_http_exchange
        *adding; /* it waits for a model that is being added; NULL: there is none */
    bool is_adding;
};

/* Returns the path without slashes at its end. */
struct view api_path_of(const struct api_http_head *head);
/* Returns whether the request carries the admin key, or no key is configured at all. */
bool api_is_operator(const struct api *api, const struct api_http_head *head);
/* Returns a new id for a request, a call or an exchange. No id of an earlier process is used
 * again. */
uint64_t api_next_id(struct api *api);
void api_nudge(struct api *api); /* the gateway has work: tick soon */
void api_refuse(struct api_http_exchange *x, const struct api_error *error); /* the error page */
void api_reply_json(struct api_http_exchange *x, int status, struct view body);
void api_reply_text(struct api_http_exchange *x, struct str *json); /* 200; takes the text over */
