/* Counts a gateway's traffic, and sends the sums to the leading manager by way of the nodes. */
#include "cluster/gateway_demand.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "cluster/gateway_state.h"
#include "cluster/message.h"
#include "predict/perf.h"

static const int64_t SAY_NS = TIME_NS_PER_S;
/* Without news, sums are sent so often, so that a new leader soon has a base for the next ones. */
static const int64_t SAY_AGAIN_NS = 5 * TIME_NS_PER_S;
enum { REPEATS = 3 }; /* the last sums of a service are sent so often, since one may be lost */
/* Without targets an answer is in time within this many times its solo time, as for planners. */
static const double SOLO_SCALE = 5;

struct gateway_demand *gateway_demand_open(int n_services)
{
    struct gateway_demand *demand = mem_take(sizeof *demand);
    demand->of = mem_take(sizeof *demand->of * (size_t)max_i32(n_services, 1));
    return demand;
}

void gateway_demand_close(struct gateway_demand *demand)
{
    mem_give(demand->of);
    mem_give(demand);
}

void gateway_demand_forget(struct cluster_gateway *g, int service)
{
    struct gateway_demand_of *demand = &g->demand->of[service];
    *demand = (struct gateway_demand_of){ .n_said = demand->n_said };
}

void gateway_demand_arrived(struct cluster_gateway *g, const struct gateway_entry *entry)
{
    struct gateway_demand_of *demand = &g->demand->of[entry->request->service];
    monitor_bin_arrived(&demand->sums, entry->request->n_prompt);
    demand->n_left = REPEATS;
}

static bool is_within(double seconds, int64_t target_ns)
{
    return target_ns <= 0 || seconds <= (double)target_ns * 1e-9;
}

static bool is_met(const struct service_slo *slo, const struct monitor_end *end)
{
    double ttft_s = (double)end->ttft_ns * 1e-9, e2e_s = (double)end->latency_ns * 1e-9;
    double tpot_s = end->n_output > 1 ? (e2e_s - ttft_s) / (end->n_output - 1) : 0;
    if (slo->ttft_ns > 0 || slo->tpot_ns > 0 || slo->e2e_ns > 0)
        return is_within(ttft_s, slo->ttft_ns) && is_within(tpot_s, slo->tpot_ns) &&
               is_within(e2e_s, slo->e2e_ns);
    return end->solo_ns <= 0 || (double)end->latency_ns <= SOLO_SCALE * (double)end->solo_ns;
}

void gateway_demand_ended(struct cluster_gateway *g, const struct gateway_entry *entry, uint8_t why)
{
    const struct route_request *r = entry->request;
    const struct perf *perf = &g->core.services[r->service].perf;
    struct gateway_demand_of *demand = &g->demand->of[r->service];
    int32_t n_output = r->n_tokens - r->n_prompt;
    if (why == SERVICE_CANCELLED)
        return; /* the client's own wish: neither an answer nor a miss */
    bool has_perf = perf->c1_ps > 0 || perf->k1_ps > 0;
    struct monitor_end end = {
        .latency_ns = max_i64(g->now_ns - r->arrived_ns, 0),
        .ttft_ns = r->first_ns > 0 ? max_i64(r->first_ns - r->arrived_ns, 0) : 0,
        .solo_ns = has_perf && n_output > 0 ? perf_solo_ps(perf, r->n_prompt, n_output) / 1000 : 0,
        .n_output = max_i32(n_output, 0),
        .is_done = why == SERVICE_STOPPED || why == SERVICE_LENGTH,
    };
    end.is_met = is_met(&g->services[r->service].slo, &end);
    monitor_bin_ended(&demand->sums, &end);
    demand->n_left = REPEATS;
}

/* Returns the next node with a session; -1: there is none. */
static int next_node(struct cluster_gateway *g)
{
    for (int i = 1; i <= g->nodes.n; i++) {
        int node = (g->demand->node + i) % g->nodes.n;
        if (g->links[node].session != 0)
            return node;
    }
    return -1;
}

static void say(struct cluster_gateway *g, int service, int node)
{
    struct gateway_demand_of *demand = &g->demand->of[service];
    struct message_demand message = { .number = demand->n_said + 1,
                                      .n_engines_wanted = g->core.n_engines_wanted,
                                      .sums = demand->sums };
    message.head = cluster_message_head(MESSAGE_DEMAND, g->options.port.address, sizeof message);
    message.head.service = g->roster.names[service];
    message.head.id = rng_at(g->options.seed, 1, 0); /* sessions come from stream 0 */
    if (!cluster_link_send(&g->links[node], &message, sizeof message, NULL, 0))
        return; /* the next one contains it */
    demand->n_said++;
    demand->n_left = max_i32(demand->n_left - 1, 0);
    demand->said_ns = g->now_ns;
    demand->sums.latency_s_max = 0;
}

void gateway_demand_step(struct cluster_gateway *g, int64_t *wake_ns)
{
    bool has_more = false;
    if (g->options.manager != CLUSTER_GATEWAY_NO_MANAGER)
        return; /* a manager of its own process plans nothing */
    int node = g->demand->next_ns <= g->now_ns ? next_node(g) : -1;
    if (node >= 0) {
        g->demand->node = node;
        g->demand->next_ns = g->now_ns + SAY_NS;
    }
    for (int s = 0; s < g->options.n_services; s++) {
        const struct gateway_demand_of *demand = &g->demand->of[s];
        bool is_due = demand->n_left > 0 ||
                      (demand->n_said > 0 && demand->said_ns + SAY_AGAIN_NS <= g->now_ns);
        if (node >= 0 && is_due && set_has(&g->roster.there, s))
            say(g, s, node);
        has_more = has_more || demand->n_said + (uint64_t)demand->n_left > 0;
    }
    if (has_more)
        *wake_ns = min_i64(*wake_ns, max_i64(g->demand->next_ns, g->now_ns + TIME_NS_PER_MS * 100));
}
