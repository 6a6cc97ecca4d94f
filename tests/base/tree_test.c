/* Tests of the ordered tree: order, ties, first, shape. (tests/props compares it with a sorted
 * array.) */
#include "test.h"
#include "base/tree.h"

#define N 100

static void test_walk_is_ordered_by_key_then_tie(void **state)
{
    (void)state;
    struct tree tree;
    struct tree_node nodes[N] = { 0 };
    tree_init(&tree);
    assert_int_equal(tree_first(&tree), TREE_NONE);
    for (uint32_t i = 0; i < N; i++)
        tree_insert(&tree, nodes, i, (int64_t)(i * 37 % 10) - 5, 1000 - i);
    assert_int_equal(tree.n, N);
    uint32_t n = 0, before = TREE_NONE;
    for (uint32_t at = tree_first(&tree); at != TREE_NONE; at = tree_next(&tree, nodes, at)) {
        if (before != TREE_NONE)
            assert_true(nodes[before].key < nodes[at].key ||
                        (nodes[before].key == nodes[at].key && nodes[before].tie < nodes[at].tie));
        before = at;
        n++;
    }
    assert_int_equal(n, N);
}

static void test_first_follows(void **state)
{
    (void)state;
    struct tree tree;
    struct tree_node nodes[3] = { 0 };
    tree_init(&tree);
    tree_insert(&tree, nodes, 0, INT64_MAX, 0);
    tree_insert(&tree, nodes, 1, INT64_MIN, 0);
    tree_insert(&tree, nodes, 2, 0, UINT64_MAX);
    assert_int_equal(tree_first(&tree), 1);
    tree_remove(&tree, nodes, 1);
    assert_int_equal(tree_first(&tree), 2);
    assert_int_equal(nodes[1].in_tree, 0);
    tree_remove(&tree, nodes, 0);
    tree_remove(&tree, nodes, 2);
    assert_int_equal(tree_first(&tree), TREE_NONE);
    assert_int_equal(tree.root, TREE_NONE);
    assert_int_equal(tree.n, 0);
}

static void test_shape_is_a_function_of_the_content(void **state)
{
    (void)state;
    struct tree a, b;
    struct tree_node of_a[N] = { 0 }, of_b[N] = { 0 };
    tree_init(&a);
    tree_init(&b);
    for (uint32_t i = 0; i < N; i++)
        tree_insert(&a, of_a, i, (int64_t)(i * 61 % N), i);
    for (uint32_t i = N; i-- > 0;)
        tree_insert(&b, of_b, i, (int64_t)(i * 61 % N), i);
    assert_int_equal(a.root, b.root);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(of_a[i].left, of_b[i].left);
        assert_int_equal(of_a[i].right, of_b[i].right);
        assert_int_equal(of_a[i].parent, of_b[i].parent);
    }
}

struct stage {
    struct tree tree;
    struct tree_node nodes[2];
};

static void insert_twice(void *arg)
{
    struct stage *stage = arg;
    tree_insert(&stage->tree, stage->nodes, 0, 1, 1);
}

static void remove_a_stranger(void *arg)
{
    struct stage *stage = arg;
    tree_remove(&stage->tree, stage->nodes, 1);
}

static void test_misuse_dies(void **state)
{
    (void)state;
    struct stage stage = { 0 };
    tree_init(&stage.tree);
    tree_insert(&stage.tree, stage.nodes, 0, 1, 1);
    test_dies(insert_twice, &stage);
    test_dies(remove_a_stranger, &stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk_is_ordered_by_key_then_tie),
        cmocka_unit_test(test_first_follows),
        cmocka_unit_test(test_shape_is_a_function_of_the_content),
        cmocka_unit_test(test_misuse_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
