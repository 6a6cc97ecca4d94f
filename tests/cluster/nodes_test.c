/* Engines are counted through over all nodes, and each is found at its own. */
#include "test.h"

#include "cluster/nodes.h"

static void test_engines_are_counted_through(void **state)
{
    static const struct cluster_node_at of[] = { { 7, 2 }, { 300, 0 }, { 4, 3 } };
    static const uint16_t addresses[] = { 7, 7, 4, 4, 4 }, own[] = { 0, 1, 0, 1, 2 };
    struct cluster_nodes nodes;
    (void)state;
    cluster_nodes_init(&nodes, of, COUNT_OF(of));
    assert_int_equal(nodes.n_engines, 5);
    for (int e = 0; e < 5; e++) {
        assert_int_equal(cluster_nodes_address(&nodes, e), addresses[e]);
        assert_int_equal(cluster_nodes_own(&nodes, e), own[e]);
    }
    assert_int_equal(cluster_nodes_find(&nodes, 4), 2);
    assert_int_equal(cluster_nodes_find(&nodes, 300), 1);
    assert_int_equal(cluster_nodes_find(&nodes, 8), -1);
    cluster_nodes_free(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_engines_are_counted_through) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
