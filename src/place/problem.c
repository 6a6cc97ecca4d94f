/* Measures a problem's services by its window, and has the arithmetic of bytes. */
#include "place/problem.h"

#include "base/num.h"

enum { TOKENS_UNKNOWN = 256 }; /* of a service without requests: SeaLLM's D-1 */

void place_problem_limits(struct place_limits *limits)
{
    *limits = (struct place_limits){
        .n_members_max = 3, .kv_floor = 0.2, .n_floor = 4, .attainment = 0.9, .slo_scale = 5
    };
}

int32_t place_problem_node_of(const struct place_problem *problem, int32_t device)
{
    int32_t low = 0, high = problem->n_nodes - 1;
    CHECK(device >= 0 && device < problem->n_devices);
    while (low < high) {
        int32_t middle = (low + high + 1) / 2;
        if (problem->nodes[middle].first_device <= device)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

const struct perf *place_problem_perf(const struct place_problem *problem, int32_t service,
                                      int32_t kind, int32_t n_devices)
{
    int32_t degree = place_degree_index(n_devices);
    CHECK(degree >= 0);
    return &problem->services[service].perfs[kind * PLACE_DEGREES + degree];
}

int64_t place_problem_model_bytes(const struct place_problem *problem, int32_t service)
{
    return problem->services[service].size.weights_bytes +
           problem->services[service].size.activation_bytes;
}

int64_t place_problem_floor_bytes(const struct place_problem *problem, int32_t service)
{
    const struct place_service *s = &problem->services[service];
    double tokens = num_floor(s->n_prompt + s->n_output) + 1;
    return (int64_t)(problem->limits.n_floor * tokens * (double)s->size.kv_bytes_per_token);
}

bool place_problem_holds(const struct place_problem *problem, int32_t service, int32_t kind,
                         int32_t n_devices)
{
    int64_t memory = problem->kinds[kind].memory_bytes * n_devices;
    int64_t floor_bytes = max_i64((int64_t)(problem->limits.kv_floor * (double)memory),
                                  place_problem_floor_bytes(problem, service));
    return place_problem_model_bytes(problem, service) <= memory - floor_bytes;
}

/* Finds the kind on which the fewest devices of a node hold it; the first among equals. */
static void find_base(const struct place_problem *problem, int32_t service)
{
    struct place_service *s = &problem->services[service];
    s->base_degree = 0;
    s->base_kind = 0;
    for (int32_t n = 1; n <= PLACE_GROUP_MAX && s->base_degree == 0; n *= 2) {
        for (int32_t i = 0; i < problem->n_nodes && s->base_degree == 0; i++) {
            const struct place_node *node = &problem->nodes[i];
            if (node->n_devices < n || !place_problem_holds(problem, service, node->kind, n))
                continue;
            s->base_degree = n;
            s->base_kind = node->kind;
        }
    }
}

int64_t place_problem_solo_ns(const struct place_problem *problem,
                              const struct place_request *request)
{
    const struct place_service *s = &problem->services[request->service];
    int32_t degree = s->base_degree > 0 ? s->base_degree : PLACE_GROUP_MAX;
    const struct perf *perf = place_problem_perf(problem, request->service, s->base_kind, degree);
    return (perf_solo_ps(perf, request->n_prompt, request->n_output) + 500) / 1000;
}

static void measure_lengths(struct place_problem *problem)
{
    const struct place_window *window = &problem->window;
    for (int32_t i = 0; i < problem->n_services; i++) {
        struct place_service *s = &problem->services[i];
        s->n_requests = 0;
        s->n_prompt = s->n_output = s->solo_s = s->solo_deviation_s = 0;
    }
    for (int32_t i = 0; i < window->n; i++) {
        const struct place_request *r = &window->requests[i];
        struct place_service *s = &problem->services[r->service];
        s->n_requests++;
        s->n_prompt += r->n_prompt;
        s->n_output += r->n_output;
    }
    for (int32_t i = 0; i < problem->n_services; i++) {
        struct place_service *s = &problem->services[i];
        double n = (double)s->n_requests;
        s->rate_per_s = window->span_ns > 0 ? n / ((double)window->span_ns * 1e-9) : 0;
        s->n_prompt = n > 0 ? s->n_prompt / n : TOKENS_UNKNOWN;
        s->n_output = n > 0 ? s->n_output / n : TOKENS_UNKNOWN;
    }
}

/* Requests come in order of arrival, so the requests of a span are counted as it passes. */
static void measure_burst(struct place_problem *problem, int32_t service)
{
    const struct place_window *window = &problem->window;
    struct place_service *s = &problem->services[service];
    s->span_s = s->solo_s < 0.2 ? 1 : 5 * s->solo_s;
    int64_t span_ns = (int64_t)(1e9 * s->span_s), at = -1, n = 0;
    double n_spans = (double)window->span_ns / (double)span_ns, squares = 0;
    n_spans = n_spans < 1 ? 1 : n_spans;
    double mean = (double)s->n_requests / n_spans;
    for (int32_t k = 0; k < window->n; k++) {
        if (window->requests[k].service != service)
            continue;
        int64_t span = window->requests[k].arrived_ns / span_ns;
        squares += span == at ? (double)(2 * n + 1) : 1; /* n^2 to (n + 1)^2 */
        n = span == at ? n + 1 : 1;
        at = span;
    }
    double dispersion = mean > 0 ? (squares / n_spans - mean * mean) / mean : 1;
    s->burst = dispersion > 1 ? 1 + (dispersion - 1) / mean : 1;
}

void place_problem_measure(struct place_problem *problem)
{
    const struct place_window *window = &problem->window;
    measure_lengths(problem);
    for (int32_t i = 0; i < problem->n_services; i++)
        find_base(problem, i);
    for (int32_t i = 0; i < window->n; i++) {
        double solo_s = (double)place_problem_solo_ns(problem, &window->requests[i]) * 1e-9;
        struct place_service *s = &problem->services[window->requests[i].service];
        s->solo_s += solo_s / (double)s->n_requests;
        s->solo_deviation_s += solo_s * solo_s / (double)s->n_requests;
    }
    for (int32_t i = 0; i < problem->n_services; i++) {
        struct place_service *s = &problem->services[i];
        const struct place_request usual = { 0, i, TOKENS_UNKNOWN, TOKENS_UNKNOWN };
        double variance = s->solo_deviation_s - s->solo_s * s->solo_s;
        s->solo_deviation_s = variance > 0 ? num_sqrt(variance) : 0;
        if (s->n_requests == 0)
            s->solo_s = (double)place_problem_solo_ns(problem, &usual) * 1e-9;
    }
    for (int32_t i = 0; i < problem->n_services; i++)
        measure_burst(problem, i);
}
