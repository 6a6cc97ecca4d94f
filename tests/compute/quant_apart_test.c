/* Blocks from parts: random codes, zero points and scales are stored in each layout, and every row
 * must come back as (code - zero) * scale. */
#include "test.h"

#include "base/half.h"
#include "base/mem.h"
#include "base/rng.h"
#include "compute/quant.h"

enum { ROWS = 24, COLUMNS = 256, GROUP = 64, GROUPS = COLUMNS / GROUP };

static struct rng rng;
static int codes[ROWS][COLUMNS], zeros[ROWS][GROUPS];
static uint16_t scales[ROWS][GROUPS];
static unsigned char stored[ROWS * COLUMNS], stored_zeros[ROWS * GROUPS * 4];
static uint16_t stored_scales[ROWS * GROUPS];

static void draw(int n_bits)
{
    for (int r = 0; r < ROWS; r++) {
        for (int k = 0; k < COLUMNS; k++)
            codes[r][k] = (int)rng_below(&rng, 1u << n_bits);
        for (int g = 0; g < GROUPS; g++) {
            zeros[r][g] = (int)rng_below(&rng, 15) + 1;
            scales[r][g] = half_from_float((float)(rng_normal(&rng) * 0.01));
        }
    }
}

/* Adds a code to word i, in the given place. */
static void put(unsigned char *words, int i, int n_bits, int place, int code)
{
    uint32_t word;
    memcpy(&word, words + 4 * i, 4);
    word |= (uint32_t)code << (n_bits * place);
    memcpy(words + 4 * i, &word, 4);
}

/* As the formats' documents write them: AWQ puts row order[j] of eight into place j. */
static int awq_place(int row)
{
    static const int order[] = { 0, 2, 4, 6, 1, 3, 5, 7 };
    int place = 0;
    while (order[place] != row % 8)
        place++;
    return place;
}

static void store_word(enum tensor_layout layout, int n_bits, int r, int k)
{
    int per = 32 / n_bits;
    if (layout == TENSOR_GPTQ)
        put(stored, k / per * ROWS + r, n_bits, k % per, codes[r][k]);
    else if (layout == TENSOR_AWQ)
        put(stored, k * (ROWS / 8) + r / 8, 4, awq_place(r), codes[r][k]);
    else
        put(stored, r * (COLUMNS / per) + k / per, n_bits, k % per, codes[r][k]);
}

static struct tensor_apart store(enum tensor_layout layout, int n_bits, bool has_zeros, int added)
{
    memset(stored, 0, sizeof(stored));
    memset(stored_zeros, 0, sizeof(stored_zeros));
    for (int r = 0; r < ROWS; r++) {
        for (int k = 0; k < COLUMNS; k++)
            store_word(layout, n_bits, r, k);
        for (int g = 0; g < GROUPS; g++) {
            bool is_row = layout == TENSOR_PACKED || layout == TENSOR_BYTES;
            stored_scales[is_row ? r * GROUPS + g : g * ROWS + r] = scales[r][g];
            if (has_zeros)
                put(stored_zeros, is_row ? r / 8 * GROUPS + g : g * (ROWS / 8) + r / 8, 4,
                    layout == TENSOR_AWQ ? awq_place(r) : r % 8, zeros[r][g] - added);
            else
                zeros[r][g] = 1 << (n_bits - 1);
        }
    }
    return (struct tensor_apart){ .layout = layout,
                                  .n_bits = n_bits,
                                  .n_rows = ROWS,
                                  .n_columns = COLUMNS,
                                  .row_group = 1,
                                  .group = GROUP,
                                  .scale_dtype = DTYPE_F16,
                                  .zero_added = added,
                                  .values = stored,
                                  .scales = (const unsigned char *)stored_scales,
                                  .zeros = has_zeros ? stored_zeros : NULL };
}

/* Reads rows first, first + step, ... of the parts. */
static void check(const struct tensor_apart *apart, enum dtype dtype, int first, int step)
{
    const struct tensor tensor = { .data = apart->values,
                                   .dtype = dtype,
                                   .n_rows = (ROWS - first) / step,
                                   .n_columns = COLUMNS,
                                   .apart = apart,
                                   .apart_row = first,
                                   .apart_step = step };
    for (int i = 0; i < tensor.n_rows; i++) {
        float got[COLUMNS];
        int r = first + i * step;
        quant_row_to_float(&tensor, i, got);
        for (int k = 0; k < COLUMNS; k++) {
            float scale = half_to_float(scales[r][k / GROUP]);
            assert_true(got[k] == (float)(codes[r][k] - zeros[r][k / GROUP]) * scale);
        }
    }
}

