/* The modelled executor. A lane's run is (batches, rounds, begin), and every end follows from it.
 *
 * One batch of decodes, the common case, has closed forms for its span and the inverse; anything
 * else is added up round by round. Steps on shares of one device slow each other down. So while
 * more than one lane computes, all of them are followed from one end of a step to the next
 * (run_side_by_side). */
#include "sim/model_exec.h"

#include "base/mem.h"
#include "base/time.h"
#include "kv/kv.h"
#include "sim/pipes.h"
#include <string.h>

#define BASE_NS_MOST (3600 * TIME_NS_PER_S) /* behind the clock when a run begins */

struct flow { /* a lane's position in its run: in this batch of this round */
    bool is_on;
    int32_t round;
    int index;
    int64_t left_ps;                   /* of the step, if it were alone on its share */
    int64_t first_ps, last_ps, gap_ns; /* rounds of its last batch: ends, and the longest between */
    struct perf_job job;
};
struct lane {
    int n_batches, n_polled, n_rounds;
    bool is_decode; /* one batch, and all of its items are decodes */
    bool is_alone;  /* no other lane has computed since it began */
    double share;
    int64_t busy_ns;          /* for how long it computed */
    int64_t begin_ps, end_ps; /* end_ps: of the run's last batch, kept when the run is over */
    struct perf_load load;    /* of that batch, in the first round */
    const struct perf *perfs; /* (n_services) on the share */
    struct perf *own_perfs;   /* for this lane; NULL: those of the whole device */
    struct flow flow;         /* at the time of struct sim_model_exec.at_ps */
    struct lane_batch {
        int64_t end_ps; /* in its last round */
        bool is_lost;   /* the device crashed meanwhile */
        struct batch batch;
    } runs[LIMIT_BATCHES];
};
struct sim_model_exec {
    struct perf *perfs;        /* (n_services) */
    struct perf_truth *truths; /* (n_services) step_ps NULL: perfs */
    bool has_truths;           /* any; otherwise they are never read */
    int n_services;
    const int64_t *clock_ns;
    int64_t base_ns; /* ps count from here; it moves along, since 2^63 ps are 106.75 days */
    const struct request *requests;
    const struct kv *kv;
    int64_t copy_bytes_per_s;
    struct sim_model_sharer *sharers; /* (n_services); NULL: each lane is the whole device */
    double bytes_per_s;               /* of the device that lanes share */
    int64_t at_ps;                    /* the lanes' flows are of this time */
    struct sim_pipes *pipes;          /* NULL: no chain */
    int n_lanes;
    struct lane *told; /* the lane of the batch that was polled last, and its index there */
    int told_index;
    int32_t *n_new; /* (LIMIT_BATCH_ITEMS) */
    struct lane lanes[];
};

/* The first nanosecond that is not before it. */
static int64_t ns_of(const struct sim_model_exec *x, int64_t ps)
{
    return x->base_ns + ps / 1000 + (ps % 1000 > 0);
}

static RARE void move_base(struct sim_model_exec *x)
{
    int64_t by_ns = *x->clock_ns - 1 - x->base_ns; /* what ends at this instant ends above 0 */
    x->base_ns += by_ns;
    x->at_ps = sim_pipes_earlier_ps(x->at_ps, by_ns);
    if (x->pipes != NULL)
        sim_pipes_move(x->pipes, by_ns);
    for (int i = 0; i < x->n_lanes; i++) {
        struct lane *lane = &x->lanes[i];
        lane->begin_ps = sim_pipes_earlier_ps(lane->begin_ps, by_ns);
        lane->end_ps = sim_pipes_earlier_ps(lane->end_ps, by_ns);
        lane->flow.first_ps = sim_pipes_earlier_ps(lane->flow.first_ps, by_ns);
        lane->flow.last_ps = sim_pipes_earlier_ps(lane->flow.last_ps, by_ns);
        for (int b = 0; b < lane->n_batches; b++)
            lane->runs[b].end_ps = sim_pipes_earlier_ps(lane->runs[b].end_ps, by_ns);
    }
}

static bool is_line(const struct sim_model_exec *x, int service)
{
    return !x->has_truths || x->truths[service].step_ps == NULL;
}

/* Returns the time of a step. A nonlinear truth is stretched on a share by as much as the line
 * is. */
