/* One block to copy between two ranges of memory. A list of copies is an array of these. */
#pragma once
#include <stdint.h>

struct copy_part {
    int64_t from, to, n_bytes; /* offsets in the range read and in the range written */
};
