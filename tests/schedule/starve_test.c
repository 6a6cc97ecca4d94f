/* Starvation: theta, residences and the next to starve by hand; the bound batch by batch; blocks
 * for starved requests; deadlines that cannot be met. */
#include "../residence.h"
#include "loop.h"
#include "test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/time.h"
#include "schedule/starve.h"

/* ---- By hand. ---- */

struct world {
    struct schedule_ranks ranks;
    struct schedule_starve starve;
    unsigned char *block;
    struct schedule_service service;
    struct request requests[3];
    uint32_t running[3];
    struct schedule_view view;
};

/* theta is 100 ns. */
static void world_open(struct world *w)
{
    struct schedule_limits limits = { 1, 3, 1 };
    struct schedule_config config;
    schedule_config_init(&config);
    config.starve_ns_min = 100;
    memset(w, 0, sizeof(*w));
    size_t n_bytes = schedule_ranks_bytes(&limits) + schedule_starve_bytes(&limits);
    unsigned char *at = w->block = mem_take(n_bytes);
    schedule_ranks_open(&w->ranks, &at, &limits, &config, 1U << RANKS_OLDEST | 1U << RANKS_URGENT);
    schedule_starve_open(&w->starve, &at, &limits);
    assert_true(at == w->block + n_bytes);
    w->service = (struct schedule_service){ .is_open = true, .running = w->running };
    w->service.perf = (struct perf){ .prefill_scale = 1, .decode_scale = 1, .b_switch = 1 };
    w->view = (struct schedule_view){
        .n_services = 1, .n_lanes = 1, .services = &w->service, .requests = w->requests
    };
}

static void arrive(struct world *w, uint32_t slot, int64_t served_ns, int64_t deadline_ns)
{
    w->requests[slot] = (struct request){ .state = REQUEST_WAITING,
                                          .n_prompt = 10,
                                          .n_tokens = 10,
                                          .served_ns = served_ns,
                                          .deadline_ns = deadline_ns };
    schedule_ranks_arrive(&w->ranks, &w->view, slot);
    schedule_ranks_wait(&w->ranks, &w->view, slot, 0, true);
}

static void theta_is_the_least_time_or_a_multiple_of_the_usual_one(void **state)
{
    (void)state;
    struct schedule_config config = { .starve_ns_min = 100, .starve_factor = 2.5 };
    struct schedule_service service = { .solo_ns = 39 };
    assert_int_equal(schedule_starve_theta_ns(&config, &service), 100);
    service.solo_ns = 80;
    assert_int_equal(schedule_starve_theta_ns(&config, &service), 200);
    service.solo_ns = INT64_MAX; /* nonsense does not overflow */
    assert_int_equal(schedule_starve_theta_ns(&config, &service), (int64_t)1e18);
}

/* A request of 10 prompt tokens last served at 0 is served by a batch that began at 101. It starved
 * for 1 ns, so that it resides until it has 16 tokens more. */
static void a_residence_begins_and_ends(void **state)
{
    (void)state;
    struct world w;
    world_open(&w);
    struct request *r = &w.requests[0];
    arrive(&w, 0, 0, 0);
    r->served_ns = 100;
    schedule_starve_served(&w.ranks, 0, r, 0, 100, 100); /* it did not starve yet */
    assert_int_equal(w.ranks.slots[0].resides_until, 0);
    assert_int_equal(w.ranks.served_ns[0], 100);
    r->served_ns = 210;
    r->n_computed = 4; /* a chunk of its prompt: it starves again at once */
    schedule_starve_served(&w.ranks, 0, r, 0, 201, 100);
    assert_int_equal(w.ranks.slots[0].resides_until, 26);
    assert_int_equal(w.ranks.served_ns[0], 100);
    assert_int_equal(schedule_starve_resides_since(&w.ranks, &w.view, 0), 200);
    r->n_computed = 10;
    r->n_tokens = 11; /* a token: it starves again after theta / 16 */
    schedule_starve_served(&w.ranks, 0, r, 1, 202, 100);
    assert_int_equal(w.ranks.served_ns[0], 210 - 100 + 6);
    r->n_computed = 25;
    r->n_tokens = 26; /* the last token of its residence */
    schedule_starve_served(&w.ranks, 0, r, 15, 203, 100);
    assert_int_equal(w.ranks.slots[0].resides_until, 0);
    assert_int_equal(w.ranks.served_ns[0], 210);
    assert_int_equal(schedule_starve_resides_since(&w.ranks, &w.view, 0), INT64_MAX);
    mem_give(w.block);
}

/* The next request to starve, among those that wait and among those that run: by theta, or by the
 * last time to begin. The latter is not before a request was last served. */
