/* The composers: the papers' examples, the DP against all partitions, bins against first fit. */
#include "../test.h"
#include "base/rng.h"
#include "base/time.h"
#include "route/compose.h"

enum { N = 400 };
static struct route_item items[N], spare[N];
static struct route_batch batches[N];
static int64_t cost[4 * N + 4], time_of[N + 1];
static int32_t from[N + 1];
static struct route_config config;

static struct route_compose compose_of(const struct perf *perf, int32_t n)
{
    route_config_init(&config);
    return (struct route_compose){ .config = &config,
                                   .perf = perf,
                                   .memory = { .kind = MEMORY_PADDED, .bytes_per_token = 1 },
                                   .now_ns = TIME_NS_PER_S,
                                   .n_max = 1024,
                                   .n_idle = 1,
                                   .items = items,
                                   .spare = spare,
                                   .n = n,
                                   .cost = cost,
                                   .time = time_of,
                                   .from = from,
                                   .batches = batches };
}

static void set_item(int32_t i, int32_t n_input, int32_t n_output, int64_t key)
{
    items[i] = (struct route_item){ .key = key,
                                    .deadline_ns = TIME_NEVER,
                                    .slot = (uint32_t)i,
                                    .n_input = n_input,
                                    .n_output = n_output };
}

/* Coefficients of a slow static engine, chosen so that both of SCLS's figures come out. */
static const struct perf figure_11 = { .k1_ps = 200000000,
                                       .c3_ps = { 25530000000, 25530000000 },
                                       .k2_ps = { 3157000, 3157000 },
                                       .b_switch = 0,
                                       .prefill_scale = 1,
                                       .decode_scale = 1 };

/* SCLS, Fig. 11: 15 requests of 10 tokens and one of 1024, slices of 128: 13.5 s together, 7.6 s in
 * two batches, which is what the DP finds. */
static void test_figure_11(void **state)
{
    (void)state;
    struct route_compose c = compose_of(&figure_11, 16);
    c.n_steps = 128;
    for (int32_t i = 0; i < 16; i++)
        set_item(i, i == 7 ? 1024 : 10, 1, i == 7 ? 1024 : 10);
    route_compose_sort(&c);
    route_compose_slices(&c);
    assert_int_equal(c.n_batches, 2);
    assert_int_equal(batches[0].n, 15);
    assert_int_equal(batches[0].n_input, 10);
    assert_int_equal(batches[1].n, 1);
    assert_int_equal(batches[1].n_input, 1024);
    int64_t together = route_compose_serve_ps(&figure_11, 16, 1024, 128);
    int64_t apart = batches[0].serve_ps + batches[1].serve_ps;
    assert_in_range(together / 1000000000, 13400, 13600); /* ms */
    assert_in_range(apart / 1000000000, 7500, 7700);
}

static struct perf random_perf(struct rng *rng, bool has_regimes)
{
    return (struct perf){ .floor_ps = (int64_t)rng_below(rng, 3000) * 1000000,
                          .c1_ps = (int64_t)rng_below(rng, 1000) * 1000000,
                          .k1_ps = 1 + (int64_t)rng_below(rng, 100) * 100000,
                          .q1_ps = (int64_t)rng_below(rng, 10) * 1024,
                          .c3_ps = { 5000000000, has_regimes ? 1000000000 : 5000000000 },
                          .c2_ps = { 20000000, 90000000 },
                          .k2_ps = { (int64_t)rng_below(rng, 40) * 10000, 100000 },
                          .b_switch = has_regimes ? 4 : 0,
                          .prefill_scale = 1,
                          .decode_scale = 1 };
}

static void test_serve_is_the_sum_of_its_steps(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 1, 0);
    for (int round = 0; round < 500; round++) {
        struct perf perf = random_perf(&rng, round % 2 == 0);
        int32_t n = 1 + (int32_t)rng_below(&rng, 9), l = 1 + (int32_t)rng_below(&rng, 900);
        int32_t s = 1 + (int32_t)rng_below(&rng, 60);
        struct perf_load load = { .n_new = n * l, .n_new_squared = (int64_t)n * l * l };
        int64_t ps = perf_step_ps(&perf, &load);
        for (int32_t step = 1; step < s; step++)
            ps += perf_step_ps(
                &perf,
                &(struct perf_load){ .n_decodes = n, .n_decode_context = (int64_t)n * (l + step) });
        int64_t closed = route_compose_serve_ps(&perf, n, l, s);
        assert_true(closed - ps <= n && ps - closed <= n); /* each rounds its own square */
    }
}

