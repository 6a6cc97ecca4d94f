/* Static batches: their padding, their seats, when a router's batch starts; worked by hand. */
#include "loop.h"
#include "test.h"
#include "base/time.h"

static const int64_t unit_ns = TIME_NS_PER_MS;

/* A prompt token costs 1 us, a decode step 1 ms and 1 us per token of context. */
static struct perf perf_of_tokens(void)
{
    return (struct perf){ .k1_ps = 1000000,
                          .c3_ps = { 1000000000, 1000000000 },
                          .k2_ps = { 1000000, 1000000 },
                          .b_switch = INT32_MAX,
                          .prefill_scale = 1,
                          .decode_scale = 1 };
}

static void open_bounded(struct loop *loop, const char *policy, int64_t n_tokens, int32_t n_seqs)
{
    struct loop_options options = { .policy = schedule_find(policy),
                                    .n_services = 1,
                                    .unit_bytes = 1 << 10,
                                    .pool_bytes = n_tokens * 64,
                                    .n_requests_max = 64 };
    schedule_config_init(&options.config);
    options.config.static_n_seqs_max = 2;
    options.config.n_seqs_max = n_seqs;
    options.services[0] = (struct loop_service){ .perf = perf_of_tokens(),
                                                 .bytes_per_token = 64,
                                                 .solo_ns = 10 * unit_ns };
    loop_open(loop, &options);
}

static void open_one(struct loop *loop, const char *policy, int64_t n_tokens)
{
    open_bounded(loop, policy, n_tokens, LIMIT_BATCH_ITEMS);
}

/* Batches of two in order of arrival, each padded to its longest prompt and run until its longest
 * answer, all members out together. By hand, in us: prompts 2 * 100 = 200. Then decodes of two rows
 * of 101 and 102: 1000 + 202, 1000 + 204. Both end at 2606, although the first had its one token
 * after 200. Then the third alone: 50, and one step of 1000 + 51. */
static void rows_are_padded_and_seats_kept(void **state)
{
    (void)state;
    struct loop loop;
    open_one(&loop, "sls", 4096);
    (void)loop_add(&loop, 0, 0, 10, 1);
    (void)loop_add(&loop, 0, 0, 100, 3);
    (void)loop_add(&loop, 0, 0, 50, 2);
    loop_run(&loop);
    assert_int_equal(loop.results[0].end_ns, 2606000);
    assert_int_equal(loop.results[1].end_ns, 2606000);
    assert_int_equal(loop.results[2].end_ns, 2606000 + 50000 + 1051000);
    loop_close(&loop);
}

static void add_member(struct loop *loop, int64_t at_ns, uint32_t cohort, uint16_t n_cohort)
{
    uint64_t id = loop_add(loop, 0, at_ns, 16, 2);
    loop->coming[id].cohort = cohort;
    loop->coming[id].n_cohort = n_cohort;
}

static void count_items(struct loop *loop, const struct batch *batch, void *self)
{
    (void)loop;
    char *trace = self;
    trace[strlen(trace)] = (char)('0' + batch->n_items);
    assert_int_equal(batch->pads.n_rows, batch->n_items);
    assert_int_equal(batch->pads.row_tokens, 16);
}

/* Cohort 7 is complete when its third comes at 5 ms. The lone request (4 ms) runs before it, since
 * it was there first of those that may start. Cohort 9 never gets its second, so it starts a second
 * after its first came. */
static void a_cohort_starts_when_it_is_complete(void **state)
{
    (void)state;
    struct loop loop;
    char trace[16] = { 0 };
    open_one(&loop, "cohort", 4096);
    loop.on_batch = count_items;
    loop.on_batch_self = trace;
    add_member(&loop, 0, 7, 3);
    add_member(&loop, unit_ns, 7, 3);
    add_member(&loop, 4 * unit_ns, 0, 0);
    add_member(&loop, 5 * unit_ns, 7, 3);
    add_member(&loop, 20 * unit_ns, 9, 2);
    loop_run(&loop);
    assert_string_equal(trace, "131");
    assert_int_equal(loop.results[4].first_ns, (1000 + 20) * unit_ns + 16000);
    loop_close(&loop);
}

/* 320 tokens hold two rows of 144 positions, not three: the third stays behind for the next batch.
 */
static void who_does_not_fit_stays_behind(void **state)
{
    (void)state;
    struct loop loop;
    open_one(&loop, "cohort", 320);
    for (int i = 0; i < 3; i++) {
        uint64_t id = loop_add(&loop, 0, 0, 100, 44);
        loop.coming[id].cohort = 5;
        loop.coming[id].n_cohort = 3;
    }
    loop_run(&loop);
    assert_int_equal(loop.results[0].end_ns, loop.results[1].end_ns);
    assert_true(loop.results[2].first_ns > loop.results[1].end_ns);
    assert_int_equal(loop.n_preempts, 0);
    loop_close(&loop);
}

