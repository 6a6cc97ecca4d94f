/* Scenarios in YAML: every permitted key, and faults that name line and column. */
#include "../test.h"
#include "base/rng.h"
#include "scenario/scenario.h"

static struct scenario s;

static enum status parse(const char *text, struct fault *fault)
{
    scenario_init(&s);
    return scenario_parse(&s, "x.yaml", text, strlen(text), fault);
}

static void all_of_it(void **state)
{
    struct fault fault = { "" };
    (void)state;
    enum status status = parse("workload:\n  - azure-conv:rate=2,service=a\n  - once:service=b\n"
                               "seed: 3\nduration: 10m\nrate_scale: 2.5\nmax-batch: 64\n"
                               "services:\n"
                               "  a: {model: llama-2-7b, ttft: 500ms, kv-bytes-max: 2GiB}\n"
                               "  b: {weights_bytes: 13GiB, kv_bytes_per_token: 1000,\n"
                               "      decode_ms: 8, prefill-us-per-token: 70}\n"
                               "engines:\n"
                               "  - {count: 2, device: h100, tp: 2, services: [a, b]}\n"
                               "  - {services: b, memory: 40GiB}\n",
                               &fault);
    if (status != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_true(s.workload.n == 2 && s.seed == 3 && s.n_seqs_max == 64 && s.rate_scale == 2.5);
    assert_int_equal(s.duration_ns, INT64_C(600000000000));
    assert_int_equal(s.n_services, 2);
    assert_string_equal(s.services[0].model, "llama-2-7b");
    assert_true(s.services[0].slo.ttft_ns == 500000000 && !scenario_has_perf(&s.services[0]));
    assert_true(s.services[0].kv_bytes_max == INT64_C(2) << 30);
    assert_true(s.services[1].perf.has_c3 && s.services[1].perf.has_k1 &&
                !s.services[1].perf.has_c2 && scenario_has_perf(&s.services[1]));
    assert_true(s.services[1].perf.c3_ms == 8 && s.services[1].perf.k1_us == 70 &&
                s.services[1].model == NULL);
    assert_int_equal(s.n_groups, 2);
    assert_true(s.groups[0].count == 2 && s.groups[0].tp == 2 && s.groups[0].services.n == 2);
    assert_true(s.groups[1].count == 1 && s.groups[1].services.n == 1);
    assert_true(s.groups[1].memory_bytes == INT64_C(40) << 30);
    scenario_close(&s);
    assert_int_equal(parse("engines: 4\n", &fault), STATUS_OK);
    assert_int_equal(s.n_engines, 4);
    scenario_close(&s);
    assert_int_equal(parse("", &fault), STATUS_OK);
    scenario_close(&s);
}

static void whose_a_profile_is(void **state)
{
    struct fault fault;
    (void)state;
    assert_string_equal(scenario_profile("chat=a=b.json", "chat"), "a=b.json");
    assert_null(scenario_profile("chat", "chat"));
    assert_null(scenario_profile("chat=", "chat"));
    assert_null(scenario_profile("chats=x", "chat"));
    assert_int_equal(parse("services:\n  a: {model: llama-2-7b}\n", &fault), STATUS_OK);
    assert_false(scenario_has_profile(&s));
    scenario_close(&s);
    assert_int_equal(parse("services:\n  a: {ttft: 1s}\n  b: {profile: x, host_ms: 1}\n", &fault),
                     STATUS_OK);
    assert_true(scenario_has_profile(&s));
    scenario_close(&s);
}

static void what_is_wrong_is_said(void **state)
{
    static const char *const wrong[][2] = {
        { "colour: red\n", "x.yaml:1:1: unknown key colour" },
        { "sede: 1\n", "x.yaml:1:1: unknown key sede, did you mean seed?" },
        { "engines:\n  - {devise: 1}\n", "unknown key devise, did you mean device?" },
        { "seed: 1\nseed: 2\n", "x.yaml:2:1: repeated key seed" },
        { "seed: red\n", "x.yaml:1:7: seed: \"red\" is not a whole number" },
        { "seed: [1]\n", "expected one value at seed" },
        { "- 1\n", "expected a mapping" },
        { "engines:\n  - {colour: 1}\n", "x.yaml:2:6: unknown key colour" },
        { "engines:\n  - 3\n", "expected a mapping" },
        { "engines:\n  - {count: 0}\n", "count: \"0\" is out of range, expected 1 to 65535" },
        { "services: {a: {model: [x]}}\n", "expected one value at model" },
        { "services: {a: {wings: 2}}\n", "unknown key wings" },
        { "services: [a]\n", "expected a mapping" },
        { "services:\n  a: {profile: x, decode_ms: 3}\n",
          "x.yaml:2:6: times are those of its profile or tables, which leave none to decode-ms" },
        { "services: {a: {floor_ms: 0, tables: [x, y]}}\n", "leave none to floor-ms" },
        { "services: {a: {profile: x, prefill_ms: 3}}\n", "leave none to prefill-ms" },
        { "services: {a: {profile: x, prefill_us_per_token: 3}}\n", "to prefill-us-per-token" },
        { "services: {a: {tables: x, prefill_us_per_kilopair: 3}}\n", "-per-kilopair" },
        { "services: {a: {profile: x, decode_us_per_request: 3}}\n", "to decode-us-per-request" },
        { "services: {a: {profile: x, decode_ns_per_context: 3}}\n", "to decode-ns-per-context" },
        { "a: &b 1\nc: *b\n", "aliases (*name) are not supported" },
        { "a: [\n", "x.yaml:2:" },
        { "engines:\n  - {device: a100, planner: helr}\n",
          "x.yaml:2:5: planner, links, batch and tokens need a chain (chain: [a100, v100])" },
        { "engines:\n  - {links: x}\n", "need a chain" },
        { "engines:\n  - {batch: 4}\n", "need a chain" },
        { "engines:\n  - {tokens: 4}\n", "need a chain" },
        { "html: /nowhere/at/all/that/is/a/long/name/for/a/folder/where/nobody/writes/page.html\n",
          "page.html: No such file or directory" },
        { "saturate: maybe\n", "neither true nor false" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct fault fault = { "" };
        assert_int_not_equal(parse(wrong[i][0], &fault), STATUS_OK);
        if (strstr(fault.text, wrong[i][1]) == NULL)
            fail_msg("%s says \"%s\"", wrong[i][0], fault.text);
        scenario_close(&s);
    }
}

static void noise_does_no_harm(void **state)
{
    const char *base = "workload: [a, b]\nengines:\n  - {count: 2, services: [a]}\nservices:\n  a: "
                       "{model: x, ttft: 1s}\nseed: 3\n";
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(1), 0);
    for (int i = 0; i < 5000; i++) {
        char text[256];
        size_t n = strlen(base);
        memcpy(text, base, n);
        for (uint32_t k = 1 + rng_below(&rng, 4); k > 0; k--)
            text[rng_below(&rng, (uint32_t)n)] = (char)rng_below(&rng, 256);
        scenario_init(&s);
        (void)!scenario_parse(&s, "x", text, n, NULL);
        scenario_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_of_it),
                                        cmocka_unit_test(whose_a_profile_is),
                                        cmocka_unit_test(what_is_wrong_is_said),
                                        cmocka_unit_test(noise_does_no_harm) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
