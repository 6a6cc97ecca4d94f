/* Each instruction set's kernels against the generic ones, bit for bit: all types, all shapes of a
 * tile, odd lengths, and NaN in all memory that must not be read. Types with split rows are checked
 * against compute/halves.h. */
#include "test.h"

#include "base/half.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/rng.h"
#include "compute/halves.h"
#include "compute/quant.h"
#include "compute/vmath.h"
#include "cpu/kernels.h"

enum { COLUMNS = 1024, VALUES = 1024 };

static const float nan_value = __builtin_nanf("");

static void fill(struct rng *rng, float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = (float)(rng_normal(rng) * num_exp(rng_normal(rng)));
}

/* Fills random panels. Any bytes are fine if scales are small halves. */
static void fill_panels(enum dtype dtype, unsigned char *p, size_t n_bytes, struct rng *rng)
{
    for (size_t i = 0; i < n_bytes; i++)
        p[i] = (unsigned char)rng_u64(rng);
    if (dtype == DTYPE_F8_E4M3) {
        for (size_t i = 0; i < n_bytes; i++)
            p[i] = f8_is_nan(p[i]) ? 0 : p[i];
        for (size_t i = 0; i < n_bytes; i += CPU_F8_BYTES)
            for (size_t o = 0; o < CPU_PANEL; o++) {
                float scale = (float)rng_normal(rng);
                memcpy(p + i + sizeof(scale) * o, &scale, sizeof(scale));
            }
        return;
    }
    if (!dtype_info(dtype)->is_integer) {
        for (size_t i = 0; i < n_bytes; i += dtype == DTYPE_F32 ? 4 : 2) {
            float value = (float)rng_normal(rng);
            uint16_t half = dtype == DTYPE_F16 ? half_from_float(value) : bf16_from_float(value);
            memcpy(p + i, dtype == DTYPE_F32 ? (void *)&value : (void *)&half,
                   dtype == DTYPE_F32 ? 4 : 2);
        }
        return;
    }
    struct cpu_form form = cpu_pack_form(dtype);
    for (size_t i = 0; i < n_bytes; i += (size_t)cpu_form_unit_bytes(form))
        for (int o = 0; o < cpu_form_head(form) / 2; o++) {
            float scale = (float)(rng_normal(rng) * 0.01);
            uint16_t half = form.has_bf16 ? bf16_from_float(scale) : half_from_float(scale);
            memcpy(p + i + 2 * (size_t)o, &half, 2);
        }
}

static size_t panel_bytes(enum dtype dtype)
{
    if (dtype == DTYPE_F8_E4M3)
        return COLUMNS / CPU_F8_UNIT * CPU_F8_BYTES;
    if (!dtype_info(dtype)->is_integer)
        return COLUMNS * 16 * (size_t)dtype_info(dtype)->block_bytes;
    struct cpu_form form = cpu_pack_form(dtype);
    return (size_t)(COLUMNS / form.n_unit * cpu_form_unit_bytes(form));
}

enum { OUT = CPU_TILE_ROWS * CPU_TILE_PANELS * CPU_PANEL };

static struct cpu_tile random_tile(enum dtype dtype, struct rng *rng)
{
    static float x[CPU_TILE_ROWS * COLUMNS];
    static struct cpu_block blocks[CPU_TILE_ROWS * COLUMNS / 32];
    unsigned char *panels = mem_take(panel_bytes(dtype) * CPU_TILE_PANELS);
    fill_panels(dtype, panels, panel_bytes(dtype) * CPU_TILE_PANELS, rng);
    fill(rng, x, CPU_TILE_ROWS * COLUMNS);
    for (int i = 0; i < 32; i++) /* as far as sums can go */
        x[i] = x[COLUMNS + i] = i % 2 == 0 ? 1.0f : -1.0f;
    cpu_generic.quantize(x, CPU_TILE_ROWS * COLUMNS, blocks);
    for (int i = 0; i < 32; i++)
        x[i] = 1.0f;
    cpu_generic.quantize(x, 32, blocks);
    return (struct cpu_tile){ .panels = panels,
                              .panel_bytes = panel_bytes(dtype),
                              .n_columns = COLUMNS,
                              .x = x,
                              .x_stride = COLUMNS,
                              .blocks = blocks,
                              .block_stride = COLUMNS / 32 };
}