static int64_t step_ps(const struct sim_model_exec *x, const struct lane *lane, int service,
                       const struct perf_load *load)
{
    const struct perf_truth *truth = &x->truths[service];
    if (is_line(x, service))
        return perf_step_ps(&lane->perfs[service], load);
    if (x->pipes != NULL)
        return sim_pipes_step_ps(x->pipes, lane->runs[0].batch.lane, load);
    int64_t ps = truth->step_ps(truth->self, load);
    int64_t whole_ps = perf_step_ps(&x->perfs[service], load);
    if (lane->share >= 1 || whole_ps == 0)
        return ps;
    double slowdown = (double)perf_step_ps(&lane->perfs[service], load) / (double)whole_ps;
    return (int64_t)((double)ps * slowdown);
}

/* Returns the time of n rounds of decodes with this load in the first one. */
static int64_t span_ps(const struct sim_model_exec *x, const struct lane *lane, int32_t n)
{
    int service = lane->runs[0].batch.service;
    return is_line(x, service) ? perf_decode_span_ps(&lane->perfs[service], lane->load.n_decodes,
                                                     lane->load.n_decode_context, n)
                               : truth_span_ps(&x->truths[service], &lane->load, n);
}

static int64_t steps_in(const struct sim_model_exec *x, const struct lane *lane, int64_t ps)
{
    int service = lane->runs[0].batch.service;
    return is_line(x, service)
               ? perf_decode_steps_in(&lane->perfs[service], lane->load.n_decodes,
                                      lane->load.n_decode_context, ps)
               : truth_steps_in(&x->truths[service], &lane->load, ps, lane->n_rounds);
}

static int64_t copy_ps(const struct sim_model_exec *x, const struct batch *batch, int32_t round)
{
    int64_t n_bytes = 0; /* copies: in the first round alone */
    for (int32_t i = 0; i < batch->n_items && round == 0; i++)
        n_bytes += batch->items[i].n_tokens * kv_layout(x->kv, batch->service)->bytes_per_token;
    return (int64_t)((double)n_bytes / (double)x->copy_bytes_per_s * 1e12);
}

static int64_t ps_of_round(const struct sim_model_exec *x, const struct lane *lane, int index,
                           int32_t round)
{
    const struct batch *batch = &lane->runs[index].batch;
    if (batch->kind != BATCH_COMPUTE)
        return copy_ps(x, batch, round);
    struct perf_load load = engine_exec_load_of_round(batch, x->requests, round);
    return step_ps(x, lane, batch->service, &load);
}

/* Sets the end of every batch in round n_rounds - 1. */
static void set_ends(struct sim_model_exec *x, struct lane *lane)
{
    int64_t at_ps = lane->begin_ps;
    if (lane->is_decode) {
        lane->runs[0].end_ps = at_ps + span_ps(x, lane, lane->n_rounds);
        lane->end_ps = lane->runs[0].end_ps;
        return;
    }
    for (int32_t round = 0; round < lane->n_rounds; round++) {
        for (int i = 0; i < lane->n_batches; i++) {
            at_ps += ps_of_round(x, lane, i, round);
            lane->runs[i].end_ps = at_ps;
        }
    }
    lane->end_ps = at_ps;
}

/* Computes one round, behind the earlier batches in the chain. */
static RARE void pass_chain(struct sim_model_exec *x, struct lane *lane)
{
    int64_t at_ps = lane->begin_ps;
    for (int i = 0; i < lane->n_batches; i++) {
        const struct batch *batch = &lane->runs[i].batch;
        struct perf_load load = engine_exec_load_of_round(batch, x->requests, 0);
        at_ps = batch->kind != BATCH_COMPUTE ? at_ps + copy_ps(x, batch, 0)
                                             : sim_pipes_pass(x->pipes, batch->lane, &load, at_ps);
        lane->runs[i].end_ps = at_ps;
    }
    lane->end_ps = at_ps;
}

/* Returns the fewest rounds whose end is not before now. */
static int rounds_until(const struct sim_model_exec *x, const struct lane *lane, int64_t now_ns)
{
    int64_t last_ps =
        (now_ns - 1 - x->base_ns) * 1000; /* a round that ends by then ended before now */
    if (lane->is_decode) {
        int64_t n = steps_in(x, lane, last_ps - lane->begin_ps);
        return (int)min_i64(n + 1, lane->n_rounds);
    }
    int64_t at_ps = lane->begin_ps;
    for (int32_t round = 0; round < lane->n_rounds; round++) {
        for (int i = 0; i < lane->n_batches; i++) {
            at_ps += ps_of_round(x, lane, i, round);
        }
        if (at_ps > last_ps)
            return round + 1;
    }
    return lane->n_rounds;
}

