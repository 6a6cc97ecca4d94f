/* The page: complete, self-contained, with each run in each chart. */
#include "../test.h"
#include "metrics/plot.h"

static int count(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)) != NULL; text++)
        n++;
    return n;
}

static void all_charts_of_two_runs(void **state)
{
    struct record_set sets[2] = { { 0 }, { 0 } };
    struct score scores[2][3];
    struct plot_run runs[2];
    const struct score_options options = { .rule = { .kind = SCORE_SEALLM_SOLO, .scale = 5 } };
    struct str out, report;
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(metrics_record_service(&sets[i], view_text("<s>")), 0);
        assert_int_equal(metrics_record_service(&sets[i], view_text(i == 0 ? "t" : "u")), 1);
        for (int64_t k = 0; k < 50; k++) {
            struct record r = { .id = (uint64_t)k,
                                .arrived_ns = k * 1000000,
                                .n_output = 5,
                                .first_ns = k * 1000000 + 300,
                                .end_ns = k * 2000000 + 70000,
                                .solo_ns = 50000,
                                .why = RECORD_LENGTH,
                                .service = (uint16_t)(k % 2) };
            metrics_record_add(&sets[i], &r);
        }
        metrics_score(&sets[i], &options, scores[i]);
        runs[i] = (struct plot_run){ i == 0 ? "one" : "two", &sets[i], scores[i] };
    }
    str_init(&out);
    str_init(&report);
    str_add_text(&report, "<p>a report</p>");
    metrics_plot_page("T<itle", &report, runs, 2, &out);
    str_free(&report);
    assert_int_equal(count(out.at, "<svg"), 8);
    assert_int_equal(count(out.at, "</svg>"), 8);
    assert_int_equal(count(out.at, "<polyline"), 12);
    assert_true(count(out.at, "</i>one</li>") == 8 && count(out.at, "</i>two</li>") == 8);
    assert_true(count(out.at, "<title>one: ") > 100 && count(out.at, "<title>two: ") > 100);
    assert_non_null(strstr(out.at, "<p>a report</p>"));
    assert_non_null(strstr(out.at, "T&#60;itle"));
    assert_null(strstr(out.at, "<s>"));
    assert_null(strstr(out.at, "http"));
    assert_null(strstr(out.at, "<script"));
    assert_null(strstr(out.at, "nan"));
    assert_non_null(strstr(out.at, "</html>\n"));
    str_free(&out);
    for (int i = 0; i < 2; i++)
        metrics_record_set_free(&sets[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_charts_of_two_runs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
