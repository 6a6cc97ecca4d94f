/* A scenario that is written and read again is the same one. */
#include "../test.h"
#include "base/mem.h"
#include "scenario/write.h"

static struct scenario *read_text(const char *text)
{
    struct scenario *scenario = mem_take(sizeof(*scenario));
    struct fault fault = { "" };
    scenario_init(scenario);
    enum status status = scenario_parse(scenario, "test", text, strlen(text), &fault);
    if (status != STATUS_OK)
        fail_msg("%s", fault.text);
    return scenario;
}

static void give(struct scenario *scenario)
{
    scenario_close(scenario);
    mem_give(scenario);
}

static void a_scenario_is_written_whole(void **state)
{
    (void)state;
    static const char *const text =
        "workload:\n"
        "  - \"a \\\"b\\\":rate=1\"\n"
        "thresholds:\n"
        "  - \"lease_tokens=64\"\n"
        "memory-part: 0.5\n"
        "preset: \"it's\"\n"
        "duration: 60000000001ns\n"
        "rate-scale: 1.25\n"
        "chunk-tokens: 0\n"
        "block-tokens: 0\n"
        "prefix-cache: true\n"
        "slo: \"service\"\n"
        "target: 0\n"
        "bus: true\n"
        "services:\n"
        "  \"x\\\\y\":\n"
        "    tpot: 50000000ns\n"
        "    floor-ms: 0\n"
        "nodes:\n"
        "  - {count: 2, device: a100, devices: 8, cost: 2.5}\n"
        "engines:\n"
        "  - {count: 3, device: l40s, tp: 2, memory: 7, services: "
        "[\"x\\\\y\"], lanes: [\"1\", \"2\"], shares: [\"x\\\\y=40\"], role: "
        "prefill}\n"
        "  - {count: 1, tp: 1, chain: [\"a100\", \"v100\"], links: \"a, "
        "b\"}\n";
    struct str out;
    str_init(&out);
    struct scenario *scenario = read_text(text);
    scenario_write(scenario, &out);
    struct scenario *again = read_text(out.at);
    assert_true(again->chunk_tokens == 0 && again->block_tokens == 0 && again->target == 0);
    assert_true(again->services[0].perf.has_floor && !again->services[0].perf.has_c1);
    assert_string_equal(again->groups[1].links, "a, b");
    assert_string_equal(again->workload.at[0], "a \"b\":rate=1");
    assert_true(again->nodes[0].cost_per_hour == 2.5);
    struct str twice;
    str_init(&twice);
    scenario_write(again, &twice);
    assert_string_equal(out.at, twice.at);
    assert_null(strstr(out.at, "context:")); /* a default */
    char lines[4096];
    snprintf(lines, sizeof(lines), "%s", text);
    for (char *line = strtok(lines, "\n"); line != NULL; line = strtok(NULL, "\n"))
        if (strstr(out.at, line) == NULL)
            fail_msg("%s is missing in\n%s", line, out.at);
    str_free(&out);
    str_free(&twice);
    give(scenario);
    give(again);
}

static void the_defaults_are_read_again(void **state)
{
    (void)state;
    struct str out;
    str_init(&out);
    struct scenario *scenario = read_text("");
    scenario_write(scenario, &out);
    assert_int_equal(out.n, 0);
    struct scenario *again = read_text(out.at);
    assert_string_equal(again->preset, scenario->preset);
    assert_int_equal(again->chunk_tokens, -1);
    assert_int_equal(again->n_groups + again->n_services + again->n_nodes, 0);
    str_free(&out);
    give(again);
    give(scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scenario_is_written_whole),
        cmocka_unit_test(the_defaults_are_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