/* ---- Side by side. ---- */

/* The step that the flow has come to. */
static void set_step(const struct sim_model_exec *x, const struct lane *lane, struct flow *flow)
{
    const struct batch *batch = &lane->runs[flow->index].batch;
    flow->job = (struct perf_job){ .share = lane->share };
    if (batch->kind == BATCH_COMPUTE) {
        struct perf_load load = engine_exec_load_of_round(batch, x->requests, flow->round);
        flow->job.ps = step_ps(x, lane, batch->service, &load);
        flow->job.bytes = perf_step_bytes(&load, x->sharers[batch->service].weights_bytes,
                                          x->sharers[batch->service].token_bytes);
        flow->job.is_prefill = load.n_new > 0;
        memcpy(flow->job.beside, x->sharers[batch->service].beside[flow->job.is_prefill ? 0 : 1],
               sizeof(flow->job.beside));
    } else {
        flow->job.ps =
            copy_ps(x, batch, flow->round); /* the link to the host is what it waits for */
    }
    flow->left_ps = flow->job.ps;
}

/* Sets how much longer each lane's step takes now. Returns the number of lanes that compute. */
static int contend(const struct sim_model_exec *x, const struct flow *flows, double *factors)
{
    struct perf_job jobs[LIMIT_LANES];
    double of_jobs[LIMIT_LANES];
    int n = 0;
    for (int i = 0; i < x->n_lanes; i++)
        if (flows[i].is_on)
            jobs[n++] = flows[i].job;
    perf_contention(jobs, n, x->bytes_per_s, of_jobs);
    for (int i = x->n_lanes - 1, k = n; i >= 0; i--)
        factors[i] = flows[i].is_on ? of_jobs[--k] : 1;
    return n;
}

static int64_t longer_ps(int64_t ps, double factor)
{
    return factor <= 1 ? ps : (int64_t)((double)ps * factor + 0.5);
}

/* notes: keeps the result, which holds unless another lane begins. */
static void end_step(const struct sim_model_exec *x, struct lane *lane, struct flow *flow,
                     int64_t at_ps, bool notes)
{
    if (notes && flow->round == lane->n_rounds - 1)
        lane->runs[flow->index].end_ps = lane->end_ps = at_ps;
    if (++flow->index == lane->n_batches) {
        if (flow->round > 0)
            flow->gap_ns = max_i64(flow->gap_ns, ns_of(x, at_ps) - ns_of(x, flow->last_ps));
        flow->first_ps = flow->round == 0 ? at_ps : flow->first_ps;
        flow->last_ps = at_ps;
        flow->index = 0;
        flow->is_on = ++flow->round < lane->n_rounds;
    }
    if (flow->is_on)
        set_step(x, lane, flow);
}

/* Follows the lanes from one end of a step on any lane to the next. */
static void run_side_by_side(struct sim_model_exec *x, struct flow *flows, int64_t *at_ps,
                             int64_t until_ps, bool notes)
{
    double factors[LIMIT_LANES];
    while (*at_ps < until_ps && contend(x, flows, factors) > 0) {
        int64_t step = INT64_MAX;
        for (int i = 0; i < x->n_lanes; i++)
            if (flows[i].is_on)
                step = min_i64(step, longer_ps(flows[i].left_ps, factors[i]));
        bool is_whole = step <= until_ps - *at_ps;
        step = is_whole ? step : until_ps - *at_ps;
        *at_ps += step;
        for (int i = 0; i < x->n_lanes; i++) {
            struct flow *flow = &flows[i];
            if (flow->is_on && is_whole && longer_ps(flow->left_ps, factors[i]) <= step)
                end_step(x, &x->lanes[i], flow, *at_ps, notes);
            else if (flow->is_on)
                flow->left_ps =
                    max_i64(flow->left_ps - (int64_t)((double)step / factors[i] + 0.5), 1);
        }
    }
    *at_ps = max_i64(*at_ps, until_ps);
}

static void copy_flows(const struct sim_model_exec *x, struct flow *flows)
{
    for (int i = 0; i < x->n_lanes; i++)
        flows[i] = x->lanes[i].flow;
}

