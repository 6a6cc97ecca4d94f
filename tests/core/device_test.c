/* Device lists: the accepted texts, how they are printed, and the refused ones. */
#include "test.h"

#include "core/device.h"

static void check(const char *text, int n_cores_max, const char *want)
{
    struct device_spec device;
    struct fault fault;
    char printed[64];
    assert_int_equal(device_parse(text, n_cores_max, &device, &fault), STATUS_OK);
    device_print(&device, printed, sizeof(printed));
    assert_string_equal(printed, want);
}

static void lists_are_understood(void **state)
{
    (void)state;
    check("cpu", 2, "cpu:0-1");
    check("cpu:0", 2, "cpu:0");
    check("cpu:0-1", 2, "cpu:0-1");
    check("cpu:2,0", 4, "cpu:0,2");
    check("cpu:4-6,0,5-7,9", 12, "cpu:0,4-7,9");
    check("cpu", 5000, "cpu:0-1023");
    check("group(cpu:0,cpu:1)", 2, "group(cpu:0,cpu:1)");
    check("group(cpu:2,0,cpu:1,3-5)", 8, "group(cpu:0,2,cpu:1,3-5)");
    check("group(cpu:0=20,cpu:1=4)", 2, "group(cpu:0=20,cpu:1=4)");
    check("group(cpu:0,2=1,cpu:1=512)", 4, "group(cpu:0,2=1,cpu:1=512)");
}

/* Two sockets whose cores have every second number each. */
static void what_is_printed_of_many_cores_is_read_again(void **state)
{
    enum { N = DEVICE_CORES_MAX };
    static struct device_spec group, read;
    static char text[6144];
    struct fault fault;
    (void)state;
    group = (struct device_spec){ .n_cores = N, .n_ranks = 2, .rank_cores = { N / 2, N / 2 } };
    for (int32_t i = 0; i < N; i++)
        group.cores[i] = i % (N / 2) * 2 + i / (N / 2);
    device_print(&group, text, sizeof(text));
    if (device_parse(text, N, &read, &fault) != STATUS_OK)
        fail_msg("%s", fault.text);
    assert_int_equal(read.n_cores, N);
    assert_memory_equal(read.cores, group.cores, sizeof(group.cores));
    assert_int_equal(read.rank_cores[1], N / 2);
}

static void others_are_refused_with_a_sentence(void **state)
{
    (void)state;
    const char *bad[] = { "",
                          "cpu:",
                          "gpu",
                          "cpu:2",
                          "cpu:1-0",
                          "cpu:0,",
                          "cpu:0-",
                          "cpu:-1",
                          "cpu: 0",
                          "cpux",
                          "cpu:0x",
                          "cpu:0--1",
                          "cpu:99999999999999999999",
                          "cuda",
                          "cuda:",
                          "cuda:16",
                          "cuda:0-1",
                          "cudax:0",
                          "group",
                          "group(cpu:0,cpu:1",
                          "group(cpu:0,cpu:1)x",
                          "group(cpu:0=4,cpu:1)",
                          "group(cpu:0,cpu:1=4)",
                          "group(cpu:0=,cpu:1=4)",
                          "group(cpu:0=0,cpu:1=4)",
                          "group(cpu:0=4x,cpu:1=4)",
                          "group(cpu:0=4=4,cpu:1=4)",
                          "group(cpu:0=-4,cpu:1=4)",
                          "group(cpu:0=513,cpu:1=4)",
                          "group(cpu:0=99999999999999999999,cpu:1=4)" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct device_spec device;
        struct fault fault = { "" };
        assert_int_equal(device_parse(bad[i], 2, &device, &fault), STATUS_BAD_INPUT);
        assert_true(strstr(fault.text, "expected") != NULL);
    }
}

static void gpus_are_read_and_printed(void **state)
{
    struct device_spec device;
    char text[16];
    (void)state;
    assert_int_equal(device_parse("cuda:3", 2, &device, NULL), STATUS_OK);
    assert_int_equal(device.kind, DEVICE_CUDA);
    assert_int_equal(device.cores[0], 3);
    device_print(&device, text, sizeof text);
    assert_string_equal(text, "cuda:3");
}

static void ranks_have_their_layers(void **state)
{
    struct device_spec device, rank;
    (void)state;
    assert_int_equal(device_parse("group(cpu:0,2=20,cpu:1=4)", 4, &device, NULL), STATUS_OK);
    assert_true(device.n_ranks == 2 && device.rank_layers[0] == 20 && device.rank_layers[1] == 4);
    device_rank(&device, 1, &rank);
    assert_true(rank.n_ranks == 0 && rank.rank_layers[0] == 0 && rank.cores[0] == 1);
    assert_int_equal(device_parse("group(cpu:0,cpu:1)", 4, &device, NULL), STATUS_OK);
    assert_int_equal(device.rank_layers[0], 0);
}

static void printing_is_cut_to_fit(void **state)
{
    (void)state;
    struct device_spec device;
    char text[8];
    assert_int_equal(device_parse("cpu:0,2,4,6,8", 10, &device, NULL), STATUS_OK);
    device_print(&device, text, sizeof(text));
    assert_string_equal(text, "cpu:0,2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_understood),
        cmocka_unit_test(what_is_printed_of_many_cores_is_read_again),
        cmocka_unit_test(others_are_refused_with_a_sentence),
        cmocka_unit_test(gpus_are_read_and_printed),
        cmocka_unit_test(ranks_have_their_layers),
        cmocka_unit_test(printing_is_cut_to_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
