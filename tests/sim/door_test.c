/* The simulated gateway: every router on seeded traffic, with every plan checked. Nothing is lost,
 * and the bytes are the same twice and with holds. Also with thousands of engines. */
#include "../test.h"
#include "base/str.h"
#include "sim/sim.h"

static const struct perf model = {
    .floor_ps = 2000000000,
    .c1_ps = 1000000000,
    .k1_ps = 20000000,
    .q1_ps = 4000000,
    .c3_ps = { 5000000000, 6000000000 },
    .c2_ps = { 20000000, 60000000 },
    .k2_ps = { 100000, 100000 },
    .b_switch = 24,
    .prefill_scale = 1,
    .decode_scale = 1,
};

static void run_with(const struct route_policy *router, uint64_t seed, int32_t n_engines,
                     bool holds, const struct route_config *route, int32_t n_requests,
                     struct str *out)
{
    static const char *const names[] = { "small", "large" };
    struct sim_service services[2];
    struct sim_engine_spec engines[4];
    struct workload workload = { .seed = seed,
                                 .n_requests = (uint64_t)n_requests,
                                 .n_services = 2 };
    struct schedule_config config;
    struct sim_report report;
    for (int s = 0; s < 2; s++) {
        services[s] = (struct sim_service){ .name = names[s],
                                            .perf = model,
                                            .size.kv_bytes_per_token = 2000,
                                            .size.weights_bytes = 1000000,
                                            .size.activation_bytes = 100000 };
        workload.services[s] = (struct workload_traffic){ .rate_per_s = 12.0 * n_engines,
                                                          .prompt = { 4, 1, 1, 400 },
                                                          .output = { 3, 1, 1, 200 } };
    }
    for (int e = 0; e < 4; e++)
        engines[e] = (struct sim_engine_spec){ .services = { { e == 2 ? 1 : 3 } },
                                               .memory_bytes = 8000000 + e * 1000000 };
    workload.cancelled = 0.05;
    workload.cancel_ns_mean = 200000000;
    workload.prediction_noise = 0.3;
    schedule_config_init(&config);
    config.n_rounds_max = holds ? config.n_rounds_max : 1;
    const struct sim_options options = { .n_engines = n_engines,
                                         .n_lanes = 1,
                                         .n_services = 2,
                                         .services = services,
                                         .memory_bytes = 8000000,
                                         .engines = n_engines <= 4 ? engines : NULL,
                                         .n_requests_max = 12,
                                         .n_live_max = 4096,
                                         .n_tokens_max = 600,
                                         .block_tokens = 16,
                                         .policy = schedule_find("fcfs"),
                                         .config = &config,
                                         .router = router,
                                         .router_config = route,
                                         .workload = &workload,
                                         .checks_steps = n_engines <= 4 };
    sim_run(&options, &report);
    if (report.wrong)
        fail_msg("%s, seed %llu: %s", router->name, (unsigned long long)seed, report.wrong);
    assert_int_equal(report.n_requests, n_requests);
    sim_report_print(&report, &options, out);
    sim_report_free(&report);
}

static void run(const struct route_policy *router, uint64_t seed, int32_t n_engines, bool holds,
                struct str *out)
{
    run_with(router, seed, n_engines, holds, NULL, 1500, out);
}

/* Is the name one of the list's? Names are separated by spaces. */
static bool is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = strstr(list, name); at != NULL; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

/* Text that sets the row's threshold: to its least value, its most, or one of its words. */
static void set_text(const struct settings_row *row, int i, char text[80])
{
    if (row->kind == SETTINGS_WORD)
        snprintf(text, 80, "%s=%s", row->name, row->words[i]);
    else
        snprintf(text, 80, "%s=%.15g", row->name, i == 0 ? row->min : row->max);
}

/* A threshold that a router's row does not list changes nothing of what is simulated. */
static void a_row_lists_every_threshold_that_matters(void **state)
{
    (void)state;
    uint64_t seed = test_seed(5);
    int n, n_rows, n_asked = 0;
    const struct route_policy *const *all = route_all(&n);
    const struct settings_row *rows = route_config_rows(&n_rows);
    for (int i = 0; i < n; i++) {
        struct str usual, other;
        str_init(&usual);
        str_init(&other);
        run_with(all[i], seed, 4, true, NULL, 150, &usual);
        for (int k = 0; k < SETTINGS_WORDS * n_rows; k++) {
            const struct settings_row *row = &rows[k / SETTINGS_WORDS];
            struct route_config config;
            struct fault fault;
            char text[80];
            if (is_listed(all[i]->thresholds, row->name) ||
                (k % SETTINGS_WORDS == 2 && row->kind != SETTINGS_WORD))
                continue;
            route_config_init(&config);
            set_text(row, k % SETTINGS_WORDS, text);
            assert_int_equal(route_config_set(&config, text, &fault), STATUS_OK);
            str_clear(&other);
            run_with(all[i], seed, 4, true, &config, 150, &other);
            n_asked++;
            if (strcmp(usual.at, other.at) != 0)
                fail_msg("%s does not list %s, which changes what it does", all[i]->name, text);
        }
        str_free(&usual);
        str_free(&other);
    }
    assert_true(n_asked > 500);
}

static void every_router(void **state)
{
    (void)state;
    int n;
    const struct route_policy *const *all = route_all(&n);
    for (int i = 0; i < n; i++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct str first, second;
            str_init(&first);
            str_init(&second);
            run(all[i], seed, 4, true, &first);
            run(all[i], seed, 4, seed % 2 == 0, &second);
            assert_string_equal(first.at, second.at);
            str_free(&first);
            str_free(&second);
        }
    }
}

static void thousands_of_engines(void **state)
{
    (void)state;
    struct str out;
    str_init(&out);
    run(route_find("least"), 1, 3000, true, &out);
    str_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_router),
                                        cmocka_unit_test(a_row_lists_every_threshold_that_matters),
                                        cmocka_unit_test(thousands_of_engines) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