/* All lanes come to this time. */
static void advance(struct sim_model_exec *x, int64_t until_ps)
{
    struct flow flows[LIMIT_LANES];
    for (int i = 0; i < x->n_lanes; i++) /* lanes that were alone to the end are not followed */
        if (x->lanes[i].is_alone && x->lanes[i].end_ps <= until_ps)
            x->lanes[i].flow.is_on = false;
    copy_flows(x, flows);
    run_side_by_side(x, flows, &x->at_ps, until_ps, false);
    for (int i = 0; i < x->n_lanes; i++)
        x->lanes[i].flow = flows[i];
}

static void predict_ends(struct sim_model_exec *x)
{
    struct flow flows[LIMIT_LANES];
    int64_t at_ps = x->at_ps;
    copy_flows(x, flows);
    run_side_by_side(x, flows, &at_ps, INT64_MAX, true);
}

/* Begins a run on this lane, perhaps beside others. */
static void begin_beside(struct sim_model_exec *x, struct lane *lane)
{
    advance(x, lane->begin_ps);
    lane->begin_ps = x->at_ps;
    lane->flow = (struct flow){ .is_on = true };
    lane->is_alone = true;
    set_step(x, lane, &lane->flow);
    for (int i = 0; i < x->n_lanes; i++)
        if (&x->lanes[i] != lane && x->lanes[i].flow.is_on)
            lane->is_alone = x->lanes[i].is_alone = false;
    if (lane->is_alone)
        set_ends(x, lane);
    else
        predict_ends(x);
}

/* Rounds that end not before now, as rounds_until. */
static int rounds_beside(struct sim_model_exec *x, const struct lane *lane, int64_t now_ns)
{
    struct flow flows[LIMIT_LANES];
    int64_t at_ps = x->at_ps;
    copy_flows(x, flows);
    run_side_by_side(x, flows, &at_ps, (now_ns - 1 - x->base_ns) * 1000, false);
    return min_i32(flows[lane - x->lanes].round + 1, lane->n_rounds);
}

/* ---- The contract. ---- */

static void attach(void *self, const struct engine_exec_view *view)
{
    ((struct sim_model_exec *)self)->requests = view->requests;
    ((struct sim_model_exec *)self)->kv = view->kv;
}

/* Returns the begin of a run. A run that starts at the instant at which the lane became free begins
 * at the lane's exact end. In a chain, it begins at the end of the batch that ended last. */
static int64_t begin_of(const struct sim_model_exec *x, const struct lane *lane)
{
    int64_t end_ps = lane->end_ps;
    for (int i = 0; i < x->n_lanes && x->pipes != NULL; i++)
        if (ns_of(x, x->lanes[i].end_ps) <= *x->clock_ns)
            end_ps = max_i64(end_ps, x->lanes[i].end_ps);
    return ns_of(x, end_ps) == *x->clock_ns ? end_ps : (*x->clock_ns - x->base_ns) * 1000;
}

static void begin(void *self, const struct batch *batches, int n_batches, int n_rounds)
{
    struct sim_model_exec *x = self;
    int32_t n_deep = x->pipes != NULL ? x->pipes->n_deep : 1;
    struct lane *lane = &x->lanes[batch_place(&batches[0], n_deep)];
    CHECK(lane->n_polled == lane->n_batches && n_batches <= LIMIT_BATCHES);
    if (*x->clock_ns - x->base_ns > BASE_NS_MOST)
        move_base(x);
    lane->begin_ps = begin_of(x, lane);
    if (x->pipes != NULL)
        sim_pipes_begun(x->pipes, lane->begin_ps);
    lane->n_batches = n_batches;
    lane->n_polled = 0;
    lane->n_rounds = n_rounds;
    for (int i = 0; i < n_batches; i++)
        lane->runs[i] = (struct lane_batch){ .batch = batches[i] };
    bool is_linear = is_line(x, batches[0].service);
    if (batches[0].n_decode_context > 0 && is_linear)
        lane->load = (struct perf_load){ .n_decodes = batches[0].n_items,
                                         .n_decode_context = batches[0].n_decode_context };
    else if (batches[0].kind == BATCH_COMPUTE)
        lane->load = engine_exec_load(&lane->runs[0].batch, x->requests);
    lane->is_decode = n_batches == 1 && lane->load.n_new == 0 && batches[0].kind == BATCH_COMPUTE &&
                      (is_linear || lane->share >= 1);
    if (x->sharers != NULL)
        begin_beside(x, lane);
    else if (x->pipes != NULL && n_rounds == 1)
        pass_chain(x, lane);
    else
        set_ends(x, lane);
}

