/* The limits' loops for AMX: products of bytes and of bfloat16, the only operations of tiles. */
#include "cpu/amx_tiles.h"
#include "cpu/limits_loops.h"

#include <immintrin.h>

static void configure(void)
{
    struct cpu_tiles_shape shape = { .palette = 1 };
    for (int tile = 0; tile < 6; tile++) {
        shape.row_bytes[tile] = 64;
        shape.n_rows[tile] = 16;
    }
    cpu_tiles_configure(&shape);
}

static int64_t int8_tiles(int n_rounds)
{
    configure();
    for (int i = 0; i < n_rounds; i++) {
        _tile_dpbssd(0, 4, 5);
        _tile_dpbssd(1, 4, 5);
        _tile_dpbssd(2, 4, 5);
        _tile_dpbssd(3, 4, 5);
    }
    _tile_release();
    return (int64_t)n_rounds * 4 * 16 * 16 * 64 * 2;
}

static int64_t half_tiles(int n_rounds)
{
    configure();
    for (int i = 0; i < n_rounds; i++) {
        _tile_dpbf16ps(0, 4, 5);
        _tile_dpbf16ps(1, 4, 5);
        _tile_dpbf16ps(2, 4, 5);
        _tile_dpbf16ps(3, 4, 5);
    }
    _tile_release();
    return (int64_t)n_rounds * 4 * 16 * 16 * 32 * 2;
}

const struct cpu_limits_loops cpu_limits_amx = {
    .peaks = { [CPU_LIMIT_HALF] = { half_tiles, "tdpbf16ps, 16 by 16 by 32" },
               [CPU_LIMIT_INT8] = { int8_tiles, "tdpbssd, 16 by 16 by 64" },
               [CPU_LIMIT_INT8_SHORT] = { int8_tiles, "tdpbssd, 16 by 16 by 64" } },
};
