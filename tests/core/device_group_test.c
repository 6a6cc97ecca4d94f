/* Texts of groups: the accepted ones, how they are printed, and the refused ones. */
#include "test.h"

#include "base/mem.h"
#include "core/device_group.h"

static void check(const char *text, const char *want, int32_t n_ranks, int32_t n_layers)
{
    struct device_group *group = mem_take(sizeof(*group));
    struct fault fault;
    char printed[DEVICE_GROUP_BYTES];
    assert_int_equal(device_group_parse(text, 16, group, &fault), STATUS_OK);
    assert_int_equal(group->n_ranks, n_ranks);
    assert_int_equal(device_group_layers(group), n_layers);
    assert_int_equal(device_group_is_pipeline(group), n_layers > 0);
    device_group_print(group, printed, sizeof(printed));
    assert_string_equal(printed, want);
    /* What is printed means the same. */
    assert_int_equal(device_group_parse(printed, 16, group, &fault), STATUS_OK);
    assert_int_equal(device_group_layers(group), n_layers);
    mem_give(group);
}

static void groups_are_understood(void **state)
{
    (void)state;
    check("cpu:0", "cpu:0", 1, 0);
    check("cuda:1", "cuda:1", 1, 0);
    check("group(cpu:0,cpu:1)", "group(cpu:0,cpu:1)", 2, 0);
    check("group(cpu:0,2,4-6,cpu:1,3)", "group(cpu:0,2,4-6,cpu:1,3)", 2, 0);
    check("group(cpu:2,0=20,cpu:1=4)", "group(cpu:0,2=20,cpu:1=4)", 2, 24);
    check("group(cuda:3,cuda:1,cuda:0)", "group(cuda:3,cuda:1,cuda:0)", 3, 0);
    check("group(cpu:0=512,cpu:1=512)", "group(cpu:0=512,cpu:1=512)", 2, 1024);
    check("group(cpu:0,cpu:1,cpu:2,cpu:3,cpu:4,cpu:5,cpu:6,cpu:7)",
          "group(cpu:0,cpu:1,cpu:2,cpu:3,cpu:4,cpu:5,cpu:6,cpu:7)", 8, 0);
}

static void others_are_refused_with_a_sentence(void **state)
{
    const char *bad[] = { "group",
                          "group()",
                          "group(",
                          "group(cpu:0)",
                          "group(cpu:0,cpu:1",
                          "group(cpu:0,cpu:1))",
                          "group(cpu:0,cpu:1) ",
                          "group cpu:0,cpu:1",
                          "group(cpu:0,,cpu:1)",
                          "group(,cpu:0,cpu:1)",
                          "group(cpu:0,cpu:1,)",
                          "group(cpu:0, cpu:1)",
                          "group(cpu:0,cpu:0)",
                          "group(cpu:0-3,cpu:2)",
                          "group(cpu,cpu:1)",
                          "group(cuda:0,cuda:0)",
                          "group(cpu:0,cuda:1)",
                          "group(cuda:0,cpu:1)",
                          "group(cpu:0=4,cpu:1)",
                          "group(cpu:0,cpu:1=4)",
                          "group(cpu:0=,cpu:1=4)",
                          "group(cpu:0=0,cpu:1=4)",
                          "group(cpu:0=4x,cpu:1=4)",
                          "group(cpu:0=4=4,cpu:1=4)",
                          "group(cpu:0=513,cpu:1=4)",
                          "group(cpu:0=99999999999,cpu:1=4)",
                          "group(cpu:0,cpu:16)",
                          "group(group(cpu:0,cpu:1),cpu:2)",
                          "group(cpu:0,cpu:1,cpu:2,cpu:3,cpu:4,cpu:5,cpu:6,cpu:7,cpu:8)",
                          "groupcpu:0" };
    struct device_group *group = mem_take(sizeof(*group));
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct fault fault = { "" };
        assert_int_equal(device_group_parse(bad[i], 16, group, &fault), STATUS_BAD_INPUT);
        assert_true(strstr(fault.text, "expected") != NULL);
    }
    char *text =
        mem_take(4 * DEVICE_GROUP_BYTES); /* a device of a group may be as long as can be */
    struct fault fault = { "" };
    for (int n = 0; n < 2; n++) {
        memset(text, '0', 3 * DEVICE_GROUP_BYTES);
        memcpy(text, "group(cpu:", 10);
        strcpy(text + (n == 0 ? DEVICE_GROUP_BYTES - 8 : 3 * DEVICE_GROUP_BYTES), ",cpu:1)");
        assert_int_equal(device_group_parse(text, 16, group, &fault),
                         n == 0 ? STATUS_OK : STATUS_BAD_INPUT);
    }
    mem_give(text);
    mem_give(group);
}

/* A text that is cut has its end. */
static void print_stays_within_its_room(void **state)
{
    struct device_group *group = mem_take(sizeof(*group));
    struct fault fault;
    char text[64];
    (void)state;
    assert_int_equal(device_group_parse("group(cpu:0,2=3,cpu:1=4)", 8, group, &fault), STATUS_OK);
    for (size_t n = 1; n < 32; n++) {
        memset(text, '#', sizeof(text));
        device_group_print(group, text, n);
        assert_memory_equal(text, "group(cpu:0,2=3,cpu:1=4)", n - 1 < 24 ? n - 1 : 24);
        assert_int_equal(text[n - 1 < 24 ? n - 1 : 24], '\0');
        assert_int_equal(text[n], '#');
    }
    mem_give(group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_understood),
        cmocka_unit_test(others_are_refused_with_a_sentence),
        cmocka_unit_test(print_stays_within_its_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