static void cut(void *self, uint16_t index)
{
    struct sim_model_exec *x = self;
    struct lane *lane = &x->lanes[index];
    if (lane->n_polled > 0 || lane->n_rounds == 1)
        return;
    bool is_beside = x->sharers != NULL && !lane->is_alone;
    int n_rounds =
        is_beside ? rounds_beside(x, lane, *x->clock_ns) : rounds_until(x, lane, *x->clock_ns);
    if (n_rounds == lane->n_rounds)
        return;
    lane->n_rounds = n_rounds;
    if (is_beside)
        predict_ends(x);
    else
        set_ends(x, lane);
}

static struct lane *first_lane(struct sim_model_exec *x)
{
    struct lane *first = NULL;
    if (x->n_lanes == 1)
        return x->lanes[0].n_polled < x->lanes[0].n_batches ? &x->lanes[0] : NULL;
    for (int i = 0; i < x->n_lanes; i++) {
        struct lane *lane = &x->lanes[i];
        if (lane->n_polled < lane->n_batches &&
            (first == NULL ||
             lane->runs[lane->n_polled].end_ps < first->runs[first->n_polled].end_ps))
            first = lane;
    }
    return first;
}

/* For a chain: counts how long any batch was there, on the lane that is all of it. */
static void count_busy(struct sim_model_exec *x, struct lane *lane)
{
    if (x->pipes == NULL)
        lane->busy_ns += ns_of(x, lane->end_ps) - ns_of(x, lane->begin_ps);
    else if (sim_pipes_ended(x->pipes, lane->end_ps) > 0)
        x->lanes[0].busy_ns += ns_of(x, x->pipes->until_ps) - ns_of(x, x->pipes->from_ps);
}

static bool poll(void *self, struct engine_exec_done *done)
{
    struct sim_model_exec *x = self;
    struct lane *lane = first_lane(x);
    if (lane == NULL || ns_of(x, lane->runs[lane->n_polled].end_ps) > *x->clock_ns)
        return false;
    int index = lane->n_polled++;
    x->told = lane;
    x->told_index = index;
    const struct batch *batch = &lane->runs[index].batch;
    int64_t begin_ps =
        index > 0 && lane->n_rounds == 1 ? lane->runs[index - 1].end_ps : lane->begin_ps;
    *done = (struct engine_exec_done){
        .batch = batch->id,
        .n_steps = lane->n_rounds,
        .begin_ns = ns_of(x, begin_ps),
        .end_ns = ns_of(x, lane->runs[index].end_ps),
        .n_new = x->n_new,
        .is_failed = lane->runs[index].is_lost,
    };
    if (lane->n_polled == lane->n_batches)
        count_busy(x, lane);
    for (int32_t i = 0; i < batch->n_items && batch->kind == BATCH_COMPUTE; i++) {
        const struct batch_item *item = &batch->items[i];
        x->n_new[i] =
            engine_exec_progress(&x->requests[item->slot], item->n_tokens, lane->n_rounds).n_new;
    }
    return true;
}

static int wait_fd(void *self)
{
    (void)self;
    return -1;
}

static int64_t next_ns(void *self)
{
    struct sim_model_exec *x = self;
    const struct lane *lane = first_lane(x);
    return lane == NULL ? TIME_NEVER : ns_of(x, lane->runs[lane->n_polled].end_ps);
}

/* Later steps of decodes take no less than earlier ones, so the longest, by more than rounding, is
 * found from the end. */
static void rounds_of_decodes(const struct sim_model_exec *x, const struct lane *lane, int32_t from,
                              int64_t *gap_ns)
{
    bool is_linear = is_line(x, lane->runs[0].batch.service);
    int64_t after_ps = lane->end_ps, before_ps;
    for (int32_t round = lane->n_rounds - 1; round >= from; round--, after_ps = before_ps) {
        before_ps = lane->begin_ps + span_ps(x, lane, round);
        *gap_ns = max_i64(*gap_ns, ns_of(x, after_ps) - ns_of(x, before_ps));
        if (is_linear && div_up_i64(after_ps - before_ps, 1000) <= *gap_ns)
            return;
    }
}

