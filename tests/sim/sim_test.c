/* The whole engine on virtual time: seeds, policies, small pools, cancels, deadlines.
 *
 * Every run is checked from within (sim/check.c); the same seed must give the same bytes, and holds
 * must not change any. */
#include "../test.h"
#include "base/num.h"
#include "base/str.h"
#include "base/time.h"
#include "sim/sim.h"

static const struct perf small_model = {
    .floor_ps = 2000000000,
    .c1_ps = 1000000000,
    .k1_ps = 20000000,
    .q1_ps = 4000000,
    .c3_ps = { 5000000000, 6000000000 },
    .c2_ps = { 20000000, 60000000 },
    .k2_ps = { 100000, 100000 },
    .b_switch = 24,
    .prefill_scale = 1,
    .decode_scale = 1,
};
static const struct perf large_model = {
    .floor_ps = 9000000000,
    .c1_ps = 3400000000,
    .k1_ps = 73800000,
    .q1_ps = 9000000,
    .c3_ps = { 11440000000, 13000000000 },
    .c2_ps = { 30000000, 90000000 },
    .k2_ps = { 374000, 374000 },
    .b_switch = 64,
    .prefill_scale = 1,
    .decode_scale = 1,
};

static const struct schedule_lane halves[] = { { .share = 1, .conflicts = 6, .n_gpus = 1 },
                                               { .share = 0.5F, .conflicts = 1, .n_gpus = 1 },
                                               { .share = 0.5F, .conflicts = 1, .n_gpus = 1 } };

struct world {
    struct sim_service services[3];
    struct workload workload;
    struct schedule_config config;
    struct sim_options options;
};

static void make_world(struct world *w, uint64_t seed, const struct schedule_policy *policy)
{
    struct rng rng;
    rng_init(&rng, seed, 99);
    memset(w, 0, sizeof(*w));
    int32_t n_services = 1 + (int32_t)rng_below(&rng, 3);
    for (int32_t i = 0; i < n_services; i++)
        w->services[i] = (struct sim_service){
            .name = i == 0   ? "small"
                    : i == 1 ? "large"
                             : "other",
            .perf = i == 1 ? large_model : small_model,
            .bytes_per_token = i == 1 ? 5000 : 2000,
            .weights_bytes = 1000000 * (i + 1),
            .activation_bytes = 100000,
        };
    int64_t memory_bytes = 0, token_bytes = n_services > 1 ? 5000 : 2000;
    for (int32_t i = 0; i < n_services; i++)
        memory_bytes += w->services[i].weights_bytes + w->services[i].activation_bytes;
    schedule_config_init(&w->config);
    if (rng_below(&rng, 2) == 0)
        w->config.chunk_tokens = 64 + (int32_t)rng_below(&rng, 200);
    w->config.n_seqs_max = 8 + (int32_t)rng_below(&rng, 60);
    w->workload = (struct workload){
        .seed = seed,
        .n_requests = 100,
        .n_services = n_services,
        .cancelled = 0.1,
        .cancel_ns_mean = TIME_NS_PER_S,
        .with_deadline = 0.1,
        .deadline_ns = 3 * TIME_NS_PER_S,
        .prediction_noise = 0.3,
    };
    for (int32_t i = 0; i < n_services; i++)
        w->workload.services[i] = (struct workload_traffic){
            .rate_per_s = 2 + 25 * rng_unit(&rng),
            .prompt = { 4.5, 0.8, 1, 600 },
            .output = { 3.5, 0.9, 1, 300 },
        };
    w->options = (struct sim_options){
        .n_engines = 1 + (int32_t)rng_below(&rng, 2),
        .n_lanes = policy->n_lanes_wanted > 0 && seed % 2 == 0 ? 3 : 1,
        .lanes = halves,
        .n_services = n_services,
        .services = w->services,
        .memory_bytes = memory_bytes + token_bytes * (1000 + rng_below(&rng, 1000)),
        .n_requests_max = rng_below(&rng, 3) == 0 ? 8 : 200,
        .n_tokens_max = 1000,
        .policy = policy,
        .config = &w->config,
        .workload = &w->workload,
    };
}

static void run(struct world *w, struct str *text, struct sim_report *report)
{
    sim_run(&w->options, report);
    sim_report_print(report, &w->options, text);
    if (report->wrong != NULL)
        printf("%s", text->at);
    assert_null(report->wrong);
}

struct tally {
    int64_t n_requests, n_preempted, n_cancelled, n_deadlines, n_held, n_steps, n_steps_held;
};

