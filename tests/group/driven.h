/* A device whose work runs in polls, with a thread that polls, so that it can be a rank of a group.
 */
#pragma once
#include "compute/device.h"

/* Takes over the wrapped device. */
struct compute_device *driven_open(struct compute_device *inner);
