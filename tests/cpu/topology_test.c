/* Machines as hwloc describes them. */
#include "test.h"

#include "cpu/cpu.h"
#include <sched.h>

static void sockets_and_threads_are_told_apart(void **state)
{
    (void)state;
    static struct cpu_topology topology;
    struct device_spec device;
    char text[64];
    assert_int_equal(cpu_topology_read("package:2 core:4 pu:2", &topology, NULL), STATUS_OK);
    assert_int_equal(topology.n_processors, 16);
    assert_int_equal(topology.n_sockets, 2);
    assert_int_equal(topology.n_cores, 8);
    cpu_topology_device(&topology, -1, &device);
    device_print(&device, text, sizeof(text));
    assert_string_equal(text, "cpu:0,2,4,6,8,10,12,14");
    cpu_topology_device(&topology, 1, &device);
    device_print(&device, text, sizeof(text));
    assert_string_equal(text, "cpu:8,10,12,14");
}

static void this_machine_has_cores_and_memory(void **state)
{
    (void)state;
    static struct cpu_topology topology;
    assert_int_equal(cpu_topology_read(NULL, &topology, NULL), STATUS_OK);
    assert_true(topology.n_cores > 0 && topology.n_processors >= topology.n_cores);
    assert_true(topology.memory_bytes > 0);
}

/* The machine is limited to the cores that taskset leaves. */
static void only_cores_that_it_may_use(void **state)
{
    (void)state;
    static struct cpu_topology all, one;
    struct fault fault;
    cpu_set_t before, set;
    assert_int_equal(cpu_topology_read(NULL, &all, NULL), STATUS_OK);
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    for (int32_t i = 0; i < all.n_cores; i++) {
        size_t own = (size_t)all.cores[i].processor;
        CPU_ZERO(&set);
        CPU_SET(own, &set);
        assert_true(own < DEVICE_CORES_MAX && all.may_use[own]);
        assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
        assert_int_equal(cpu_topology_read(NULL, &one, NULL), STATUS_OK);
        assert_int_equal(one.n_cores, 1);
        assert_int_equal(one.cores[0].processor, own);
        assert_int_equal(one.n_processors, own + 1);
        assert_int_equal(one.memory_bytes, all.memory_bytes);
        for (size_t k = 0; k < DEVICE_CORES_MAX; k++)
            assert_int_equal(one.may_use[k], k == own);
        const struct device_spec device = { .n_cores = 1, .cores = { all.cores[0].processor } };
        assert_int_equal(cpu_topology_check(&one, &device, "cpu:x", &fault),
                         i == 0 ? STATUS_OK : STATUS_BAD_INPUT);
        assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    }
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static struct cpu_topology topology;
    struct fault fault;
    assert_int_equal(cpu_topology_read("xyzzy:", &topology, &fault), STATUS_BAD_INPUT);
    assert_true(strstr(fault.text, "xyzzy") != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sockets_and_threads_are_told_apart),
        cmocka_unit_test(this_machine_has_cores_and_memory),
        cmocka_unit_test(only_cores_that_it_may_use),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
