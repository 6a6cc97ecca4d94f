/* Candidates of a draw: their weights against the C library's exponential, and the kept and picked
 * ones against a full sort. */
#include "test.h"

#include "base/rng.h"
#include "compute/choice.h"
#include <math.h>
#include <stdlib.h>

enum { N = 1003 };

struct scene {
    struct compute_choice choice;
    float logits[N], best, temperature, min_p;
    int32_t order[N], n_all;   /* of the candidates: places, the highest first */
    struct compute_choice all; /* before any was left out */
};

/* Fills a row: smooth, full of equals, peaked, or with values that no row should have. */
static void fill(struct scene *s, int kind, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, (uint64_t)kind);
    s->best = -INFINITY;
    for (int i = 0; i < N; i++) {
        double x = rng_normal(&rng);
        s->logits[i] = (float)x;
        if (kind == 1)
            s->logits[i] = (float)(int)(2 * x);
        if (kind == 2)
            s->logits[i] = (float)(40 * x * x * x);
        if (kind == 3 && rng_below(&rng, 4) == 0)
            s->logits[i] = rng_below(&rng, 2) ? NAN : -INFINITY;
        if (kind == 4)
            s->logits[i] = x < 0 ? -0.0F : 0.0F;
        s->best = s->logits[i] > s->best ? s->logits[i] : s->best;
    }
    s->temperature = 0.3F + 0.4F * (float)rng_below(&rng, 5);
    s->min_p = rng_below(&rng, 3) == 0 ? 0.02F : 0.0F;
}

static const struct compute_choice *sorted;
static const float *sorted_logits;

static int by_rank(const void *a, const void *b)
{
    int32_t x = sorted->list.ids[*(const int32_t *)a], y = sorted->list.ids[*(const int32_t *)b];
    if (sorted_logits[x] != sorted_logits[y])
        return sorted_logits[x] > sorted_logits[y] ? -1 : 1;
    return (x > y) - (x < y);
}

static struct compute_choice_how how_of(const struct scene *s, int32_t top_k)
{
    return (struct compute_choice_how){ s->temperature, s->min_p, top_k };
}

static void weigh(struct scene *s)
{
    assert_true(s->logits[compute_choice_best(&s->choice, s->logits, N)] == s->best);
    compute_choice_weigh(&s->choice, s->logits, N, s->best, how_of(s, 0));
    s->all.list.n = s->n_all = s->choice.list.n;
    for (int32_t i = 0; i < s->n_all; i++) {
        s->all.list.ids[i] = s->choice.list.ids[i];
        s->all.list.weights[i] = s->choice.list.weights[i];
        s->order[i] = i;
    }
    sorted = &s->all;
    sorted_logits = s->logits;
    qsort(s->order, (size_t)s->n_all, sizeof(s->order[0]), by_rank);
}

/* Expects that the remaining candidates are the first n by rank, in order of id, with their
 * weights. */
static void expect_first(const struct scene *s, int32_t n)
{
    const struct compute_draw_list *list = &s->choice.list;
    bool is_in[N] = { false };
    int32_t n_at = 0, at = 0;
    int64_t total = 0;
    for (int32_t i = 0; i < n; i++)
        is_in[s->order[i]] = true;
    for (int32_t i = 0; i < list->n; i++) {
        bool is_at = list->values[i] == s->choice.end.value && n_at++ < s->choice.end.n_at;
        if (!is_at && !(list->values[i] > s->choice.end.value))
            continue;
        while (at < s->n_all && !is_in[at])
            at++;
        assert_true(at < s->n_all);
        assert_int_equal(list->ids[i], s->all.list.ids[at]);
        assert_true(list->weights[i] == s->all.list.weights[at++]);
        total += list->weights[i];
        n--;
    }
    assert_int_equal(n, 0);
    assert_true(s->choice.total == total);
}

static void each(void (*check)(struct scene *, struct rng *))
{
    static struct scene s;
    struct rng rng;
    rng_init(&rng, test_seed(1), 9);
    compute_choice_init(&s.choice, &compute_draw_plain, N);
    compute_choice_init(&s.all, &compute_draw_plain, N);
    for (uint64_t seed = 0; seed < 40; seed++)
        for (int kind = 0; kind < 5; kind++) {
            fill(&s, kind, seed);
            weigh(&s);
            check(&s, &rng);
        }
    compute_choice_free(&s.choice);
    compute_choice_free(&s.all);
}

