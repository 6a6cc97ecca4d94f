/* The table of length predictors, those without bins, and the book's calibration, by hand. */
#include "test.h"
#include "base/num.h"
#include "base/rng.h"
#include "predict/length.h"

static struct length_book open_book(const char *text)
{
    struct length_book book;
    struct length_config config;
    length_config_init(&config);
    const struct length_predictor *predictor = length_parse(text, &config);
    assert_non_null(predictor);
    length_book_open(&book, predictor, &config, 3);
    return book;
}

static void the_table_has_every_name_once(void **state)
{
    (void)state;
    int n;
    const struct length_predictor *const *all = length_all(&n);
    char names[256] = "";
    for (int i = 0; i < n; i++) {
        assert_ptr_equal(length_find(all[i]->name), all[i]);
        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i > 0 ? ", " : "",
                 all[i]->name);
    }
    assert_string_equal(names, length_names());
    assert_null(length_find("tarot"));
}

static void values_are_parsed_and_checked(void **state)
{
    (void)state;
    struct length_config config;
    length_config_init(&config);
    assert_string_equal(length_parse("noisy:0.25", &config)->name, "noisy");
    assert_true(config.noise == 0.25);
    assert_string_equal(length_parse("quantile:0.95", &config)->name, "quantile");
    assert_true(config.quantile == 0.95);
    assert_string_equal(length_parse("bucket:1000", &config)->name, "bucket");
    assert_int_equal(config.n_output_max, 1000);
    static const char *const wrong[] = {
        "",           "mean:3",     "quantile:1",
        "quantile:",  "noisy:-0.1", "bucket:9",
        "bucket:1e9", "noisy:x",    "a name that is much longer than any row of it"
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_null(length_parse(wrong[i], &config));
}

/* none returns 0, oracle and file return the hint, and all return more than was generated. */
static void hints_are_passed_on(void **state)
{
    (void)state;
    static const char *const names[] = { "oracle", "file" };
    struct length_query query = { .id = 1, .n_prompt = 10, .hint = 77 };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct length_book book = open_book(names[i]);
        query.n_generated = 0;
        assert_int_equal(length_book_predict(&book, &query, 0), 77);
        assert_int_equal(length_book_predict(&book, &query, 50), 50);
        query.n_generated = 100; /* it exceeded its hint */
        assert_int_equal(length_book_predict(&book, &query, 0), 150);
        assert_int_equal(length_book_predict(&book, &query, 120), 120);
        length_book_close(&book);
    }
    struct length_book none = open_book("none");
    assert_int_equal(length_book_predict(&none, &query, 0), 0);
    length_book_close(&none);
}

static void again_is_half_as_much_more(void **state)
{
    (void)state;
    assert_int_equal(length_again(100, 40), 100);
    assert_int_equal(length_again(100, 100), 150);
    assert_int_equal(length_again(0, 0), 1);
    assert_int_equal(length_again(0, 1), 2);
    assert_int_equal(length_again(5, 31), 46);
}

/* Equal ids have equal errors. Over ids the error's logarithm has the given deviation and mean
 * 0. */
static void noise_is_lognormal_and_bound_to_the_id(void **state)
{
    (void)state;
    struct length_book book = open_book("noisy:0.4");
    double sum = 0, squares = 0;
    enum { N = 20000 };
    for (uint64_t id = 0; id < N; id++) {
        struct length_query query = { .id = id, .hint = 100000 };
        int32_t n = length_book_predict(&book, &query, 0);
        assert_int_equal(length_book_predict(&book, &query, 0), n);
        double error = num_log((double)n / 100000);
        sum += error;
        squares += error * error;
    }
    assert_true(sum / N > -0.01 && sum / N < 0.01);
    assert_true(squares / N > 0.155 && squares / N < 0.165); /* 0.4^2 = 0.16 */
    length_book_close(&book);
}

static void the_mean_is_the_mean_and_forgets(void **state)
{
    (void)state;
    struct length_book book = open_book("mean");
    struct length_query query = { .service = 1 };
    assert_int_equal(length_book_predict(&book, &query, 0), 128);
    length_book_observe(&book, &query, 0, 10);
    length_book_observe(&book, &query, 0, 20);
    length_book_observe(&book, &query, 0, 60);
    assert_int_equal(length_book_predict(&book, &query, 0), 30);
    query.service = 2; /* of another service */
    assert_int_equal(length_book_predict(&book, &query, 0), 128);
    query.service = 1;
    for (int i = 0; i < 10000; i++)
        length_book_observe(&book, &query, 0, 500);
    assert_int_equal(length_book_predict(&book, &query, 0), 500);
    length_book_close(&book);
}

/* Outputs 15, 35 and 95 of at most 100 were predicted as 25, 31 and 60; one output had no
 * prediction. Errors +10, -4, -35: bias -29/3, absolute 49/3. Buckets 1, 3 and 9 were predicted as
 * 2, 3 and 5. */
static void calibration_by_hand(void **state)
{
    (void)state;
    struct length_calibration c = { 0 };
    struct str out;
    length_calibration_add(&c, 25, 15, 100);
    length_calibration_add(&c, 31, 35, 100);
    length_calibration_add(&c, 60, 95, 100);
    length_calibration_add(&c, 0, 50, 100);
    assert_int_equal(c.n, 3);
    assert_int_equal(c.n_unknown, 1);
    assert_int_equal(c.n_exceeded, 2);
    assert_int_equal(c.sum_error, -29);
    assert_int_equal(c.sum_abs_error, 49);
    assert_int_equal(c.n_in_bucket, 1);
    assert_int_equal(c.n_of_bucket[1] + c.n_of_bucket[3] + c.n_of_bucket[9], 3);
    static const int64_t ratios[LENGTH_RATIOS + 1] = { [3] = 1, [5] = 1, [6] = 1 };
    assert_memory_equal(c.n_of_ratio, ratios, sizeof ratios); /* 0.6, 1.13, 1.58 */
    assert_true(c.sum_ratio > 3.312 && c.sum_ratio < 3.313);
    str_init(&out);
    length_calibration_print(&c, "chat", &out);
    assert_string_equal(out.at,
                        "chat: 3 outputs of mean 48.3, covered 33.3%, bias -9.7, mean absolute "
                        "error 16.3, bucket accuracy 33.33% (commonest bucket alone 33.33%)\n");
    str_free(&out);
}

static void buckets_have_upper_edges(void **state)
{
    (void)state;
    assert_int_equal(length_bucket_of(1, 100), 0);
    assert_int_equal(length_bucket_of(10, 100), 0);
    assert_int_equal(length_bucket_of(11, 100), 1);
    assert_int_equal(length_bucket_of(100, 100), 9);
    assert_int_equal(length_bucket_of(5000, 100), 9);
    assert_int_equal(length_bucket_of(0, 100), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_every_name_once),
        cmocka_unit_test(values_are_parsed_and_checked),
        cmocka_unit_test(hints_are_passed_on),
        cmocka_unit_test(again_is_half_as_much_more),
        cmocka_unit_test(noise_is_lognormal_and_bound_to_the_id),
        cmocka_unit_test(the_mean_is_the_mean_and_forgets),
        cmocka_unit_test(calibration_by_hand),
        cmocka_unit_test(buckets_have_upper_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
