/* Surveys: rounds of passes, and a model beside itself. */
#include "run/survey.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/team.h"
#include "base/time.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    PASSES_LEAST = 24,
    ROUNDS_LEAST = 3,
    ROUNDS_MAX = 63,
    HELD_OUT_OF = 5,
    LONG_PS_MS = 50, /* a pass as long as this needs no second run to be warm */
};

struct survey {
    struct run_meter *meter;
    int n;
    struct run_meter_pass passes[PREDICT_PROFILE_SAMPLES];
    struct perf_load loads[PREDICT_PROFILE_SAMPLES];
    int64_t ps[PREDICT_PROFILE_SAMPLES][ROUNDS_MAX];
    int n_rounds;
};

static void add(struct survey *s, struct run_meter_pass pass)
{
    if (s->n < PREDICT_PROFILE_SAMPLES && run_meter_fits(s->meter, &pass))
        s->passes[s->n++] = pass;
}

/* Lists the passes, fast ones first. */
static void list_passes(struct survey *s, const struct run_survey_options *o)
{
    for (int32_t step = 1; step <= max_i32(o->n_batch_max, o->n_prompt_max); step *= 2) {
        for (int half = 0; half < 2; half++) {
            int32_t size = half == 0 ? step : step + step / 2;
            if (half == 1 && step < 2)
                continue;
            for (int32_t c = 32; c <= o->n_context_max && size <= o->n_batch_max; c *= 2)
                add(s, (struct run_meter_pass){ size, 1, c - 1 });
            if (size >= 8 && size <= o->n_prompt_max)
                add(s, (struct run_meter_pass){ 1, size, 0 });
            if (size >= 32 && size <= o->n_prompt_max && half == 0)
                add(s, (struct run_meter_pass){ 1, size, o->n_context_max / 2 });
        }
    }
}

static int64_t measure(struct survey *s, int i, int round)
{
    bool is_long = round > 0 && s->ps[i][0] > LONG_PS_MS * INT64_C(1000000000);
    struct perf_sample sample =
        run_meter_step(s->meter, &s->passes[i], is_long ? 1 : 2, TIME_NEVER);
    s->loads[i] = sample.load;
    s->ps[i][round] = sample.ps;
    return sample.ps;
}

/* Runs the first round: as many passes as half of the budget allows. */
static void measure_first(struct survey *s, int64_t half_ns)
{
    int n = 0;
    for (; n < s->n && (n < PASSES_LEAST || time_now_ns() < half_ns); n++)
        (void)measure(s, n, 0);
    s->n = n;
    s->n_rounds = n > 0;
}

