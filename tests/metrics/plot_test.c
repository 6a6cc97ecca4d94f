/* Charts: all shapes are inside of the picture, axes are round, names can't break out. */
#include "../test.h"
#include "metrics/plot.h"

static void points_stay_inside(void **state)
{
    const double x[] = { 0.003, 0.5, 70, 12000 }, y[] = { 0, 10, 99.5, 100 };
    const struct plot_line lines[2] = { { "a<b>&\"", x, y, 4 }, { "b", x, y, 2 } };
    (void)state;
    for (int is_log = 0; is_log < 2; is_log++) {
        const struct plot_chart chart = { "t<", "x", "y", is_log, lines, 2 };
        struct str out;
        int n_points = 0;
        str_init(&out);
        metrics_plot_chart(&chart, &out);
        assert_null(strstr(out.at, "a<b>"));
        assert_non_null(strstr(out.at, "a&#60;b&#62;&#38;&#34;"));
        for (const char *at = out.at; (at = strstr(at, "points=\"")) != NULL;) {
            double px, py;
            int n;
            for (at += 8; sscanf(at, "%lf,%lf %n", &px, &py, &n) == 2; at += n) {
                assert_true(px >= 61.9 && px <= 462.1 && py >= 9.9 && py <= 256.1);
                n_points++;
            }
        }
        assert_int_equal(n_points, 6);
        assert_non_null(strstr(out.at, is_log ? ">0.001</text>" : ">4000</text>"));
        assert_non_null(strstr(out.at, is_log ? ">10000</text>" : ">10000</text>"));
        assert_non_null(strstr(out.at, ">100</text>"));
        str_free(&out);
    }
}

static void nothing_is_drawn_of_nothing(void **state)
{
    const double x[] = { 0, -1 }, y[] = { 1, 1 };
    const struct plot_line none = { "a", x, y, 2 };
    const struct plot_chart chart = { "t", "x", "y", true, &none, 1 };
    const struct plot_bars bars = { "t", "y", NULL, NULL, NULL, 0, 0 };
    struct str out;
    (void)state;
    str_init(&out);
    metrics_plot_chart(&chart, &out);
    metrics_plot_bars(&bars, &out);
    assert_int_equal(out.n, 0);
    str_free(&out);
}

static void bars_are_as_long_as_their_values(void **state)
{
    const char *const groups[] = { "g", "h" }, *const names[] = { "n" };
    const double values[] = { 4, 2 };
    const struct plot_bars bars = { "t", "y", groups, names, values, 2, 1 };
    struct str out;
    double longer, shorter;
    (void)state;
    str_init(&out);
    metrics_plot_bars(&bars, &out);
    const char *at = strstr(out.at, " width=\"");
    assert_true(at != NULL && sscanf(at, " width=\"%lf", &longer) == 1);
    at = strstr(at + 1, " width=\"");
    assert_true(at != NULL && sscanf(at, " width=\"%lf", &shorter) == 1);
    assert_true(longer > 1.99 * shorter && longer < 2.01 * shorter);
    str_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_stay_inside),
        cmocka_unit_test(nothing_is_drawn_of_nothing),
        cmocka_unit_test(bars_are_as_long_as_their_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
