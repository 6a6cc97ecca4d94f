/* A flag of the process that ends its fetches. */
#include "fetch/stop.h"

#include "base/time.h"
#include <stdatomic.h>

static const int64_t LOOK_NS = 50 * TIME_NS_PER_MS;
static atomic_bool is_stopped;

void fetch_stop(void)
{
    atomic_store(&is_stopped, true);
}

bool fetch_is_stopped(void)
{
    return atomic_load(&is_stopped);
}

void fetch_sleep_ns(int64_t ns)
{
    int64_t until_ns = time_now_ns() + ns;
    for (int64_t left_ns = ns; left_ns > 0 && !fetch_is_stopped();
         left_ns = until_ns - time_now_ns())
        time_sleep_ns(min_i64(left_ns, LOOK_NS));
}
