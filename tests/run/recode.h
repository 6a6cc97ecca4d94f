/* A backend that packs every matrix as another type: the file's values are encoded row by row, to
 * the nearest value that scales by range give, before the backend below packs them. For tests of a
 * model in types that its file does not have. */
#pragma once
#include "compute/device.h"

/* inner is owned from here on. Matrices whose rows are no whole blocks of the type stay as they
 * are. is_opened: what was encoded is decoded to floats again, so that the backend below computes
 * with the type's values in plain float. */
struct compute_device *recode_open(struct compute_device *inner, enum dtype dtype, bool is_opened);
