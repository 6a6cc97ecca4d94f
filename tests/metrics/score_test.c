/* Every figure by hand: two services, five requests, times that are easy to check. */
#include "../test.h"
#include "metrics/score.h"

#define SECOND INT64_C(1000000000)

static void near(double a, double b)
{
    if (a < b - 1e-9 || a > b + 1e-9)
        fail_msg("%.12g is not %.12g", a, b);
}

static void quantiles_are_numpys(void **state)
{
    double values[] = { 4, 1, 3, 2 };
    struct score_spread spread;
    (void)state;
    metrics_score_spread(values, 4, &spread);
    near(spread.mean, 2.5);
    near(spread.p50, 2.5); /* numpy.percentile([1, 2, 3, 4], 50) */
    near(spread.p90, 3.7); /* 1 + 0.9 * 3 */
    near(spread.p95, 3.85);
    near(spread.p99, 3.97);
    near(spread.deviation, 1.118033988749895); /* sqrt(1.25) */
    assert_true(spread.min == 1 && spread.max == 4 && spread.n == 4);
    metrics_score_spread(values, 0, &spread);
    assert_true(spread.n == 0 && spread.p99 == 0);
    near(metrics_score_quantile(values, 1, 0.3), 1);
}

/* a: arrives at 0, first at 1, ends at 5 with 5 tokens, alone 2 s.  a: arrives at 1, first at 4,
 * ends at 9 with 1 token, alone 4 s.  b: arrives at 2, first 3, ends 4 with 3 tokens, alone 1 s.
 * b: never finishes; the run ends at 10; alone 3 s.  b: cancelled. */
static void build(struct record_set *set)
{
    const struct record records[] = {
        { .id = 0,
          .first_ns = 1 * SECOND,
          .end_ns = 5 * SECOND,
          .solo_ns = 2 * SECOND,
          .n_prompt = 10,
          .n_output = 5,
          .n_predicted = 3,
          .n_slices = 2,
          .n_early = 1,
          .n_batches = 6,
          .n_batch_rows = 13,
          .n_pad = 6,
          .gap_ns_max = 2 * SECOND,
          .why = RECORD_LENGTH },
        { .id = 1,
          .arrived_ns = 1 * SECOND,
          .first_ns = 4 * SECOND,
          .end_ns = 9 * SECOND,
          .solo_ns = 4 * SECOND,
          .n_prompt = 20,
          .n_output = 1,
          .n_slices = 1,
          .n_batches = 4,
          .n_batch_rows = 7,
          .n_invalid = 4,
          .n_preempted = 1,
          .n_swapped = 1,
          .why = RECORD_STOPPED },
        { .id = 2,
          .service = 1,
          .engine = 1,
          .arrived_ns = 2 * SECOND,
          .first_ns = 3 * SECOND,
          .end_ns = 4 * SECOND,
          .solo_ns = 1 * SECOND,
          .n_prompt = 30,
          .n_output = 3,
          .n_slices = 1,
          .n_cached = 16,
          .why = RECORD_LENGTH },
        { .id = 3,
          .service = 1,
          .engine = 1,
          .arrived_ns = 4 * SECOND,
          .end_ns = 10 * SECOND,
          .solo_ns = 3 * SECOND,
          .n_prompt = 40,
          .n_slices = 1,
          .why = RECORD_UNFINISHED },
        { .id = 4,
          .service = 1,
          .arrived_ns = 3 * SECOND,
          .end_ns = 4 * SECOND,
          .n_prompt = 50,
          .why = RECORD_CANCELLED },
    };
    *set = (struct record_set){ 0 };
    assert_int_equal(metrics_record_service(set, view_text("a")), 0);
    assert_int_equal(metrics_record_service(set, view_text("b")), 1);
    for (size_t i = 0; i < COUNT_OF(records); i++)
        metrics_record_add(set, &records[i]);
}

static void one_request(void **state)
{
    struct record_set set;
    (void)state;
    build(&set);
    near(metrics_score_latency_s(&set.at[0], 10 * SECOND), 5);
    near(metrics_score_latency_s(&set.at[3], 10 * SECOND), 6); /* T_end - a */
    near(metrics_score_ttft_s(&set.at[1], 10 * SECOND), 3);
    near(metrics_score_ttft_s(&set.at[3], 10 * SECOND), 6);
    near(metrics_score_tpot_s(&set.at[0]), 1);       /* 4 s over 4 gaps */
    near(metrics_score_tpot_all_s(&set.at[0]), 0.8); /* over 5 tokens */
    near(metrics_score_tpot_s(&set.at[1]), 0);
    near(metrics_score_tpot_all_s(&set.at[3]), 0);
    metrics_record_set_free(&set);
}