/* All ways to put items into batches (restricted growth strings), the best of their sums. */
static int64_t best_partition(const struct route_compose *c, int32_t n)
{
    int group_of[8] = { 0 };
    int64_t best = INT64_MAX;
    for (;;) {
        int64_t sum = 0;
        for (int g = 0; g < n && sum >= 0; g++) {
            int32_t count = 0, longest = 0;
            for (int32_t i = 0; i < n; i++) {
                count += group_of[i] == g;
                longest = group_of[i] == g ? max_i32(longest, items[i].n_input) : longest;
            }
            if (count == 0)
                continue;
            int32_t most = min_i32(c->n_max, predict_memory_n_max(&c->memory, longest, c->n_steps));
            if (count > max_i32(most, 1))
                sum = INT64_MIN;
            else
                sum += route_compose_serve_ps(c->perf, count, longest, c->n_steps);
        }
        if (sum >= 0 && sum < best)
            best = sum;
        int32_t i = n - 1;
        for (; i > 0; i--) {
            int highest = 0;
            for (int32_t k = 0; k < i; k++)
                highest = group_of[k] > highest ? group_of[k] : highest;
            if (group_of[i] <= highest)
                break;
        }
        if (i <= 0)
            return best;
        group_of[i]++;
        for (int32_t k = i + 1; k < n; k++)
            group_of[k] = 0;
    }
}

/* The slowest machine that a report may tell of, and the longest requests. */
static void test_serve_does_not_wrap(void **state)
{
    struct perf slow = { .q1_ps = INT64_C(1) << 40,
                         .k1_ps = INT64_C(1) << 42,
                         .c3_ps = { INT64_C(1) << 50, INT64_C(1) << 50 },
                         .c2_ps = { INT64_C(1) << 40, INT64_C(1) << 40 },
                         .k2_ps = { INT64_C(1) << 32, INT64_C(1) << 32 },
                         .prefill_scale = 1e3F,
                         .decode_scale = 1e3F };
    (void)state;
    assert_true(coefficients_are_sane(&slow));
    int64_t one_ps = route_compose_serve_ps(&slow, 1, LIMIT_CONTEXT, LIMIT_CONTEXT);
    int64_t many_ps =
        route_compose_serve_ps(&slow, LIMIT_BATCH_ITEMS, LIMIT_CONTEXT, LIMIT_CONTEXT);
    assert_true(one_ps > 0 && many_ps > one_ps);
}

static void test_dp_is_the_best_of_all_partitions(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 2, 0);
    int n_cut = 0;
    for (int round = 0; round < 300; round++) {
        struct perf perf = random_perf(&rng, false);
        int32_t n = 1 + (int32_t)rng_below(&rng, 8);
        struct route_compose c = compose_of(&perf, n);
        c.n_steps = 1 + (int32_t)rng_below(&rng, 40);
        c.n_max = 1 + (int32_t)rng_below(&rng, 8);
        c.memory.available_bytes = 400 + rng_below(&rng, 4000);
        c.memory.zeta = 1;
        for (int32_t i = 0; i < n; i++) {
            int32_t l = 1 + (int32_t)rng_below(&rng, 300);
            set_item(i, l, 1, l);
        }
        route_compose_sort(&c);
        route_compose_slices(&c);
        int64_t sum = 0;
        int32_t next = 0;
        for (int32_t i = 0; i < c.n_batches; i++) {
            assert_int_equal(batches[i].first, next);
            next += batches[i].n;
            sum += batches[i].serve_ps;
        }
        assert_int_equal(next, n);
        n_cut += c.n_batches > 1 && c.n_batches < n;
        assert_true(sum == cost[n]);
        assert_true(sum == best_partition(&c, n));
    }
    assert_true(n_cut > 50);
}

/* Stopping early changes nothing: against the plain recurrence, with regimes too. */
static void test_dp_on_many(void **state)
{
    (void)state;
    static int64_t plain[N + 1];
    struct rng rng;
    rng_init(&rng, 3, 0);
    for (int round = 0; round < 40; round++) {
        struct perf perf = random_perf(&rng, round % 2 == 0);
        struct route_compose c = compose_of(&perf, N);
        c.n_steps = 64;
        c.n_max = 1 + (int32_t)rng_below(&rng, 200);
        for (int32_t i = 0; i < N; i++) {
            int32_t l = 1 + (int32_t)rng_below(&rng, 1000);
            set_item(i, l, 1, l);
        }
        route_compose_sort(&c);
        route_compose_slices(&c);
        plain[0] = 0;
        for (int32_t i = 1; i <= N; i++) {
            plain[i] = INT64_MAX;
            for (int32_t k = 1; k <= min_i32(i, c.n_max); k++)
                plain[i] = min_i64(
                    plain[i], plain[i - k] + route_compose_serve_ps(&perf, k, items[i - 1].n_input,
                                                                    c.n_steps));
        }
        assert_true(plain[N] == cost[N]);
    }
}

