/* Computes the gain and the cost of moving layers. */
#include "sim/chain_weigh.h"

void sim_chain_weigh_note(struct sim_chain_window *w, int64_t now_ns, int64_t change)
{
    w->there_ns += (double)w->n_there * (double)(now_ns - w->at_ns);
    w->at_ns = now_ns;
    w->n_there += change;
    w->n_arrived += max_i64(change, 0);
}

void sim_chain_weigh_close(struct sim_chain_window *w, int64_t now_ns)
{
    struct replace_config config;
    replace_config_init(&config);
    sim_chain_weigh_note(w, now_ns, 0);
    if (now_ns - w->from_ns < config.least_ns)
        return;
    *w = (struct sim_chain_window){ .from_ns = now_ns, .at_ns = now_ns, .n_there = w->n_there };
}

int64_t sim_chain_weigh_interval_ns(int64_t now_ns, int64_t n_plans)
{
    struct replace_config config;
    replace_config_init(&config);
    int64_t apart_ns = now_ns / max_i64(n_plans, 1);
    return min_i64(max_i64(apart_ns, config.least_ns), config.most_ns);
}

enum replace_verdict sim_chain_weigh(const struct sim_chain *c, const struct sim_chain_window *w,
                                     const struct sim_chain_move *m)
{
    struct replace_config config;
    const struct perf_load again = {
        .n_new = (int32_t)min_i64(m->n_tokens, INT32_MAX),
        .n_new_squared = m->n_tokens * (m->n_tokens / max_i64(w->n_there, 1)),
    };
    double window_s = (double)max_i64(w->at_ns - w->from_ns, 1) * 1e-9;
    double rate = (double)w->n_arrived / window_s;
    const struct replace_move move = {
        .weights_bytes = m->weights_bytes,
        .is_prefetched = true,
        .recompute_ns = m->n_tokens > 0 ? sim_chain_step_ps(c, m->planned, &again) / 1000 : 0,
        .n_requests_per_s = rate,
        .n_there = (double)w->n_there,
    };
    const struct replace_case is = {
        .kept = { .normalized_latency = (double)m->kept->step_ps },
        .planned = { .normalized_latency = (double)m->planned->step_ps },
        .rate = rate,
        .latency_s = w->n_arrived > 0 ? w->there_ns * 1e-9 / (double)w->n_arrived : 0,
        .interval_ns = m->interval_ns,
        .moves = &move,
        .n_moves = 1,
        .links = { .host_bytes_per_s = c->host_bytes_per_s },
    };
    replace_config_init(&config);
    config.settle_ns = c->settle_ns;
    return replace_decide(&config, &is);
}