enum way { WHOLE, IN_PIECES, WIDE, MANY, WAYS };

static size_t group_bytes(const struct cpu_kernels *kernels, enum dtype dtype)
{
    return kernels->is_split[dtype] ? kernels->split_bytes : kernels->group_bytes;
}

/* Multiplies the tile in pieces of 256 columns, or of 768 and the rest. WIDE uses widened
 * panels. */
static void multiply(const struct cpu_kernels *kernels, enum dtype dtype, struct cpu_tile tile,
                     enum way way)
{
    enum { FIRST = 256 };
    const int32_t step = way == MANY ? 3 * FIRST : FIRST;
    static unsigned char wide[CPU_TILE_PANELS * FIRST * 64];
    const unsigned char *panels = tile.panels;
    for (int32_t k = 0; k < COLUMNS; k += step) {
        size_t from = tile.panel_bytes * (size_t)k / COLUMNS;
        struct cpu_tile part = tile;
        part.n_columns = min_i32(step, COLUMNS - k);
        part.is_continued = k > 0;
        part.is_direct = tile.is_direct && k + part.n_columns == COLUMNS;
        part.target = part.is_direct ? tile.target : NULL;
        part.panels = panels + from;
        part.x += k;
        part.blocks += k / 32;
        part.groups += (size_t)(k / 32) * group_bytes(kernels, dtype);
        if (way == WIDE) {
            part.panels = wide;
            part.panel_bytes = sizeof(wide) / CPU_TILE_PANELS;
            assert_true(cpu_wide_bytes(dtype, FIRST) <= part.panel_bytes);
            for (int32_t i = 0; i < tile.n_panels; i++)
                kernels->widen[dtype](panels + (size_t)i * tile.panel_bytes + from, FIRST,
                                      wide + (size_t)i * part.panel_bytes);
        }
        (way == MANY   ? kernels->matmul_many
         : way == WIDE ? kernels->matmul_wide
                       : kernels->matmul)[dtype](&part);
    }
}

/* Returns the tile's rows as these kernels group or split them, with NaN in gaps. */
static unsigned char *grouped(const struct cpu_kernels *kernels, enum dtype dtype,
                              const struct cpu_tile *tile)
{
    size_t n_bytes = COLUMNS / 32 * group_bytes(kernels, dtype);
    unsigned char *groups = mem_take(n_bytes * CPU_TILE_ROWS / CPU_GROUP_ROWS + 1);
    memset(groups, 0xFF, n_bytes * CPU_TILE_ROWS / CPU_GROUP_ROWS);
    for (int32_t row = 0; row < CPU_TILE_ROWS; row++) {
        unsigned char *to = groups + (size_t)(row / CPU_GROUP_ROWS) * n_bytes;
        if (kernels->is_split[dtype] && row < tile->n_rows)
            kernels->split(tile->x + row * COLUMNS, tile->n_columns, row % CPU_GROUP_ROWS, to);
        else if (!kernels->is_split[dtype] && kernels->group != NULL)
            kernels->group(tile->blocks + row * COLUMNS / 32, COLUMNS / 32, row % CPU_GROUP_ROWS,
                           to);
    }
    return groups;
}

/* Split rows' products, one output after another. */
static void multiply_halves(const struct cpu_tile *tile, enum dtype dtype)
{
    static float w[COLUMNS];
    for (int32_t o = 0; o < tile->n_panels * CPU_PANEL; o++) {
        const unsigned char *panel = tile->panels + (size_t)(o / CPU_PANEL) * tile->panel_bytes;
        for (int32_t k = 0; k < tile->n_columns; k++)
            quant_block_to_float(dtype, panel + 2 * (k * CPU_PANEL + o % CPU_PANEL), &w[k]);
        for (int32_t row = 0; row < tile->n_rows; row++)
            tile->out[row * CPU_TILE_PANELS * CPU_PANEL + o] = halves_add(
                0, w, dtype == DTYPE_F16, tile->x + (size_t)row * tile->x_stride, tile->n_columns);
    }
}

