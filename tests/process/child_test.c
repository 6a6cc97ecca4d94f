/* Tests of child processes: this program is started again, and plays the child. */
#include "test.h"
#include "base/log.h"
#include "base/time.h"
#include "process/child.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>

/* The child's part, by its role. */
static int play(int argc, char **argv)
{
    if (!process_child_begin(argc, argv))
        return 9;
    const char *role = argv[2];
    if (strcmp(role, "talk") == 0) {
        log_line(LOG_INFO, "part", "a line of the log");
        fprintf(stderr, "a last word\n");
        return 3;
    }
    if (strcmp(role, "files") == 0) { /* only what was given is open */
        int n = 0;
        for (int fd = PROCESS_CHILD_FDS; fd < 256; fd++)
            n += fcntl(fd, F_GETFD) >= 0;
        return n;
    }
    for (;;)
        pause();
}

static int epoll_fd;

static void start(struct process_child *child, const char *role)
{
    struct fault fault;
    const struct process_child_options options = {
        .role = role, .name = "child", .fds = { 0, 1 }, .n_fds = 2, .epoll_fd = epoll_fd
    };
    assert_int_equal(process_child_start(child, &options, &fault), STATUS_OK);
}

static void wait_over(struct process_child *child, char *why, size_t n)
{
    struct pollfd end = { .fd = child->pidfd, .events = POLLIN };
    assert_int_equal(poll(&end, 1, 20000), 1);
    process_child_say(child);
    assert_true(process_child_is_over(child, why, n));
    process_child_end(child);
    assert_int_equal(child->pid, 0);
}

static void test_the_reason_of_its_end(void **state)
{
    (void)state;
    struct process_child child;
    char why[256];
    start(&child, "talk");
    wait_over(&child, why, sizeof why);
    assert_string_equal(why, "ended with code 3 after \"a last word\"");
    start(&child, "sleep");
    assert_false(process_child_is_over(&child, why, sizeof why));
    process_child_kill(&child);
    wait_over(&child, why, sizeof why);
    assert_non_null(strstr(why, "was ended by signal 9"));
    assert_int_equal(child.ended_by, SIGKILL);
}

static void test_it_inherits_only_what_it_is_given(void **state)
{
    (void)state;
    struct process_child child;
    char why[256];
    int extra = open("/dev/null", O_RDONLY); /* without CLOEXEC */
    start(&child, "files");
    wait_over(&child, why, sizeof why);
    assert_string_equal(why, "ended with code 2");
    close(extra);
}

/* A program that is called by a person, or whose parent has gone, does not begin. */
static void test_it_needs_its_parent(void **state)
{
    (void)state;
    char *words[] = { "shoal", "process", "engine", "name", "1", NULL };
    assert_false(process_child_begin(5, words));
    assert_false(process_child_begin(2, words));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_reason_of_its_end),
        cmocka_unit_test(test_it_inherits_only_what_it_is_given),
        cmocka_unit_test(test_it_needs_its_parent),
    };
    if (argc > 1 && strcmp(argv[1], PROCESS_CHILD_VERB) == 0)
        return play(argc, argv);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
