/* Chains of a scenario: the devices of each, when they leave and join, and refusals. */
#include "../test.h"
#include "predict/device.h"
#include "predict/preset.h"
#include "scenario/chain.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define S INT64_C(1000000000)

struct made {
    struct scenario scenario;
    struct scenario_chain_made made;
    struct fault fault;
};

/* Makes chain `group` of a scenario, with its devices counted from `first`. */
static enum status make(struct made *m, const char *yaml, int group, int32_t first)
{
    memset(m, 0, sizeof(*m));
    scenario_init(&m->scenario);
    assert_int_equal(scenario_parse(&m->scenario, "test", yaml, strlen(yaml), &m->fault),
                     STATUS_OK);
    const struct predict_model *model = predict_model_find("llama-2-70b");
    const struct scenario_chain_ask ask = {
        .scenario = &m->scenario,
        .group = &m->scenario.groups[group],
        .model = model,
        .first_device = first,
        .size.weights_bytes = predict_model_weights_bytes(model),
        .size.kv_bytes_per_token = predict_model_kv_bytes_per_token(model),
    };
    return scenario_chain_make(&m->made, &ask, &m->fault);
}

static void close_made(struct made *m)
{
    scenario_chain_free(&m->made);
    scenario_close(&m->scenario);
}

static const char two[] = "workload: \"poisson:rate=1,in=10,out=10\"\n"
                          "engines:\n"
                          "  - {chain: [a100, a100, v100]}\n"
                          "  - {chain: [h100, h100], planner: lr, batch: 4, tokens: 1000}\n"
                          "devices_leave: [4@30s, 1@10s]\n"
                          "devices_crash: [0@20s]\n"
                          "devices_join: [1@20s, 4@10s, 2@10s]\n";

static void test_devices_and_events(void **state)
{
    struct made m;
    (void)state;
    assert_int_equal(make(&m, two, 0, 0), STATUS_OK);
    const struct sim_chain *c = &m.made.chain;
    assert_int_equal(c->n_devices, 3);
    assert_int_equal(c->n_layers, 80);
    assert_int_equal(c->aim, LAYERS_HELR);
    assert_int_equal(c->n_batch * c->n_context, 8 * 2048);
    assert_int_equal(
        c->devices[2].memory_bytes,
        (int64_t)((double)predict_device_find("v100")->memory_bytes * m.scenario.memory_part));
    /* In the order of time. At the same instant leaves come first. */
    assert_int_equal(c->n_events, 4);
    assert_true(c->events[0].device == 1 && c->events[0].at_ns == 10 * S &&
                c->events[0].what == SIM_CHAIN_LEAVES);
    assert_true(c->events[1].device == 2 && c->events[1].at_ns == 10 * S &&
                c->events[1].what == SIM_CHAIN_JOINS);
    assert_true(c->events[2].device == 0 && c->events[2].at_ns == 20 * S &&
                c->events[2].what == SIM_CHAIN_CRASHES);
    assert_true(c->events[3].device == 1 && c->events[3].at_ns == 20 * S &&
                c->events[3].what == SIM_CHAIN_JOINS);
    /* Embedding and output matrix are not layers. The line is near a step of the map. */
    int64_t table_bytes = c->devices[0].reserve_bytes;
    assert_int_equal(c->layer_bytes, (c->weights_bytes - table_bytes) / 80);
    assert_true(m.made.perf.c3_ps[0] > 0);
    close_made(&m);
    assert_int_equal(make(&m, two, 1, 3), STATUS_TOO_LARGE); /* 4 does not exist at first */
    assert_non_null(strstr(m.fault.text, "layers do not fit"));
    assert_int_equal(m.made.chain.aim, LAYERS_LR);
    assert_int_equal(m.made.chain.n_events, 2);
    assert_true(m.made.chain.events[0].device == 1 &&
                m.made.chain.events[0].what == SIM_CHAIN_JOINS);
    assert_int_equal(scenario_chain_check(&m.scenario, 5, &m.fault), STATUS_OK);
    assert_int_equal(scenario_chain_check(&m.scenario, 4, &m.fault), STATUS_NOT_FOUND);
    close_made(&m);
}

/* A file's links instead of those by kinds: a border and the way back of a second each. */
static void test_links_of_a_file(void **state)
{
    static const char *const links[] = { "0,1,1000000,0\n", "0,1,1,0\n0,2,1,0\n1,2,1,0\n",
                                         "0,1\n" };
    static struct made plain, m; /* too large for a stack */
    (void)state;
    assert_int_equal(make(&plain, "engines: [{chain: [a100, a100]}]\n", 0, 0), STATUS_OK);
    for (int i = 0; i < 4; i++) {
        char path[] = "/tmp/shoal-links-XXXXXX", text[128];
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        snprintf(text, sizeof(text), "from,to,us,gbytes_per_s\n%s", links[i % 3]);
        assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
        assert_int_equal(close(fd), 0);
        if (i == 3) /* no file */
            assert_int_equal(unlink(path), 0);
        snprintf(text, sizeof(text), "engines: [{chain: [a100, a100], links: %s}]\n", path);
        assert_true((make(&m, text, 0, 0) == STATUS_OK) == (i == 0));
        if (i == 0) {
            int64_t more_ps = m.made.perf.c3_ps[0] - plain.made.perf.c3_ps[0];
            assert_in_range(more_ps, INT64_C(1990000000000), INT64_C(2000000000000));
        } else {
            assert_non_null(strstr(m.fault.text, path));
        }
        close_made(&m);
        if (i != 3)
            assert_int_equal(unlink(path), 0);
    }
    close_made(&plain);
}

static void test_what_is_refused(void **state)
{
    static const char *const bad[] = {
        "engines: [{chain: [a100, a100], count: 2}]\n",
        "engines: [{chain: [a100, a100], role: decode}]\n",
        "engines: [{chain: [a100, a100], scale: [k5=1]}]\n",
        "engines: [{chain: [a100, a100], planner: default}]\n",
        "engines: [{chain: [a100, none]}]\n",
        "engines: [{chain: [a100, a100]}]\nbus: true\n",
        "engines: [{chain: [a100, a100]}]\ndevices_leave: [1]\n",
        "engines: [{chain: [a100, a100]}]\ndevices_leave: [one@5s]\n",
        "engines: [{chain: [a100, a100]}]\ndevices_join: [0@soon]\n",
        "engines: [{chain: [a100, a100]}]\ndevices_crash: [0]\n",
        "engines: [{chain: [v100, v100]}]\n",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct made m;
        assert_int_not_equal(make(&m, bad[i], 0, 0), STATUS_OK);
        assert_true(strlen(m.fault.text) > 10);
        close_made(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_devices_and_events),
                                        cmocka_unit_test(test_links_of_a_file),
                                        cmocka_unit_test(test_what_is_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