/* Halves of odd numbers of columns, and small ones: F16 below 2^-14, products below 2^-126. */
static void check_halves(const struct cpu_kernels *kernels, enum dtype dtype, struct rng *rng)
{
    static float want[OUT], got[OUT];
    for (int round = 0; round < 40; round++) {
        struct cpu_tile tile = random_tile(dtype, rng);
        uint16_t *w = (uint16_t *)(uintptr_t)tile.panels;
        float *x = (float *)(uintptr_t)tile.x;
        for (size_t i = 0; i < panel_bytes(dtype) / 2 * CPU_TILE_PANELS; i++)
            if (rng_below(rng, 3) == 0)
                w[i] = dtype == DTYPE_F16 ? w[i] & 0x87FF : w[i] & 0xBFFF; /* small, tiny */
        for (int i = 0; i < CPU_TILE_ROWS * COLUMNS; i++)
            if (rng_below(rng, 3) == 0)
                x[i] *= rng_below(rng, 2) == 0 ? 0x1p-70f : 0x1p-125f;
        tile.n_columns = 1 + (int32_t)rng_below(rng, COLUMNS);
        tile.n_panels = 1 + (int32_t)rng_below(rng, CPU_TILE_PANELS);
        tile.n_rows = 1 + (int32_t)rng_below(rng, CPU_TILE_ROWS);
        tile.groups = grouped(kernels, dtype, &tile);
        tile.group_stride = COLUMNS / 32 * kernels->split_bytes;
        memset(want, 0xFF, sizeof(want));
        memset(got, 0xFF, sizeof(got));
        tile.out = want;
        multiply_halves(&tile, dtype);
        tile.out = got;
        kernels->matmul[dtype](&tile);
        assert_memory_equal(want, got, sizeof(want));
        mem_give((void *)(uintptr_t)tile.groups);
        mem_give((void *)(uintptr_t)tile.panels);
    }
}

static void check_matmul(const struct cpu_kernels *kernels, enum dtype dtype, struct rng *rng)
{
    static float want[OUT], got[OUT], scratch[OUT];
    struct cpu_tile tile = random_tile(dtype, rng);
    tile.n_rows = CPU_TILE_ROWS;
    tile.groups = grouped(kernels, dtype, &tile);
    tile.group_stride = COLUMNS / 32 * group_bytes(kernels, dtype);
    assert_true((kernels->widen[dtype] == NULL) == (kernels->matmul_wide[dtype] == NULL));
    for (tile.n_rows = 1; tile.n_rows <= CPU_TILE_ROWS; tile.n_rows += tile.n_rows < 14 ? 1 : 17)
        for (tile.n_panels = 1; tile.n_panels <= CPU_TILE_PANELS; tile.n_panels++) {
            memset(want, 0xFF, sizeof(want));
            tile.target = NULL;
            tile.out = want;
            (kernels->is_split[dtype] ? multiply_halves(&tile, dtype)
                                      : cpu_generic.matmul[dtype](&tile));
            for (int way = 0; way < WAYS; way++) {
                if ((way == WIDE && kernels->widen[dtype] == NULL) ||
                    (way == MANY && kernels->matmul_many[dtype] == NULL))
                    continue;
                memset(got, 0xFF, sizeof(got));
                bool is_able = way == WIDE || way == MANY ||
                               (way == WHOLE && kernels->walks_whole && tile.n_rows > CPU_FEW_ROWS);
                tile.is_direct = is_able && dtype_info(dtype)->is_integer && rng_below(rng, 2) == 0;
                tile.target = got;
                tile.target_stride = CPU_TILE_PANELS * CPU_PANEL;
                tile.out = tile.is_direct ? scratch : got;
                if (way == WHOLE)
                    kernels->matmul[dtype](&tile);
                else
                    multiply(kernels, dtype, tile, (enum way)way);
                if (memcmp(want, got, sizeof(want)) != 0)
                    fail_msg("%s %s: %d rows, %d panels, way %d differ", kernels->name,
                             dtype_info(dtype)->name, tile.n_rows, tile.n_panels, way);
            }
        }
    mem_give((void *)(uintptr_t)tile.groups);
    mem_give((void *)(uintptr_t)tile.panels);
}

