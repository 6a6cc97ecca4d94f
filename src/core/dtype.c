/* The table of number formats: one row per type, with the sizes of GGUF's blocks. */
#include "core/dtype.h"

static const struct dtype_info infos[DTYPE_N] = {
    [DTYPE_F32] = { "F32", 1, 4, false },
    [DTYPE_F16] = { "F16", 1, 2, false },
    [DTYPE_BF16] = { "BF16", 1, 2, false },
    [DTYPE_Q8_0] = { "Q8_0", 32, 34, true },
    [DTYPE_Q4_0] = { "Q4_0", 32, 18, true },
    [DTYPE_Q4_1] = { "Q4_1", 32, 20, true },
    [DTYPE_Q5_0] = { "Q5_0", 32, 22, true },
    [DTYPE_Q5_1] = { "Q5_1", 32, 24, true },
    [DTYPE_Q2_K] = { "Q2_K", 256, 84, true },
    [DTYPE_Q3_K] = { "Q3_K", 256, 110, true },
    [DTYPE_Q4_K] = { "Q4_K", 256, 144, true },
    [DTYPE_Q5_K] = { "Q5_K", 256, 176, true },
    [DTYPE_Q6_K] = { "Q6_K", 256, 210, true },
    [DTYPE_IQ4_NL] = { "IQ4_NL", 32, 18, true },
    [DTYPE_IQ4_XS] = { "IQ4_XS", 256, 136, true },
    [DTYPE_MXFP4] = { "MXFP4", 32, 17, true },
    [DTYPE_TQ1_0] = { "TQ1_0", 256, 54, true },
    [DTYPE_TQ2_0] = { "TQ2_0", 256, 66, true },
    [DTYPE_F8_E4M3] = { "F8_E4M3", 128, 132, false },
};

const struct dtype_info *dtype_info(enum dtype dtype)
{
    CHECK((int)dtype >= 0 && dtype < DTYPE_N);
    return &infos[dtype];
}

int64_t dtype_row_bytes(enum dtype dtype, int64_t n)
{
    const struct dtype_info *info = dtype_info(dtype);
    if (n < 0 || n % info->n_block != 0 || n / info->n_block > INT64_MAX / info->block_bytes)
        return -1;
    return n / info->n_block * info->block_bytes;
}
