/* The rate of tokens that a request gets at least, where KV is short: the measurement of what
 * docs/POLICIES.md states for every scheduler.
 *
 * A closed loop. Three requests come first; then others keep the number of those alive at N_ALIVE,
 * of another model or of the same, at the same priority or a higher one. They want far more blocks
 * than there are. */
#include "../progress.h"
#include "loop.h"
#include "test.h"
#include "base/rng.h"
#include "base/time.h"

enum { N_ALIVE = 24, N_WATCHED = 3, N_MOST = 6000, N_PROMPT = 40, N_OUTPUT = 240, N_USUAL = 200 };
static const int64_t theta_ns = TIME_NS_PER_S, until_ns = 60 * TIME_NS_PER_S;
static const int64_t solo_ns[2] = { 600 * TIME_NS_PER_MS, 1200 * TIME_NS_PER_MS };
static const int64_t token_bytes[2] = { 2000, 5000 };

enum claim {
    RATE,           /* PROGRESS_TOKENS tokens in every 2 theta and the time for those before */
    ORDER,          /* the same among equals, which are served in order of arrival */
    ORDER_OF_MODEL, /* and only inside a model: another's requests may keep the blocks */
    NOTHING,
};
static const struct row {
    const char *policy;
    enum claim claim;
} rows[] = {
    { "value", RATE },
    { "db-literal", RATE },
    { "db-turn", RATE },
    { "db-share", RATE },
    { "db-exact", RATE },
    { "fcfs", ORDER_OF_MODEL },
    { "temporal", ORDER_OF_MODEL },
    { "sls", ORDER },
    { "cohort", ORDER },
    { "rr", ORDER_OF_MODEL },
    { "adbs", ORDER_OF_MODEL },
    { "mux-rr", ORDER_OF_MODEL },
    { "mux-fcfs", ORDER_OF_MODEL },
    { "scls-cb", ORDER_OF_MODEL },
    { "ils-reserve", ORDER_OF_MODEL },
    { "ils-fastgen", NOTHING },
    { "mlfq", NOTHING },
};

struct mix {
    bool is_of_one_model, has_priorities;
    int64_t n_pool_tokens; /* of the watched requests' model */
    int32_t chunk_tokens;
    bool has_leases;
};
struct watch {
    struct progress of[N_WATCHED];
    int32_t n_ended;
};

/* 5 ms a step, or 10. */
static struct perf perf_of(int64_t k)
{
    return (struct perf){ .floor_ps = 2000000000 * k,
                          .c1_ps = 1000000000 * k,
                          .k1_ps = 20000000 * k,
                          .c3_ps = { 5000000000 * k, 5000000000 * k },
                          .c2_ps = { 30000000 * k, 30000000 * k },
                          .k2_ps = { 100000 * k, 100000 * k },
                          .b_switch = 64,
                          .prefill_scale = 1,
                          .decode_scale = 1 };
}

static struct loop_options options_of(const struct row *row, const struct mix *mix)
{
    struct loop_options options = { .policy = schedule_find(row->policy),
                                    .n_services = 2,
                                    .unit_bytes = 1 << 14,
                                    .pool_bytes = mix->n_pool_tokens * token_bytes[1],
                                    .n_requests_max = N_MOST,
                                    .is_unchecked = true };
    schedule_config_init(&options.config);
    options.config.starve_ns_min = theta_ns;
    options.config.starve_factor = 0;
    options.config.starve_tokens = PROGRESS_TOKENS;
    options.config.chunk_tokens = mix->chunk_tokens;
    options.config.has_leases = mix->has_leases;
    for (int i = 0; i < 2; i++)
        options.services[i] = (struct loop_service){ .perf = perf_of(1 + i),
                                                     .bytes_per_token = token_bytes[i],
                                                     .solo_ns = solo_ns[i],
                                                     .rate_per_s = i == 0 ? 10 : 0.1,
                                                     .n_prompt_mean = N_PROMPT,
                                                     .n_output_mean = i == 0 ? 100 : N_OUTPUT };
    return options;
}

