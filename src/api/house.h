/* The state of the api room, shared by its files and by nobody else. */
#pragma once
#include "api/api.h"
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
struct api_choice;

struct api_round { /* a wish about all models: answered when each has said how it went */
    struct api_http_exchange *x; /* NULL: gone */
    int32_t n_asks;              /* not answered yet; 0: a free place */
    struct api_error error;      /* of the first that failed */
};
struct api_pending { /* an ask of the control that an exchange waits for */
    uint64_t id;
    uint8_t kind;
    uint16_t service;
    int64_t since_ns;
    struct api_http_exchange *x; /* NULL: gone, or nobody's, or the round's */
    struct api_round *round;     /* NULL: of none */
};
enum { API_PENDING_MAX = 256, API_ROUNDS_MAX = 8, API_WATCHERS_MAX = 64 };
enum { API_PING_S = 15 }; /* a stream that says nothing is pinged so often */

struct api_mirror {                /* what the house last said of itself */
    struct engine_report *engines; /* (n_engines) */
    int32_t n_engines;
    int64_t said_ns; /* when it last answered */
    bool is_healthy, is_draining;
    struct api_steps { /* is an engine that has work getting on? */
        int64_t n_steps, moved_ns;
    } *steps; /* (n_engines) */
    uint64_t counter;
    struct api_pending pending[API_PENDING_MAX];
    struct api_round rounds[API_ROUNDS_MAX];
    struct api_http_exchange *watchers[API_WATCHERS_MAX]; /* of /models/sse */
    int64_t pinged_ns;                   /* when they were last told that the stream is alive */
    uint8_t seen[LIMIT_SERVICES][2];     /* status and percent that the watchers know */
    struct fault faults[LIMIT_SERVICES]; /* why the last load failed, until one does not */
};

struct api {
    struct api_options options;
    struct api_http *http;
    struct ssl_ctx_st *tls; /* for connections to come; NULL: plain HTTP */
    struct api_workers *workers;
    struct metrics *metrics;
    struct api_catalog *catalog;        /* the newest */
    uint64_t counter;                   /* low bits of request ids */
    char request_id[128];               /* X-Request-Id of the exchange that is being answered */
    bool is_draining, is_cut, has_told; /* is_cut: the drain was ended by a signal */
    bool is_nudged;
    int64_t drain_end_ns, linger_end_ns, sweep_ns;
    int64_t due_ns; /* when the loop was to come back at the latest */
    struct pace pace;

    /* Calls: choices by request id; seats bound all of them. */
    struct map ids;
    struct slots slots;
    struct api_choice **choices; /* by slot */
    struct api_call *calls;
    int32_t n_seats, n_unsent; /* n_unsent: choices that are still to be submitted */

    struct api_tenants tenants;
    struct api_mirror mirror;
    struct api_http_exchange
        *adding; /* it waits for a model that is being added; NULL: none does */
    bool is_adding;
};

/* The path without slashes at its end. */
struct view api_path_of(const struct api_http_head *head);
/* Does the request carry the admin key, or is no key configured at all? */
bool api_is_operator(const struct api *api, const struct api_http_head *head);
/* Of a request, a call or an exchange: none of an earlier process comes again. */
uint64_t api_next_id(struct api *api);
void api_nudge(struct api *api); /* the gateway has something to do: tick soon */
void api_refuse(struct api_http_exchange *x, const struct api_error *error); /* the error page */
void api_reply_json(struct api_http_exchange *x, int status, struct view body);
void api_reply_text(struct api_http_exchange *x, struct str *json); /* 200; takes it over */
