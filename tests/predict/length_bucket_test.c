/* The online classifier: what it learns from length, and what only the tokens reveal. */
#include "test.h"
#include "base/rng.h"
#include "predict/length.h"

enum { N_PROMPT = 60, N_OUTPUT_MAX = 1000 };

/* Draws prompts of one length, of random words. The second word tells the answer's length: one of
 * ten words for ten lengths, and a fraction `blur` of them is wrong. */
static int32_t draw(struct rng *rng, double blur, int32_t tokens[N_PROMPT])
{
    uint32_t kind = rng_below(rng, LENGTH_BUCKETS);
    for (int i = 0; i < N_PROMPT; i++)
        tokens[i] = (int32_t)(1000 + rng_below(rng, 30000));
    tokens[1] = (int32_t)(100 + 17 * kind);
    if (rng_unit(rng) < blur)
        kind = rng_below(rng, LENGTH_BUCKETS);
    return (int32_t)(kind * N_OUTPUT_MAX / LENGTH_BUCKETS + 1 +
                     rng_below(rng, N_OUTPUT_MAX / LENGTH_BUCKETS));
}

/* Returns the accuracy over the last half of n requests. */
static double accuracy(double blur, bool has_tokens, int n, uint64_t seed)
{
    struct length_book book;
    struct length_config config;
    struct rng rng;
    int32_t tokens[N_PROMPT];
    length_config_init(&config);
    length_book_open(&book, length_parse("bucket:1000", &config), &config, 1);
    rng_init(&rng, seed, 0);
    int n_right = 0;
    for (int i = 0; i < n; i++) {
        int32_t n_output = draw(&rng, blur, tokens);
        struct length_query query = { .n_prompt = N_PROMPT, .tokens = has_tokens ? tokens : NULL };
        int32_t n_predicted = length_book_predict(&book, &query, 0);
        length_book_observe(&book, &query, n_predicted, n_output);
        if (i >= n / 2)
            n_right += length_bucket_of(n_predicted, N_OUTPUT_MAX) ==
                       length_bucket_of(n_output, N_OUTPUT_MAX);
    }
    length_book_close(&book);
    return (double)n_right / (n - n / 2);
}

static void tokens_tell_what_length_cannot(void **state)
{
    (void)state;
    uint64_t seed = test_seed(11);
    double blind = accuracy(0, false, 6000, seed), seeing = accuracy(0, true, 6000, seed);
    print_message("bucket accuracy: length alone %.3f, with tokens %.3f\n", blind, seeing);
    assert_true(blind < 0.15); /* ten equally likely ones */
    assert_true(seeing > 0.95);
}

/* One in five is wrong, so no more than 0.8 + 0.02 can be right. */
static void reaches_what_noise_leaves(void **state)
{
    (void)state;
    double got = accuracy(0.2, true, 12000, test_seed(12));
    print_message("bucket accuracy with a fifth at random: %.3f of 0.82\n", got);
    assert_true(got > 0.7 && got < 0.86);
}

static void learns_from_length_alone(void **state)
{
    (void)state;
    struct length_book book;
    struct length_config config;
    struct rng rng;
    length_config_init(&config);
    length_book_open(&book, length_parse("bucket:1000", &config), &config, 2);
    rng_init(&rng, test_seed(13), 0);
    for (int i = 0; i < 2000; i++) {
        bool is_long = rng_below(&rng, 2);
        struct length_query query = { .service = 1, .n_prompt = is_long ? 600 : 20 };
        int32_t n_output = (is_long ? 700 : 0) + 1 + (int32_t)rng_below(&rng, 100);
        length_book_observe(&book, &query, length_book_predict(&book, &query, 0), n_output);
    }
    struct length_query query = { .service = 1, .n_prompt = 21 };
    assert_int_equal(length_book_predict(&book, &query, 0), 100);
    query.n_prompt = 590;
    assert_int_equal(length_book_predict(&book, &query, 0), 800);
    query.n_generated = 800; /* exceeded: a later bucket */
    assert_in_range(length_book_predict(&book, &query, 0), 900, 1000);
    query.n_generated = 1000;
    assert_int_equal(length_book_predict(&book, &query, 0), 1500);
    query.service = 0; /* which has learned nothing */
    query.n_generated = 0;
    assert_int_equal(length_book_predict(&book, &query, 0), 128);
    length_book_close(&book);
}

/* Asked twice, it answers the same, and a query teaches it nothing. */
static void asking_changes_nothing(void **state)
{
    (void)state;
    struct length_config config;
    struct length_limits limits = { 1 };
    length_config_init(&config);
    const struct length_predictor *bucket = length_find("bucket");
    size_t n_bytes = bucket->state_bytes(&limits);
    void *a = malloc(n_bytes), *b = malloc(n_bytes);
    int32_t tokens[N_PROMPT];
    struct rng rng;
    rng_init(&rng, 5, 0);
    bucket->open(a, &limits, &config);
    bucket->open(b, &limits, &config);
    for (int i = 0; i < 300; i++) {
        int32_t n_output = draw(&rng, 0, tokens);
        struct length_query query = { .n_prompt = N_PROMPT, .tokens = tokens };
        assert_int_equal(bucket->predict(a, &query), bucket->predict(a, &query));
        bucket->observe(a, &query, n_output);
        bucket->observe(b, &query, n_output);
    }
    assert_memory_equal(a, b, n_bytes);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_tell_what_length_cannot),
        cmocka_unit_test(reaches_what_noise_leaves),
        cmocka_unit_test(learns_from_length_alone),
        cmocka_unit_test(asking_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
