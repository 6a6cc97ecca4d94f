/* Machines as hwloc describes them. */
#include "test.h"

#include "cpu/cpu.h"

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
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
