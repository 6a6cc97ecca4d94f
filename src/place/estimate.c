/* The fixed point, and what follows from it. */
#include "place/estimate.h"

#include "base/num.h"

enum { ROUNDS = 12, BATCH_MAX = 256, RUNNING_MAX = 512, PROMPT_TOKENS_MAX = 2048 };
static const double load_max = 0.995, late_weight = 1, slow_weight = 0.02, under_weight = 4,
                    normalized_max = 60, burst_max = 10;
/* Two decode steps on halves of a device take this part of the time that they take in turn: 1.0 to
 * 1.4 times one's alone (MuxServe's measurements, predict/share.c). */
static const double side_by_side = 0.6;

struct member {
    const struct perf *perf;
    double rate, prompt, output, context; /* of decodes, mean */
    double prefill_s, batch;              /* of a request; decodes at once */
    double kv;                            /* KV of one request, over all that the group has */
    double cycle_s, solo_s;
};

/* Returns the seconds of a decode step of b requests of this context. */
static double step_s(const struct perf *perf, double b, double context)
{
    int r = b >= (double)perf->b_switch;
    double ps =
        (double)perf->c3_ps[r] + b * ((double)perf->c2_ps[r] + context * (double)perf->k2_ps[r]);
    return ps * (double)perf->decode_scale * 1e-12;
}

/* Returns the seconds of a decode step per token in the largest batch, which is the least that
 * decodes take. */
static double full_step_s(const struct perf *perf, double context)
{
    return step_s(perf, BATCH_MAX, context) / BATCH_MAX;
}

/* Returns the seconds of a prompt when n prompts are computed together. */
static double prompt_s(const struct perf *perf, double tokens, double n)
{
    double ps = (double)perf->c1_ps + n * tokens * (double)perf->k1_ps +
                n * tokens * tokens * (double)perf->q1_ps / 1024;
    double least = (double)perf->floor_ps;
    return (ps > least ? ps : least) * (double)perf->prefill_scale * 1e-12 / n;
}

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

static double fill_members(const struct place_problem *problem, const struct place_group *group,
                           const double *rates, struct member *members)
{
    int32_t kind = place_group_kind(problem, group);
    double busy = 0, kv_bytes = (double)max_i64(place_group_kv_bytes(problem, group), 1);
    for (int32_t i = 0; i < group->n_members; i++) {
        const struct place_service *s = &problem->services[group->members[i].service];
        struct member *m = &members[i];
        *m = (struct member){ .perf = place_problem_perf(problem, group->members[i].service, kind,
                                                         group->n_devices),
                              .rate = rates[i],
                              .prompt = s->n_prompt,
                              .output = s->n_output,
                              .context = s->n_prompt + s->n_output / 2 };
        m->kv = m->context * (double)s->size.kv_bytes_per_token / kv_bytes;
        m->prefill_s = prompt_s(m->perf, m->prompt, 1);
        m->cycle_s = step_s(m->perf, 1, m->context);
        m->solo_s = m->prefill_s + m->output * m->cycle_s;
        m->batch = m->rate * m->output * m->cycle_s;
        busy += m->rate * m->prefill_s;
    }
    return busy;
}

/* Returns the part of the time that a request of a member decodes, when b do on average. The part
 * is 1 - exp(-b), by the first terms of its series. They are near enough, and this function takes
 * most of the screen's time. */
static double active_of(double b)
{
    double terms = b * (1 + b / 2);
    return terms / (1 + terms);
}

/* Does one round of the iteration: batches from cycles, cycles from batches, and prompts in batches
 * of those that arrived meanwhile. */
static double iterate(struct member *members, int32_t n, double busy)
{
    double all_s = 0, next_busy = 0, room = 1 - clamp(busy, 0, load_max);
    double own_s[PLACE_MEMBERS_MAX];
    for (int32_t i = 0; i < n; i++) {
        struct member *m = &members[i];
        double active = active_of(m->batch);
        own_s[i] = active > 1e-9 ? active * step_s(m->perf, m->batch / active, m->context) : 0;
        all_s += own_s[i];
    }
    for (int32_t i = 0; i < n; i++) {
        struct member *m = &members[i];
        m->cycle_s = side_by_side * (all_s - own_s[i]) + step_s(m->perf, m->batch + 1, m->context);
        double batch = m->rate * m->output * m->cycle_s / room;
        m->batch = (m->batch + batch) / 2;
        double together = clamp(m->rate * m->cycle_s / room, 1, PROMPT_TOKENS_MAX / m->prompt + 1);
        m->prefill_s = prompt_s(m->perf, m->prompt, together);
        next_busy += m->rate * m->prefill_s;
    }
    return next_busy;
}

/* Reduces the batches in proportion when more requests decode than KV or the limit holds. Returns
 * the load over that capacity. */
static double hold(struct member *members, int32_t n)
{
    double kv = 0, batch = 0;
    for (int32_t i = 0; i < n; i++) {
        kv += members[i].batch * members[i].kv;
        batch += members[i].batch;
    }
    double over = kv > batch / RUNNING_MAX ? kv : batch / RUNNING_MAX;
    for (int32_t i = 0; i < n && over > 1; i++)
        members[i].batch /= over;
    return over;
}