/* UELLM, Fig. 3: three queries; as one batch 6 pads and 3 * 58 = 174 tokens. ODBS puts the two
 * short ones together: 2 pads, 2 * 8 + 58 = 74 tokens. */
static void test_uellm_figure_3(void **state)
{
    (void)state;
    static const enum route_cost forms[] = { ROUTE_COST_WASTE, ROUTE_COST_CODE, ROUTE_COST_TEXT };
    static const int32_t inputs[] = { 7, 5, 3 }, outputs[] = { 58, 8, 6 };
    for (size_t form = 0; form < COUNT_OF(forms); form++) {
        struct route_compose c = compose_of(&figure_11, 3);
        for (int32_t i = 0; i < 3; i++)
            set_item(i, inputs[i], outputs[i], outputs[i]);
        config.cost = forms[form];
        config.cost_max = 100; /* at the scale of the example */
        route_compose_sort(&c);
        route_compose_odbs(&c);
        int32_t n_pads = 0, n_tokens = 0;
        assert_int_equal(c.n_batches, 2);
        for (int32_t i = 0; i < 2; i++) {
            n_tokens += batches[i].n * batches[i].n_output;
            for (int32_t k = 0; k < batches[i].n; k++)
                n_pads += batches[i].n_input - items[batches[i].first + k].n_input;
        }
        assert_int_equal(n_pads, 2);
        assert_int_equal(n_tokens, 74);
    }
}

/* The forms by hand. text: (SLO + L_CM)(n + 1) + 1.2 (len + O_CM)(n + 1) <= T; code: 1.2 (len -
 * O_CM)(n + 1) <= T and n < 10. */
static void test_cost_forms(void **state)
{
    (void)state;
    struct route_compose c = compose_of(&figure_11, 2);
    for (int32_t i = 0; i < 2; i++) {
        set_item(i, 10, 100 + 100 * i, 100 + i);
        items[i].deadline_ns = c.now_ns + (5 + i) * TIME_NS_PER_S;
    }
    config.cost = ROUTE_COST_TEXT;
    config.cost_max = (6 + 5) * 2 + 1.2 * (200 + 100) * 2;
    route_compose_odbs(&c);
    assert_int_equal(c.n_batches, 1);
    config.cost_max -= 0.1;
    c.n_batches = 0;
    route_compose_odbs(&c);
    assert_int_equal(c.n_batches, 2);
    assert_true(batches[0].deadline_ns == c.now_ns + 5 * TIME_NS_PER_S);
    config.cost = ROUTE_COST_CODE;
    config.cost_max = 1.2 * 100 * 2;
    c.n_batches = 0;
    route_compose_odbs(&c);
    assert_int_equal(c.n_batches, 1);
    config.n_odbs_batch = 1;
    c.n_batches = 0;
    route_compose_odbs(&c);
    assert_int_equal(c.n_batches, 2);
}

/* First fit by decreasing size, by hand: capacity 10; 7 | 6 | 5: none | 4 to the 6 | 3 to the 7 | 3
 * to the 5 | 2 to the 5. */
static void test_bins(void **state)
{
    (void)state;
    static const int32_t sizes[] = { 7, 6, 5, 4, 3, 3, 2 };
    struct route_compose c = compose_of(&figure_11, 7);
    c.memory.available_bytes = 10;
    for (int32_t i = 0; i < 7; i++)
        set_item(i, sizes[i] - 1, 1, -sizes[i]);
    route_compose_bins(&c);
    static const uint32_t slots[] = { 0, 4, 1, 3, 2, 5, 6 };
    static const int32_t counts[] = { 2, 2, 3 };
    assert_int_equal(c.n_batches, 3);
    for (int32_t i = 0; i < 3; i++)
        assert_int_equal(batches[i].n, counts[i]);
    for (int32_t i = 0; i < 7; i++)
        assert_int_equal(items[i].slot, slots[i]);
}