/* Handles a lane that was not alone all the time: computes what its flow passes until the end. Only
 * a lane's single batch of decodes is held. */
static void rounds_beside_others(struct sim_model_exec *x, const struct lane *lane, int32_t from,
                                 int64_t *first_ns, int64_t *gap_ns)
{
    struct flow flows[LIMIT_LANES];
    int64_t at_ps = x->at_ps;
    CHECK(from == 1 && lane->n_batches == 1);
    copy_flows(x, flows);
    run_side_by_side(x, flows, &at_ps, lane->end_ps, false);
    *first_ns = ns_of(x, flows[lane - x->lanes].first_ps);
    *gap_ns = flows[lane - x->lanes].gap_ns;
}

static void rounds(void *self, int32_t from, int64_t *first_ns, int64_t *gap_ns)
{
    struct sim_model_exec *x = self;
    const struct lane *lane = x->told;
    int64_t at_ps = lane->begin_ps, last_ns = 0;
    *gap_ns = 0;
    CHECK(from >= 1 && from <= lane->n_rounds);
    if (x->sharers != NULL && !lane->is_alone) {
        rounds_beside_others(x, lane, from, first_ns, gap_ns);
        return;
    }
    if (lane->is_decode) {
        *first_ns = ns_of(x, at_ps + span_ps(x, lane, from));
        rounds_of_decodes(x, lane, from, gap_ns);
        return;
    }
    for (int32_t round = 1; round <= lane->n_rounds; round++) {
        int64_t end_ns = 0;
        for (int i = 0; i < lane->n_batches; i++) {
            at_ps += ps_of_round(x, lane, i, round - 1);
            end_ns = i == x->told_index ? ns_of(x, at_ps) : end_ns;
        }
        if (round == from)
            *first_ns = end_ns;
        else if (round > from)
            *gap_ns = max_i64(*gap_ns, end_ns - last_ns);
        last_ns = end_ns;
    }
}

static void stop_lane(void *self, uint16_t index)
{
    struct sim_model_exec *x = self;
    struct lane *lane = &x->lanes[index];
    int64_t now_ns = *x->clock_ns;
    bool is_beside = x->sharers != NULL && !lane->is_alone;
    if (lane->n_polled > 0 || lane->n_batches == 0 || ns_of(x, lane->end_ps) <= now_ns)
        return;
    int n = is_beside ? rounds_beside(x, lane, now_ns + 1) : rounds_until(x, lane, now_ns + 1);
    lane->n_rounds = max_i32(n - 1, 1); /* that one is the first to end later */
    if (n > 1 && is_beside)
        predict_ends(x);
    else if (n > 1)
        set_ends(x, lane);
    for (int b = 0; b < lane->n_batches && n <= 1; b++)
        lane->runs[b].end_ps = lane->end_ps = INT64_MAX / 2;
}

struct sim_model_exec *sim_model_exec_open(int n_services, const struct perf *perfs, int n_lanes,
                                           const int64_t *clock_ns)
{
    CHECK(n_services <= LIMIT_SERVICES && n_lanes > 0 && n_lanes <= LIMIT_BATCHES);
    struct sim_model_exec *x = mem_take(sizeof(*x) + (size_t)n_lanes * sizeof(x->lanes[0]));
    x->n_services = n_services;
    x->perfs = mem_take((size_t)n_services * sizeof(*perfs));
    x->truths = mem_take((size_t)n_services * sizeof(*x->truths));
    memcpy(x->perfs, perfs, (size_t)n_services * sizeof(*perfs));
    x->n_lanes = n_lanes;
    x->clock_ns = clock_ns;
    x->copy_bytes_per_s = INT64_C(4) << 30;
    x->n_new = mem_take(LIMIT_BATCH_ITEMS * sizeof(*x->n_new));
    for (int i = 0; i < n_lanes; i++) {
        x->lanes[i].end_ps = -1000000; /* long over, and not at the first instant */
        x->lanes[i].share = 1;
        x->lanes[i].perfs = x->perfs;
    }
    return x;
}

/* Returns the lane's own models, which now differ from the whole device's. */
static struct perf *own_perfs(const struct sim_model_exec *x, struct lane *lane)
{
    size_t n_bytes = (size_t)x->n_services * sizeof(*lane->own_perfs);
    if (lane->own_perfs == NULL) {
        lane->own_perfs = mem_take(n_bytes);
        memcpy(lane->own_perfs, x->perfs, n_bytes);
    }
    lane->perfs = lane->own_perfs;
    return lane->own_perfs;
}

