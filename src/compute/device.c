/* Waits for work, for callers that have a thread to spare. */
#include "compute/device.h"

#include <semaphore.h>

static void wake(void *arg)
{
    (void)sem_post(arg);
}

enum compute_state compute_device_wait(struct compute_device *device, struct compute_lane *lane,
                                       struct compute_work *work)
{
    sem_t done; /* it takes no descriptor, since these may run out */
    enum compute_state state;
    CHECK(sem_init(&done, 0, 0) == 0);
    work->notify = wake;
    work->notify_arg = &done;
    device->begin(device->self, lane, work);
    while ((state = device->poll(device->self, work)) == COMPUTE_BEGUN) {
        while (sem_wait(&done) != 0) {} /* a signal */
    }
    (void)sem_destroy(&done);
    return state;
}
