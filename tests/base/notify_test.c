/* A service manager of our own receives the messages. */
#include "test.h"
#include "base/notify.h"
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

static int listen_at(const char *name, size_t n)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    assert_true(fd >= 0);
    memcpy(address.sun_path, name, n);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)),
                     0);
    return fd;
}

static void assert_heard(int fd, const char *wanted)
{
    char got[64] = { 0 };
    assert_int_equal(recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT), strlen(wanted));
    assert_string_equal(got, wanted);
    close(fd);
}

static void a_manager_is_told(void **state)
{
    (void)state;
    char folder[] = "/tmp/shoal-notify-test-XXXXXX", path[64], name[64];
    assert_non_null(mkdtemp(folder));
    int n = snprintf(path, sizeof(path), "%s/socket", folder);
    int fd = listen_at(path, (size_t)n);
    setenv("NOTIFY_SOCKET", path, 1);
    assert_true(notify_manager("READY=1"));
    assert_heard(fd, "READY=1");
    unlink(path);
    rmdir(folder);
    assert_false(notify_manager("STOPPING=1")); /* it has gone */

    n = snprintf(name, sizeof(name), "@shoal-notify-test-%d", (int)getpid());
    setenv("NOTIFY_SOCKET", name, 1);
    name[0] = '\0';
    fd = listen_at(name, (size_t)n);
    assert_true(notify_manager("STOPPING=1"));
    assert_heard(fd, "STOPPING=1");
}

static void without_a_manager_nothing_happens(void **state)
{
    (void)state;
    static const char *const wrong[] = { "", "@", "relative/path" };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        setenv("NOTIFY_SOCKET", wrong[i], 1);
        assert_false(notify_manager("READY=1"));
    }
    char longest[256];
    memset(longest, '/', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    setenv("NOTIFY_SOCKET", longest, 1);
    assert_false(notify_manager("READY=1"));
    unsetenv("NOTIFY_SOCKET");
    assert_false(notify_manager("READY=1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manager_is_told),
        cmocka_unit_test(without_a_manager_nothing_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