static void measure_round(struct survey *s, struct rng *rng, int64_t deadline_ns)
{
    int order[PREDICT_PROFILE_SAMPLES];
    for (int i = 0; i < s->n; i++) {
        int k = (int)rng_below(rng, (uint32_t)i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (int i = 0; i < s->n; i++) {
        if (s->n_rounds >= ROUNDS_LEAST && time_now_ns() >= deadline_ns)
            return; /* part of a round does not count */
        (void)measure(s, order[i], s->n_rounds);
    }
    s->n_rounds++;
}

static int order_of(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median(int64_t *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), order_of);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

void run_survey(const struct run_model *model, const struct run_survey_options *o,
                struct predict_profile_group *group)
{
    struct survey *s = mem_take(sizeof(*s));
    struct rng rng;
    struct perf_sample held[PREDICT_PROFILE_SAMPLES];
    int64_t begin_ns = time_now_ns();
    s->meter = run_meter_open(
        model,
        &(struct run_meter_options){ .n_rows_max = o->n_prompt_max,
                                     .n_sequences_max = o->n_batch_max,
                                     .n_tokens_max = max_i32(o->n_batch_max * o->n_context_max,
                                                             o->n_prompt_max + o->n_context_max) });
    rng_init(&rng, 1, 0);
    list_passes(s, o);
    measure_first(s, begin_ns + o->budget_ns / 2);
    while (s->n > 0 && s->n_rounds < ROUNDS_MAX &&
           (s->n_rounds < ROUNDS_LEAST || time_now_ns() < begin_ns + o->budget_ns))
        measure_round(s, &rng, begin_ns + o->budget_ns);
    group->n_samples = group->n_held = 0;
    for (int i = 0; i < s->n; i++) {
        struct perf_sample sample = { s->loads[i], median(s->ps[i], s->n_rounds) };
        if (i % HELD_OUT_OF == HELD_OUT_OF - 2)
            held[group->n_held++] = sample;
        else
            group->samples[group->n_samples++] = sample;
    }
    memcpy(group->samples + group->n_samples, held, sizeof(held[0]) * (size_t)group->n_held);
    group->n_samples += group->n_held;
    run_meter_close(s->meter);
    mem_give(s);
}

/* ---- Beside itself. ---- */

enum { KINDS = 2 }; /* prompts, decodes: as in struct predict_profile_beside */

struct neighbour { /* computes one kind of pass on lane 2 while it is wanted */
    struct run_meter *meter;
    struct run_meter_pass passes[KINDS];
    _Atomic int wanted; /* a kind; KINDS: none; -1: the end */
    _Atomic int64_t n_done;
};

static void neighbour_thread(void *arg)
{
    struct neighbour *n = arg;
    for (int kind; (kind = atomic_load(&n->wanted)) >= 0;) {
        if (kind == KINDS)
            time_sleep_ns(TIME_NS_PER_MS / 10);
        else
            (void)run_meter_step(n->meter, &n->passes[kind], 1, TIME_NEVER);
        atomic_fetch_add(&n->n_done, 1);
    }
}

/* Waits until the neighbour runs the wanted kind, when its pass before is over. */
static void want(struct neighbour *n, int kind)
{
    atomic_store(&n->wanted, kind);
    int64_t then = atomic_load(&n->n_done);
    while (atomic_load(&n->n_done) < then + 2)
        time_sleep_ns(TIME_NS_PER_MS / 20);
}

static void measure_beside(struct run_meter *meter, struct neighbour *n,
                           const struct run_survey_options *o, struct predict_profile_beside *out)
{
    int64_t factors[KINDS][KINDS][ROUNDS_MAX], deadline_ns = time_now_ns() + o->budget_ns;
    int n_rounds = 0;
    while (n_rounds < ROUNDS_MAX && (n_rounds < ROUNDS_LEAST || time_now_ns() < deadline_ns)) {
        int64_t ps[KINDS + 1][KINDS]; /* of a kind, beside a kind or beside none */
        for (int beside = 0; beside <= KINDS; beside++) {
            want(n, beside);
            for (int kind = 0; kind < KINDS; kind++)
                ps[beside][kind] = run_meter_step(meter, &n->passes[kind], 2, TIME_NEVER).ps;
        }
        for (int i = 0; i < KINDS * KINDS; i++)
            factors[i / KINDS][i % KINDS][n_rounds] =
                ps[i % KINDS][i / KINDS] * 1000000 / max_i64(ps[KINDS][i / KINDS], 1);
        n_rounds++;
    }
    for (int i = 0; i < KINDS * KINDS; i++)
        out->factors[i / KINDS][i % KINDS] =
            (double)max_i64(median(factors[i / KINDS][i % KINDS], n_rounds), 1000000) * 1e-6;
    out->n_rounds = n_rounds;
}

void run_survey_beside(const struct run_model *model, const struct run_survey_options *o,
                       struct predict_profile_beside *out)
{
    int32_t n_decodes = min_i32(8, o->n_batch_max), n_prompt = min_i32(128, o->n_prompt_max);
    int32_t n_context = min_i32(128, o->n_context_max);
    struct run_meter_options options = { .n_rows_max = n_prompt,
                                         .n_sequences_max = n_decodes,
                                         .n_tokens_max = n_decodes * n_context + n_prompt,
                                         .lane = 1 };
    struct neighbour n = { .passes = { { 1, n_prompt, 0 }, { n_decodes, 1, n_context - 1 } } };
    CHECK(model->device->n_lanes > 2);
    struct run_meter *meter = run_meter_open(model, &options);
    options.lane = 2;
    n.meter = run_meter_open(model, &options);
    atomic_store(&n.wanted, KINDS);
    *out = (struct predict_profile_beside){ 0 };
    if (run_meter_fits(meter, &n.passes[0]) && run_meter_fits(meter, &n.passes[1])) {
        struct thread *thread = thread_start("neighbour", neighbour_thread, &n);
        measure_beside(meter, &n, o, out);
        atomic_store(&n.wanted, -1);
        thread_join(thread);
    }
    run_meter_close(n.meter);
    run_meter_close(meter);
}
