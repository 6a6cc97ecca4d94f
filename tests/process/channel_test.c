/* Tests of the memory between an engine's process and its parent. */
#include "test.h"
#include "process/channel.h"
#include <fcntl.h>
#include <sys/mman.h>

enum { DOWN = 1 << 12, UP = 1 << 13, EVENTS = 1 << 14 };

static void test_both_ends_see_the_same(void **state)
{
    (void)state;
    struct process_channel parent, child;
    struct fault fault;
    const void *record;
    size_t n;
    assert_int_equal(process_channel_open(&parent, 100, DOWN, UP, EVENTS, &fault), STATUS_OK);
    memset(parent.options, 'x', 100);
    int copies[4] = { parent.fd, parent.down_wake.fd, parent.up_wake.fd, parent.child_socket };
    int first = 100;
    for (int i = 0; i < 4; i++)
        assert_int_equal(dup2(copies[i], first + i), first + i);
    assert_int_equal(process_channel_join(&child, first, &fault), STATUS_OK);
    assert_int_equal(((char *)child.options)[99], 'x');
    assert_true(ring_put(child.events, "token", 5, NULL, 0));
    assert_true(ring_peek_within(parent.events, EVENTS, &record, &n));
    assert_int_equal(n, 5);
    uint64_t tag = 0;
    assert_true(process_channel_send_fd(&parent, parent.fd, 77));
    int fd = process_channel_take_fd(&child, &tag);
    assert_true(fd >= 0 && tag == 77);
    close(fd);
    assert_int_equal(process_channel_take_fd(&child, &tag), -1); /* there is no other */
    process_channel_close(&child);
    process_channel_close(&parent);
}

/* A child can't shorten what its parent has mapped, which would end the parent (SIGBUS). */
static void test_its_size_is_fixed(void **state)
{
    (void)state;
    struct process_channel parent;
    struct fault fault;
    assert_int_equal(process_channel_open(&parent, 100, DOWN, UP, EVENTS, &fault), STATUS_OK);
    assert_int_not_equal(ftruncate(parent.fd, 10), 0);
    assert_int_not_equal(fcntl(parent.fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
    process_channel_close(&parent);
}

static void test_other_files_are_refused(void **state)
{
    (void)state;
    struct process_channel child;
    struct fault fault;
    int fd = memfd_create("other", MFD_CLOEXEC);
    assert_int_equal(process_channel_join(&child, fd, &fault), STATUS_BAD_INPUT); /* empty */
    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    assert_int_equal(process_channel_join(&child, fd, &fault), STATUS_BAD_INPUT);
    assert_int_equal(process_channel_join(&child, 999, &fault), STATUS_BAD_INPUT);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ends_see_the_same),
        cmocka_unit_test(test_its_size_is_fixed),
        cmocka_unit_test(test_other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
