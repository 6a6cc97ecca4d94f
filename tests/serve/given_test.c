/* A placement from a file on invented machines: the cores of its engines, and the sentence when
 * there are none. */
#include "../test.h"
#include "base/file.h"
#include "serve/place.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct serve_machine machine;
static struct serve_placement placement;

static void open_machine(const char *synthetic, int64_t memory_bytes)
{
    static struct cpu_topology topology;
    struct fault fault;
    assert_int_equal(cpu_topology_read(synthetic, &topology, &fault), STATUS_OK);
    serve_machine_init(&topology, memory_bytes, &machine);
}

/* A NULL sentence: the text is fine. */
static void check(const char *text, const char *sentence)
{
    static struct config config;
    struct fault fault = { { 0 } };
    char path[] = "/tmp/placement-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    config_init(&config);
    assert_int_equal(config_add_model(&config, "a=x", &fault), STATUS_OK);
    assert_int_equal(config_add_model(&config, "b=x", &fault), STATUS_OK);
    assert_int_equal(file_write(path, text, strlen(text), &fault), STATUS_OK);
    config.placement = path;
    enum status status = serve_place_given(&config, &machine, &placement, &fault);
    unlink(path);
    config_free(&config);
    assert_int_equal(status != STATUS_OK, sentence != NULL);
    if (sentence != NULL && strstr(fault.text, sentence) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", fault.text, sentence);
}

static void engines_get_their_cores(void **state)
{
    (void)state;
    open_machine("package:1 core:4 pu:1", INT64_C(8) << 30);
    check("memory-part: 1\nengines:\n  - {device: cpu-avx2, tp: 2, memory: 1GiB, services: [a]}\n"
          "  - {count: 2, device: cpu-avx2, services: [b, a]}\n",
          NULL);
    assert_int_equal(placement.n, 3);
    assert_string_equal(placement.engines[0].device, "cpu:0-1");
    assert_string_equal(placement.engines[1].device, "cpu:2");
    assert_string_equal(placement.engines[2].device, "cpu:3");
    assert_true(placement.engines[0].has[0] && !placement.engines[0].has[1]);
    assert_true(placement.engines[2].has[0] && placement.engines[2].has[1]);
    assert_true(placement.engines[0].memory_bytes == INT64_C(1) << 30);
    assert_true(placement.engines[1].memory_bytes == (INT64_C(7) << 30) / 2); /* of the rest */
    check("engines:\n  - {count: 2, device: cpu-2c}\n", NULL); /* two cores each, all models */
    assert_string_equal(placement.engines[1].device, "cpu:2-3");
    assert_true(placement.engines[1].has[0] && placement.engines[1].has[1]);
}

static void shares_and_quotas_are_read(void **state)
{
    (void)state;
    open_machine("package:1 core:2 pu:1", INT64_C(2) << 30);
    check("engines:\n  - {device: cpu-avx2, tp: 2, services: [a, b], shares: [\"a=40\", \"b=60\"],"
          " quotas: [\"b=2MiB\"]}\n",
          NULL);
    assert_int_equal(placement.engines[0].share_percent[0], 40);
    assert_int_equal(placement.engines[0].share_percent[1], 60);
    assert_int_equal(placement.engines[0].kv_bytes[0], 0);
    assert_int_equal(placement.engines[0].kv_bytes[1], 2 << 20);
    check("engines:\n  - {device: cpu-avx2, tp: 2, services: [a, b], shares: [\"c=40\"]}\n",
          "shares: \"c=40\" is not a model of the engine and 1 to 100");
    check("engines:\n  - {device: cpu-avx2, tp: 2, shares: [\"a=101\"]}\n", "1 to 100");
    check("engines:\n  - {device: cpu-avx2, tp: 2, shares: [a]}\n", "1 to 100");
    check("engines:\n  - {device: cpu-avx2, tp: 2, quotas: [\"a=x\"]}\n", "bytes, as chat=2GiB");
    check("engines:\n  - {device: cpu-avx2, tp: 2, lanes: [\"1\", \"1\"]}\n",
          "chain, lanes and scale are for shoal sim alone");
}

static void engines_lie_in_one_socket_if_they_can(void **state)
{
    (void)state;
    open_machine("package:2 core:3 pu:1", INT64_C(8) << 30);
    check("engines:\n  - {count: 2, device: cpu-avx2, tp: 2}\n", NULL);
    assert_string_equal(placement.engines[0].device, "cpu:0-1");
    assert_string_equal(placement.engines[1].device, "cpu:3-4");
    check("engines:\n  - {count: 3, device: cpu-avx2, tp: 1}\n  - {device: cpu-avx2, tp: 3}\n",
          NULL);
    assert_string_equal(placement.engines[3].device, "cpu:3-5");
}

/* Others become groups with a rank in each socket, of as many devices. */
static void engines_of_several_sockets_are_groups(void **state)
{
    (void)state;
    open_machine("package:2 core:3 pu:1", INT64_C(8) << 30);
    check("engines:\n  - {count: 3, device: cpu-avx2, tp: 2}\n", NULL);
    assert_string_equal(placement.engines[2].device, "group(cpu:2,cpu:5)");
    open_machine("package:4 core:4 pu:1", INT64_C(8) << 30);
    check("engines:\n  - {device: cpu-avx2, tp: 8}\n  - {device: cpu-2c, tp: 4}\n", NULL);
    assert_string_equal(placement.engines[0].device, "group(cpu:0-3,cpu:4-7)");
    assert_string_equal(placement.engines[1].device, "group(cpu:8-11,cpu:12-15)");
    check("engines:\n  - {count: 4, device: cpu-avx2, tp: 1}\n  - {device: cpu-avx2, tp: 2}\n"
          "  - {device: cpu-2c, tp: 4}\n",
          NULL);
    assert_string_equal(placement.engines[4].device, "cpu:4-5");
    assert_string_equal(placement.engines[5].device, "group(cpu:8-11,cpu:12-15)");
    check("engines:\n  - {device: cpu-avx2, tp: 1}\n  - {device: cpu-avx2, tp: 8}\n", NULL);
    assert_string_equal(placement.engines[1].device, "group(cpu:4-7,cpu:8-11)");
    check("engines:\n  - {device: cpu-avx2, tp: 16}\n", NULL);
    assert_string_equal(placement.engines[0].device, "group(cpu:0-3,cpu:4-7,cpu:8-11,cpu:12-15)");
    check("engines:\n  - {device: cpu-avx2}\n  - {device: cpu-avx2, tp: 16}\n",
          "an engine of 16 cores, and this machine of 16 has 15 left");
    open_machine("package:2 core:3 pu:1", INT64_C(8) << 30);
    check("engines:\n  - {device: cpu-avx2, tp: 4}\n", NULL);
    assert_string_equal(placement.engines[0].device, "group(cpu:0-1,cpu:3-4)");
    check("engines:\n  - {count: 2, device: cpu-avx2, tp: 1}\n  - {device: cpu-avx2, tp: 4}\n",
          NULL);
    assert_string_equal(placement.engines[2].device, "group(cpu:2,cpu:3,cpu:4,cpu:5)");
    check(
        "engines:\n  - {device: cpu-2c, tp: 3}\n",
        "an engine of 6 cores, and this machine of 6 has 6 left, but its sockets can't give equal "
        "ranks");
}

static void ranks_are_as_many_as_the_file_says(void **state)
{
    (void)state;
    open_machine("package:2 core:4 pu:1", INT64_C(8) << 30);
    check("engines:\n  - {device: cpu-avx2, tp: 2, ranks: 2}\n"
          "  - {device: cpu-2c, tp: 2, ranks: 2}\n  - {device: cpu-avx2, tp: 2, ranks: 1}\n",
          NULL);
    assert_string_equal(placement.engines[0].device, "group(cpu:0,cpu:1)");
    assert_string_equal(placement.engines[1].device, "group(cpu:2-3,cpu:4-5)");
    assert_string_equal(placement.engines[2].device, "cpu:6-7");
    check("engines:\n  - {device: cpu-avx2, tp: 3, ranks: 2}\n",
          "3 devices can't be 2 equal ranks; expected tp to be a multiple of ranks");
    check("engines:\n  - {device: cpu-avx2, tp: 16, ranks: 16}\n", "ranks");
    check("engines:\n  - {device: cpu-2c, tp: 4, ranks: 2}\n", NULL);
    check("engines:\n  - {device: cpu-avx2, tp: 6, ranks: 2}\n"
          "  - {device: cpu-avx2, tp: 2, ranks: 2}\n",
          NULL);
    assert_string_equal(placement.engines[1].device, "group(cpu:3,cpu:7)");
}

static void what_does_not_fit_is_said(void **state)
{
    (void)state;
    open_machine("package:1 core:2 pu:1", INT64_C(2) << 30);
    check("engines:\n  - {device: a100}\n", "runs on a100, and this machine has cores");
    check("engines:\n  - {device: cpu-avx2, tp: 4}\n",
          "an engine of 4 cores, and this machine of 2 has 2 left");
    check("engines:\n  - {device: cpu-avx2, services: [a, c]}\n", "has no model \"c\"");
    check("engines:\n  - {device: cpu-avx2, services: [b]}\n",
          "the model a is on none of its engines");
    check("engines:\n  - {count: 2, device: cpu-avx2, memory: 4GiB}\n",
          "its engines want 7372 MiB, and this server may have 2048 MiB");
    check("engines:\n  - {device: cpu-avx2, role: decode}\n", "set swap_bytes");
    check("engines:\n  - {chain: [cpu-avx2, cpu-avx2], device: cpu-avx2}\n",
          "chain, lanes and scale");
    check("nodes:\n  - {device: a100}\n", "has no `engines:`");
    check("engines: 7\n", "engines");
    check("engines:\n  - {count: 65535, device: cpu-avx2}\n", "has 0 left");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_get_their_cores),
        cmocka_unit_test(shares_and_quotas_are_read),
        cmocka_unit_test(engines_lie_in_one_socket_if_they_can),
        cmocka_unit_test(engines_of_several_sockets_are_groups),
        cmocka_unit_test(ranks_are_as_many_as_the_file_says),
        cmocka_unit_test(what_does_not_fit_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