static void note(struct loop *loop, const struct schedule_event *event, void *self)
{
    struct watch *watch = self;
    for (int32_t i = 0; i < event->batch->n_items; i++) {
        const struct request *r = &loop->requests[event->batch->items[i].slot];
        if (r->id >= N_WATCHED)
            continue;
        progress_look(&watch->of[r->id], event->now_ns);
        for (int32_t k = 0; k < event->n_new[i]; k++)
            progress_note(&watch->of[r->id], event->now_ns);
        watch->n_ended += r->n_tokens >= r->n_tokens_max;
    }
}

/* The longest time that PROGRESS_TOKENS tokens, or all that were left, took one of the watched. */
static int64_t longest_ns(const struct row *row, const struct mix *mix)
{
    static struct loop loop;
    struct loop_options options = options_of(row, mix);
    struct watch watch = { .n_ended = 0 };
    struct rng rng;
    int64_t longest = 0;
    rng_init(&rng, 1, 1);
    loop_open(&loop, &options);
    loop.on_done = note;
    loop.on_done_self = &watch;
    for (int i = 0; i < N_WATCHED; i++) {
        uint64_t id = loop_add(&loop, 1, 0, N_PROMPT, N_OUTPUT);
        loop.coming[id].priority = mix->has_priorities ? INT16_MAX : 0;
        progress_note(&watch.of[i], 0);
    }
    while (loop.view.now_ns < until_ns && watch.n_ended < N_WATCHED) {
        while (loop.n_alive + loop.n_coming - loop.next_coming < N_ALIVE) {
            uint64_t id =
                loop_add(&loop, mix->is_of_one_model, loop.view.now_ns,
                         10 + (int32_t)rng_below(&rng, 50), 40 + (int32_t)rng_below(&rng, 160));
            loop.coming[id].priority = mix->has_priorities ? INT16_MIN : 0;
        }
        loop_arrive(&loop);
        assert_true(loop_step(&loop));
    }
    for (int i = 0; i < N_WATCHED; i++) {
        if (watch.of[i].n <= N_OUTPUT)
            progress_look(&watch.of[i], loop.view.now_ns);
        longest = max_i64(longest, watch.of[i].longest_ns);
    }
    loop_close(&loop);
    return longest;
}

/* The bound is two theta, and the time for those that starved before. They have their residences in
 * groups that the pool holds at once. A group gives way when each in it has worked for twice what a
 * usual request takes alone. */
static int64_t bound_ns(const struct mix *mix)
{
    int flood = mix->is_of_one_model;
    int64_t n_at_once = mix->n_pool_tokens * token_bytes[1] / (token_bytes[flood] * N_USUAL);
    struct perf perf = perf_of(1 + flood);
    int64_t step_ns = perf_decode_span_ps(&perf, (int32_t)n_at_once, n_at_once * N_USUAL, 1) / 1000;
    int64_t n_groups = div_up_i64(N_ALIVE, n_at_once) + 1;
    return 2 * theta_ns + n_groups * (2 * solo_ns[flood] + PROGRESS_TOKENS * step_ns);
}

static void tokens_come_as_promised(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t starved_ns = 0;
        printf("%-11s", rows[i].policy);
        for (int k = 0; k < 16; k++) {
            struct mix mix = { .is_of_one_model = (k & 1) != 0,
                               .has_priorities = (k & 2) != 0,
                               .n_pool_tokens = (k & 4) != 0 ? 400 : 700,
                               .chunk_tokens = (k & 8) != 0 ? 64 : 0,
                               .has_leases = k % 3 == 0 };
            int64_t ns = longest_ns(&rows[i], &mix);
            printf(" %.1f/%.0f", (double)ns * 1e-9, (double)bound_ns(&mix) * 1e-9);
            bool is_promised =
                rows[i].claim == RATE ||
                (!mix.has_priorities && (rows[i].claim == ORDER ||
                                         (rows[i].claim == ORDER_OF_MODEL && mix.is_of_one_model)));
            if (!is_promised)
                starved_ns = max_i64(starved_ns, ns);
            else if (ns > bound_ns(&mix))
                fail_msg("%s: %.1f s in mix %d", rows[i].policy, (double)ns * 1e-9, k);
        }
        printf("\n");
        assert_true(rows[i].claim == RATE || starved_ns > until_ns / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(tokens_come_as_promised) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