/* A scale that is not finite gives the same result in every table and way. */
static void check_scales(const struct cpu_kernels *kernels, enum dtype dtype, struct rng *rng)
{
    static float want[OUT], got[OUT];
    struct cpu_form form = cpu_pack_form(dtype);
    const uint16_t strange[] = { form.has_bf16 ? 0x7FC0 : 0x7C00, form.has_bf16 ? 0x20 : 0xFC00,
                                 form.has_bf16 ? 0x7FC0 : 0x7E00 }; /* infinite, tiny, NaN */
    struct cpu_tile tile = random_tile(dtype, rng);
    unsigned char *panel = (unsigned char *)(uintptr_t)tile.panels;
    for (int o = 0; o < cpu_form_head(form) / 2; o += 5)
        memcpy(panel + 2 * (size_t)o, &strange[o % 3], 2);
    tile.n_panels = 1;
    tile.n_rows = CPU_TILE_ROWS;
    tile.groups = grouped(kernels, dtype, &tile);
    tile.group_stride = COLUMNS / 32 * kernels->group_bytes;
    tile.out = want;
    cpu_generic.matmul[dtype](&tile);
    tile.out = got;
    for (int way = 0; way < WAYS; way++) {
        if (way == MANY && kernels->matmul_many[dtype] == NULL)
            continue;
        multiply(kernels, dtype, tile, (enum way)way);
        for (int i = 0; i < OUT; i++) /* a NaN's sign and payload do not matter */
            if (i / CPU_PANEL % CPU_TILE_PANELS == 0)
                assert_true(want[i] == got[i] ||
                            (__builtin_isnan(want[i]) && __builtin_isnan(got[i])));
    }
    mem_give((void *)(uintptr_t)tile.groups);
    mem_give(panel);
}

static void check_quantize(const struct cpu_kernels *kernels, struct rng *rng)
{
    static float x[VALUES];
    static struct cpu_block blocks[2][VALUES / 32];
    fill(rng, x, VALUES);
    for (int i = 0; i < 32; i++) { /* the rare ones: zero, tiny, infinite, NaN, ties */
        x[i] = 0;
        x[32 + i] = 1e-41f;
    }
    for (int i = 128; i < VALUES; i += 32) { /* at and near the middle of two integers */
        float scale = i == 128 ? 1.0f : (float)(rng_unit(rng) + 0.01);
        x[i] = 127.0f * scale;
        for (int j = 1; j < 32 && i % 64 == 0; j++) {
            uint32_t bits = vmath_bits(((float)rng_below(rng, 127) + 0.5f) * scale);
            x[i + j] = vmath_of_bits(bits + (uint32_t)rng_below(rng, 9) - 4);
            x[i + j] = j % 2 == 0 ? x[i + j] : -x[i + j];
        }
    }
    x[64] = vmath_of_bits(0x7F800000u);
    x[96] = -nan_value;
    cpu_generic.quantize(x, VALUES, blocks[0]);
    kernels->quantize(x, VALUES, blocks[1]);
    for (int i = 0; i < VALUES / 32; i++) { /* a NaN's sign and payload do not matter */
        if (__builtin_isnan(blocks[0][i].scale)) {
            assert_true(__builtin_isnan(blocks[0][i].sum) && __builtin_isnan(blocks[1][i].sum));
            blocks[0][i].sum = blocks[1][i].sum = 0;
        }
    }
    assert_memory_equal(blocks[0], blocks[1], sizeof(blocks[0]));
}

