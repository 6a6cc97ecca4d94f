/* Invented machines, in units. */
#include "../test.h"
#include "serve/machine.h"

static struct serve_machine machine;

static void open_machine(const char *synthetic, int64_t memory_bytes)
{
    static struct cpu_topology topology;
    struct fault fault;
    assert_int_equal(cpu_topology_read(synthetic, &topology, &fault), STATUS_OK);
    serve_machine_init(&topology, memory_bytes, &machine);
}

static void check_units(const char *synthetic, int32_t n_nodes, int32_t n_units, int32_t n_cores)
{
    open_machine(synthetic, 1000);
    assert_int_equal(machine.n_nodes, n_nodes);
    assert_int_equal(machine.n_units, n_units);
    assert_int_equal(machine.n_cores, n_cores);
    assert_int_equal(machine.node_first[n_nodes], n_units);
    assert_int_equal(machine.first[n_units], n_cores);
    for (int32_t u = 0; u < n_units; u++)
        assert_true(machine.first[u] < machine.first[u + 1]);
}

static void cores_in_units(void **state)
{
    char text[256];
    (void)state;
    check_units("package:1 core:1 pu:2", 1, 1, 1);
    check_units("package:1 core:2 pu:1", 1, 2, 2);
    check_units("package:1 core:6 pu:1", 1, 4, 6); /* 1, 2, 1, 2 cores */
    serve_machine_device(&machine, 0, 2, text, sizeof(text));
    assert_string_equal(text, "cpu:0-2");
    check_units("package:1 core:64 pu:1", 1, 16, 64);
    check_units("package:2 core:4 pu:2", 2, 8, 8);
    serve_machine_device(&machine, 4, 4, text, sizeof(text));
    assert_string_equal(text, "cpu:8,10,12,14"); /* a hardware thread a core */
    check_units("package:2 core:64 pu:1", 2, 16, 128);
    check_units("package:3 core:8 pu:1", 3, 12, 24);
    open_machine("package:1 core:2 pu:1", 77);
    assert_true(machine.memory_bytes == 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(cores_in_units) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