/* Returns load over capacity: of device time in the largest batches, and of what holds these. If
 * that is full, of device time in the batches that do fit. */
static double load_of(const struct member *members, int32_t n, double busy, double over)
{
    double time = busy;
    for (int32_t i = 0; i < n; i++) {
        const struct member *m = &members[i];
        double held = m->batch > 1 ? m->batch : 1;
        double each_s =
            over > 1 ? step_s(m->perf, held, m->context) / held : full_step_s(m->perf, m->context);
        time += m->rate * m->output * each_s;
    }
    double least = over > 1 ? 1 : over;
    return time > least ? time : least;
}

/* Returns the part of requests that are in time, over short, mean and long ones: P(wait <= what is
 * left of the target), with an exponential wait. */
static double met_of(double slack_s, double wait_s, double waits)
{
    static const double sizes[] = { 0.25, 0.6, 1, 1.8 };
    double met = 0;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        double left_s = slack_s * sizes[i];
        double late = left_s <= 0 ? 1 : waits * num_exp(-clamp(left_s / wait_s, 0, 700));
        met += (1 - late) / (double)COUNT_OF(sizes);
    }
    return met;
}

/* Estimates the latency of member `index` when it comes in bursts and the others at their mean
 * rates. */
static void meet(const struct place_problem *problem, const struct place_group *group,
                 const double *rates, int32_t index, struct place_estimate *out)
{
    const struct place_service *s = &problem->services[group->members[index].service];
    struct member members[PLACE_MEMBERS_MAX];
    double own[PLACE_MEMBERS_MAX], residual_s = 0, rate = 0, over = 0;
    for (int32_t i = 0; i < group->n_members; i++)
        own[i] = i == index ? rates[i] * clamp(s->burst, 1, burst_max) : rates[i];
    double busy = fill_members(problem, group, own, members);
    for (int round = 0; round < ROUNDS; round++) {
        busy = iterate(members, group->n_members, busy);
        over = hold(members, group->n_members);
    }
    for (int32_t i = 0; i < group->n_members; i++) {
        residual_s += members[i].rate * (members[i].prefill_s + members[i].cycle_s);
        rate += members[i].rate;
    }
    double load = load_of(members, group->n_members, busy, over), used = clamp(load, 0, load_max);
    double wait_s = (rate > 0 ? residual_s / rate : 0) * used / (1 - used) + 1e-6;
    double serve_s = members[index].prefill_s + members[index].output * members[index].cycle_s /
                                                    (1 - clamp(busy, 0, load_max));
    double window_s = (double)problem->window.span_ns * 1e-9;
    double lasting_s = s->burst > 1.05 && s->span_s < window_s ? s->span_s : window_s;
    double over_s = load > 1 ? (load - 1) * lasting_s / 2 : 0; /* mean, as it grows */
    double slack_s = problem->limits.slo_scale * s->solo_s - serve_s;
    out->load = load > out->load ? load : out->load;
    out->latency_s[index] = serve_s + wait_s + over_s;
    out->met[index] = met_of(slack_s, wait_s, used);
    if (over_s > 0) /* only requests that come before the queue is too long are in time */
        out->met[index] *= clamp(slack_s / (2 * over_s), 0, 1);
}

void place_estimate_group(const struct place_problem *problem, const struct place_group *group,
                          const double *rates, struct place_estimate *out)
{
    out->load = 0;
    for (int32_t i = 0; i < group->n_members; i++)
        meet(problem, group, rates, i, out);
}

double place_estimate_cost(const struct place_problem *problem, int32_t service, double latency_s,
                           double met)
{
    const struct place_service *s = &problem->services[service];
    double normalized = s->solo_s > 0 ? latency_s / s->solo_s : 1;
    double under = problem->limits.attainment - met;
    double mean_rate = (double)problem->window.n /
                       ((double)problem->window.span_ns * 1e-9 * (double)problem->n_services);
    return s->rate_per_s *
               (late_weight * (1 - met) + slow_weight * clamp(normalized, 0, normalized_max)) +
           (under > 0 ? under_weight * mean_rate * (0.25 + under) : 0);
}

double place_estimate_weight(const struct place_problem *problem, const struct place_group *group,
                             int32_t service)
{
    const struct place_service *s = &problem->services[service];
    const struct perf *perf =
        place_problem_perf(problem, service, place_group_kind(problem, group), group->n_devices);
    double context = s->n_prompt + s->n_output / 2;
    return 1 / (prompt_s(perf, s->n_prompt, 1) + s->n_output * step_s(perf, 8, context));
}

double place_estimate_work(const struct place_problem *problem, const struct place_group *group,
                           int32_t service)
{
    const struct place_service *s = &problem->services[service];
    const struct perf *perf =
        place_problem_perf(problem, service, place_group_kind(problem, group), group->n_devices);
    return prompt_s(perf, s->n_prompt, 1) +
           s->n_output * full_step_s(perf, s->n_prompt + s->n_output / 2);
}