/* One seed: twice with holds, once without; all three reports must be the same bytes. */
static void run_seed(uint64_t seed, const struct schedule_policy *policy, struct tally *tally)
{
    struct world w;
    struct str texts[3];
    make_world(&w, seed, policy);
    for (int i = 0; i < 3; i++) {
        struct sim_report report;
        str_init(&texts[i]);
        w.config.n_rounds_max = i == 2 ? 1 : 4096;
        w.options.checks_steps = i == 0 && seed % 8 == 0;
        run(&w, &texts[i], &report);
        for (int32_t s = 0; s < report.n_services && i == 0; s++) {
            tally->n_preempted += report.services[s].n_preempted;
            tally->n_cancelled += report.services[s].n_ended[SERVICE_CANCELLED];
            tally->n_deadlines += report.services[s].n_ended[SERVICE_DEADLINE];
        }
        tally->n_requests += i == 0 ? (int64_t)report.n_requests : 0;
        tally->n_held += i == 0 ? report.n_held_max : 0;
        tally->n_steps_held += i == 0 ? report.n_steps : 0;
        tally->n_steps += i == 2 ? report.n_steps : 0;
        sim_report_free(&report);
    }
    if (strcmp(texts[0].at, texts[2].at) != 0)
        printf("seed %llu, with holds:\n%swithout:\n%s", (unsigned long long)seed, texts[0].at,
               texts[2].at);
    assert_string_equal(texts[0].at, texts[1].at);
    assert_string_equal(texts[0].at, texts[2].at);
    for (int i = 0; i < 3; i++)
        str_free(&texts[i]);
}

static void seeds_under_every_policy(void **state)
{
    int n_policies;
    const struct schedule_policy *const *policies = schedule_all(&n_policies);
    uint64_t seed = test_seed(1);
    (void)state;
    for (int p = 0; p < n_policies; p++) {
        struct tally t = { 0 };
        for (uint64_t i = 0; i < 200; i++)
            run_seed(seed + i, policies[p], &t);
        printf("%s: 200 seeds, %lld requests, %lld preemptions, %lld cancelled, %lld deadlines, "
               "%lld held at doors, %lld steps, %lld with holds\n",
               policies[p]->name, (long long)t.n_requests, (long long)t.n_preempted,
               (long long)t.n_cancelled, (long long)t.n_deadlines, (long long)t.n_held,
               (long long)t.n_steps, (long long)t.n_steps_held);
        /* Static batches and ils-reserve book all that a request may need before it starts. */
        bool is_static = policies[p]->pads_batches;
        bool books_all = is_static || strcmp(policies[p]->name, "ils-reserve") == 0;
        assert_true(books_all || t.n_preempted > 50);
        assert_true(t.n_cancelled > 500 && t.n_deadlines > 50 && t.n_held > 100);
        assert_true(is_static || t.n_steps_held < t.n_steps); /* a slice is one plan anyway */
    }
}

/* Starvation: with the guard a request of the slow model gets its turn although the fast one never
 * pauses. */
static void nobody_starves(void **state)
{
    static const char *const names[] = { "fcfs", "rr", "db-turn", "db-share", "value", "value" };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct world w;
        struct sim_report report;
        struct str text;
        str_init(&text);
        make_world(&w, 5, schedule_find(names[i]));
        w.options.n_lanes = i == 5 ? 3 : 1;
        w.options.n_services = w.workload.n_services = 2;
        w.services[1] =
            (struct sim_service){ .name = "large", .perf = large_model, .bytes_per_token = 5000 };
        w.workload.services[0] =
            (struct workload_traffic){ 60, { 4, 0.3, 1, 200 }, { 2.5, 0.5, 1, 60 } };
        w.workload.services[1] =
            (struct workload_traffic){ 1, { 5, 0.3, 1, 400 }, { 3.5, 0.5, 1, 90 } };
        w.workload.n_requests = 3000;
        w.workload.cancelled = w.workload.with_deadline = 0;
        w.options.memory_bytes = 100000000;
        w.options.n_engines = 1;
        w.options.n_requests_max = 512;
        run(&w, &text, &report);
        double worst_s =
            (double)max_i64(report.services[0].ttft_ns.max, report.services[1].ttft_ns.max) * 1e-9;
        printf("%s: the longest wait for a first token was %.3f s\n", names[i], worst_s);
        assert_true(worst_s < 12);
        sim_report_free(&report);
        str_free(&text);
    }
}

/* What does not fit beside the models that are there never will, since none of them leaves: it
 * ends, too large, and is not sent again and again. */
static void who_never_fits_ends(void **state)
{
    struct world w;
    struct sim_report report;
    struct str text;
    (void)state;
    str_init(&text);
    make_world(&w, 5, schedule_find("adbs"));
    w.options.n_services = w.workload.n_services = 2;
    for (int32_t s = 0; s < 2; s++) {
        w.services[s] = (struct sim_service){ .name = s == 0 ? "small" : "large",
                                              .perf = small_model,
                                              .bytes_per_token = 5000,
                                              .weights_bytes = 40000000 };
        w.workload.services[s] =
            (struct workload_traffic){ 2, { 6, 0.5, 1, 800 }, { 3, 0.5, 1, 150 } };
    }
    w.workload.cancelled = w.workload.with_deadline = 0;
    w.options.memory_bytes = 80000000 + 600 * 5000;
    run(&w, &text, &report);
    for (int32_t s = 0; s < 2; s++) {
        const int64_t *n_ended = report.services[s].n_ended;
        int64_t n = report.services[s].n_requests;
        assert_true(n_ended[SERVICE_TOO_LARGE] > 0 && n_ended[SERVICE_TOO_LARGE] < n);
        assert_int_equal(
            n_ended[SERVICE_TOO_LARGE] + n_ended[SERVICE_STOPPED] + n_ended[SERVICE_LENGTH], n);
    }
    sim_report_free(&report);
    str_free(&text);
}

int main(void)
{
    base_verify = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_under_every_policy),
        cmocka_unit_test(nobody_starves),
        cmocka_unit_test(who_never_fits_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