static void check_rows(const struct cpu_kernels *kernels, struct rng *rng)
{
    static float x[VALUES], y[VALUES], z[VALUES], want[VALUES], got[VALUES];
    static uint16_t halves[2][VALUES];
    for (int n = 1; n <= 100; n += n < 36 ? 1 : 23) {
        fill(rng, x, VALUES);
        fill(rng, y, VALUES);
        fill(rng, z, VALUES);
        for (int i = 0; i < 4; i++) {
            struct cpu_norm norm = { y, i & 1 ? z : NULL, n, 1e-5f, i & 2 };
            memset(want, 0, sizeof(want));
            memset(got, 0, sizeof(got));
            cpu_generic.norm(&norm, x, want);
            kernels->norm(&norm, x, got);
            assert_memory_equal(want, got, sizeof(want));
            memcpy(want, x, sizeof(want));
            memcpy(got, x, sizeof(got));
            cpu_generic.act(i, want, n);
            kernels->act(i, got, n);
            cpu_generic.multiply(y, want, n);
            kernels->multiply(y, got, n);
            cpu_generic.add(z, want, n);
            kernels->add(z, got, n);
            cpu_generic.scale(want, 0.7f, want, n);
            kernels->scale(got, 0.7f, got, n);
            (i & 1 ? cpu_generic.rotate_halves : cpu_generic.rotate_pairs)(want, y, n);
            (i & 1 ? kernels->rotate_halves : kernels->rotate_pairs)(got, y, n);
            assert_memory_equal(want, got, sizeof(want));
        }
        cpu_generic.to_half(x, n, halves[0]);
        kernels->to_half(x, n, halves[1]);
        assert_memory_equal(halves[0], halves[1], sizeof(halves[0]));
    }
}

static void check_softmax(const struct cpu_kernels *kernels, struct rng *rng)
{
    for (int i = 0; i < 100; i++) {
        float want[CPU_PIECE], got[CPU_PIECE], max[2];
        int first = (int)rng_below(rng, CPU_PIECE);
        int last = first + (int)rng_below(rng, (uint32_t)(CPU_PIECE - first));
        for (int t = 0; t < CPU_PIECE; t++)
            want[t] = t < first || t > last ? nan_value : (float)(rng_normal(rng) * 9);
        memcpy(got, want, sizeof(want));
        float sum = cpu_generic.softmax(want, first, last, &max[0]);
        assert_true(sum >= 1.0f && sum == kernels->softmax(got, first, last, &max[1]));
        assert_true(max[0] == max[1]);
        assert_memory_equal(want + first, got + first, (size_t)(last - first + 1) * 4);
    }
}

static void check_merge(const struct cpu_kernels *kernels, struct rng *rng)
{
    enum { N = 133 };
    for (int i = 0; i < 50; i++) {
        float out[3][N], max[3], sum[3]; /* wanted, got, merged with these */
        struct cpu_part parts[3];
        int32_t n = 1 + (int32_t)rng_below(rng, N);
        for (int j = 0; j < 3; j++) {
            parts[j] = (struct cpu_part){ &max[j], &sum[j], out[j] };
            fill(rng, out[j], N);
            max[j] = (float)(rng_normal(rng) * 9);
            sum[j] = 1.0f + (float)rng_below(rng, 100);
        }
        max[1] = max[0];
        sum[1] = sum[0];
        memcpy(out[1], out[0], sizeof(out[0]));
        cpu_generic.merge(&parts[0], &parts[2], n);
        kernels->merge(&parts[1], &parts[2], n);
        assert_true(max[0] == max[1] && sum[0] == sum[1]);
        assert_memory_equal(out[0], out[1], sizeof(out[0]));
    }
}

