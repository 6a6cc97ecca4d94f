/* A device for tests that punishes what a real one would: no host pointer may touch its memory, and
 * it does everything as late as is legal.
 *
 * It wraps a device whose memory is the host's. Each of its memory objects is mapped twice: at a
 * private address for the wrapped device, and at the public one, where nothing can be read or
 * written. Pages that are not backed can't be touched at the private one either. Work runs only
 * when it was polled several times, lanes in a seeded order. Results are garbage until then, and
 * what work points to must be the same when it runs as when it was begun. */
#pragma once
#include "compute/device.h"

/* Takes over the wrapped device. */
struct compute_device *late_open(struct compute_device *inner, uint64_t seed);
/* The private address of an object, for a test that computes itself. */
unsigned char *late_private(struct compute_device *device, const struct compute_memory *memory);
bool late_is(const struct compute_device *device);
/* Is SHOAL_TEST_DEVICE=late in the environment? */
bool late_is_wanted(void);
/* Returns the device, or a late one around it when that is wanted. */
struct compute_device *late_or_plain(struct compute_device *inner);
/* Its generated rows get other bits than prompt rows, so that an answer is another one as soon as a
 * single row is computed in the wrong class. */
void late_tell_classes_apart(struct compute_device *device);
/* From now on one of `one_of` works fails; 0: none. */
void late_fail(struct compute_device *device, uint32_t one_of);
/* The device is lost after n_works more works. */
void late_lose(struct compute_device *device, int64_t n_works);
int64_t late_n_works(const struct compute_device *device); /* that ran or failed, ever */