static void integers_come_back_exactly(void **state)
{
    (void)state;
    static const struct {
        enum tensor_layout layout;
        int n_bits, added;
        bool has_zeros;
        enum dtype dtype;
    } rows[] = {
        { TENSOR_GPTQ, 4, 1, true, DTYPE_Q5_0 },    { TENSOR_GPTQ, 4, 0, true, DTYPE_Q5_0 },
        { TENSOR_GPTQ, 4, 1, false, DTYPE_Q4_0 },   { TENSOR_GPTQ, 8, 1, false, DTYPE_Q8_0 },
        { TENSOR_AWQ, 4, 0, true, DTYPE_Q5_0 },     { TENSOR_AWQ, 4, 0, false, DTYPE_Q4_0 },
        { TENSOR_PACKED, 4, 0, true, DTYPE_Q5_0 },  { TENSOR_PACKED, 4, 0, false, DTYPE_Q4_0 },
        { TENSOR_PACKED, 8, 0, false, DTYPE_Q8_0 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        draw(rows[i].n_bits);
        struct tensor_apart apart =
            store(rows[i].layout, rows[i].n_bits, rows[i].has_zeros, rows[i].added);
        check(&apart, rows[i].dtype, 0, 1);
        check(&apart, rows[i].dtype, 5, 1);
        check(&apart, rows[i].dtype, 1, 2);
    }
}

static void bytes_come_back_exactly(void **state)
{
    (void)state;
    draw(8);
    struct tensor_apart apart = store(TENSOR_BYTES, 8, false, 0);
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < COLUMNS; k++)
            stored[r * COLUMNS + k] = (unsigned char)(codes[r][k] - 128);
    check(&apart, DTYPE_Q8_0, 0, 1);
    check(&apart, DTYPE_Q8_0, 7, 1);
}

static void every_type_of_scale_is_read(void **state)
{
    (void)state;
    float wide[ROWS * GROUPS];
    uint16_t brain[ROWS * GROUPS];
    draw(4);
    struct tensor_apart apart = store(TENSOR_PACKED, 4, false, 0);
    for (int r = 0; r < ROWS; r++)
        for (int g = 0; g < GROUPS; g++) {
            scales[r][g] = half_from_float((float)(int)(rng_below(&rng, 255) + 1) * 0x1p-12f);
            wide[r * GROUPS + g] = half_to_float(scales[r][g]);
            brain[r * GROUPS + g] = bf16_from_float(wide[r * GROUPS + g]);
        }
    apart.scale_dtype = DTYPE_F32;
    apart.scales = (const unsigned char *)wide;
    check(&apart, DTYPE_Q4_0, 0, 1);
    apart.scale_dtype = DTYPE_BF16;
    apart.scales = (const unsigned char *)brain;
    check(&apart, DTYPE_Q4_0, 0, 1);
}

static void floats_of_8_bits_have_blocks_of_scales(void **state)
{
    (void)state;
    static const float block_scales[2][2] = { { 0.5f, 3.0f }, { -0.37f, 1e-3f } };
    const struct tensor_apart apart = { .layout = TENSOR_F8,
                                        .n_bits = 8,
                                        .n_rows = ROWS,
                                        .n_columns = COLUMNS,
                                        .row_group = 16,
                                        .group = 128,
                                        .scale_dtype = DTYPE_F32,
                                        .values = stored,
                                        .scales = (const unsigned char *)block_scales };
    const struct tensor tensor = { .data = stored,
                                   .dtype = DTYPE_F8_E4M3,
                                   .n_rows = ROWS - 3,
                                   .n_columns = COLUMNS,
                                   .apart = &apart,
                                   .apart_row = 3,
                                   .apart_step = 1 };
    for (int i = 0; i < ROWS * COLUMNS; i++)
        stored[i] = (unsigned char)(rng_below(&rng, 127) + 128 * rng_below(&rng, 2));
    for (int i = 0; i < tensor.n_rows; i++) {
        float got[COLUMNS];
        quant_row_to_float(&tensor, i, got);
        for (int k = 0; k < COLUMNS; k++) {
            unsigned char byte = stored[(i + 3) * COLUMNS + k];
            int exponent = byte >> 3 & 15, mantissa = byte & 7;
            float value =
                exponent == 0 ? (float)mantissa * 0x1p-9f : (float)(8 + mantissa) * 0x1p-10f;
            for (int e = 1; exponent > 0 && e <= exponent; e++)
                value *= 2;
            value *= byte & 128 ? -block_scales[(i + 3) / 16][k / 128]
                                : block_scales[(i + 3) / 16][k / 128];
            assert_true(got[k] == value);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_come_back_exactly),
        cmocka_unit_test(bytes_come_back_exactly),
        cmocka_unit_test(every_type_of_scale_is_read),
        cmocka_unit_test(floats_of_8_bits_have_blocks_of_scales),
    };
    rng_init(&rng, test_seed(36), 2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
