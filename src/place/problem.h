/* The input of a planner: a cluster, services, and a window of requests that a plan is to serve.
 *
 * A device has one number over the whole cluster, node after node. Devices of a node are of one
 * kind and all joined by its links; groups never leave a node. A group has 1, 2, 4, 8 or 16
 * devices, and its tensor-parallel degree is that number. One struct perf per (service, kind,
 * degree) gives the times of its steps. Bytes are of the whole group, because a model's weights are
 * split over it.
 *
 * The code that makes a problem owns all of it, and it must stay unchanged while a planner runs. */
#pragma once
#include "core/service_size.h"
#include "core/service_spec.h"
#include "predict/perf.h"

enum {
    PLACE_KINDS_MAX = 16,
    PLACE_DEGREES = 5, /* 1, 2, 4, 8, 16 devices */
    PLACE_GROUP_MAX = 1 << (PLACE_DEGREES - 1),
    PLACE_DEVICES_MAX = 16384,
    PLACE_SERVICES_MAX = 1024,
    PLACE_REQUESTS_MAX = 1 << 20,
};
struct place_kind { /* of device */
    const char *name;
    int64_t memory_bytes; /* of one, that may be used */
    double bytes_per_s;   /* of its memory */
    double cost_per_hour; /* of one; 0 = not known */
};
struct place_node {
    int32_t kind, first_device, n_devices;
};
struct place_request {
    int64_t arrived_ns; /* since the window's beginning */
    int32_t service, n_prompt, n_output;
};
struct place_window {
    const struct place_request *requests; /* (n) in order of arrival */
    int32_t n;
    int64_t span_ns; /* arrivals lie in [0, span) */
};
struct place_service {
    const char *name;
    struct service_size size;
    struct service_slo slo;   /* zeros: only the scale of place_limits applies */
    const struct perf *perfs; /* (n_kinds, PLACE_DEGREES) */

    /* Set by place_problem_measure from the fields above and the window. */
    int64_t n_requests;
    double rate_per_s, n_prompt, n_output; /* mean lengths in tokens; 256 each without requests */
    /* The kind where it is measured alone, that is the one on which the fewest devices hold it. A
     * degree of 0 means that no kind holds it, so it can never be placed. */
    int32_t base_kind, base_degree;
    double solo_s, solo_deviation_s; /* L of SeaLLM (D-1), its standard deviation */
    /* The rate that a request of it sees, over the mean rate: 1 + (D - 1) / mu. D is the variance
     * over the mean of its arrivals in spans of span_s, and mu is their mean. At least 1 =
     * Poisson. */
    double burst, span_s; /* span_s: five solo times, at least a second */
};
struct place_limits {
    int32_t n_members_max; /* services of a group; planners may have limits of their own */
    double kv_floor;       /* part of a group's memory that weights and activations must leave */
    int32_t n_floor;       /* and leave room for this many mean requests of each of its services */
    double attainment;     /* that every service must reach: Delta of SeaLLM's Eq. 5 */
    double slo_scale;      /* a request is in time within this many of its own solo times */
    bool may_divide;       /* engines have the plan's lanes; else the policy's own */
};
struct place_problem {
    int32_t n_kinds, n_nodes, n_devices, n_services;
    const struct place_kind *kinds;
    const struct place_node *nodes;
    struct place_service *services;
    struct place_window window;
    struct place_limits limits;
};
void place_problem_limits(struct place_limits *limits); /* 3, 0.2, 4, 0.9, 5 */
/* Fills in what the window determines of the services. Call it once, before any planner runs. */
void place_problem_measure(struct place_problem *problem);

/* Returns log2 of a group's size; -1 if it is not one of the sizes above. */
static inline int32_t place_degree_index(int32_t n_devices)
{
    for (int32_t i = 0; i < PLACE_DEGREES; i++)
        if (n_devices == 1 << i)
            return i;
    return -1;
}
/* The node that a device is in. */
int32_t place_problem_node_of(const struct place_problem *problem, int32_t device);
/* Returns the times of a service on a group; n_devices is one of the sizes above. */
const struct perf *place_problem_perf(const struct place_problem *problem, int32_t service,
                                      int32_t kind, int32_t n_devices);
/* Returns what a service takes of a group besides its KV: weights and activations, in bytes. */
int64_t place_problem_model_bytes(const struct place_problem *problem, int32_t service);
/* Returns the bytes of KV that n_floor mean requests of it take. */
int64_t place_problem_floor_bytes(const struct place_problem *problem, int32_t service);
/* Returns the solo time of a request where its service is measured, in ns: X of SeaLLM's SLO. */
int64_t place_problem_solo_ns(const struct place_problem *problem,
                              const struct place_request *request);
/* Returns whether groups of n devices of a kind could hold it alone. */
bool place_problem_holds(const struct place_problem *problem, int32_t service, int32_t kind,
                         int32_t n_devices);