static void the_next_to_starve_is_noted(void **state)
{
    (void)state;
    struct world w;
    const struct schedule_due *due;
    world_open(&w);
    due = w.starve.dues;
    schedule_starve_note(&w.starve, &w.ranks, &w.view, 0);
    assert_true(due->waiting.slot == SCHEDULE_NONE && due->running.slot == SCHEDULE_NONE);
    arrive(&w, 0, 50, 0);
    arrive(&w, 1, 40, 0);
    arrive(&w, 2, 60, 45);
    schedule_starve_note(&w.starve, &w.ranks, &w.view, 0);
    assert_true(due->waiting.slot == 2 && due->waiting.key == 59);
    assert_true(due->running.slot == SCHEDULE_NONE);
    w.running[w.service.n_running++] = 2;
    schedule_ranks_start(&w.ranks, &w.view, 2, 0);
    schedule_starve_note(&w.starve, &w.ranks, &w.view, 0);
    assert_true(due->running.slot == 2 && due->running.key == 59);
    assert_true(due->waiting.slot == 1 && due->waiting.key == 140);
    mem_give(w.block);
}

/* ---- In a loop. ---- */

static const int64_t unit_ns = TIME_NS_PER_MS;

static struct loop_options options_of(const char *policy, int64_t solo_0, int64_t solo_1)
{
    struct loop_options options = { .policy = schedule_find(policy),
                                    .n_services = 2,
                                    .unit_bytes = 1 << 16,
                                    .pool_bytes = 1 << 28,
                                    .n_requests_max = 2000 };
    schedule_config_init(&options.config);
    for (int i = 0; i < 2; i++) {
        options.services[i] =
            (struct loop_service){ .perf = loop_unit_perf(unit_ns), .bytes_per_token = 64 };
        options.services[i].solo_ns = (i == 0 ? solo_0 : solo_1) * unit_ns;
    }
    return options;
}

enum { N_STARVING = 300 };
static struct starving {
    struct residence of[N_STARVING]; /* by id */
    int64_t n_starved;
} starving;

static int64_t theta_of(const struct loop *loop, const struct request *r)
{
    double factor = loop->options.config.starve_factor;
    return max_i64(loop->options.config.starve_ns_min,
                   (int64_t)(factor * (double)loop->services[r->service].solo_ns));
}

static void note_served(struct loop *loop, const struct schedule_event *event, void *self)
{
    (void)self;
    for (int32_t i = 0; i < event->batch->n_items; i++) {
        const struct request *r = &loop->requests[event->batch->items[i].slot];
        residence_serve(&starving.of[r->id], r, event->n_new[i], event->now_ns - event->elapsed_ns,
                        theta_of(loop, r), loop->options.config.starve_tokens);
    }
}

/* Asserts the bound batch by batch: when a request starves, the batch holds the one that has
 * starved longest. */
static void starved_go_first(struct loop *loop, const struct batch *batch, void *self)
{
    (void)self;
    int64_t since_ns = INT64_MAX, served_since_ns = INT64_MAX;
    for (uint32_t slot = 0; slot < loop->options.n_requests_max; slot++) {
        const struct request *r = &loop->requests[slot];
        if (r->state != REQUEST_WAITING && r->state != REQUEST_RUNNING)
            continue;
        int64_t own_ns = starving.of[r->id].served_ns + theta_of(loop, r);
        since_ns = min_i64(since_ns, own_ns);
        for (int32_t i = 0; i < batch->n_items; i++)
            if (batch->items[i].slot == slot)
                served_since_ns = min_i64(served_since_ns, own_ns);
    }
    if (since_ns >= loop->view.now_ns)
        return;
    starving.n_starved++;
    assert_int_equal(served_since_ns, since_ns);
}

static void once_starved_only_earlier_ones_go_before(void **state)
{
    (void)state;
    uint64_t seed = test_seed(1);
    static const char *const policies[] = { "db-literal", "db-turn", "db-share", "db-exact",
                                            "value" };
    starving.n_starved = 0;
    for (uint64_t round = 0; round < 30; round++) {
        struct rng rng;
        struct loop loop;
        rng_init(&rng, seed, round);
        struct loop_options options = options_of(policies[round % 5], 20, 300);
        options.config.starve_ns_min = 200 * unit_ns;
        options.config.n_seqs_max = 1 + (int32_t)rng_below(&rng, 8);
        options.config.chunk_tokens = round % 2 == 0 ? 0 : 32;
        loop_open(&loop, &options);
        loop.on_batch = starved_go_first;
        loop.on_done = note_served;
        double now = 0;
        for (int i = 0; i < N_STARVING; i++) {
            now += rng_exponential(&rng) * 10;
            int service = rng_below(&rng, 8) == 0;
            uint64_t id =
                loop_add(&loop, service, (int64_t)(now * 1e6), 1 + (int32_t)rng_below(&rng, 100),
                         1 + (int32_t)rng_below(&rng, service ? 300 : 30));
            residence_begin(&starving.of[id], &loop.coming[id]);
        }
        loop_run(&loop);
        loop_close(&loop);
    }
    print_message("%lld batches chosen for a starved request\n", (long long)starving.n_starved);
    assert_true(starving.n_starved > 1000);
}

/* A few long requests fill the pool. A starved short one waits for blocks at most until one of them
 * has worked for two usual requests. None waits forever, and few are preempted. */
