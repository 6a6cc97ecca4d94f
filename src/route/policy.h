/* The contract of a router: which engine gets which held request. The same shape as a scheduler's:
 * pure plan, saw as the only door.
 *
 * The view shows the held requests in order of arrival and the mirror of each engine: its last
 * report plus what was sent since. */
#pragma once
#include "core/report.h"
#include "core/request.h"

struct route_limits {
    int32_t n_engines_max, n_requests_max;
};
struct route_config {
    int32_t n_inflight_max; /* requests sent to one engine at most; 0 = the engine's own limit */
};
struct route_engine {  /* the mirror of one engine */
    bool is_open;      /* healthy and not draining */
    uint64_t services; /* bit per service that is loaded there */
    int32_t n_sent;    /* requests sent and not yet ended or returned */
    int32_t n_requests_max;
    int64_t full_until_ns; /* it said RETURNED(FULL): nothing goes there before */
    const struct engine_report *report;
};
struct route_view {
    int64_t now_ns;
    int32_t n_engines;
    const struct route_engine *engines;
    int32_t n_held;
    const struct request *const *held; /* (n_held) */
};
struct route_choice {
    uint32_t index; /* into held */
    uint16_t engine;
    uint32_t cohort;
    uint16_t n_cohort;
    int32_t n_lease; /* 0 = never comes home by itself */
};
struct route_plan {
    int32_t n_choices, n_choices_max;
    struct route_choice *choices;
    int64_t wake_ns; /* ask again then; TIME_NEVER when only news can help */
};
enum route_what { ROUTE_ARRIVED, ROUTE_SENT, ROUTE_RETURNED, ROUTE_ENDED, ROUTE_REPORT };
struct route_event {
    enum route_what what;
    uint16_t engine;
    const struct request *request; /* NULL for REPORT */
};
struct route_policy {
    const char *name, *summary;
    size_t (*state_bytes)(const struct route_limits *limits);
    void (*open)(void *state, const struct route_limits *limits, const struct route_config *config);
    void (*plan)(const void *state, const struct route_view *view, struct route_plan *plan);
    void (*saw)(void *state, const struct route_view *view, const struct route_event *event);
    /* Would this engine take the request now? The gateway asks of its mirror, the node of the
     * truth. */
    bool (*fits)(const struct engine_report *report, const struct request *request);
};
/* The room's table, by name: least. NULL when there is none. */
const struct route_policy *route_find(const char *name);
const struct route_policy *const *route_all(int *n);
