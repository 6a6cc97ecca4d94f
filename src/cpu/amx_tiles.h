/* Tiles of AMX: what gcc's intrinsics lack. */
#pragma once
#include "base/base.h"

struct cpu_tiles_shape { /* the operand of ldtilecfg */
    uint8_t palette, start_row, unused[14];
    uint16_t row_bytes[16];
    uint8_t n_rows[16];
};

/* The intrinsic would name only 8 of the 64 bytes. */
static inline void cpu_tiles_configure(const struct cpu_tiles_shape *shape)
{
    __asm__ volatile("ldtilecfg %0" : : "m"(*shape));
}

/* The intrinsic does not declare that it reads memory, so stores before it would be removed. `tile`
 * is a digit. */
#define LOAD_TILE(tile, from, stride)                                                              \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile                                            \
                     :                                                                             \
                     : "r"((const void *)(from)), "r"((size_t)(stride))                            \
                     : "memory")