/* A run of rows, NaN behind them. */
static void fill_rows(struct rng *rng, const struct cpu_run *run, unsigned char *rows,
                      size_t n_bytes)
{
    memset(rows, 0xFF, n_bytes);
    for (int32_t j = 0; j < run->n * run->head_dim; j++) {
        float value = (float)rng_normal(rng);
        uint16_t half = half_from_float(value);
        if (run->dtype == DTYPE_Q8_0)
            rows[j] = (unsigned char)((int)rng_below(rng, 255) - 127);
        else if (run->dtype == DTYPE_F16)
            memcpy(rows + 2 * j, &half, 2);
        else
            memcpy(rows + 4 * j, &value, 4);
    }
}

/* Scales of Q8_0, NaN behind those of each block's rows; queries lie as floats, or quantized. */
static void fill_scales(struct rng *rng, const struct cpu_run *run, uint16_t *scales,
                        size_t n_bytes)
{
    memset(scales, 0xFF, n_bytes);
    for (int32_t block = 0; block < run->head_dim / 32; block++)
        for (int32_t t = 0; t < run->n; t++)
            scales[(size_t)block * run->scale_stride + (size_t)t] =
                half_from_float((float)rng_unit(rng) * 0.1f);
}

static void check_attention_of(const struct cpu_kernels *kernels, struct cpu_run *run,
                               float *queries)
{
    enum { HEAD_MAX = 128 };
    static float out[2][CPU_QUERIES * HEAD_MAX], probabilities[2][CPU_QUERIES * CPU_PIECE];
    static _Alignas(64) struct cpu_block blocks[CPU_QUERIES * HEAD_MAX / 16];
    const struct cpu_kernels *both[2] = { &cpu_generic, kernels };
    for (int j = 0; j < 2; j++) {
        memset(probabilities[j], 0, sizeof(probabilities[j]));
        memset(out[j], 0, sizeof(out[j]));
        run->probabilities = probabilities[j];
        if (run->dtype == DTYPE_Q8_0) {
            for (int32_t i = 0; i < run->n_queries; i++)
                both[j]->quantize(queries + i * run->stride, run->head_dim,
                                  blocks + i * cpu_run_blocks(run));
            both[j]->scores_q8_0(run, blocks, 0.125f);
        } else {
            both[j]->scores(run, queries, 0.125f);
        }
        both[j]->mix(run, out[j]);
    }
    assert_memory_equal(probabilities[0], probabilities[1], sizeof(probabilities[0]));
    assert_memory_equal(out[0], out[1], sizeof(out[0]));
}

/* Runs of positions: any length, head size and number of queries. */
static void check_attention(const struct cpu_kernels *kernels, struct rng *rng)
{
    enum { HEAD_MAX = 128, RUN_MAX = 37 };
    static float queries[CPU_QUERIES * HEAD_MAX], scratch[CPU_RUN_ROWS * HEAD_MAX];
    static float rows[RUN_MAX * HEAD_MAX + 16];
    static uint16_t scales[HEAD_MAX / 32 * 40];
    static const enum dtype dtypes[] = { DTYPE_F32, DTYPE_F16, DTYPE_Q8_0 };
    for (int i = 0; i < 450; i++) {
        struct cpu_run run = { .rows = (const unsigned char *)rows,
                               .scales = scales,
                               .dtype = dtypes[i % 3],
                               .ahead_bytes = 64,
                               .ahead = (const unsigned char *)rows,
                               .scratch = scratch };
        run.head_dim = 1 + (int32_t)rng_below(rng, HEAD_MAX);
        run.head_dim = i % 2 == 0 ? (run.head_dim + 15) & ~15 : run.head_dim;
        run.head_dim = i % 7 == 0 ? 64 : i % 7 == 1 ? 128 : run.head_dim;
        if (run.dtype == DTYPE_Q8_0)
            run.head_dim = (run.head_dim + 31) & ~31;
        run.stride = (run.head_dim + 15) & ~15;
        run.n = 1 + (int32_t)rng_below(rng, RUN_MAX);
        run.n_queries = i % 5 == 0 ? 1 : 1 + (int32_t)rng_below(rng, CPU_QUERIES);
        run.scale_stride = (size_t)run.n + rng_below(rng, 4);
        fill_rows(rng, &run, (unsigned char *)rows, sizeof(rows));
        fill_scales(rng, &run, scales, sizeof(scales));
        memset(queries, 0, sizeof(queries));
        for (int32_t j = 0; j < run.n_queries; j++)
            fill(rng, queries + j * run.stride, run.head_dim);
        check_attention_of(kernels, &run, queries);
    }
}