static void check_weights(struct scene *s, struct rng *rng)
{
    int32_t at = 0;
    (void)rng;
    for (int32_t i = 0; i < N; i++) {
        double x = ((double)s->logits[i] - (double)s->best) / (double)s->temperature;
        double wanted = exp(x), limit = s->min_p > 0 ? (double)s->min_p : exp(-20.5);
        bool is_sure = fabs(wanted / limit - 1) > 1e-4;
        bool is_in = at < s->choice.list.n && s->choice.list.ids[at] == i;
        if (is_sure)
            assert_int_equal(is_in, wanted > limit);
        if (is_in)
            assert_true(fabs((double)s->choice.list.weights[at++] - wanted * COMPUTE_DRAW_ONE) <=
                        8e-6 * wanted * COMPUTE_DRAW_ONE + 1);
    }
    assert_int_equal(at, s->choice.list.n);
}

static void test_weights_are_exponentials(void **state)
{
    (void)state;
    each(check_weights);
}

static void check_top(struct scene *s, struct rng *rng)
{
    int32_t k = 1 + (int32_t)rng_below(rng, rng_below(rng, 2) ? 50 : N + 100);
    compute_choice_weigh(&s->choice, s->logits, N, s->best, how_of(s, k));
    expect_first(s, min_i32(k, s->n_all));
}

static void test_the_highest_are_kept(void **state)
{
    (void)state;
    each(check_top);
}

/* Takes a share of the n highest. Returns how many remain. */
static int32_t expect_share(struct scene *s, int32_t n_highest, float share)
{
    double wanted = (double)share * (double)s->choice.total, sum = 0;
    int32_t n = 0;
    for (; n < n_highest && (n == 0 || sum < wanted); n++)
        sum += (double)s->all.list.weights[s->order[n]]; /* exact: below 2^53 */
    compute_choice_keep_share(&s->choice, share);
    expect_first(s, n);
    return n;
}

static void check_share(struct scene *s, struct rng *rng)
{
    int32_t k = 1 + (int32_t)rng_below(rng, N);
    (void)expect_share(s, s->n_all, rng_below(rng, 8) == 0 ? 0.0F : (float)rng_unit(rng));
    compute_choice_weigh(&s->choice, s->logits, N, s->best, how_of(s, k));
    (void)expect_share(s, min_i32(k, s->n_all), (float)rng_unit(rng));
}

static void test_the_fewest_that_weigh_the_share_are_kept(void **state)
{
    (void)state;
    each(check_share);
}

/* Picks among the first n by rank, in order of id. */
static void expect_pick(struct scene *s, int32_t n, double unit)
{
    bool is_in[N] = { false };
    int64_t at = (int64_t)(unit * (double)s->choice.total);
    int32_t i = 0;
    at = at < s->choice.total ? at : s->choice.total - 1; /* there is none above the last */
    for (int32_t k = 0; k < n; k++)
        is_in[s->order[k]] = true;
    for (; !is_in[i] || at >= s->all.list.weights[i]; i++)
        at -= is_in[i] ? s->all.list.weights[i] : 0;
    assert_int_equal(compute_choice_pick(&s->choice, unit), s->all.list.ids[i]);
}

static void expect_picks(struct scene *s, int32_t n, struct rng *rng)
{
    for (int k = 0; k < 8; k++)
        expect_pick(s, n, rng_unit(rng));
    expect_pick(s, n, 1 - 0x1p-53);
    expect_pick(s, n, 0);
}

static void check_pick(struct scene *s, struct rng *rng)
{
    int32_t k = 1 + (int32_t)rng_below(rng, N);
    expect_picks(s, s->n_all, rng);
    expect_picks(s, expect_share(s, s->n_all, (float)rng_unit(rng)), rng);
    compute_choice_weigh(&s->choice, s->logits, N, s->best, how_of(s, k));
    expect_picks(s, min_i32(k, s->n_all), rng);
    expect_picks(s, expect_share(s, min_i32(k, s->n_all), (float)rng_unit(rng)), rng);
}

static void test_the_pick_is_where_the_die_falls(void **state)
{
    (void)state;
    each(check_pick);
}

static void test_next_to_no_temperature_leaves_none(void **state)
{
    static const float logits[3] = { 1, 2, 2 };
    struct compute_choice choice;
    (void)state;
    compute_choice_init(&choice, &compute_draw_plain, 3);
    compute_choice_weigh(&choice, logits, 3, 2, (struct compute_choice_how){ 1e-42F });
    assert_int_equal(choice.list.n, 0);
    compute_choice_weigh(&choice, logits, 3, 2, (struct compute_choice_how){ 1e-30F });
    assert_int_equal(choice.list.n, 2);
    compute_choice_free(&choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_are_exponentials),
        cmocka_unit_test(test_the_highest_are_kept),
        cmocka_unit_test(test_the_fewest_that_weigh_the_share_are_kept),
        cmocka_unit_test(test_the_pick_is_where_the_die_falls),
        cmocka_unit_test(test_next_to_no_temperature_leaves_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