static void all_figures(void **state)
{
    struct record_set set;
    struct score scores[3];
    (void)state;
    build(&set);
    const struct score_options options = { .rule = { .kind = SCORE_SEALLM_SOLO, .scale = 2 } };
    metrics_score(&set, &options, scores);
    const struct score *a = &scores[0], *b = &scores[1], *all = &scores[2];
    assert_true(all->n_offered == 4 && all->n_done == 3 && all->n_missed == 1);
    assert_true(all->n_cancelled == 1 && all->n_exceeded == 1 && all->n_preempted == 1);
    assert_true(all->n_prompt_tokens == 150 && all->n_tokens == 9 && all->n_cached_tokens == 16);
    near(a->solo_s, 3);           /* L = mean of 2 and 4 */
    near(b->solo_s, 2);           /* of 1 and 3: the cancelled one has none */
    near(a->latency_s.mean, 6.5); /* 5 and 8 */
    near(b->latency_s.mean, 4);   /* 2 and 6 */
    near(a->normalized.mean, 13.0 / 6);
    near(b->normalized.mean, 2);
    near(all->normalized.mean, (5.0 / 3 + 8.0 / 3 + 1 + 3) / 4); /* mean over requests */
    near(all->ttft_s.mean, (1 + 3 + 1 + 6) / 4.0);
    assert_int_equal(all->tpot_s.n, 2);
    near(all->tpot_s.mean, (1 + 0.5) / 2);
    near(all->tpot_all_s.mean, (4 / 5.0 + 5 + 1 / 3.0) / 3);
    near(all->gap_s_max.max, 2);
    near(all->makespan_s, 10);
    near(all->requests_per_s, 0.3);
    near(all->tokens_per_s, 0.9);
    near(all->padded_tokens_per_s, (150 + 9 + 6 + 4) / 10.0);
    near(all->slices_mean, 1.25);
    near(all->latency_s.p95, 6 + 0.85 * 2); /* of 2, 5, 6, 8 at 2.85 */
    assert_true(all->n_slices == 5 && all->n_early == 1 && all->n_swapped == 1);
    assert_true(all->n_batches == 10 && all->n_batch_rows == 20 && a->n_batch_rows == 20);
    near(metrics_score_completion_deviation_s(&set), 2.5); /* engines end at 9 and at 4 */
    near(a->served_per_s, 2 / 9.0);                        /* n_m / max e */
    near(a->offered_per_s, 2 / 4.0);                       /* arrivals last from 0 to 4 */
    near(a->served_fraction, 4 / 9.0);
    near(b->served_per_s, 1 / 10.0);
    near(b->served_fraction, 0.2);
    near(all->served_fraction, 0.2); /* the least of the services */
    near(all->met, 0.5);             /* 5 > 4; 8 <= 8; 2 <= 2; the fourth never */
    near(all->goodput_per_s, 0.2);
    near(metrics_score_weighted(scores, 2), (0.5 * 2 / 9 + 0.5 * 0.1) / 1);
    near(metrics_score_weighted_notebook(scores, 2), 0); /* both rates are below 1 */
    scores[0].offered_per_s = 2.7;
    near(metrics_score_weighted_notebook(scores, 2), 2 * (2 / 9.0) / 2);
    near(metrics_score_completion_deviation_s(&set), 2.5); /* engines end at 9 and at 4 */
    metrics_record_set_free(&set);
}

static void attainment_each_papers_way(void **state)
{
    struct record_set set;
    (void)state;
    build(&set);
    const struct score_base base = { .n = 2,
                                     .tokens = { 16, 64 },
                                     .prefill_ns = { 1 * SECOND, 2 * SECOND },
                                     .decode_ns = SECOND / 2 };
    const struct score_service services[2] = {
        { .base = base, .slo = { .ttft_ns = 2 * SECOND } },
        { .base = base, .solo_s = 1, .slo = { .e2e_ns = 4 * SECOND } },
    };
    const struct score_options options = { .services = services };
    const struct {
        struct score_rule rule;
        double a, b;
    } expected[] = {
        { { SCORE_SEALLM_SOLO, 5, { 0 } }, 1, 0.5 },
        { { SCORE_SEALLM_SOLO, 2, { 0 } }, 0.5, 0.5 }, /* 5 > 2 * 2 but 8 <= 2 * 4 */
        { { SCORE_SEALLM_MEAN, 2, { 0 } }, 0.5, 0.5 }, /* 5 <= 6 but 8 > 6; 2 <= 2 * 1 */
        { { SCORE_SEALLM_MEAN, 1.9, { 0 } }, 0.5, 0 }, /* 2 > 1.9 */
        { { SCORE_MUXSERVE, 1.5, { 0 } }, 0.5, 0.5 },  /* bases 3.5, 2.5; 3.5 */
        { { SCORE_MUXSERVE, 3.2, { 0 } }, 1, 0.5 },    /* 8 <= 3.2 * 2.5 */
        { { SCORE_ALADDIN, 0, { 3 * SECOND, SECOND, 0 } }, 1, 0.5 },
        { { SCORE_ALADDIN, 0, { 3 * SECOND, SECOND - 1, 0 } }, 0.5, 0.5 }, /* one token: met */
        { { SCORE_ALADDIN, 0, { 2 * SECOND, SECOND, 0 } }, 0.5, 0.5 },
        { { SCORE_UELLM, 0, { 0, 0, 5 * SECOND } }, 0.5, 0.5 }, /* e = 5, 9; 4 */
        { { SCORE_UELLM, 0, { 0, 0, 4 * SECOND } }, 0, 0.5 },
        { { SCORE_SERVICE, 0, { 0 } }, 0.5, 0.5 }, /* a: first within 2; b: end within 4 */
    };
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        near(metrics_score_attainment(&set, &options, &expected[i].rule, 0), expected[i].a);
        near(metrics_score_attainment(&set, &options, &expected[i].rule, 1), expected[i].b);
        near(metrics_score_attainment(&set, &options, &expected[i].rule, -1),
             (expected[i].a + expected[i].b) / 2);
    }
    assert_int_equal(metrics_score_base_ns(&base, 16, 4), 3 * SECOND);
    assert_int_equal(metrics_score_base_ns(&base, 17, 4), 4 * SECOND);
    assert_int_equal(metrics_score_base_ns(&base, 1000, 0), 2 * SECOND);
    for (int kind = 0; kind < SCORE_KIND_N; kind++)
        assert_string_not_equal(metrics_score_kind_name((enum score_kind)kind), "unknown");
    metrics_record_set_free(&set);
}

