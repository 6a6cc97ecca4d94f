/* Maps, trees, slots and arenas under random operations, each beside an obviously correct naive
 * model. */
#include "test.h"
#include "base/pile.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/slots.h"
#include "base/tree.h"

#define N_MAX 64

static void test_map_is_a_list(void **state)
{
    (void)state;
    struct rng rng;
    struct map map;
    uint64_t keys[N_MAX];
    uint32_t values[N_MAX], n = 0;
    rng_init(&rng, test_seed(1), 0);
    map_init(&map, N_MAX);
    for (int step = 0; step < 200000; step++) {
        /* Few keys, so that they collide. Every second one differs only in its high bits. */
        uint64_t key = rng_below(&rng, 100);
        key = key % 2 == 0 ? key : key << 57 | 1;
        uint32_t i = 0;
        while (i < n && keys[i] != key)
            i++;
        uint32_t dice = rng_below(&rng, 3);
        if (dice == 0) {
            uint32_t value = rng_below(&rng, 1000);
            assert_int_equal(map_put(&map, key, value), i < n || n < N_MAX);
            if (i == n && n < N_MAX)
                keys[n++] = key;
            if (i < n)
                values[i] = value;
        } else if (dice == 1 && step % 3 != 0) { /* a little rarer, so that it fills up */
            assert_int_equal(map_remove(&map, key), i < n);
            if (i < n) {
                n--;
                keys[i] = keys[n];
                values[i] = values[n];
            }
        } else {
            assert_int_equal(map_find(&map, key), i < n ? values[i] : MAP_NONE);
        }
        assert_int_equal(map.n, n);
    }
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(map_find(&map, keys[i]), values[i]);
    map_free(&map);
}

struct sorted { /* the naive model of a tree, a sorted array of slots */
    uint32_t slots[N_MAX], n;
};

static bool is_after(const struct tree_node *a, const struct tree_node *b)
{
    return a->key > b->key || (a->key == b->key && a->tie > b->tie);
}

static void sorted_insert(struct sorted *sorted, const struct tree_node *nodes, uint32_t slot)
{
    uint32_t i = sorted->n++;
    for (; i > 0 && is_after(&nodes[sorted->slots[i - 1]], &nodes[slot]); i--)
        sorted->slots[i] = sorted->slots[i - 1];
    sorted->slots[i] = slot;
}

static void sorted_remove(struct sorted *sorted, uint32_t slot)
{
    uint32_t i = 0;
    while (sorted->slots[i] != slot)
        i++;
    sorted->n--;
    for (; i < sorted->n; i++)
        sorted->slots[i] = sorted->slots[i + 1];
}

static uint32_t depth_max(const struct tree *tree, const struct tree_node *nodes)
{
    uint32_t deepest = 0;
    for (uint32_t at = tree_first(tree); at != TREE_NONE; at = tree_next(tree, nodes, at)) {
        uint32_t depth = 0;
        for (uint32_t up = at; up != TREE_NONE; up = nodes[up].parent)
            depth++;
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

static void test_tree_is_a_sorted_array(void **state)
{
    (void)state;
    struct rng rng;
    struct tree tree;
    struct tree_node nodes[N_MAX] = { 0 };
    struct sorted sorted = { 0 };
    rng_init(&rng, test_seed(2), 0);
    tree_init(&tree);
    for (int step = 0; step < 20000; step++) {
        uint32_t slot = rng_below(&rng, N_MAX);
        if (nodes[slot].in_tree == 1) {
            tree_remove(&tree, nodes, slot);
            sorted_remove(&sorted, slot);
        } else {
            tree_insert(&tree, nodes, slot, (int64_t)rng_below(&rng, 10) - 5, slot ^ 21);
            sorted_insert(&sorted, nodes, slot);
        }
        uint32_t at = tree_first(&tree);
        assert_int_equal(tree.n, sorted.n);
        for (uint32_t i = 0; i < sorted.n; i++) {
            assert_int_equal(at, sorted.slots[i]);
            at = tree_next(&tree, nodes, at);
        }
        assert_int_equal(at, TREE_NONE);
    }
}

static void test_tree_stays_flat(void **state)
{
    (void)state;
    enum { N_NODES = 10000 };
    static struct tree_node nodes[N_NODES];
    struct tree tree;
    tree_init(&tree);
    for (uint32_t i = 0; i < N_NODES; i++) /* sorted keys, the worst case of a plain tree */
        tree_insert(&tree, nodes, i, i, i);
    uint32_t depth = depth_max(&tree, nodes);
    printf("depth of %d sorted nodes: %u\n", N_NODES, depth);
    assert_true(depth < 50);
    for (uint32_t i = 0; i < N_NODES; i++)
        tree_remove(&tree, nodes, tree_first(&tree));
    assert_int_equal(tree.n, 0);
}

static void test_slots_are_a_set_of_handles(void **state)
{
    (void)state;
    struct rng rng;
    struct slots slots;
    uint32_t live[N_MAX], n = 0, stale = 0;
    rng_init(&rng, test_seed(3), 0);
    slots_init(&slots, N_MAX);
    for (int step = 0; step < 50000; step++) {
        if (rng_below(&rng, 2) == 0) {
            uint32_t handle = slots_take(&slots);
            assert_int_equal(handle != 0, n < N_MAX);
            for (uint32_t i = 0; i < n; i++)
                assert_true(slots_index(live[i]) != slots_index(handle) || handle == 0);
            if (handle != 0)
                live[n++] = handle;
        } else if (n > 0) {
            uint32_t i = rng_below(&rng, n);
            stale = live[i];
            slots_put(&slots, stale);
            live[i] = live[--n];
        }
        if (n > 0)
            assert_true(slots_is_live(&slots, live[rng_below(&rng, n)]));
        uint32_t reused = slots.generation[slots_index(stale)];
        assert_true(!slots_is_live(&slots, stale) || reused % 4096 == stale >> 20);
    }
    slots_free(&slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map_is_a_list),
        cmocka_unit_test(test_tree_is_a_sorted_array),
        cmocka_unit_test(test_tree_stays_flat),
        cmocka_unit_test(test_slots_are_a_set_of_handles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
