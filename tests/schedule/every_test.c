/* Every policy of the table on random mixes. Each plan is legal and the same when it is asked for
 * twice, every request ends, and holds change nothing. The bounds on starvation that a policy
 * claims hold. */
#include "loop.h"
#include "test.h"
#include "base/rng.h"
#include "base/time.h"

static const int64_t unit_ns = TIME_NS_PER_MS;

static struct perf real_perf(int64_t k)
{
    return (struct perf){ .floor_ps = 2000000000 * k,
                          .c1_ps = 1000000000 * k,
                          .k1_ps = 20000000 * k,
                          .c3_ps = { 3000000000 * k, 3000000000 * k },
                          .c2_ps = { 30000000 * k, 30000000 * k },
                          .k2_ps = { 100000 * k, 100000 * k },
                          .b_switch = 64,
                          .prefill_scale = 1,
                          .decode_scale = 1 };
}

struct mix {
    struct rng rng;
    int64_t pool_tokens;
    int n_requests, n_services;
    double gap_ms;
    int32_t n_prompt_most, n_output_most;
};

static struct loop_options options_of(const struct schedule_policy *policy, const struct mix *mix)
{
    struct loop_options options = { .policy = policy,
                                    .n_services = mix->n_services,
                                    .unit_bytes = 1 << 14,
                                    .pool_bytes = mix->pool_tokens * 64,
                                    .n_requests_max = (uint32_t)mix->n_requests };
    schedule_config_init(&options.config);
    for (int i = 0; i < mix->n_services; i++) {
        options.services[i] = (struct loop_service){ .perf = real_perf(1 + i),
                                                     .bytes_per_token = i % 2 == 0 ? 64 : 96,
                                                     .solo_ns = (100 + 300 * i) * unit_ns,
                                                     .rate_per_s = 1 + i,
                                                     .n_prompt_mean = 100,
                                                     .n_output_mean = 40 };
    }
    return options;
}

static struct mix draw_mix(uint64_t seed, uint64_t round)
{
    struct mix mix;
    rng_init(&mix.rng, seed, round);
    mix.n_services = 1 + (int)rng_below(&mix.rng, 4);
    mix.n_requests = 40 + (int)rng_below(&mix.rng, 80);
    mix.n_prompt_most = 20 << rng_below(&mix.rng, 6);
    mix.n_output_most = 4 << rng_below(&mix.rng, 6);
    mix.gap_ms = 1 << rng_below(&mix.rng, 7);
    mix.pool_tokens = 4096 << rng_below(&mix.rng, 4);
    return mix;
}

static void add_requests(struct loop *loop, struct mix *mix)
{
    double now_ms = 0;
    uint32_t cohort = 0;
    int n_left = 0;
    uint16_t n_cohort = 0, service = 0;
    for (int i = 0; i < mix->n_requests; i++) {
        if (n_left == 0) { /* a batch of a router, or a request of none */
            now_ms += rng_exponential(&mix->rng) * mix->gap_ms;
            n_left = 1 + (int)rng_below(&mix->rng, 6);
            n_left = min_i32(n_left, mix->n_requests - i);
            n_cohort = (uint16_t)(n_left > 1 ? n_left : 0);
            cohort += n_left > 1;
            service = (uint16_t)rng_below(&mix->rng, (uint32_t)mix->n_services);
        }
        int32_t n_output = 1 + (int32_t)rng_below(&mix->rng, (uint32_t)mix->n_output_most);
        int32_t n_prompt = 1 + (int32_t)rng_below(&mix->rng, (uint32_t)mix->n_prompt_most);
        uint64_t id = loop_add(loop, service, (int64_t)(now_ms * 1e6), n_prompt, n_output);
        if (strcmp(loop->options.policy->name, "sls") != 0) { /* it has no router's batches */
            loop->coming[id].cohort = n_cohort > 0 ? cohort : 0;
            loop->coming[id].n_cohort = n_cohort;
        }
        if (rng_below(&mix->rng, 2) == 0) /* half are predicted, badly */
            loop->coming[id].n_predicted = 1 + (int32_t)rng_below(&mix->rng, 100);
        n_left--;
    }
}

