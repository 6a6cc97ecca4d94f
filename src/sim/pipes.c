/* Batches that follow one another through a chain. */
#include "sim/pipes.h"

#include "base/mem.h"

struct sim_pipes *sim_pipes_open(const struct sim_chain_map *map, const struct schedule_lane *lanes,
                                 int32_t n_lanes, int32_t n_deep)
{
    struct sim_pipes *pipes = mem_take(sizeof(*pipes));
    CHECK(n_lanes <= LIMIT_LANES && n_deep > 0);
    pipes->map = *map;
    pipes->n_lanes = n_lanes;
    pipes->n_deep = n_deep;
    for (int32_t i = 0; i < n_lanes; i++)
        pipes->lanes[i] = lanes[i];
    pipes->busy_ps = mem_take((size_t)n_lanes * 2 * LAYERS_DEVICES_MAX * sizeof(*pipes->busy_ps));
    return pipes;
}

void sim_pipes_close(struct sim_pipes *pipes)
{
    if (pipes == NULL)
        return;
    mem_give(pipes->busy_ps);
    mem_give(pipes);
}

static int64_t *busy_of(struct sim_pipes *pipes, int32_t lane, int32_t at)
{
    return &pipes->busy_ps[lane * 2 * LAYERS_DEVICES_MAX + at];
}

/* Sets the times of the i-th part and of the link behind it. */
static void part_ps(const struct sim_pipes *pipes, int32_t lane, int32_t i,
                    const struct perf_load *load, int64_t ps[2])
{
    const struct layers_plan *plan = pipes->map.plan;
    sim_chain_part_ps(pipes->map.chain, plan, i, pipes->lanes[lane].share, load, ps);
}

int64_t sim_pipes_step_ps(const struct sim_pipes *pipes, int32_t lane, const struct perf_load *load)
{
    int64_t sum_ps = 0, ps[2];
    for (int32_t i = 0; i < pipes->map.plan->n_parts; i++) {
        part_ps(pipes, lane, i, load, ps);
        sum_ps += ps[0] + ps[1];
    }
    return sum_ps;
}

/* Returns since when a batch of this lane may be there. */
static int64_t free_ps(struct sim_pipes *pipes, int32_t lane, int32_t at)
{
    int64_t ps = 0;
    for (int32_t i = 0; i < pipes->n_lanes; i++)
        if (i == lane || (pipes->lanes[lane].conflicts >> i & 1) != 0)
            ps = max_i64(ps, *busy_of(pipes, i, at));
    return ps;
}

int64_t sim_pipes_pass(struct sim_pipes *pipes, int32_t lane, const struct perf_load *load,
                       int64_t at_ps)
{
    int64_t ps[2];
    for (int32_t at = 0; at < 2 * pipes->map.plan->n_parts; at++) {
        if (at % 2 == 0)
            part_ps(pipes, lane, at / 2, load, ps);
        at_ps = max_i64(at_ps, free_ps(pipes, lane, at)) + ps[at % 2];
        *busy_of(pipes, lane, at) = at_ps;
    }
    return at_ps;
}

void sim_pipes_move(struct sim_pipes *pipes, int64_t by_ns)
{
    pipes->from_ps = sim_pipes_earlier_ps(pipes->from_ps, by_ns);
    pipes->until_ps = sim_pipes_earlier_ps(pipes->until_ps, by_ns);
    for (int32_t i = 0; i < pipes->n_lanes * 2 * LAYERS_DEVICES_MAX; i++)
        pipes->busy_ps[i] = sim_pipes_earlier_ps(pipes->busy_ps[i], by_ns);
}

void sim_pipes_begun(struct sim_pipes *pipes, int64_t at_ps)
{
    if (pipes->n_under_way++ == 0)
        pipes->from_ps = pipes->until_ps = at_ps;
}

int64_t sim_pipes_ended(struct sim_pipes *pipes, int64_t at_ps)
{
    pipes->until_ps = max_i64(pipes->until_ps, at_ps);
    return --pipes->n_under_way == 0 ? pipes->until_ps - pipes->from_ps : 0;
}