/* Two rows of 32 bytes, worked out by hand. */
static void q8_0_means_bytes_times_scales(void **state)
{
    (void)state;
    static float query[32] = { 127, -64 }, out[32], p[CPU_PIECE], scratch[CPU_RUN_ROWS * 32];
    static const int8_t rows[2][32] = { { 127, 2 }, { -3, 100 } };
    static const uint16_t scales[2] = { 0x3800, 0x3400 }; /* 0.5, 0.25 */
    static _Alignas(64) struct cpu_block blocks[2];
    const struct cpu_run run = { .rows = (const unsigned char *)rows,
                                 .ahead = (const unsigned char *)rows,
                                 .scales = scales,
                                 .scale_stride = 2,
                                 .dtype = DTYPE_Q8_0,
                                 .n = 2,
                                 .head_dim = 32,
                                 .stride = 32,
                                 .n_queries = 1,
                                 .probabilities = p,
                                 .scratch = scratch };
    for (int isa = 0; isa <= (int)cpu_isa_best(); isa++) {
        struct cpu_kernels kernels;
        cpu_isa_kernels((enum cpu_isa)isa, &kernels);
        kernels.quantize(query, 32, blocks); /* scale 1 */
        kernels.scores_q8_0(&run, blocks, 2.0f);
        assert_true(p[0] == 2 * 0.5f * (127 * 127 - 64 * 2));
        assert_true(p[1] == 2 * 0.25f * (127 * -3 - 64 * 100));
        memset(out, 0, sizeof(out));
        p[0] = 1;
        p[1] = 4;
        kernels.mix(&run, out);
        assert_true(out[0] == 127 * 0.5f + 4 * -3 * 0.25f);
        assert_true(out[1] == 2 * 0.5f + 4 * 100 * 0.25f);
        assert_true(out[2] == 0);
    }
}

enum { LOGITS = 600 };

struct drawn {
    float highest, tops[LOGITS / 16], values[3][LOGITS + COMPUTE_DRAW_BLOCK];
    int32_t ids[3][LOGITS + COMPUTE_DRAW_BLOCK], weights[3][LOGITS + COMPUTE_DRAW_BLOCK];
    int32_t n[3];
    int64_t sums[4];
};

static void draw_all(const struct compute_draw *draw, const float *logits, int32_t n,
                     struct compute_draw_limit limit, struct drawn *out)
{
    struct compute_draw_list lists[3];
    memset(out, 0, sizeof(*out));
    for (int i = 0; i < 3; i++)
        lists[i] = (struct compute_draw_list){ 0, out->ids[i], out->weights[i], out->values[i] };
    out->highest = draw->highest(logits, n);
    draw->tops(logits, n, out->tops);
    out->sums[0] = draw->weigh(logits, n, &limit, &lists[0]);
    out->sums[1] = draw->sum(lists[0].weights, lists[0].n);
    const struct compute_draw_list once = { lists[0].n, .values = lists[0].values };
    float low = lists[0].n > 0 ? lists[0].values[lists[0].n / 2] : 0, high = low + 0.5F;
    out->sums[2] = draw->split(&lists[0], low, high, &lists[1]);
    lists[2].weights = NULL;
    out->sums[3] = draw->split(&once, low, high, &lists[2]);
    for (int i = 0; i < 3; i++)
        out->n[i] = lists[i].n;
    for (int i = 0; i < 3; i++) { /* values behind it do not count */
        size_t rest = (size_t)(LOGITS + COMPUTE_DRAW_BLOCK - out->n[i]) * 4;
        memset(out->ids[i] + out->n[i], 0, rest);
        memset(out->weights[i] + out->n[i], 0, rest);
        memset(out->values[i] + out->n[i], 0, rest);
    }
}

