/* Scenarios into problems. */
#include "scenario/problem.h"

#include "base/mem.h"
#include "base/time.h"
#include "predict/device.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Clusters. ---- */

/* Returns the number before the next 'x'; -1 without such a number. */
static int64_t next_count(const char **text)
{
    char *end;
    if (**text < '0' || **text > '9')
        return -1;
    long long n = strtoll(*text, &end, 10);
    if (*end != 'x' || n < 1 || n > PLACE_DEVICES_MAX)
        return -1;
    *text = end + 1;
    return n;
}

enum status scenario_problem_cluster(struct scenario *scenario, const char *text,
                                     struct fault *fault)
{
    scenario->n_nodes = 0;
    for (const char *at = text; *at != '\0';) {
        int64_t count = next_count(&at), n_devices = count > 0 ? next_count(&at) : -1;
        size_t n = strcspn(at, "+");
        if (n_devices < 0 || n == 0 || n_devices > 64 || count > 4096)
            return fault_set(fault, STATUS_BAD_INPUT,
                             "cluster \"%.80s\": expected NODESxDEVICESxKIND, as in "
                             "4x8xa100+1x4xl40s, or a file that ends in .yaml",
                             text);
        if (scenario->n_nodes == SCENARIO_NODES_MAX)
            return fault_set(fault, STATUS_TOO_LARGE, "cluster: more than %d kinds of nodes",
                             SCENARIO_NODES_MAX);
        scenario->nodes[scenario->n_nodes++] = (struct scenario_node){
            .count = count, .n_devices = n_devices, .device = pile_text(&scenario->pile, at, n)
        };
        at += n + (at[n] == '+');
    }
    return STATUS_OK;
}

/* Returns the index of a kind, new or known; -1: the fault has the reason. */
static int32_t kind_of(struct scenario_problem *plan, const struct scenario *scenario,
                       const struct scenario_node *node, struct fault *fault)
{
    const struct predict_device *device = predict_device_find(node->device);
    int32_t n = plan->problem.n_kinds;
    if (device == NULL) {
        (void)fault_set(fault, STATUS_NOT_FOUND,
                        "nodes: there is no device \"%.24s\"; there are: %s", node->device,
                        predict_device_names());
        return -1;
    }
    int64_t memory = node->memory_bytes > 0 ? node->memory_bytes : device->memory_bytes;
    struct place_kind kind = { .name = device->name,
                               .memory_bytes = (int64_t)((double)memory * scenario->memory_part),
                               .bytes_per_s = device->bytes_per_s,
                               .cost_per_hour = node->cost_per_hour };
    for (int32_t k = 0; k < n; k++)
        if (plan->devices[k] == device && plan->kinds[k].memory_bytes == kind.memory_bytes &&
            plan->kinds[k].cost_per_hour == kind.cost_per_hour)
            return k;
    if (n == PLACE_KINDS_MAX) {
        (void)fault_set(fault, STATUS_TOO_LARGE, "nodes: more than %d kinds of devices",
                        PLACE_KINDS_MAX);
        return -1;
    }
    plan->kinds[n] = kind;
    plan->devices[n] = device;
    return plan->problem.n_kinds++;
}

enum status scenario_problem_nodes(struct scenario_problem *plan, const struct scenario *scenario,
                                   struct fault *fault)
{
    int64_t n_nodes = 0;
    struct place_problem *p = &plan->problem;
    for (int i = 0; i < scenario->n_nodes; i++)
        n_nodes += scenario->nodes[i].count;
    if (n_nodes == 0)
        return fault_set(fault, STATUS_BAD_INPUT,
                         "no nodes: the cluster's file needs a list `nodes:`");
    plan->nodes = mem_take((size_t)n_nodes * sizeof(*plan->nodes));
    for (int i = 0; i < scenario->n_nodes; i++) {
        const struct scenario_node *node = &scenario->nodes[i];
        int32_t kind = kind_of(plan, scenario, node, fault);
        if (kind < 0)
            return STATUS_BAD_INPUT;
        int32_t n_devices =
            node->n_devices > 0 ? (int32_t)node->n_devices : plan->devices[kind]->n_node;
        for (int64_t k = 0; k < node->count; k++) {
            plan->nodes[p->n_nodes++] = (struct place_node){ kind, p->n_devices, n_devices };
            p->n_devices += n_devices;
        }
        if (p->n_devices > PLACE_DEVICES_MAX)
            return fault_set(fault, STATUS_TOO_LARGE, "nodes: more than %d devices",
                             PLACE_DEVICES_MAX);
    }
    p->nodes = plan->nodes;
    p->kinds = plan->kinds;
    return STATUS_OK;
}

/* ---- Services. ---- */

static enum status open_world(struct scenario_problem *plan, const struct scenario *scenario,
                              struct fault *fault)
{
    const struct scenario_world_ask ask = { (uint64_t)scenario->seed, scenario->rate_scale, 0, 0 };
    struct scenario_world *world = mem_take(sizeof(*world));
    plan->worlds[plan->n_worlds++] = world;
    return scenario_world_open_services(world, scenario, &ask, fault);
}