static void test_bins_against_first_fit(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 4, 0);
    for (int round = 0; round < 100; round++) {
        static int32_t bin_of[N], count[N];
        static int64_t left[N];
        struct route_compose c = compose_of(&figure_11, N);
        int32_t n_bins = 0;
        c.memory.available_bytes = 3000;
        c.n_max = 1 + (int32_t)rng_below(&rng, 12);
        for (int32_t i = 0; i < N; i++) {
            int32_t size = 2 + (int32_t)rng_below(&rng, 1500);
            set_item(i, size - 1, 1, -size);
        }
        route_compose_sort(&c);
        for (int32_t i = 0; i < N; i++) { /* by walking */
            int32_t bin = 0, size = items[i].n_input + 1;
            while (bin < n_bins && (left[bin] < size || count[bin] == c.n_max))
                bin++;
            if (bin == n_bins) {
                left[n_bins] = 3000;
                count[n_bins++] = 0;
            }
            left[bin] -= size;
            count[bin]++;
            bin_of[items[i].slot] = bin;
        }
        route_compose_bins(&c);
        assert_int_equal(c.n_batches, n_bins);
        for (int32_t b = 0; b < n_bins; b++) {
            assert_int_equal(batches[b].n, count[b]);
            for (int32_t k = 0; k < batches[b].n; k++)
                assert_int_equal(bin_of[items[batches[b].first + k].slot], b);
        }
    }
}

/* A batch grows while it keeps the deadlines of those in it, and is cut where it would not. */
static void test_deadlines(void **state)
{
    (void)state;
    struct route_compose c = compose_of(&figure_11, 4);
    for (int32_t i = 0; i < 4; i++)
        set_item(i, 10, i < 2 ? 10 : 100, i);
    route_compose_deadlines(&c);
    assert_int_equal(c.n_batches, 1); /* one batch is the least time in sum */
    items[0].deadline_ns = items[1].deadline_ns = c.now_ns + TIME_NS_PER_S / 2;
    c.n_batches = 0;
    route_compose_deadlines(&c);
    assert_int_equal(c.n_batches, 2); /* 10 steps of 26 ms keep it, 100 do not */
    assert_int_equal(batches[0].n, 2);
    config.late_penalty_s = 0;
    c.n_batches = 0;
    route_compose_deadlines(&c);
    assert_int_equal(c.n_batches, 1);
}

/* Everybody is late at the highest price that a threshold allows: costs stay sums of what they are
 * the sums of. */
static void test_deadlines_at_any_price(void **state)
{
    (void)state;
    struct route_compose c = compose_of(&figure_11, N);
    config.late_penalty_s = 1e5;
    for (int32_t i = 0; i < N; i++) {
        set_item(i, 10, 10, i);
        items[i].deadline_ns = i;
    }
    c.n_idle = N;
    c.n_max = 100;
    route_compose_deadlines(&c);
    int32_t n = 0;
    for (int32_t b = 0; b < c.n_batches; b++)
        n += batches[b].n;
    assert_int_equal(n, N);
    for (int32_t i = 1; i <= N; i++)
        assert_true(cost[i] > cost[i - 1]);
}

static void test_fixed(void **state)
{
    (void)state;
    struct route_compose c = compose_of(&figure_11, 8);
    c.n_max = 3;
    for (int32_t i = 0; i < 8; i++)
        set_item(i, 10, 10, 0);
    route_compose_fixed(&c);
    assert_int_equal(c.n_batches, 3);
    assert_int_equal(batches[2].n, 2);
    c.memory.available_bytes = 50; /* two of 20 tokens each at 90% */
    c.memory.zeta = 0.9;
    c.n_batches = 0;
    route_compose_fixed(&c);
    assert_int_equal(c.n_batches, 4);
}

static void test_sort_is_stable(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, 6, 0);
    for (int32_t n = 0; n < 200; n += 13) {
        struct route_compose c = compose_of(&figure_11, n);
        for (int32_t i = 0; i < n; i++)
            set_item(i, 1, 1, rng_below(&rng, 9));
        route_compose_sort(&c);
        for (int32_t i = 1; i < n; i++)
            assert_true(items[i - 1].key < items[i].key ||
                        (items[i - 1].key == items[i].key && items[i - 1].slot < items[i].slot));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figure_11),
        cmocka_unit_test(test_serve_is_the_sum_of_its_steps),
        cmocka_unit_test(test_serve_does_not_wrap),
        cmocka_unit_test(test_dp_is_the_best_of_all_partitions),
        cmocka_unit_test(test_dp_on_many),
        cmocka_unit_test(test_uellm_figure_3),
        cmocka_unit_test(test_cost_forms),
        cmocka_unit_test(test_bins),
        cmocka_unit_test(test_bins_against_first_fit),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_deadlines_at_any_price),
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_sort_is_stable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
