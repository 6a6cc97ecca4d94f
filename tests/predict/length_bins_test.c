/* Conditional mean and quantile against the samples themselves. */
#include "test.h"
#include "base/num.h"
#include "base/rng.h"
#include "predict/length.h"

static struct length_book open_book(const char *text)
{
    struct length_book book;
    struct length_config config;
    length_config_init(&config);
    length_book_open(&book, length_parse(text, &config), &config, 2);
    return book;
}

static int32_t ask(const struct length_book *book, int32_t n_prompt, int32_t n_generated)
{
    const struct length_query query = { .n_prompt = n_prompt, .n_generated = n_generated };
    return length_book_predict(book, &query, 0);
}

static void tell(struct length_book *book, int32_t n_prompt, int32_t n_output)
{
    const struct length_query query = { .n_prompt = n_prompt };
    length_book_observe(book, &query, ask(book, n_prompt, 0), n_output);
}

/* 29 samples in a bin of prompts are too few, so the parent answers, which here has both bins. */
static void thirty_samples_make_a_bin(void **state)
{
    (void)state;
    struct length_book book = open_book("conditional");
    assert_int_equal(ask(&book, 20, 0), 128);
    for (int i = 0; i < 29; i++) {
        tell(&book, 20, 400); /* bin 16-31 */
        tell(&book, 5, 100);  /* bin 0-15: the same parent */
    }
    assert_int_equal(ask(&book, 20, 0), 250);
    assert_int_equal(ask(&book, 5, 0), 250);
    tell(&book, 20, 400);
    assert_int_equal(ask(&book, 20, 0), 400);
    assert_int_equal(ask(&book, 16, 0), 400);
    assert_int_equal(ask(&book, 31, 0), 400);
    assert_int_equal(ask(&book, 15, 0), (29 * 100 + 30 * 400 + 29) / 59);
    assert_int_equal(ask(&book, 5000, 0), (29 * 100 + 30 * 400 + 29) / 59); /* the root's */
    length_book_close(&book);
}

/* E[o | o > n]: outputs 8, 16, 32, 64 lie in buckets of their own. */
static void outrun_predictions_look_at_the_longer_ones(void **state)
{
    (void)state;
    struct length_book book = open_book("conditional");
    for (int i = 0; i < 40; i++)
        tell(&book, 100, 8 << (i % 4));
    assert_int_equal(ask(&book, 100, 0), 30);   /* 120 / 4 */
    assert_int_equal(ask(&book, 100, 12), 37);  /* (16 + 32 + 64) / 3 = 37.3 */
    assert_int_equal(ask(&book, 100, 25), 48);  /* (32 + 64) / 2 */
    assert_int_equal(ask(&book, 100, 60), 64);  /* 40 in [32, 40), 64 in [64, 80) */
    assert_int_equal(ask(&book, 100, 80), 120); /* longer than all: 1.5 n */
    length_book_close(&book);
}