static void close_worlds(struct scenario_problem *plan)
{
    for (int i = 0; i < plan->n_worlds; i++) {
        scenario_world_close(plan->worlds[i]);
        mem_give(plan->worlds[i]);
    }
    plan->n_worlds = 0;
}

/* Opens one stream of all texts, as `shoal sim` does. If that has more services than a simulation
 * may have, opens a stream per text, each with its own random numbers. */
static enum status open_worlds(struct scenario_problem *plan, const struct scenario *scenario,
                               struct fault *fault)
{
    enum status status = open_world(plan, scenario, fault);
    if (status == STATUS_OK || scenario->workload.n < 2)
        return status;
    struct scenario *one = mem_take(sizeof(*one));
    struct fault of_one;
    close_worlds(plan);
    *one = *scenario;
    one->workload.n = 1;
    status = STATUS_OK;
    for (int i = 0; i < scenario->workload.n && status == STATUS_OK; i++) {
        one->workload.at[0] = scenario->workload.at[i];
        one->seed = max_i64(scenario->seed, 1) * 1000 + i;
        status = open_world(plan, one, &of_one);
    }
    mem_give(one);
    return status;
}

static bool is_known_name(const struct scenario_problem *plan, int32_t n, const char *name)
{
    for (int32_t i = 0; i < n; i++)
        if (strcmp(plan->services[i].name, name) == 0)
            return true;
    return false;
}

static bool has_settings(const struct scenario *scenario, const char *name)
{
    for (int i = 0; i < scenario->n_services; i++)
        if (strcmp(scenario->services[i].name, name) == 0)
            return true;
    return scenario->profiles.n > 0;
}

static void fill_perfs(struct scenario_problem *plan, const struct scenario *scenario,
                       const struct scenario_world *world, int32_t local, int32_t service)
{
    size_t n = (size_t)plan->problem.n_kinds * PLACE_DEGREES;
    struct perf *perfs = plan->perfs + (size_t)service * n;
    const char *model = plan->models[service];
    plan->services[service].perfs = perfs;
    for (int32_t i = 0; i < service && model != NULL; i++) {
        if (plan->models[i] == model && !has_settings(scenario, plan->services[i].name) &&
            !has_settings(scenario, plan->services[service].name)) {
            memcpy(perfs, plan->services[i].perfs, n * sizeof(*perfs));
            return;
        }
    }
    for (int32_t k = 0; k < plan->problem.n_kinds; k++)
        for (int32_t d = 0; d < PLACE_DEGREES; d++)
            scenario_world_perf(world, scenario, local, plan->devices[k], 1 << d,
                                &perfs[k * PLACE_DEGREES + d]);
}

static enum status open_services(struct scenario_problem *plan, const struct scenario *scenario,
                                 struct fault *fault)
{
    struct place_problem *p = &plan->problem;
    int32_t n = 0;
    for (int w = 0; w < plan->n_worlds; w++)
        p->n_services += plan->worlds[w]->workload.n_services;
    if (p->n_services > PLACE_SERVICES_MAX)
        return fault_set(fault, STATUS_TOO_LARGE, "more than %d services", PLACE_SERVICES_MAX);
    size_t n_all = (size_t)p->n_services;
    plan->services = mem_take(n_all * sizeof(*plan->services));
    plan->scores = mem_take(n_all * sizeof(*plan->scores));
    plan->models = mem_take(n_all * sizeof(*plan->models));
    plan->perfs = mem_take(n_all * (size_t)p->n_kinds * PLACE_DEGREES * sizeof(*plan->perfs));
    p->services = plan->services;
    for (int w = 0; w < plan->n_worlds; w++) {
        const struct scenario_world *world = plan->worlds[w];
        for (int32_t i = 0; i < world->workload.n_services; i++, n++) {
            const struct sim_service *s = &world->services[i];
            if (is_known_name(plan, n, s->name))
                return fault_set(fault, STATUS_BAD_INPUT,
                                 "workload: two texts have a service \"%.80s\"", s->name);
            plan->services[n] = (struct place_service){ .name = s->name,
                                                        .size = s->size,
                                                        .slo = world->scores[i].slo };
            plan->models[n] = world->models[i] != NULL ? world->models[i]->name : NULL;
            plan->scores[n].slo = world->scores[i].slo;
            fill_perfs(plan, scenario, world, i, n);
        }
    }
    return scenario_world_check(plan->worlds, plan->n_worlds, scenario, fault);
}

/* ---- Requests. ---- */

struct source { /* a world's stream */
    struct workload_stream stream;
    struct workload_ask ask;
    bool has_ask;
    int32_t first_service;
};

/* Plays requests in order of arrival, up to a time and a number. Returns how many; *is_whole: all
 * sources ended. */
