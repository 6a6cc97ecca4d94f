/* When layers are planned anew. */
#include "test.h"

#include "place/layers.h"
#include "place/watch.h"

#define S INT64_C(1000000000)

static const struct watch_config config = { WATCH_OVER_NS };
static const uint64_t ids[] = { 11, 22, 33, 44 };
static const uint64_t mixed[] = { 33, 11, 22 }, other[] = { 11, 22, 44 };

static void test_devices(void **state)
{
    (void)state;
    struct watch watch;
    const struct watch_seen three = { 0, ids, 3, 0, 100 }, four = { S, ids, 4, 0, 100 };
    const struct watch_seen turned = { S, mixed, 3, 0, 100 }, swapped = { S, other, 3, 0, 100 };
    const struct watch_seen two = { S, ids, 2, 0, 100 };
    watch_planned(&watch, &three);
    assert_int_equal(watch_saw(&watch, &config, &three), WATCH_NOTHING);
    assert_int_equal(watch_saw(&watch, &config, &turned), WATCH_NOTHING); /* the same three */
    assert_int_equal(watch_saw(&watch, &config, &four), WATCH_JOINED);
    assert_int_equal(watch_saw(&watch, &config, &four), WATCH_JOINED); /* until it is planned */
    assert_int_equal(watch_saw(&watch, &config, &two), WATCH_LEFT);
    assert_int_equal(watch_saw(&watch, &config, &swapped), WATCH_LEFT);
    watch_planned(&watch, &four);
    assert_int_equal(watch_saw(&watch, &config, &four), WATCH_NOTHING);
    assert_int_equal(watch_saw(&watch, &config, &three), WATCH_LEFT);
}

static enum watch_why at(struct watch *watch, int64_t s, int64_t kv_bytes)
{
    const struct watch_seen seen = { s * S, ids, 3, kv_bytes, 100 };
    return watch_saw(watch, &config, &seen);
}

static void test_kv_for_30_s(void **state)
{
    (void)state;
    struct watch watch;
    watch_planned(&watch, &(struct watch_seen){ 0, ids, 3, 0, 100 });
    assert_int_equal(at(&watch, 10, 101), WATCH_NOTHING);
    assert_int_equal(at(&watch, 39, 200), WATCH_NOTHING); /* 29 s */
    assert_int_equal(at(&watch, 40, 101), WATCH_KV);
    assert_int_equal(at(&watch, 41, 100), WATCH_NOTHING); /* within its reserve: it starts again */
    assert_int_equal(at(&watch, 42, 150), WATCH_NOTHING);
    assert_int_equal(at(&watch, 71, 150), WATCH_NOTHING);
    assert_int_equal(at(&watch, 72, 150), WATCH_KV);
    watch_planned(&watch, &(struct watch_seen){ 72 * S, ids, 3, 150, 100 });
    assert_int_equal(at(&watch, 80, 150), WATCH_NOTHING);
    assert_int_equal(at(&watch, 110, 150), WATCH_KV);
}

/* ---- The rule and HELR together: a chain over virtual time. ---- */

/* Device 0 holds 6 of 10 layers. Devices 1 and 2 hold all of them but are slower; with more KV
 * kept, they hold 7. */
static void plan_chain(const bool *is_there, bool keeps_more, struct layers_plan *plan)
{
    static const int64_t link[9] = { 0, 1, 1, 1, 0, 1, 1, 1, 0 };
    struct fault fault;
    struct layers_device devices[3] = { { 10, 6 }, { 12, 10 }, { 13, 10 } };
    for (int d = 0; d < 3; d++) {
        devices[d].n_layers_max = min_i32(devices[d].n_layers_max, keeps_more ? 7 : 10);
        devices[d].n_layers_max = is_there[d] ? devices[d].n_layers_max : 0;
    }
    const struct layers_problem problem = { 3, 10, devices, link, true };
    assert_int_equal(layers_solve(&problem, LAYERS_HELR, NULL, plan, &fault), STATUS_OK);
    assert_int_equal(layers_check(&problem, plan, &fault), STATUS_OK);
}

static void test_helr_runs_again(void **state)
{
    (void)state;
    struct watch watch;
    struct layers_plan plan;
    bool is_there[3] = { true, true, true };
    enum watch_why why[4];
    int64_t kv_bytes = 50, reserve = 100, at_s[4];
    int n = 0;
    plan_chain(is_there, false, &plan);
    assert_int_equal(plan.parts[0].device, 1); /* all on the faster of the two that hold it */
    watch_planned(&watch, &(struct watch_seen){ 0, ids, 3, kv_bytes, reserve });
    for (int64_t s = 1; s <= 200; s++) {
        uint64_t seen_ids[3];
        struct watch_seen seen = { s * S, seen_ids, 0, kv_bytes, reserve };
        is_there[1] = s < 20 || s >= 60; /* leaves at 20 s, is there again at 60 s */
        kv_bytes = s < 100 ? 50 : 150;   /* more is wanted from 100 s on */
        seen.kv_bytes = kv_bytes;
        for (int d = 0; d < 3; d++)
            if (is_there[d])
                seen_ids[seen.n_devices++] = ids[d];
        enum watch_why reason = watch_saw(&watch, &config, &seen);
        if (reason == WATCH_NOTHING)
            continue;
        assert_true(n < 4);
        why[n] = reason;
        at_s[n++] = s;
        if (reason == WATCH_KV)
            seen.kv_reserve_bytes = reserve = 200;
        plan_chain(is_there, reserve == 200, &plan);
        watch_planned(&watch, &seen);
        for (int i = 0; i < plan.n_parts; i++)
            assert_true(is_there[plan.parts[i].device]);
        assert_int_equal(plan.n_parts, reserve == 200 ? 2 : 1);
        assert_int_equal(plan.parts[0].device == 2, n == 1); /* while 1 is away */
    }
    assert_int_equal(n, 3);
    assert_true(why[0] == WATCH_LEFT && why[1] == WATCH_JOINED && why[2] == WATCH_KV);
    assert_true(at_s[0] == 20 && at_s[1] == 60 && at_s[2] == 130);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_kv_for_30_s),
        cmocka_unit_test(test_helr_runs_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
