/* A backend that packs every matrix as another type, for tests of a model in types that its file
 * does not have. The file's values are encoded row by row, to the nearest value that scales by
 * range give, before the backend below packs them. */
#pragma once
#include "compute/device.h"

/* Opens it; it owns inner from here on. A matrix stays as it is when its rows are not whole blocks
 * of the type. is_opened: the encoded values are decoded to floats again, so that the backend below
 * computes with the type's values in plain float. */
struct compute_device *recode_open(struct compute_device *inner, enum dtype dtype, bool is_opened);
