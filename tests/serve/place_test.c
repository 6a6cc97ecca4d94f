/* When a planner is used, and its decisions for the demo models. */
#include "../test.h"
#include "base/mem.h"
#include "serve/place.h"
#include <stdio.h>
#include <string.h>

static const char *source_root;

static void read_config(struct config *config, const char *text)
{
    struct str whole;
    struct fault fault;
    str_init(&whole);
    config_init(config);
    str_printf(&whole, "%smodels:\n  tale: {path: %s/models/tale.gguf}\n", text, source_root);
    str_printf(&whole, "  cee: {path: %s/models/cee.gguf}\n", source_root);
    assert_int_equal(config_parse(config, "c", whole.at, whole.n, &fault), STATUS_OK);
    assert_int_equal(config_check(config, &fault), STATUS_OK);
    str_free(&whole);
}

static bool is_asked(const char *text)
{
    struct config *config = mem_take(sizeof(*config));
    read_config(config, text);
    bool is = serve_place_is_asked(config);
    config_free(config);
    mem_give(config);
    return is;
}

static void asked_when_nobody_decided(void **state)
{
    (void)state;
    assert_true(is_asked(""));
    assert_true(is_asked("planner: even\n"));
    assert_false(is_asked("planner: none\n"));
    assert_false(is_asked("devices: [cpu]\n"));
    assert_false(is_asked("lanes: [1, 1]\n"));
    assert_false(is_asked("preset: muxserve\n")); /* which itself divides the cores */
    assert_true(is_asked("preset: muxserve\nplanner: muxserve\n"));
    assert_true(is_asked("placement: x.yaml\n"));
}

/* Every model has a place, places do not overlap, memory is divided, and a second call gives the
 * same. */
static void check_place(const char *text)
{
    struct config *config = mem_take(sizeof(*config)), *again = mem_take(sizeof(*again));
    struct fault fault;
    int64_t bytes = 0;
    bool is_used[DEVICE_CORES_MAX] = { false };
    read_config(config, text);
    read_config(again, text);
    assert_int_equal(serve_place(config, &fault), STATUS_OK);
    assert_int_equal(serve_place(again, &fault), STATUS_OK);
    assert_int_equal(config_check(config, &fault), STATUS_OK);
    assert_int_equal(config->n_devices, again->n_devices);
    for (int e = 0; e < config->n_devices; e++) {
        struct device_spec device;
        assert_string_equal(config->devices[e], again->devices[e]);
        assert_int_equal(device_parse(config->devices[e], DEVICE_CORES_MAX, &device, &fault),
                         STATUS_OK);
        for (int32_t i = 0; i < device.n_cores; i++) {
            assert_false(is_used[device.cores[i]]);
            is_used[device.cores[i]] = true;
        }
        bytes += config->engines[e].memory_bytes;
    }
    if (config->n_devices > 0) /* else this machine has one core */
        for (int i = 0; i < config->n_models; i++)
            assert_in_range(config->models[i].n_devices, 1, config->n_devices);
    assert_in_range(bytes, 0, INT64_C(1) << 30);
    config_free(config);
    config_free(again);
    mem_give(config);
    mem_give(again);
}

static void demo_models_are_placed(void **state)
{
    (void)state;
    check_place("memory: 1GiB\n");
    check_place("memory: 1GiB\nplanner: even\n");
    check_place("memory: 1GiB\nplanner: muxserve\npreset: muxserve\nslo: {ttft_ms: 500}\n");
}

static void place(const char *text, struct config *config)
{
    struct fault fault;
    read_config(config, text);
    assert_int_equal(serve_place(config, &fault), STATUS_OK);
}

static void what_has_no_room_makes_one_engine(void **state)
{
    struct config *config = mem_take(sizeof(*config));
    (void)state;
    place("memory: 10MiB\n", config); /* for one model */
    assert_int_equal(config->n_devices, 0);
    config_free(config);
    place("devices: [cpu]\n", config);
    assert_int_equal(config->n_devices, 1); /* unchanged */
    assert_int_equal(config->engines[0].memory_bytes, 0);
    config_free(config);
    mem_give(config);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asked_when_nobody_decided),
        cmocka_unit_test(demo_models_are_placed),
        cmocka_unit_test(what_has_no_room_makes_one_engine),
    };
    source_root = argc > 1 ? argv[1] : ".";
    return cmocka_run_group_tests(tests, NULL, NULL);
}
