/* Makes maps of a chain, and computes the time of steps on them. */
#include "sim/chain.h"

#include "base/mem.h"

static int64_t room_bytes(const struct sim_chain *c, int32_t device)
{
    return c->devices[device].memory_bytes - c->devices[device].reserve_bytes;
}

static int64_t layer_ps(const struct sim_chain *c, int32_t device, const struct perf_load *load)
{
    return perf_step_ps(&c->devices[device].perf, load) / c->n_layers;
}

static int64_t link_ps(const struct sim_chain *c, int32_t from, int32_t to, int64_t n_tokens)
{
    return links_time(&c->links->at[from * c->links->n + to], c->handed_bytes_per_token * n_tokens);
}

static struct perf_load planned_load(const struct sim_chain *c)
{
    return (struct perf_load){ .n_decodes = c->n_batch,
                               .n_decode_context = (int64_t)c->n_batch * c->n_context };
}

static void fill_devices(const struct sim_chain *c, const int32_t *ids, int32_t n, int64_t n_tokens,
                         struct layers_device *devices)
{
    const struct perf_load load = planned_load(c);
    for (int32_t i = 0; i < n; i++) {
        const struct layers_memory memory = { .device = c->devices[ids[i]].memory_bytes,
                                              .reserve = c->devices[ids[i]].reserve_bytes,
                                              .layer = c->layer_bytes,
                                              .kv_token = c->kv_bytes_per_token / c->n_layers,
                                              .n_tokens = n_tokens };
        devices[i] = (struct layers_device){ layer_ps(c, ids[i], &load), layers_holding(&memory) };
    }
}

enum status sim_chain_plan(const struct sim_chain *c, const bool *is_here, int64_t n_tokens,
                           struct layers_plan *plan, struct fault *fault)
{
    int32_t ids[LAYERS_DEVICES_MAX], n = 0;
    struct layers_device devices[LAYERS_DEVICES_MAX];
    for (int32_t d = 0; d < c->n_devices; d++)
        if (is_here[d])
            ids[n++] = d;
    int64_t *links = mem_take(((size_t)n * (size_t)n + 1) * sizeof(*links));
    for (int32_t i = 0; i < n * n; i++)
        links[i] = i / n == i % n ? 0 : link_ps(c, ids[i / n], ids[i % n], c->n_batch);
    fill_devices(c, ids, n, n_tokens, devices);
    const struct layers_problem problem = { n, c->n_layers, devices, links, true };
    enum status status = layers_solve(&problem, c->aim, NULL, plan, fault);
    for (int32_t i = 0; i < plan->n_parts; i++)
        plan->parts[i].device = ids[plan->parts[i].device];
    mem_give(links);
    return status;
}

void sim_chain_part_ps(const struct sim_chain *c, const struct layers_plan *plan, int32_t i,
                       float share, const struct perf_load *load, int64_t ps[2])
{
    int32_t d = plan->parts[i].device, next = plan->parts[(i + 1) % plan->n_parts].device;
    int64_t n_layers = plan->parts[i].n_layers;
    int64_t n_tokens = (int64_t)load->n_decodes + load->n_new;
    ps[0] = n_layers * layer_ps(c, d, load);
    if (share < 1) {
        struct perf part;
        const struct perf_share *table = perf_share_of(n_layers * c->layer_bytes, 1);
        perf_at_share(&c->devices[d].perf, table, (double)share, &part);
        ps[0] = n_layers * (perf_step_ps(&part, load) / c->n_layers);
    }
    ps[1] = plan->n_parts > 1 ? link_ps(c, d, next, n_tokens) : 0;
}

int64_t sim_chain_step_ps(const struct sim_chain *c, const struct layers_plan *plan,
                          const struct perf_load *load)
{
    int64_t sum_ps = 0, ps[2];
    for (int32_t i = 0; i < plan->n_parts; i++) {
        sim_chain_part_ps(c, plan, i, 1, load, ps);
        sum_ps += ps[0] + ps[1];
    }
    return sum_ps;
}

int32_t sim_chain_deep(const struct layers_plan *plan)
{
    return min_i32(plan->n_parts, LIMIT_LANES);
}

double sim_chain_slowest(const struct sim_chain *c, const struct layers_plan *plan)
{
    const struct perf_load load = planned_load(c);
    int64_t slowest_ps = 0, sum_ps = 0, ps[2];
    for (int32_t i = 0; i < plan->n_parts; i++) {
        sim_chain_part_ps(c, plan, i, 1, &load, ps);
        slowest_ps = max_i64(slowest_ps, max_i64(ps[0], ps[1]));
        sum_ps += ps[0] + ps[1];
    }
    return sum_ps > 0 ? (double)slowest_ps / (double)sum_ps : 1;
}

int64_t sim_chain_tokens(const struct sim_chain *c, const struct layers_plan *plan)
{
    int64_t n_tokens = INT64_MAX;
    for (int32_t i = 0; i < plan->n_parts; i++) {
        int64_t n_layers = plan->parts[i].n_layers;
        int64_t left = room_bytes(c, plan->parts[i].device) - n_layers * c->layer_bytes;
        n_tokens = min_i64(n_tokens, left / (n_layers * (c->kv_bytes_per_token / c->n_layers)));
    }
    return n_tokens;
}

void sim_chain_first(const struct sim_chain *c, bool *is_here)
{
    for (int32_t d = 0; d < c->n_devices; d++)
        is_here[d] = true;
    for (int32_t i = c->n_events - 1; i >= 0; i--)
        is_here[c->events[i].device] = c->events[i].what != SIM_CHAIN_JOINS;
}

static int64_t truth_step_ps(const void *self, const struct perf_load *load)
{
    const struct sim_chain_map *map = self;
    return sim_chain_step_ps(map->chain, map->plan, load);
}

struct perf_truth sim_chain_truth(const struct sim_chain_map *map)
{
    return (struct perf_truth){ truth_step_ps, map };
}

void sim_chain_perf(const struct sim_chain *c, const struct layers_plan *plan, struct perf *perf)
{
    static const struct truth_range range = { 16, 4096, 256, 64, 8192 };
    const struct sim_chain_map map = { c, plan };
    const struct perf_truth truth = sim_chain_truth(&map);
    struct truth_reduced reduced;
    CHECK(truth_reduce(&truth, &range, &reduced));
    *perf = reduced.perf;
}