static void blocks_for_the_starved_come_in_time(void **state)
{
    (void)state;
    struct loop loop;
    struct loop_options options = options_of("db-turn", 400, 20);
    options.config.starve_ns_min = 100 * unit_ns;
    options.config.starve_factor = 1;
    options.pool_bytes = 40 * (1 << 16); /* 40960 tokens */
    loop_open(&loop, &options);
    for (int i = 0; i < 30; i++)
        (void)loop_add(&loop, 0, i * unit_ns, 4000, 3000);
    for (int i = 0; i < 10; i++)
        (void)loop_add(&loop, 1, (50 + i * 100) * unit_ns, 2000, 10);
    loop_run(&loop);
    for (int i = 30; i < 40; i++)
        assert_true(loop.results[i].end_ns - (50 + (i - 30) * 100) * unit_ns < 3000 * unit_ns);
    int64_t gap_ns = 0;
    for (int i = 0; i < 40; i++)
        gap_ns = max_i64(gap_ns, loop.results[i].served_gap_ns);
    print_message("longest wait %lld ms, %lld preempted in %lld steps\n",
                  (long long)(gap_ns / unit_ns), (long long)loop.n_preempts,
                  (long long)loop.n_steps);
    assert_true(loop.n_preempts * 20 <
                loop.n_steps); /* a resident stays for two budgets: 800 steps */
    loop_close(&loop);
}

/* Returns when a request gets its first token that waits beside a flood of shorter ones and is
 * predicted to be so long. */
static int64_t first_beside_flood(const char *policy, int32_t n_predicted, bool has_deadlines)
{
    struct loop_options options = options_of(policy, 8, 1000);
    options.config.starve_ns_min = 100 * unit_ns;
    options.config.starve_factor = 0;
    options.config.promotes_slack = true;
    options.services[0].n_output_mean = 8;
    options.services[0].solo_ns = 1000 * unit_ns;
    options.services[1].n_output_mean = n_predicted;
    options.services[1].solo_ns = 8 * unit_ns;
    struct loop loop;
    loop_open(&loop, &options);
    uint64_t waiting = loop_add(&loop, 0, 0, 10, 8);
    for (int i = 0; i < 1500; i++) {
        uint64_t b = loop_add(&loop, 1, i * 4 * unit_ns, 10, 6);
        loop.coming[b].n_predicted = n_predicted;
        loop.coming[b].n_tokens_max = 16;
        if (has_deadlines)
            loop.coming[b].deadline_ns = loop.coming[b].arrived_ns + 10 * unit_ns;
    }
    loop_run(&loop);
    int64_t first = loop.results[waiting].first_ns / unit_ns;
    loop_close(&loop);
    return first;
}

/* A deadline that cannot be met does not put a later request before one that starves already. */
static void hopeless_deadlines_starve_no_other(void **state)
{
    (void)state;
    static const char *const policies[] = { "value", "db-share" };
    for (int k = 0; k < 2; k++) {
        assert_in_range(first_beside_flood(policies[k], 500, false), 1, 120);
        assert_in_range(first_beside_flood(policies[k], 500, true), 1, 120);
        assert_in_range(first_beside_flood(policies[k], 1000000, true), 1, 120);
    }
}

/* Requests that cannot meet their deadlines do not keep another model's request from its tokens,
 * because it gets the rate of those that starve. */
static void hopeless_deadlines_leave_tokens_for_others(void **state)
{
    (void)state;
    static const char *const policies[] = { "value", "db-share" };
    for (int k = 0; k < 2; k++) {
        struct loop loop;
        struct loop_options options = options_of(policies[k], 8, 5000);
        options.config.starve_ns_min = 100 * unit_ns;
        options.config.starve_factor = 0;
        options.config.starve_tokens = 20;
        options.config.promotes_slack = true;
        options.services[0].solo_ns = 5000 * unit_ns; /* the others are preferred in any case */
        options.services[1].solo_ns = 8 * unit_ns;
        loop_open(&loop, &options);
        uint64_t waiting = loop_add(&loop, 0, 0, 10, 60);
        for (int i = 0; i < 8; i++) {
            uint64_t b = loop_add(&loop, 1, 0, 10, 5000);
            loop.coming[b].n_predicted = 100000;
            loop.coming[b].deadline_ns = 50 * unit_ns;
        }
        loop_run(&loop);
        assert_in_range(loop.results[waiting].first_ns / unit_ns, 1, 110);
        assert_in_range(loop.results[waiting].end_ns / unit_ns, 1, 3 * 240);
        loop_close(&loop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theta_is_the_least_time_or_a_multiple_of_the_usual_one),
        cmocka_unit_test(a_residence_begins_and_ends),
        cmocka_unit_test(the_next_to_starve_is_noted),
        cmocka_unit_test(once_starved_only_earlier_ones_go_before),
        cmocka_unit_test(blocks_for_the_starved_come_in_time),
        cmocka_unit_test(hopeless_deadlines_starve_no_other),
        cmocka_unit_test(hopeless_deadlines_leave_tokens_for_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
