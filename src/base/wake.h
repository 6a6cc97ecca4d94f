/* A way to wake another thread: an eventfd. */
#pragma once
#include "base/base.h"

struct wake {
    int fd;
};
void wake_open(struct wake *wake);
void wake_close(struct wake *wake);
void wake_up(struct wake *wake);    /* from any thread; many calls may count as one */
void wake_clear(struct wake *wake); /* by the sleeper, before it looks at its queues */
/* Sleeps until woken or until timeout_ns has passed (negative: no timeout). Returns true when
 * woken. */
bool wake_wait(struct wake *wake, int64_t timeout_ns);
