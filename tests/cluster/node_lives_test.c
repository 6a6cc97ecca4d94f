/* A node's requests by id: they come, are found and go, and never exceed their limit. */
#include "test.h"

#include "cluster/node_lives.h"

static void test_they_come_and_go(void **state)
{
    (void)state;
    struct node_lives lives;
    node_lives_init(&lives, 2);
    assert_null(node_lives_find(&lives, 5));
    assert_true(node_lives_add(&lives, &(struct node_life){ .id = 5, .epoch = 3 }));
    assert_true(node_lives_add(&lives, &(struct node_life){ .id = 6 }));
    assert_false(node_lives_add(&lives, &(struct node_life){ .id = 7 }));
    struct node_life *life = node_lives_find(&lives, 5);
    assert_true(life != NULL && life->epoch == 3 && lives.n == 2);
    node_lives_remove(&lives, life);
    assert_true(lives.n == 1 && node_lives_find(&lives, 5) == NULL);
    assert_true(node_lives_find(&lives, 6) == lives.of && lives.of->id == 6);
    assert_true(node_lives_add(&lives, &(struct node_life){ .id = 7 }));
    assert_non_null(node_lives_find(&lives, 6));
    node_lives_free(&lives);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_they_come_and_go) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
