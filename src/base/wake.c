/* Waking a thread by an eventfd, which also fits into any poll loop. */
#include "base/wake.h"
#include "base/time.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

void wake_open(struct wake *wake)
{
    wake->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake->fd < 0)
        base_refuse("the system gives no descriptor to wake a thread by: %s (ulimit -n)",
                    strerror(errno));
}

void wake_close(struct wake *wake)
{
    if (wake->fd >= 0)
        close(wake->fd);
    wake->fd = -1;
}

void wake_up(struct wake *wake)
{
    uint64_t one = 1;
    /* EAGAIN means that the counter is full, which wakes as well. */
    while (write(wake->fd, &one, sizeof(one)) < 0 && errno == EINTR) {}
}

void wake_clear(struct wake *wake)
{
    uint64_t count;
    while (read(wake->fd, &count, sizeof(count)) < 0 && errno == EINTR) {}
}

bool wake_wait(struct wake *wake, int64_t timeout_ns)
{
    int64_t now = time_now_ns();
    bool is_forever = timeout_ns < 0 || timeout_ns > TIME_NEVER - now;
    int64_t deadline = is_forever ? TIME_NEVER : now + timeout_ns;
    for (;;) {
        struct pollfd poll = { .fd = wake->fd, .events = POLLIN };
        int64_t left = max_i64(deadline - now, 0);
        struct timespec ts = { .tv_sec = left / TIME_NS_PER_S, .tv_nsec = left % TIME_NS_PER_S };
        int n = ppoll(&poll, 1, is_forever ? NULL : &ts, NULL);
        if (n > 0)
            return true;
        CHECK(n == 0 || errno == EINTR);
        now = time_now_ns();
        if (now >= deadline)
            return false;
    }
}