static void check_draw(const struct cpu_kernels *kernels, struct rng *rng)
{
    static struct drawn drawn[2];
    static float logits[LOGITS];
    for (int round = 0; round < 2000; round++) {
        int32_t n = 1 + (int32_t)rng_below(rng, LOGITS);
        int32_t steps = (int32_t)rng_below(rng, 3) * 4; /* many equals, or none */
        fill(rng, logits, n);
        for (int32_t i = 0; i < n; i++) {
            if (steps > 0)
                logits[i] = (float)(int32_t)(logits[i] * (float)steps) / (float)steps;
            if (round % 3 == 0 && rng_below(rng, 5) == 0)
                logits[i] = rng_below(rng, 2) ? nan_value : -__builtin_inff();
        }
        struct compute_draw_limit limit = { cpu_generic.draw->highest(logits, n),
                                            (float)(rng_unit(rng) * 3), -COMPUTE_DRAW_NEGLIGIBLE,
                                            round % 4 == 0 ? 0.25F : -__builtin_inff(), logits };
        draw_all(cpu_generic.draw, logits, n, limit, &drawn[0]);
        draw_all(kernels->draw, logits, n, limit, &drawn[1]);
        assert_memory_equal(&drawn[0], &drawn[1], sizeof(drawn[0]));
        assert_true(drawn[0].sums[0] == drawn[0].sums[1]);
    }
}

static void check(enum cpu_isa isa)
{
    struct cpu_kernels kernels;
    struct rng rng;
    rng_init(&rng, test_seed(3), (uint64_t)isa);
    cpu_isa_kernels(isa, &kernels);
    for (int dtype = 0; dtype < DTYPE_N; dtype++)
        check_matmul(&kernels, (enum dtype)dtype, &rng);
    for (int dtype = 0; dtype < DTYPE_N; dtype++)
        if (kernels.widen[dtype] != NULL && dtype_info((enum dtype)dtype)->is_integer)
            check_scales(&kernels, (enum dtype)dtype, &rng);
    for (int dtype = 0; dtype < DTYPE_N; dtype++)
        if (kernels.is_split[dtype])
            check_halves(&kernels, (enum dtype)dtype, &rng);
    for (int i = 0; i < 100; i++)
        check_quantize(&kernels, &rng);
    check_rows(&kernels, &rng);
    check_softmax(&kernels, &rng);
    check_merge(&kernels, &rng);
    check_attention(&kernels, &rng);
    check_draw(&kernels, &rng);
}

static void avx2_kernels_equal_generic(void **state)
{
    (void)state;
    if (cpu_isa_best() < CPU_ISA_AVX2)
        TEST_SKIP("this CPU has no AVX2");
    check(CPU_ISA_AVX2);
}

static void avx512_kernels_equal_generic(void **state)
{
    (void)state;
    if (cpu_isa_best() < CPU_ISA_AVX512)
        TEST_SKIP("this CPU has no AVX-512 VNNI");
    check(CPU_ISA_AVX512);
}

static void zen4_kernels_equal_generic(void **state)
{
    (void)state;
    if (cpu_isa_best() < CPU_ISA_AVX512)
        TEST_SKIP("this CPU has no AVX-512 VNNI");
    check(CPU_ISA_ZEN4);
}

static void amx_kernels_equal_generic(void **state)
{
    (void)state;
    if (cpu_isa_best() < CPU_ISA_AMX)
        TEST_SKIP("this CPU has no AMX, or it is not allowed");
    check(CPU_ISA_AMX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(q8_0_means_bytes_times_scales),
        cmocka_unit_test(avx2_kernels_equal_generic),
        cmocka_unit_test(avx512_kernels_equal_generic),
        cmocka_unit_test(zen4_kernels_equal_generic),
        cmocka_unit_test(amx_kernels_equal_generic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
