/* Inherited conditions that must not end a process, each in a child of its own. */
#include "test.h"

#include "base/file.h"
#include "base/inherited.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Returns the exit code of f in a child. A signal fails the test. */
static int code_of(int (*f)(void))
{
    int state;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        inherited_unguard();
        _exit(f());
    }
    assert_int_equal(waitpid(child, &state, 0), child);
    assert_true(WIFEXITED(state));
    return WEXITSTATUS(state);
}

static int write_into_a_closed_pipe(void)
{
    int ends[2];
    inherited_guard();
    if (pipe(ends) != 0)
        return 2;
    close(ends[0]);
    return file_put(ends[1], "x", 1) ? 1 : 0;
}

static int write_over_the_limit(void)
{
    const struct rlimit limit = { 4, 4 };
    inherited_guard();
    int fd = memfd_create("small", 0);
    if (fd < 0 || setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 2;
    return file_put(fd, "four", 4) && !file_put(fd, "x", 1) ? 0 : 1;
}

static int open_without_standard_descriptors(void)
{
    char byte;
    for (int fd = 0; fd <= 2; fd++)
        close(fd);
    inherited_guard();
    int fd = open("/dev/null", O_WRONLY);
    bool is_fine = fd == 3 && read(0, &byte, 1) < 0 && write(1, "x", 1) < 0 && write(2, "x", 1) < 0;
    return is_fine ? 0 : 1;
}

static int leave_open_descriptors(void)
{
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], 1) != 1)
        return 2;
    inherited_guard();
    char byte = 0;
    return write(1, "y", 1) == 1 && read(ends[0], &byte, 1) == 1 && byte == 'y' ? 0 : 1;
}

static void guard_makes_writes_fail(void **state)
{
    (void)state;
    assert_int_equal(code_of(write_into_a_closed_pipe), 0);
    assert_int_equal(code_of(write_over_the_limit), 0);
}

static void guard_keeps_standard_descriptors_from_files(void **state)
{
    (void)state;
    assert_int_equal(code_of(open_without_standard_descriptors), 0);
    assert_int_equal(code_of(leave_open_descriptors), 0);
}

static int has_default_signals(void)
{
    inherited_guard();
    inherited_unguard();
    return signal(SIGPIPE, SIG_DFL) == SIG_DFL && signal(SIGXFSZ, SIG_DFL) == SIG_DFL ? 0 : 1;
}

static void unguard_undoes_it(void **state)
{
    (void)state;
    assert_int_equal(code_of(has_default_signals), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guard_makes_writes_fail),
        cmocka_unit_test(guard_keeps_standard_descriptors_from_files),
        cmocka_unit_test(unguard_undoes_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
