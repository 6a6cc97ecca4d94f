/* Small problems for the tests of planners: two kinds of devices, models
 * whose times fall with the square root of the degree, and requests at even gaps. */
#pragma once
#include "../test.h"
#include "base/mem.h"
#include "place/check.h"
#include "place/planners.h"

#define SMALL_GIB (INT64_C(1) << 30)
enum { SMALL_SERVICES = 16, SMALL_NODES = 8, SMALL_REQUESTS = 4096 };
struct small {
    struct place_problem problem;
    struct place_kind kinds[2];
    struct place_node nodes[SMALL_NODES];
    struct place_service services[SMALL_SERVICES];
    struct perf perfs[SMALL_SERVICES][2][PLACE_DEGREES];
    char names[SMALL_SERVICES][16];
    struct place_request requests[SMALL_REQUESTS];
    struct pile pile;
    double effort; /* of searches: a tenth of the usual one */
};

/* A step of a model of 1 GiB on one device: 1 ms and a little per request and token. */
static inline struct perf small_perf(int64_t gib, int32_t degree, double speed)
{
    static const double faster[PLACE_DEGREES] = { 1, 1.6, 2.6, 4, 6 };
    double scale = (double)gib / (faster[degree] * speed);
    int64_t c3 = (int64_t)(1e9 * scale), c2 = (int64_t)(1e7 * scale), k2 = (int64_t)(2e4 * scale);
    return (struct perf){ .c1_ps = (int64_t)(5e8 * scale),
                          .k1_ps = (int64_t)(1e7 * scale),
                          .c3_ps = { c3, c3 },
                          .c2_ps = { c2, c2 },
                          .k2_ps = { k2, k2 },
                          .b_switch = 64,
                          .prefill_scale = 1,
                          .decode_scale = 1 };
}

/* n_nodes nodes of n_devices of 80 GiB. */
static inline void small_open(struct small *small, int32_t n_nodes, int32_t n_devices)
{
    memset(small, 0, sizeof(*small));
    pile_init(&small->pile);
    small->effort = 0.1;
    small->kinds[0] = (struct place_kind){ "device", 80 * SMALL_GIB, 2e12, 2 };
    small->kinds[1] = (struct place_kind){ "smaller", 40 * SMALL_GIB, 1e12, 1 };
    for (int32_t i = 0; i < n_nodes; i++)
        small->nodes[i] = (struct place_node){ 0, i * n_devices, n_devices };
    small->problem = (struct place_problem){ .n_kinds = 2,
                                             .n_nodes = n_nodes,
                                             .n_devices = n_nodes * n_devices,
                                             .kinds = small->kinds,
                                             .nodes = small->nodes,
                                             .services = small->services,
                                             .window = { small->requests, 0, 1 } };
    place_problem_limits(&small->problem.limits);
}

/* Adds a service of gib GiB with n requests in 60 s, each with 200 tokens in and 100 out. */
static inline void small_add(struct small *small, int64_t gib, int32_t n)
{
    int32_t s = small->problem.n_services++, m = small->problem.window.n;
    snprintf(small->names[s], sizeof(small->names[s]), "service%d", s);
    for (int32_t d = 0; d < PLACE_DEGREES; d++) {
        small->perfs[s][0][d] = small_perf(gib, d, 1);
        small->perfs[s][1][d] = small_perf(gib, d, 0.5);
    }
    small->services[s] = (struct place_service){ .name = small->names[s],
                                                 .size.weights_bytes = gib * SMALL_GIB,
                                                 .size.activation_bytes = SMALL_GIB / 2,
                                                 .size.kv_bytes_per_token = 1 << 18,
                                                 .perfs = small->perfs[s][0] };
    assert_true(m + n <= SMALL_REQUESTS);
    for (int32_t i = 0; i < n; i++)
        small->requests[m + i] =
            (struct place_request){ (int64_t)60e9 / n * i + s, s, 150 + (i * 37 + s * 11) % 100,
                                    50 + (i * 53) % 100 };
    small->problem.window.n += n;
}

static inline int small_by_time(const void *a, const void *b)
{
    const struct place_request *x = a, *y = b;
    return (x->arrived_ns > y->arrived_ns) - (x->arrived_ns < y->arrived_ns);
}

static inline void small_measure(struct small *small)
{
    qsort(small->requests, (size_t)small->problem.window.n, sizeof(*small->requests),
          small_by_time);
    small->problem.window.span_ns = (int64_t)60e9;
    place_problem_measure(&small->problem);
}

static inline void small_plan(struct small *small, const struct place_planner *planner,
                              const struct place_judge *judge, struct place_plan *plan)
{
    const struct place_desk desk = { &small->problem, judge, &small->pile, 1,
                                     small->effort,   NULL,  NULL,         NULL };
    place_planner_plan(planner, &desk, plan);
}

/* "0-3:0,1 4:2": devices and the services on them. */
static inline const char *small_text(const struct place_plan *plan, char text[512])
{
    size_t n = 0;
    text[0] = '\0';
    for (int32_t g = 0; g < plan->n_groups; g++) {
        const struct place_group *group = &plan->groups[g];
        int32_t last = group->first_device + group->n_devices - 1;
        n += (size_t)snprintf(text + n, 512 - n, "%s%d", g > 0 ? " " : "", group->first_device);
        if (group->n_devices > 1)
            n += (size_t)snprintf(text + n, 512 - n, "-%d", last);
        for (int32_t m = 0; m < group->n_members; m++)
            n += (size_t)snprintf(text + n, 512 - n, "%s%d", m > 0 ? "," : ":",
                                  group->members[m].service);
    }
    return text;
}

static inline void small_close(struct small *small)
{
    pile_free(&small->pile);
}
