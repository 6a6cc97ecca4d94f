/* Blocks between an engine's thread and the door's: order, bounds, and answers that come too late.
 */
#include "../test.h"
#include "base/time.h"
#include "bulk/pulls.h"
#include <event2/buffer.h>
#include <string.h>

static struct bulk_pulls *pulls;
static struct exchange_remote remote;
static struct exchange_stamp stamp;
static unsigned char to[1 << 20];

static void answer(uint64_t serial, int32_t index, size_t n_bytes)
{
    struct evbuffer *from = evbuffer_new();
    const struct exchange_stamp with = { .position = index };
    unsigned char *bytes = calloc(1, n_bytes);
    memset(bytes, 'a' + index, n_bytes);
    assert_int_equal(evbuffer_add(from, &with, sizeof with) + evbuffer_add(from, bytes, n_bytes),
                     0);
    bulk_pulls_answer(pulls, serial, EXCHANGE_BLOCK, from);
    free(bytes);
    evbuffer_free(from);
}

static enum exchange_said pull(uint64_t ticket, int32_t i, int64_t n)
{
    return remote.pull(remote.self, ticket, i, &stamp, to, n);
}

static int open_pulls(void **state)
{
    (void)state;
    pulls = bulk_pulls_open();
    remote = bulk_pulls_remote(pulls);
    return 0;
}

static int close_pulls(void **state)
{
    (void)state;
    bulk_pulls_close(pulls);
    return 0;
}

static void blocks_come_in_any_order(void **state)
{
    struct bulk_pulls_wish wishes[8];
    int n = 0;
    (void)state;
    assert_int_equal(pull(5, 0, 100), EXCHANGE_LATER);
    while (bulk_pulls_next(pulls, &wishes[n]))
        assert_true(wishes[n].ticket == 5 && wishes[n].n_bytes == 100 && n++ < 8);
    assert_int_equal(n, 8); /* ahead of the engine */
    for (int i = 8; i-- > 0;) {
        assert_int_equal(pull(5, 0, 100), EXCHANGE_LATER);
        if (wishes[i].index < 3)
            answer(wishes[i].serial, wishes[i].index, 100);
        else
            bulk_pulls_answer(pulls, wishes[i].serial, EXCHANGE_GONE, NULL);
    }
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(pull(5, i, 100), EXCHANGE_BLOCK);
        assert_int_equal(stamp.position, i);
        assert_int_equal(to[99], 'a' + i);
    }
    assert_int_equal(pull(5, 3, 100), EXCHANGE_GONE);
    struct bulk_pulls_wish wish;
    assert_false(bulk_pulls_next(pulls, &wish)); /* nothing behind the end is asked for again */
    remote.acknowledge(remote.self, 5);
    assert_true(bulk_pulls_next(pulls, &wish) && wish.ticket == 5 && wish.serial == 0);
}

static void a_block_may_be_asked_for_again(void **state)
{
    struct bulk_pulls_wish wish;
    (void)state;
    assert_int_equal(pull(5, 0, 100), EXCHANGE_LATER);
    while (bulk_pulls_next(pulls, &wish))
        answer(wish.serial, wish.index, 100);
    assert_int_equal(pull(5, 0, 100), EXCHANGE_BLOCK);
    assert_int_equal(pull(5, 0, 100), EXCHANGE_LATER); /* lost on the way: once more */
    while (bulk_pulls_next(pulls, &wish))
        answer(wish.serial, wish.index, 100);
    assert_int_equal(pull(5, 0, 100), EXCHANGE_BLOCK);
    assert_int_equal(pull(5, 1, 100), EXCHANGE_BLOCK);
    assert_int_equal(pull(5, 2, 200), EXCHANGE_GONE); /* another size */
}

static void answers_that_are_not_wanted_are_dropped(void **state)
{
    struct bulk_pulls_wish wish, again;
    (void)state;
    assert_int_equal(pull(5, 0, 100), EXCHANGE_LATER);
    assert_true(bulk_pulls_next(pulls, &wish));
    remote.acknowledge(remote.self, 5);
    answer(wish.serial, 0, 100);
    assert_int_equal(pull(5, 0, 100), EXCHANGE_LATER);
    answer(wish.serial, 0, 100); /* of the earlier question */
    assert_int_equal(pull(5, 0, 100), EXCHANGE_LATER);
    while (bulk_pulls_next(pulls, &again))
        if (again.serial != 0)
            answer(again.serial, again.index, 100);
    assert_int_equal(pull(5, 0, 100), EXCHANGE_BLOCK);
    for (uint64_t serial = 0; serial < 3000; serial++)
        answer(serial, 0, 100);
}

/* LATER is asked again after a while. */
static void a_sender_at_its_bounds_is_asked_again(void **state)
{
    struct bulk_pulls_wish wish;
    (void)state;
    assert_int_equal(pull(5, 0, 1 << 20), EXCHANGE_LATER);
    while (bulk_pulls_next(pulls, &wish))
        bulk_pulls_answer(pulls, wish.serial, EXCHANGE_LATER, NULL);
    for (int i = 0; i < 1000 && !bulk_pulls_next(pulls, &wish); i++)
        time_sleep_ns(TIME_NS_PER_MS);
    answer(wish.serial, wish.index, 1 << 20);
    assert_int_equal(pull(5, wish.index, 1 << 20), EXCHANGE_BLOCK);
}

/* Tickets and bytes are bounded, and all of them come back. */
static void memory_is_bounded(void **state)
{
    const int64_t n = 60 << 20;
    struct bulk_pulls_wish wish;
    int n_wishes = 0, n_gone = 0;
    (void)state;
    for (uint64_t ticket = 1; ticket <= 200; ticket++)
        n_gone += pull(ticket, 0, n) == EXCHANGE_GONE;
    while (bulk_pulls_next(pulls, &wish))
        n_wishes++;
    assert_int_equal(n_wishes, 2);
    assert_int_equal(n_gone, 200 - 128);
    for (uint64_t ticket = 1; ticket <= 200; ticket++)
        remote.acknowledge(remote.self, ticket);
    assert_int_equal(pull(201, 0, n), EXCHANGE_LATER);
    for (n_wishes = 0; bulk_pulls_next(pulls, &wish);)
        n_wishes += wish.serial != 0;
    assert_int_equal(n_wishes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(blocks_come_in_any_order, open_pulls, close_pulls),
        cmocka_unit_test_setup_teardown(a_block_may_be_asked_for_again, open_pulls, close_pulls),
        cmocka_unit_test_setup_teardown(answers_that_are_not_wanted_are_dropped, open_pulls,
                                        close_pulls),
        cmocka_unit_test_setup_teardown(a_sender_at_its_bounds_is_asked_again, open_pulls,
                                        close_pulls),
        cmocka_unit_test_setup_teardown(memory_is_bounded, open_pulls, close_pulls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
