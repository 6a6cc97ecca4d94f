/* The only clock. */
#include "base/time.h"
#include <errno.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec ts;
    int rc = clock_gettime(id, &ts);
    CHECK(rc == 0);
    return (int64_t)ts.tv_sec * TIME_NS_PER_S + ts.tv_nsec;
}

int64_t time_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t time_boot_ns(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

int64_t time_unix_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t time_thread_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void time_sleep_ns(int64_t ns)
{
    if (ns <= 0)
        return;
    struct timespec left = { .tv_sec = ns / TIME_NS_PER_S, .tv_nsec = ns % TIME_NS_PER_S };
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {}
}