/* Thresholds that make seldom things happen often. */
static void draw_config(struct schedule_config *config, struct rng *rng)
{
    config->n_seqs_max = 1 + (int32_t)rng_below(rng, 40);
    config->chunk_tokens = rng_below(rng, 2) == 0 ? 0 : 64;
    config->starve_ns_min = 100 * unit_ns;
    config->quota_ns_period = 200 * unit_ns;
    config->mlfq_n_steps = 20;
    config->mlfq_ns_idle = 50 * unit_ns;
    config->lease_tokens = 1 + (int32_t)rng_below(rng, 40);
    config->static_n_seqs_max = 1 + (int32_t)rng_below(rng, 16);
    config->cohort_ns_wait = 30 * unit_ns;
    config->ils_new_tokens = 256;
    config->fastgen_flushes_all = rng_below(rng, 2) == 0;
    config->has_leases = rng_below(rng, 2) == 0;
    config->has_soft_quotas = rng_below(rng, 2) == 0;
    config->guards_tpot = rng_below(rng, 2) == 0;
    config->promotes_slack = rng_below(rng, 2) == 0;
    config->has_fixed_parts = rng_below(rng, 2) == 0;
}

/* setting: one more threshold, or NULL. */
static uint64_t serve_with(const struct schedule_policy *policy, uint64_t seed, uint64_t round,
                           const char *setting, int64_t *n_holds)
{
    struct mix mix = draw_mix(seed, round);
    struct loop loop;
    struct loop_options options = options_of(policy, &mix);
    draw_config(&options.config, &mix.rng);
    if (setting != NULL)
        assert_int_equal(schedule_config_set(&options.config, setting, NULL), STATUS_OK);
    loop_open(&loop, &options);
    for (int i = 0; i < mix.n_services; i++)
        loop.services[i].tpot_ns = i % 2 == 0 ? 40 * unit_ns : 0;
    add_requests(&loop, &mix);
    loop_run(&loop);
    for (int i = 0; i < mix.n_requests; i++)
        assert_true(loop.results[i].end_ns > 0);
    *n_holds += loop.n_holds;
    uint64_t trace = loop.trace;
    loop_close(&loop);
    return trace;
}

static uint64_t serve(const struct schedule_policy *policy, uint64_t seed, uint64_t round,
                      bool holds, int64_t *n_holds)
{
    return serve_with(policy, seed, round, holds ? NULL : "n_rounds_max=1", n_holds);
}

/* Is the name one of the list's? Names are separated by spaces. */
static bool is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strstr(list, name); at != NULL; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

/* A threshold that a policy's row does not list changes nothing of what it does, whether it has its
 * least value or its most. */
static void a_row_lists_every_threshold_that_matters(void **state)
{
    (void)state;
    uint64_t seed = test_seed(9);
    int n, n_rows;
    int64_t n_holds = 0, n_asked = 0;
    const struct schedule_policy *const *all = schedule_all(&n);
    const struct settings_row *rows = schedule_config_rows(&n_rows);
    for (uint64_t round = 0; round < 6; round++)
        for (int i = 0; i < n; i++) {
            uint64_t usual = serve(all[i], seed, round, true, &n_holds);
            for (int k = 0; k < 2 * n_rows; k++) {
                const struct settings_row *row = &rows[k / 2];
                char text[80];
                if (is_listed(all[i]->thresholds, row->name))
                    continue;
                snprintf(text, sizeof(text), "%s=%.15g", row->name, k % 2 ? row->max : row->min);
                n_asked++;
                if (serve_with(all[i], seed, round, text, &n_holds) != usual)
                    fail_msg("%s does not list %s, which changes what it does", all[i]->name, text);
            }
        }
    assert_true(n_asked > 1000);
}

static void every_plan_is_legal_and_every_request_ends(void **state)
{
    (void)state;
    uint64_t seed = test_seed(7);
    int n;
    const struct schedule_policy *const *all = schedule_all(&n);
    for (int i = 0; i < n; i++) {
        int64_t n_holds = 0;
        for (uint64_t round = 0; round < 60; round++) {
            uint64_t with = serve(all[i], seed, round, true, &n_holds);
            int64_t none = 0;
            if (serve(all[i], seed, round, false, &none) != with)
                fail_msg("%s: holds change what round %llu does", all[i]->name,
                         (unsigned long long)round);
        }
        print_message("%-12s %lld holds\n", all[i]->name, (long long)n_holds);
        assert_true(n_holds > 0); /* static batches: slices */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_is_legal_and_every_request_ends),
        cmocka_unit_test(a_row_lists_every_threshold_that_matters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
