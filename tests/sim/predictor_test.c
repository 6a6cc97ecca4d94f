/* Every length predictor at a simulation's door: what it is asked, what it learns, what it reports.
 */
#include "../test.h"
#include "base/str.h"
#include "sim/sim.h"

static const char *router; /* NULL: the door's own */

static void run(const char *predictor, int32_t n_rounds_max, struct sim_report *report,
                struct str *text)
{
    struct length_config lengths;
    struct schedule_config config;
    struct route_config routes;
    const struct sim_service service = {
        .name = "chat",
        .perf = { .c1_ps = 1000000000,
                  .k1_ps = 20000000,
                  .c3_ps = { 5000000000, 5000000000 },
                  .c2_ps = { 20000000, 20000000 },
                  .k2_ps = { 100000, 100000 },
                  .b_switch = 1000,
                  .prefill_scale = 1,
                  .decode_scale = 1 },
        .bytes_per_token = 1000,
    };
    struct workload workload = { .seed = 4,
                                 .n_requests = 3000,
                                 .n_services = 1,
                                 .cancelled = 0.1,
                                 .cancel_ns_mean = 1000000000,
                                 .prediction_noise = 0.2 };
    workload.services[0] =
        (struct workload_traffic){ 20, { 4.5, 0.8, 1, 600 }, { 3.5, 0.9, 1, 300 } };
    schedule_config_init(&config);
    route_config_init(&routes);
    routes.n_slice = 16;
    config.n_rounds_max = n_rounds_max;
    length_config_init(&lengths);
    lengths.n_output_max = 300;
    const struct sim_options options = {
        .n_engines = 2,
        .n_lanes = 1,
        .n_services = 1,
        .services = &service,
        .memory_bytes = 20000000,
        .n_requests_max = 200,
        .n_tokens_max = 1000,
        .policy = schedule_find("db-share"),
        .router = router != NULL ? route_find(router) : NULL,
        .router_config = &routes,
        .config = &config,
        .workload = &workload,
        .predictor = predictor != NULL ? length_parse(predictor, &lengths) : NULL,
        .predictor_config = &lengths,
    };
    sim_run(&options, report);
    sim_report_print(report, &options, text);
    assert_null(report->wrong);
}

static struct length_calibration calibration_of(const char *predictor)
{
    struct sim_report report;
    struct str with, without;
    str_init(&with);
    str_init(&without);
    run(predictor, 1, &report, &without);
    sim_report_free(&report);
    run(predictor, 4096, &report, &with);
    assert_string_equal(with.at, without.at); /* holds change nothing */
    const struct sim_service_report *s = &report.services[0];
    struct length_calibration c = s->lengths;
    if (predictor != NULL)
        assert_int_equal(c.n + c.n_unknown, s->n_ended[SERVICE_LENGTH]);
    sim_report_free(&report);
    str_free(&with);
    str_free(&without);
    return c;
}

static void each_predictor_is_calibrated(void **state)
{
    (void)state;
    struct length_calibration c = calibration_of("oracle");
    assert_true(c.n > 2000 && c.sum_abs_error == 0 && c.n_in_bucket == c.n);
    c = calibration_of("none");
    assert_true(c.n == 0 && c.n_unknown > 2000);
    c = calibration_of(NULL);
    assert_true(c.n == 0 && c.n_unknown == 0);
    int64_t exact = calibration_of("noisy:0.1").sum_abs_error;
    int64_t file = calibration_of("file").sum_abs_error; /* the workload's own noise: 0.2 */
    int64_t mean = calibration_of("mean").sum_abs_error;
    assert_true(0 < exact && exact < file && file < mean);
    c = calibration_of("quantile:0.8");
    double covered = 1 - (double)c.n_exceeded / (double)c.n;
    assert_true(covered > 0.75 && covered < 0.85);
    c = calibration_of("conditional");
    assert_true(c.sum_error * 20 < c.sum_output && c.sum_error * 20 > -c.sum_output);
    assert_true(calibration_of("bucket").n > 2000);
}

/* Requests outrun their predictions at the router and at home: with holds as without. */
static void predictions_are_renewed_alike(void **state)
{
    static const char *const routers[] = { "so", "best-fit" };
    static const char *const predictors[] = { "conditional", "mean", "oracle", "noisy:0.5" };
    (void)state;
    for (size_t r = 0; r < COUNT_OF(routers); r++) {
        router = routers[r];
        for (size_t p = 0; p < COUNT_OF(predictors); p++) {
            struct length_calibration c = calibration_of(predictors[p]);
            assert_true(c.n > 2000 && (c.n_exceeded > 100 || p == 2));
            assert_true(p != 2 || c.n_exceeded == 0);
        }
    }
    router = NULL;
}

int main(void)
{
    base_verify = true;
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_predictor_is_calibrated),
                                        cmocka_unit_test(predictions_are_renewed_alike) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
