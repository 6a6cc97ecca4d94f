/* The limits' loop for AMX: products of bytes, all that a tile instruction can do. */
#include "cpu/limits_loops.h"

#include <immintrin.h>

static int64_t int8_tiles(int n_rounds)
{
    /* What ldtilecfg reads: palette 1, from byte 16 on each tile's bytes a row, from 48 on its
     * rows. */
    unsigned char config[64] = { 1 };
    for (int tile = 0; tile < 6; tile++) {
        config[16 + 2 * tile] = 64;
        config[48 + tile] = 16;
    }
    __asm__ volatile("ldtilecfg %0" : : "m"(config));
    for (int i = 0; i < n_rounds; i++) {
        _tile_dpbssd(0, 4, 5);
        _tile_dpbssd(1, 4, 5);
        _tile_dpbssd(2, 4, 5);
        _tile_dpbssd(3, 4, 5);
    }
    _tile_release();
    return (int64_t)n_rounds * 4 * 16 * 16 * 64 * 2;
}

const struct cpu_limits_loops cpu_limits_amx = {
    .peaks = { [CPU_LIMIT_INT8] = { int8_tiles, "tdpbssd, 16 by 16 by 64" },
               [CPU_LIMIT_INT8_SHORT] = { int8_tiles, "tdpbssd, 16 by 16 by 64" } },
};
