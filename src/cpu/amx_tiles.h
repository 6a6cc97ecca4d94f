/* Tiles of AMX: what gcc's intrinsics leave out. */
#pragma once
#include "base/base.h"

struct cpu_tiles_shape { /* what ldtilecfg reads */
    uint8_t palette, start_row, unused[14];
    uint16_t row_bytes[16];
    uint8_t n_rows[16];
};

/* The intrinsic names 8 bytes of the 64. */
static inline void cpu_tiles_configure(const struct cpu_tiles_shape *shape)
{
    __asm__ volatile("ldtilecfg %0" : : "m"(*shape));
}

/* The intrinsic does not say that it reads memory, and stores before it would be left out. `tile`
 * is a digit. */
#define LOAD_TILE(tile, from, stride)                                                              \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #tile                                            \
                     :                                                                             \
                     : "r"((const void *)(from)), "r"((size_t)(stride))                            \
                     : "memory")
