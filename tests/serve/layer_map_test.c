/* Layers on unlike devices: the maps of each planner for figures by hand, the refusals, and a map
 * of this machine from measurements. */
#include "../test.h"
#include "base/mem.h"
#include "serve/layer_map.h"
#include "serve/place.h"
#include <stdio.h>
#include <string.h>

static const char *source_root;

/* Twelve layers of 10 bytes and tables of 20; a layer's KV has 4 bytes. The second device is three
 * times as fast, and each one has room for room[d] layers. */
static struct serve_layer_map two_devices(int64_t room_slow, int64_t room_fast)
{
    return (struct serve_layer_map){ .n_devices = 2,
                                     .n_layers = 12,
                                     .names = { "cpu:0", "cpu:1-3" },
                                     .step_ps = { 36000, 12000 },
                                     .link_ps = { 0, 500, 700, 0 },
                                     .memory_bytes = { 20 + 14 * room_slow, 20 + 14 * room_fast },
                                     .table_bytes = 20,
                                     .weights_bytes = 140,
                                     .kv_layer_bytes = 2,
                                     .n_tokens = 2 };
}

static void check_plan(const struct serve_layer_map *layers, const char *planner,
                       const char *device, int64_t step_ps)
{
    struct layers_plan *plan = mem_take(sizeof(*plan));
    struct fault fault;
    char text[256];
    assert_int_equal(serve_layer_map_plan(layers, layers_find(planner)->aim, plan, &fault),
                     STATUS_OK);
    serve_layer_map_print(layers, plan, text, sizeof(text));
    assert_string_equal(text, device);
    assert_int_equal(plan->step_ps, step_ps);
    mem_give(plan);
}

static void maps_follow_the_figures(void **state)
{
    const struct serve_layer_map tight = two_devices(10, 8), roomy = two_devices(12, 12);
    const struct serve_layer_map none = two_devices(5, 6);
    struct layers_plan *plan = mem_take(sizeof(*plan));
    struct fault fault;
    (void)state;
    /* The fast device takes as many layers as it holds. Both directions of the link count. */
    check_plan(&tight, "lr", "group(cpu:0=4,cpu:1-3=8)", 4 * 3000 + 8 * 1000 + 1200);
    check_plan(&tight, "helr", "group(cpu:0=4,cpu:1-3=8)", 4 * 3000 + 8 * 1000 + 1200);
    check_plan(&tight, "even-layers", "group(cpu:0=6,cpu:1-3=6)", 6 * 3000 + 6 * 1000 + 1200);
    check_plan(&tight, "bgs", "group(cpu:0=10,cpu:1-3=2)", 10 * 3000 + 2 * 1000 + 1200);
    check_plan(&roomy, "he", "cpu:1-3", 12000);
    assert_int_equal(serve_layer_map_plan(&none, LAYERS_LR, plan, &fault), STATUS_TOO_LARGE);
    mem_give(plan);
}

/* A NULL sentence: it is fine. Returns the device that the server would open. */
static const char *place(const char *text, const char *models, const char *sentence,
                         char device[256])
{
    struct config *config = mem_take(sizeof(*config));
    struct str whole;
    struct fault fault = { "" };
    str_init(&whole);
    config_init(config);
    str_printf(&whole, "%smodels:\n", text);
    for (const char *at = models; *at != '\0'; at++)
        str_printf(&whole, "  %s: {path: %s/models/%s.gguf}\n", *at == 't' ? "tale" : "cee",
                   source_root, *at == 't' ? "tale" : "cee");
    assert_int_equal(config_parse(config, "c", whole.at, whole.n, &fault), STATUS_OK);
    enum status status = config_check(config, &fault);
    if (status == STATUS_OK)
        status = serve_place(config, &fault);
    if (sentence == NULL && status != STATUS_OK)
        fail_msg("%s: %s", text, fault.text);
    if (sentence != NULL && (status == STATUS_OK || strstr(fault.text, sentence) == NULL))
        fail_msg("%s: \"%s\" does not say \"%s\"", text, fault.text, sentence);
    if (status == STATUS_OK)
        assert_int_equal(config->n_devices, 1);
    snprintf(device, 256, "%s", status == STATUS_OK ? config->devices[0] : "");
    str_free(&whole);
    config_free(config);
    mem_give(config);
    return device;
}

static void what_has_no_layers_to_put_is_refused(void **state)
{
    char device[256];
    (void)state;
    place("planner: helr\n", "t", "expected 2 to 8 devices", device);
    place("planner: lr\ndevices: [\"cpu:0\"]\n", "t", "expected 2 to 8 devices", device);
    place("planner: lr\ndevices: [\"cpu:0\", \"cpu:1\"]\n", "tc", "this server has 2 models",
          device);
    place("planner: lr\ndevices: [\"cpu:0\", \"cuda:0\"]\n", "t", "expected devices of cores",
          device);
    place("planner: lr\ndevices: [\"cpu:0\", \"group(cpu:1,cpu:2)\"]\n", "t",
          "expected devices of cores", device);
    place("planner: lr\ndevices: [\"cpu:0-1\", \"cpu:1\"]\n", "t", "core 1 is in two", device);
    place("planner: lr\ndevices: [\"cpu:0\", \"cpu:1\"]\nlanes: [1, 1]\n", "t",
          "lanes and placement", device);
    place("planner: helper\n", "t", "and for layers helr", device);
}

static void this_machine_is_measured(void **state)
{
    char device[256];
    struct device_spec spec;
    (void)state;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        TEST_SKIP("needs two cores");
    static const char devices[] = "devices: [\"cpu:0\", \"cpu:1\"]\n";
    char text[256];
    snprintf(text, sizeof(text), "planner: he\n%s", devices);
    assert_int_equal(strncmp(place(text, "t", NULL, device), "cpu:", 4), 0); /* all fits one */
    snprintf(text, sizeof(text), "planner: even-layers\n%s", devices);
    assert_string_equal(place(text, "t", NULL, device), "group(cpu:0=2,cpu:1=2)");
    /* Memory for three of the four layers on each device. */
    snprintf(text, sizeof(text), "planner: lr\nmemory: 8MiB\n%s", devices);
    assert_int_equal(device_parse(place(text, "t", NULL, device), 2, &spec, NULL), STATUS_OK);
    assert_true(spec.n_ranks == 2 && spec.rank_layers[0] + spec.rank_layers[1] == 4);
    snprintf(text, sizeof(text), "planner: lr\nmemory: 2MiB\n%s", devices);
    place(text, "t", "may use 2 MiB together", device); /* before it is loaded */
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    source_root = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_follow_the_figures),
        cmocka_unit_test(what_has_no_layers_to_put_is_refused),
        cmocka_unit_test(this_machine_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