void sim_model_exec_set_device(struct sim_model_exec *x, const struct sim_model_device *device)
{
    size_t n_bytes = (size_t)x->n_services * sizeof(*x->sharers);
    CHECK(x->sharers == NULL && device->bytes_per_s > 0 && x->n_lanes <= LIMIT_LANES);
    x->sharers = mem_take(n_bytes);
    memcpy(x->sharers, device->services, n_bytes);
    x->bytes_per_s = device->bytes_per_s;
    for (int i = 0; i < x->n_lanes; i++) {
        struct lane *lane = &x->lanes[i];
        lane->share = device->shares[i];
        if (lane->share >= 1)
            continue;
        struct perf *perfs = own_perfs(x, lane);
        for (int s = 0; s < x->n_services; s++)
            perf_at_share(&x->perfs[s],
                          device->tp > 0 ? perf_share_of(x->sharers[s].weights_bytes, device->tp)
                                         : &perf_share_cores,
                          lane->share, &perfs[s]);
    }
}

void sim_model_exec_set_lane(struct sim_model_exec *x, int lane, int service,
                             const struct perf *perf)
{
    CHECK(lane >= 0 && lane < x->n_lanes && service >= 0 && service < x->n_services);
    own_perfs(x, &x->lanes[lane])[service] = *perf;
}

void sim_model_exec_set_pipes(struct sim_model_exec *x, struct sim_pipes *pipes)
{
    CHECK(x->sharers == NULL && x->pipes == NULL && x->n_lanes == pipes->n_lanes * pipes->n_deep);
    x->pipes = pipes;
    for (int i = 0; i < x->n_lanes; i++)
        x->lanes[i].share = (double)pipes->lanes[i / pipes->n_deep].share;
}

void sim_model_exec_set_truth(struct sim_model_exec *x, int service, struct perf_truth truth)
{
    CHECK(service >= 0 && service < x->n_services);
    x->truths[service] = truth;
    x->has_truths = true;
}

void sim_model_exec_close(struct sim_model_exec *x)
{
    for (int i = 0; i < x->n_lanes; i++)
        mem_give(x->lanes[i].own_perfs);
    mem_give(x->sharers);
    sim_pipes_close(x->pipes);
    mem_give(x->perfs);
    mem_give(x->truths);
    mem_give(x->n_new);
    mem_give(x);
}

struct engine_exec sim_model_exec_face(struct sim_model_exec *x)
{
    return (struct engine_exec){ x, attach, begin, cut, poll, wait_fd, next_ns, rounds, stop_lane };
}

void sim_model_exec_set_copies(struct sim_model_exec *x, int64_t bytes_per_s)
{
    CHECK(bytes_per_s > 0);
    x->copy_bytes_per_s = bytes_per_s;
}

void sim_model_exec_stop(struct sim_model_exec *x)
{
    for (int i = 0; i < x->n_lanes; i++)
        stop_lane(x, (uint16_t)i);
}

/* Loses what runs now: it took no time and gave nothing. */
static void lose(struct sim_model_exec *x, struct lane *lane)
{
    int64_t end_ps = lane->begin_ps;
    for (int b = 0; b < lane->n_batches; b++) {
        struct lane_batch *run = &lane->runs[b];
        if (b >= lane->n_polled && ns_of(x, run->end_ps) > *x->clock_ns) {
            run->is_lost = run->batch.kind == BATCH_COMPUTE;
            run->end_ps = end_ps;
        }
        end_ps = run->end_ps;
    }
    lane->end_ps = end_ps;
}

void sim_model_exec_crash(struct sim_model_exec *x)
{
    for (int i = 0; i < x->n_lanes; i++) {
        stop_lane(x, (uint16_t)i);
        if (x->lanes[i].n_polled < x->lanes[i].n_batches)
            lose(x, &x->lanes[i]);
    }
}

int64_t sim_model_exec_busy_ns(const struct sim_model_exec *x)
{
    int64_t sum_ns = 0;
    for (int i = 0; i < x->n_lanes; i++)
        sum_ns += (int64_t)((double)x->lanes[i].busy_ns * x->lanes[i].share + 0.5);
    return sum_ns;
}