static int32_t play(struct scenario_problem *plan, struct source *sources, int64_t until_ns,
                    int32_t n_max, bool *is_whole)
{
    int32_t n = 0;
    *is_whole = false;
    while (n < n_max) {
        struct source *next = NULL;
        for (int w = 0; w < plan->n_worlds; w++)
            if (sources[w].has_ask &&
                (next == NULL || sources[w].ask.arrived_ns < next->ask.arrived_ns))
                next = &sources[w];
        *is_whole = next == NULL;
        if (next == NULL || next->ask.arrived_ns >= until_ns)
            return n;
        plan->requests[n++] =
            (struct place_request){ next->ask.arrived_ns, next->first_service + next->ask.service,
                                    next->ask.n_prompt, next->ask.n_output };
        next->has_ask = workload_next(&next->stream, &next->ask);
    }
    return n;
}

/* Returns how long n requests last. Requests that come all at once count as if they came within a
 * second, since their rate would have no bound. */
static int64_t span_of(const struct scenario_problem *plan, int32_t n)
{
    int64_t last_ns = n > 0 ? plan->requests[n - 1].arrived_ns : 0;
    return last_ns > 0 ? last_ns + 1 : TIME_NS_PER_S;
}

/* Cuts the windows: requests [0, middle) form the first, the others the one after it. Each lasts
 * for the given span. If the workload ends, or the span is 0, it lasts as long as its requests. */
static void cut_windows(struct scenario_problem *plan, int32_t n, int32_t middle, int64_t span_ns,
                        int64_t after_ns)
{
    int64_t end_ns = span_of(plan, n);
    if (middle == n)
        span_ns = min_i64(span_ns, end_ns);
    plan->problem.window = (struct place_window){ plan->requests, middle, max_i64(span_ns, 1) };
    for (int32_t i = middle; i < n; i++)
        plan->requests[i].arrived_ns -= span_ns;
    if (after_ns == 0 || plan->is_whole)
        after_ns = end_ns - span_ns;
    plan->after =
        (struct place_window){ plan->requests + middle, n - middle, max_i64(after_ns, 1) };
}

static enum status open_windows(struct scenario_problem *plan, struct plan_spans spans,
                                struct fault *fault)
{
    int64_t window_ns = spans.window_ns;
    struct source *sources = mem_take((size_t)plan->n_worlds * sizeof(*sources));
    int32_t n_max = window_ns > 0 ? PLACE_REQUESTS_MAX : 2 * PLAN_WINDOW_USUAL, first = 0;
    enum status status = STATUS_OK;
    plan->requests = mem_take((size_t)n_max * sizeof(*plan->requests));
    for (int w = 0; w < plan->n_worlds; w++) {
        sources[w].first_service = first;
        first += plan->worlds[w]->workload.n_services;
        workload_begin(&sources[w].stream, &plan->worlds[w]->workload);
        sources[w].has_ask = workload_next(&sources[w].stream, &sources[w].ask);
    }
    int64_t until_ns = window_ns > 0 ? window_ns + spans.after_ns : INT64_MAX;
    int32_t n = play(plan, sources, until_ns, n_max, &plan->is_whole), middle = n / 2;
    for (int w = 0; w < plan->n_worlds; w++)
        workload_end(&sources[w].stream);
    mem_give(sources);
    int64_t span_ns = window_ns > 0 ? window_ns : n > 0 ? plan->requests[middle].arrived_ns : 0;
    if (span_ns == 0) /* a list, all requests at once, or half of it */
        span_ns = span_of(plan, n);
    for (middle = 0; middle < n && plan->requests[middle].arrived_ns < span_ns; middle++) {}
    if (n == 0 || middle == 0)
        status = fault_set(fault, STATUS_BAD_INPUT,
                           "the window of %.6g s holds no request, since the first comes later: "
                           "give a longer --window",
                           (double)span_ns * 1e-9);
    else if (n == n_max && window_ns > 0)
        status = fault_set(fault, STATUS_TOO_LARGE,
                           "the window and the one after it hold more than %d requests", n_max);
    cut_windows(plan, n, middle, span_ns, spans.after_ns);
    return status;
}

enum status scenario_problem_open(struct scenario_problem *plan, const struct scenario *scenario,
                                  struct plan_spans spans, struct fault *fault)
{
    memset(plan, 0, sizeof(*plan));
    place_problem_limits(&plan->problem.limits);
    plan->problem.limits.attainment = scenario->target;
    enum status status = scenario_problem_nodes(plan, scenario, fault);
    if (status == STATUS_OK)
        status = open_worlds(plan, scenario, fault);
    if (status == STATUS_OK)
        status = open_services(plan, scenario, fault);
    if (status == STATUS_OK)
        status = open_windows(plan, spans, fault);
    if (status != STATUS_OK)
        return status;
    place_problem_measure(&plan->problem);
    for (int32_t i = 0; i < plan->problem.n_services; i++) {
        const struct place_service *s = &plan->services[i];
        if (s->base_degree > 0)
            scenario_world_base(place_problem_perf(&plan->problem, i, s->base_kind, s->base_degree),
                                &plan->scores[i].base);
    }
    return STATUS_OK;
}

void scenario_problem_close(struct scenario_problem *plan)
{
    close_worlds(plan);
    mem_give(plan->nodes);
    mem_give(plan->services);
    mem_give(plan->scores);
    mem_give(plan->models);
    mem_give(plan->perfs);
    mem_give(plan->requests);
}
