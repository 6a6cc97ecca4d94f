/* Waiting for work, for callers that have a thread to spare. */
#include "compute/device.h"

#include "base/wake.h"

static void wake(void *arg)
{
    wake_up(arg);
}

enum compute_state compute_device_wait(struct compute_device *device, struct compute_lane *lane,
                                       struct compute_work *work)
{
    struct wake done;
    enum compute_state state;
    wake_open(&done);
    work->notify = wake;
    work->notify_arg = &done;
    device->begin(device->self, lane, work);
    while ((state = device->poll(device->self, work)) == COMPUTE_BEGUN) {
        (void)wake_wait(&done, -1);
        wake_clear(&done);
    }
    wake_close(&done);
    return state;
}