/* A router put five together where four may run: the fifth starts when its batch is ripe. */
static void a_cohort_too_large_runs_in_parts(void **state)
{
    (void)state;
    struct loop loop;
    char trace[16] = { 0 };
    open_bounded(&loop, "cohort", 4096, 4);
    loop.on_batch = count_items;
    loop.on_batch_self = trace;
    for (int i = 0; i < 5; i++)
        add_member(&loop, 0, 3, 5);
    loop_run(&loop);
    assert_string_equal(trace, "41");
    assert_int_equal(loop.results[4].first_ns, 1000 * unit_ns + 16000);
    loop_close(&loop);
}

/* A policy that composes its own batches does not mix the batches that a router composed. */
static void cohorts_are_not_mixed(void **state)
{
    (void)state;
    struct loop loop;
    char trace[16] = { 0 };
    open_one(&loop, "sls", 4096);
    loop.on_batch = count_items;
    loop.on_batch_self = trace;
    add_member(&loop, 0, 7, 2);
    add_member(&loop, 0, 9, 1);
    add_member(&loop, 0, 7, 2);
    loop_run(&loop);
    assert_string_equal(trace, "21");
    loop_close(&loop);
}

/* 320 tokens are left of a pool that shrinks for another model: a request with more waits, and the
 * one behind it runs. */
static void who_never_fits_holds_up_nobody(void **state)
{
    static const char *const policies[] = { "sls", "cohort", "cohort" };
    (void)state;
    for (uint32_t i = 0; i < COUNT_OF(policies); i++) {
        struct loop loop;
        open_one(&loop, policies[i], 320);
        for (uint32_t k = 0; k < 2; k++) {
            uint64_t id = loop_add(&loop, 0, 0, k == 0 ? 400 : 100, 2);
            loop.coming[id].cohort = i < 2 ? 0 : 5 + k;
            loop.coming[id].n_cohort = 1;
        }
        loop_arrive(&loop);
        while (loop_step(&loop))
            loop_arrive(&loop);
        assert_int_equal(loop.n_alive, 1);
        assert_true(loop.results[1].end_ns > 0 && loop.results[0].first_ns == 0);
        loop_close(&loop);
    }
}

/* The pool shrinks while two rows run, so that the second gives way. It came before the request of
 * the other model, and starts before it. */
static void a_row_that_gives_way_keeps_its_place(void **state)
{
    static const char *const policies[] = { "sls", "cohort" };
    (void)state;
    for (uint32_t i = 0; i < COUNT_OF(policies); i++) {
        struct loop loop;
        struct loop_options options = { .policy = schedule_find(policies[i]),
                                        .n_services = 2,
                                        .unit_bytes = 1 << 10,
                                        .pool_bytes = 4000 * 64,
                                        .n_requests_max = 8 };
        schedule_config_init(&options.config);
        for (int s = 0; s < 2; s++)
            options.services[s] =
                (struct loop_service){ .perf = perf_of_tokens(), .bytes_per_token = 64 };
        loop_open(&loop, &options);
        for (uint32_t k = 0; k < 3; k++) {
            uint64_t id = loop_add(&loop, k == 2, 0, 100, k == 2 ? 10 : 1500);
            loop.coming[id].cohort = i == 0 ? 0 : 1 + k / 2;
            loop.coming[id].n_cohort = k == 2 ? 1 : 2;
        }
        loop_arrive(&loop);
        assert_true(loop_step(&loop));
        assert_true(kv_shrink(loop.kv, 1700 * 64) > 0);
        loop_run(&loop);
        assert_int_equal(loop.n_preempts, 1);
        assert_int_equal(loop.results[1].n_preempted, 1);
        assert_true(loop.results[0].end_ns < loop.results[1].end_ns);
        assert_true(loop.results[1].end_ns < loop.results[2].first_ns);
        loop_close(&loop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_padded_and_seats_kept),
        cmocka_unit_test(a_cohort_starts_when_it_is_complete),
        cmocka_unit_test(a_cohort_too_large_runs_in_parts),
        cmocka_unit_test(who_does_not_fit_stays_behind),
        cmocka_unit_test(cohorts_are_not_mixed),
        cmocka_unit_test(who_never_fits_holds_up_nobody),
        cmocka_unit_test(a_row_that_gives_way_keeps_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
