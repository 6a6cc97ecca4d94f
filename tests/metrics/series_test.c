/* A run over time, counted by hand and against a naive count. */
#include "../test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "metrics/series.h"

static void by_hand(void **state)
{
    struct record_set set = { 0 };
    struct series series;
    const struct record records[] = {
        /* waits in (0, 10), runs in [10, 30) with 20 tokens, from the first arrival on */
        { .arrived_ns = 1000, .first_ns = 1010, .end_ns = 1030, .n_prompt = 5, .n_output = 20 },
        { .arrived_ns = 1015, .end_ns = 1025 }, /* never starts */
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(records); i++)
        metrics_record_add(&set, &records[i]);
    metrics_series_of(&set, 8, &series);
    assert_int_equal(series.n, 4); /* ends at 8, 16, 24, 32 */
    const int64_t expected[4][4] = {
        { 1, 0, 1, 0 }, { 1, 0, 1, 1 }, { 0, 0, 1, 1 }, { 0, 2, 0, 0 }
    };
    for (size_t i = 0; i < 4; i++) {
        const struct series_point *p = &series.points[i];
        assert_int_equal(p->n_arrived, expected[i][0]);
        assert_int_equal(p->n_ended, expected[i][1]);
        assert_int_equal(p->n_waiting, expected[i][2]);
        assert_int_equal(p->n_running, expected[i][3]);
    }
    assert_true(series.points[1].kv_tokens > 10.999 && series.points[1].kv_tokens < 11.001);
    assert_true(series.points[2].kv_tokens > 18.999 && series.points[2].kv_tokens < 19.001);
    assert_true(series.points[3].kv_tokens == 0);
    double made = 0;
    for (size_t i = 0; i < 4; i++)
        made += series.points[i].tokens_per_s * 8e-9;
    assert_true(made > 19.999 && made < 20.001);
    mem_give(series.points);
    metrics_record_set_free(&set);
}

static void as_a_naive_count(void **state)
{
    struct record_set set = { 0 };
    struct series series;
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(1), 0);
    for (int i = 0; i < 300; i++) {
        struct record r = { .arrived_ns = i > 0 ? rng_below(&rng, 1000) : 0 };
        r.first_ns = rng_below(&rng, 4) == 0 ? 0 : r.arrived_ns + 1 + rng_below(&rng, 300);
        r.end_ns = (r.first_ns > 0 ? r.first_ns : r.arrived_ns) + rng_below(&rng, 300);
        metrics_record_add(&set, &r);
    }
    for (int64_t interval = 1; interval < 200; interval += 13) {
        metrics_series_of(&set, interval, &series);
        int64_t n_arrived = 0, n_ended = 0;
        for (size_t i = 0; i < series.n; i++) {
            const struct series_point *p = &series.points[i];
            int64_t n_waiting = 0, n_running = 0;
            for (size_t k = 0; k < set.n; k++) {
                const struct record *r = &set.at[k];
                int64_t first = r->first_ns > 0 ? r->first_ns : r->end_ns;
                n_waiting += r->arrived_ns <= p->end_ns && p->end_ns < first;
                n_running += first <= p->end_ns && p->end_ns < r->end_ns;
            }
            assert_int_equal(p->n_waiting, n_waiting);
            assert_int_equal(p->n_running, n_running);
            n_arrived += p->n_arrived;
            n_ended += p->n_ended;
        }
        assert_true(n_arrived == 300 && n_ended == 300);
        mem_give(series.points);
    }
    struct str text;
    str_init(&text);
    metrics_series_of(&set, 0, &series);
    metrics_series_write(&series, &text);
    assert_non_null(
        strstr(text.at, "end_s,arrived,ended,waiting,running,tokens_per_s,kv_tokens\n"));
    mem_give(series.points);
    str_free(&text);
    metrics_record_set_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(by_hand),
                                        cmocka_unit_test(as_a_naive_count) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