/* A service without any target that a rule compares with would always meet the rule. */
static void rules_say_what_they_read(void **state)
{
    static const struct service_slo slos[] = { { 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
    static const bool wanted[SCORE_KIND_N][COUNT_OF(slos)] = {
        [SCORE_ALADDIN] = { false, true, true, false },
        [SCORE_UELLM] = { false, false, false, true },
        [SCORE_SERVICE] = { false, true, true, true },
    };
    (void)state;
    for (int kind = 0; kind < SCORE_KIND_N; kind++) {
        const char *targets = metrics_score_kind_targets((enum score_kind)kind);
        assert_true((targets != NULL) == wanted[kind][1] || kind == SCORE_UELLM);
        for (size_t i = 0; i < COUNT_OF(slos); i++)
            assert_true(metrics_score_kind_reads((enum score_kind)kind, &slos[i]) ==
                        wanted[kind][i]);
    }
    assert_string_equal(metrics_score_kind_targets(SCORE_UELLM), "e2e");
}

/* Records of another clock (as of 1970) are the same run. */
static void the_origin_of_time_changes_nothing(void **state)
{
    static const int64_t origins_ns[] = { 1, 100 * SECOND, 1700000000 * SECOND + 123456789 };
    struct record_set set = { 0 };
    struct score scores[2][3];
    double deviations_s[2];
    struct score_service services[2] = { { .slo = { .e2e_ns = 8 * SECOND } },
                                         { .slo = { .e2e_ns = 3 * SECOND } } };
    struct score_options options = { .services = services, .rule = { .kind = SCORE_UELLM } };
    (void)state;
    for (size_t o = 0; o <= COUNT_OF(origins_ns); o++) {
        build(&set);
        for (size_t i = 0; i < set.n && o > 0; i++) {
            struct record *r = &set.at[i];
            r->arrived_ns += origins_ns[o - 1];
            r->first_ns += r->first_ns > 0 ? origins_ns[o - 1] : 0;
            r->end_ns += origins_ns[o - 1];
        }
        memset(scores[o > 0], 0, sizeof(scores[0]));
        metrics_score(&set, &options, scores[o > 0]);
        deviations_s[o > 0] = metrics_score_completion_deviation_s(&set);
        assert_true(o == 0 || (memcmp(scores[0], scores[1], sizeof(scores[0])) == 0 &&
                               deviations_s[0] == deviations_s[1]));
        metrics_record_set_free(&set);
    }
    near(scores[0][2].met, 0.25); /* 5 s of 8; not 9 of 8, 4 of 3 and never */
}

static void an_empty_run_has_figures_too(void **state)
{
    struct record_set set = { 0 };
    struct score all;
    (void)state;
    metrics_score(&set, &(struct score_options){ 0 }, &all);
    assert_true(all.n_offered == 0 && all.makespan_s == 0 && all.met == 1);
    near(metrics_score_completion_deviation_s(&set), 0);
}

static double half_at_seven(void *self, int32_t n)
{
    ++*(int *)self;
    return n >= 7 ? 0.99 : 0.5;
}

static void fewest_devices(void **state)
{
    int n_asked = 0;
    (void)state;
    assert_int_equal(metrics_score_devices_needed(0.99, 100, half_at_seven, &n_asked), 7);
    assert_true(n_asked <= 9);
    assert_int_equal(metrics_score_devices_needed(1, 100, half_at_seven, &n_asked), 0);
    assert_int_equal(metrics_score_devices_needed(0.5, 100, half_at_seven, &n_asked), 1);
    assert_int_equal(metrics_score_devices_needed(0.9, 7, half_at_seven, &n_asked), 7);
    assert_int_equal(metrics_score_devices_needed(0.9, 0, half_at_seven, &n_asked), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_numpys),
        cmocka_unit_test(one_request),
        cmocka_unit_test(all_figures),
        cmocka_unit_test(attainment_each_papers_way),
        cmocka_unit_test(rules_say_what_they_read),
        cmocka_unit_test(the_origin_of_time_changes_nothing),
        cmocka_unit_test(an_empty_run_has_figures_too),
        cmocka_unit_test(fewest_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
