/* Waits for work, for callers that have a thread to spare. */
#include "compute/device.h"

#include "base/time.h"
#include <semaphore.h>

/* A lane may notify a moment after its work is seen to be over. So semaphores outlive their waits:
 * a late post wakes the next user once for nothing, and it polls again. They take no descriptor,
 * since these may run out. */
enum { WAITERS_MAX = 64 };
static struct waiter {
    atomic_bool is_taken;
    bool is_open;
    sem_t done;
} waiters[WAITERS_MAX];

static struct waiter *take_waiter(void)
{
    for (int i = 0;; i = (i + 1) % WAITERS_MAX) {
        struct waiter *waiter = &waiters[i];
        if (!atomic_exchange(&waiter->is_taken, true)) {
            CHECK(waiter->is_open || sem_init(&waiter->done, 0, 0) == 0);
            waiter->is_open = true;
            return waiter;
        }
        if (i == WAITERS_MAX - 1)
            time_sleep_ns(TIME_NS_PER_MS); /* all are taken */
    }
}

static void wake(void *arg)
{
    (void)sem_post(arg);
}

enum compute_state compute_device_wait(struct compute_device *device, struct compute_lane *lane,
                                       struct compute_work *work)
{
    struct waiter *waiter = take_waiter();
    enum compute_state state;
    work->notify = wake;
    work->notify_arg = &waiter->done;
    device->begin(device->self, lane, work);
    while ((state = device->poll(device->self, work)) == COMPUTE_BEGUN) {
        while (sem_wait(&waiter->done) != 0) {} /* a signal */
    }
    atomic_store(&waiter->is_taken, false);
    return state;
}