static int order(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Brute force over the samples: the histogram's answers lie within its buckets' width. */
static void agrees_with_the_samples(void **state)
{
    (void)state;
    enum { N = 5000 };
    static int32_t outputs[N];
    struct length_book mean = open_book("conditional"), p80 = open_book("quantile:0.8");
    struct rng rng;
    rng_init(&rng, test_seed(3), 0);
    for (int i = 0; i < N; i++) {
        outputs[i] = 1 + (int32_t)num_exp(5 + 0.9 * rng_normal(&rng));
        tell(&mean, 700, outputs[i]);
        tell(&p80, 700, outputs[i]);
    }
    qsort(outputs, N, sizeof(outputs[0]), order);
    for (int32_t n = 0; n < 600; n += 37) {
        int first = 0;
        double sum = 0;
        while (first < N && outputs[first] <= n)
            first++;
        for (int i = first; i < N; i++)
            sum += outputs[i];
        double wanted = sum / (N - first);
        double got = ask(&mean, 700, n);
        assert_true(got > wanted * 0.97 - 1 && got < wanted * 1.03 + 1);
        wanted = outputs[first + (N - first) * 8 / 10];
        got = ask(&p80, 700, n);
        assert_true(got > wanted * 0.85 && got < wanted * 1.15);
    }
    length_book_close(&mean);
    length_book_close(&p80);
}

/* Unbiased in the mean, and with the wanted coverage. */
static void is_calibrated(void **state)
{
    (void)state;
    struct length_book mean = open_book("conditional"), p90 = open_book("quantile");
    struct rng rng;
    rng_init(&rng, test_seed(4), 0);
    for (int i = 0; i < 20000; i++) {
        int32_t n_prompt = 1 + (int32_t)num_exp(rng_normal(&rng) + 5);
        double centre = n_prompt < 100 ? 3.5 : 6; /* short questions, short answers */
        int32_t n_output = 1 + (int32_t)num_exp(centre + 0.5 * rng_normal(&rng));
        tell(&mean, n_prompt, n_output);
        tell(&p90, n_prompt, n_output);
    }
    const struct length_calibration *c = &mean.calibrations[0], *q = &p90.calibrations[0];
    double bias = (double)c->sum_error / (double)c->sum_output;
    double covered = 1 - (double)q->n_exceeded / (double)q->n;
    assert_true(bias > -0.02 && bias < 0.02);
    assert_true(covered > 0.88 && covered < 0.92);
    length_book_close(&mean);
    length_book_close(&p90);
}

/* Conditioning on the prompt's length halves the error when the length is informative. */
static void beats_the_plain_mean(void **state)
{
    (void)state;
    struct length_book bins = open_book("conditional"), mean = open_book("mean");
    struct rng rng;
    rng_init(&rng, test_seed(5), 0);
    for (int i = 0; i < 5000; i++) {
        int32_t n_prompt = 1 << (4 + rng_below(&rng, 8));
        int32_t n_output = n_prompt / 2 + (int32_t)rng_below(&rng, 20);
        tell(&bins, n_prompt, n_output);
        tell(&mean, n_prompt, n_output);
    }
    assert_true(bins.calibrations[0].sum_abs_error * 2 < mean.calibrations[0].sum_abs_error);
    length_book_close(&bins);
    length_book_close(&mean);
}

/* The traffic changes: after some thousands of new outputs the old ones have little weight. */
static void old_traffic_fades(void **state)
{
    (void)state;
    struct length_book book = open_book("conditional");
    for (int i = 0; i < 20000; i++)
        tell(&book, 40, 100);
    for (int i = 0; i < 40000; i++)
        tell(&book, 40, 300);
    int32_t n = ask(&book, 40, 0);
    assert_true(n > 290 && n <= 300);
    length_book_close(&book);
}

/* For any query and any output, answers are in range and larger than the generated tokens. */
static void answers_are_sane_everywhere(void **state)
{
    (void)state;
    static const char *const names[] = { "conditional", "quantile:0.99", "mean", "bucket" };
    struct rng rng;
    rng_init(&rng, test_seed(6), 0);
    for (size_t k = 0; k < COUNT_OF(names); k++) {
        struct length_book book = open_book(names[k]);
        for (int i = 0; i < 5000; i++) {
            int32_t n_prompt = (int32_t)(rng_u64(&rng) >> (44 + rng_below(&rng, 20)));
            int32_t n_generated = (int32_t)(rng_u64(&rng) >> (44 + rng_below(&rng, 20)));
            assert_true(ask(&book, n_prompt, n_generated) > n_generated);
            tell(&book, n_prompt, (int32_t)(rng_u64(&rng) >> (44 + rng_below(&rng, 20))));
        }
        length_book_close(&book);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thirty_samples_make_a_bin),
        cmocka_unit_test(outrun_predictions_look_at_the_longer_ones),
        cmocka_unit_test(agrees_with_the_samples),
        cmocka_unit_test(is_calibrated),
        cmocka_unit_test(beats_the_plain_mean),
        cmocka_unit_test(old_traffic_fades),
        cmocka_unit_test(answers_are_sane_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
