/* Products of both classes, for every type and at the edges of every tile.
 *
 * Integers and few rows are compared bit for bit with loops that have the order of summation that
 * the headers state. Such a loop knows one row and one output alone, so equal bits also mean that a
 * row depends neither on its neighbours nor on the number of rows. Products of halves by tensor
 * cores are compared with sums in double, and with themselves among other rows. */
#include "cuda/matrix.h"

#include "base/half.h"
#include "base/mem.h"
#include "compute/quant.h"
#include "compute/vmath.h"
#include "ops/toy.h"
#include "pieces.h"

struct shape {
    int32_t n_rows, n_columns, n_outputs;
};

struct wanted { /* variants of a product */
    bool has_bias, has_act, adds, has_rows;
};

/* ---- The stated orders of summation. ---- */

struct row { /* activations as integers */
    int8_t *q;
    float *scales;
};

static float add_block(float acc, const struct quant_block *block, int32_t at, const int8_t *q,
                       float x_scale)
{
    for (int32_t k = at; k < at + 32; k += block->n_sub) {
        int32_t sum = 0, sum_q = 0, sub = k / block->n_sub;
        for (int32_t i = k; i < k + block->n_sub; i++) {
            sum += block->values[i] * q[i - at];
            sum_q += q[i - at];
        }
        acc = vmath_fma((float)sum * vmath_finite(quant_scale(block, sub)), x_scale, acc);
        if (block->has_minimum)
            acc = vmath_fma(quant_minimum(block, sub), x_scale * (float)sum_q, acc);
    }
    return acc;
}

static float fold32(float partial[32])
{
    for (int o = 16; o > 0; o /= 2)
        for (int i = 0; i < o; i++)
            partial[i] += partial[i + o];
    return partial[0];
}

static float dot_blocks(const struct tensor *w, int32_t output, const float *x,
                        enum cuda_class row_class)
{
    const struct dtype_info *info = dtype_info(w->dtype);
    const unsigned char *from = (const unsigned char *)w->data + output * w->row_bytes;
    float partial[32] = { 0 };
    for (int32_t k = 0; k < w->n_columns; k += 32) {
        struct quant_block block;
        int8_t q[32];
        float scale = quant_activations(x + k, q);
        float *acc = &partial[row_class == CUDA_CLASS_FEW ? k / 32 % 32 : 0];
        quant_block_decode(w->dtype, from + k / info->n_block * info->block_bytes, &block);
        *acc = add_block(*acc, &block, k % info->n_block, q, scale);
    }
    return row_class == CUDA_CLASS_FEW ? fold32(partial) : partial[0];
}

static float dot_floats(const float *w, const float *x, int32_t n)
{
    float partial[32] = { 0 };
    for (int32_t k = 0; k < (n + 7) / 8 * 8; k++) {
        float *acc = &partial[k / 8 % 32];
        *acc = vmath_fma(k < n ? w[k] : 0.0f, k < n ? x[k] : 0.0f, *acc);
    }
    return fold32(partial);
}

static float act_of(int32_t act, float x)
{
    return act == 0   ? vmath_silu(x)
           : act == 1 ? vmath_gelu_tanh(x)
           : act == 2 ? vmath_gelu_erf(x)
                      : vmath_relu(x);
}

/* ---- A product on the emulated device. ---- */

struct run {
    struct tensor weight;
    struct cuda_matrix matrix;
    struct cuda_product product;
    struct cuda_rows before; /* a copy of dst */
    float *bias;
    int32_t *rows;
    void *prepared;
};

static void open_run(struct run *run, enum dtype dtype, struct shape shape, struct rng *rng)
{
    *run = (struct run){ .weight = toy_tensor(dtype, shape.n_outputs, shape.n_columns, 3) };
    run->matrix = piece_matrix(&run->weight);
    run->product.weight = run->matrix;
    run->product.src = piece_random(shape.n_rows, shape.n_columns, rng);
    run->product.dst = piece_random(shape.n_rows, shape.n_outputs, rng);
    run->before = piece_rows(shape.n_rows, shape.n_outputs);
    run->bias = emulate_take((size_t)shape.n_outputs * sizeof(float));
    run->rows = emulate_take((size_t)shape.n_rows * sizeof(int32_t));
    for (int32_t i = 0; i < shape.n_outputs; i++)
        run->bias[i] = (float)rng_normal(rng);
    for (int32_t i = 0; i < shape.n_rows; i++)
        run->rows[i] = shape.n_rows - 1 - i;
}

static void close_run(struct run *run)
{
    mem_give((void *)(uintptr_t)run->weight.data);
    piece_give_matrix(run->matrix);
    emulate_give(run->product.src.at);
    emulate_give(run->product.dst.at);
    emulate_give(run->before.at);
    emulate_give(run->bias);
    emulate_give(run->rows);
}

/* Computes the first n_rows of the list, or all. */
static void multiply(struct run *run, enum cuda_class row_class, struct wanted wanted)
{
    struct cuda_product *p = &run->product;
    enum cuda_prepared kind = cuda_matrix_wants(p->weight.type, row_class);
    size_t n_bytes = cuda_matrix_prepared_bytes(kind, p->src.n_rows, p->src.width);
    for (int32_t r = 0; r < p->dst.n_rows; r++)
        memcpy(run->before.at + r * run->before.stride, p->dst.at + r * p->dst.stride,
               (size_t)p->dst.width * sizeof(float));
    run->prepared = n_bytes > 0 ? emulate_take(n_bytes) : NULL;
    assert_true(cuda_matrix_prepare(NULL, &p->src, kind, run->prepared));
    p->prepared = run->prepared;
    p->n_rows = p->src.n_rows;
    p->rows = wanted.has_rows ? run->rows : NULL;
    p->bias = wanted.has_bias ? run->bias : NULL;
    p->has_act = wanted.has_act;
    p->adds = wanted.adds;
    p->row_class = row_class;
    assert_true(cuda_matrix_product(NULL, p));
    if (run->prepared != NULL)
        emulate_give(run->prepared);
}

static float finished(const struct run *run, int32_t row, int32_t output, float sum)
{
    const struct cuda_product *p = &run->product;
    if (p->bias != NULL)
        sum += p->bias[output];
    if (p->has_act)
        sum = act_of(p->act, sum);
    return p->adds ? run->before.at[row * run->before.stride + output] + sum : sum;
}

static void compare_bits(const struct run *run)
{
    const struct cuda_product *p = &run->product;
    const struct tensor *w = &run->weight;
    bool is_integer = dtype_info(w->dtype)->is_integer;
    float *weights = mem_take((size_t)w->n_columns * sizeof(float));
    for (int32_t output = 0; output < w->n_rows; output++) {
        quant_row_to_float(w, output, weights);
        for (int32_t r = 0; r < p->src.n_rows; r++) {
            const float *x = p->src.at + r * p->src.stride;
            float sum = is_integer ? dot_blocks(w, output, x, p->row_class)
                                   : dot_floats(weights, x, w->n_columns);
            float want = finished(run, r, output, sum), got = p->dst.at[r * p->dst.stride + output];
            if (vmath_bits(want) != vmath_bits(got) && (want == want || got == got))
                fail_msg("%s, class %d, %d rows of %d: row %d, output %d: %.9g, not %.9g",
                         dtype_info(w->dtype)->name, (int)p->row_class, p->src.n_rows, w->n_columns,
                         r, output, (double)got, (double)want);
        }
    }
    mem_give(weights);
}

static void check_bits(enum dtype dtype, struct shape shape, enum cuda_class row_class,
                       struct wanted wanted)
{
    struct rng rng;
    struct run run;
    rng_init(&rng, (uint64_t)shape.n_rows * 1000 + (uint64_t)dtype, 1);
    open_run(&run, dtype, shape, &rng);
    run.product.act = shape.n_rows % 4;
    multiply(&run, row_class, wanted);
    compare_bits(&run);
    close_run(&run);
}

/* ---- Few rows. ---- */

static void few_rows_have_the_stated_bits(void **state)
{
    static const int32_t n_rows[] = { 1, 2, 3, 4, 5, 8, 9, 17, 64 };
    (void)state;
    for (int dtype = 0; dtype < (int)CUDA_TYPES; dtype++)
        for (size_t i = 0; i < COUNT_OF(n_rows); i++) {
            if (dtype == DTYPE_F16 || dtype == DTYPE_BF16)
                continue; /* tensor cores: see below */
            int32_t n_columns = dtype_info((enum dtype)dtype)->n_block == 256 ? 512 : 32 * 37;
            struct shape shape = { n_rows[i], n_columns, 2 + (int32_t)i * 3 };
            emulate_seed(i + 1);
            check_bits((enum dtype)dtype, shape, CUDA_CLASS_FEW,
                       (struct wanted){ i & 1, i & 2, i & 4, i % 3 == 1 });
        }
}

/* One column to a lane's chunk, a warp's chunks, and one more. */
static void few_rows_meet_every_tail(void **state)
{
    static const int32_t n_columns[] = { 1, 7, 8, 9, 31, 172, 255, 256, 257, 264 };
    static const int32_t blocks[] = { 1, 2, 31, 32, 33, 65 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(n_columns); i++)
        check_bits(DTYPE_F32, (struct shape){ 3, n_columns[i], 15 + (int32_t)i }, CUDA_CLASS_FEW,
                   (struct wanted){ 0 });
    for (int dtype = DTYPE_Q8_0; dtype < (int)CUDA_TYPES; dtype++)
        for (size_t i = 0; i < COUNT_OF(blocks); i++) {
            int32_t n_block = dtype_info((enum dtype)dtype)->n_block;
            struct shape shape = { 2, blocks[i] * 32, 7 + (int32_t)i };
            if (n_block == 256)
                shape.n_columns = 256 * (1 + (int32_t)i % 3);
            check_bits((enum dtype)dtype, shape, CUDA_CLASS_FEW, (struct wanted){ 0 });
            /* The kernel of more than 8 rows: tiles of 16 and 32 rows, 16 outputs. */
            shape.n_rows = i % 2 ? 33 : 15 + (int32_t)i / 2;
            shape.n_outputs = 15 + (int32_t)i % 3 * (i < 3 ? 1 : 9);
            check_bits((enum dtype)dtype, shape, CUDA_CLASS_FEW, (struct wanted){ 0 });
        }
}

/* ---- Many rows of integers. ---- */

static void many_rows_of_integers_have_the_processors_bits(void **state)
{
    static const struct shape shapes[] = {
        { 1, 32, 2 },    { 2, 96, 127 },  { 17, 64, 128 }, { 63, 160, 129 },
        { 64, 256, 31 }, { 65, 288, 33 }, { 129, 64, 8 },
    };
    (void)state;
    for (int dtype = DTYPE_Q8_0; dtype < (int)CUDA_TYPES; dtype++)
        for (size_t i = 0; i < COUNT_OF(shapes); i++) {
            struct shape shape = shapes[i];
            if (dtype_info((enum dtype)dtype)->n_block == 256)
                shape.n_columns = i == 4 ? 512 : 256;
            if (i > 3 && (int)i % 3 != dtype % 3)
                continue; /* the large ones for a third of the types each */
            emulate_seed(i + 1);
            check_bits((enum dtype)dtype, shape, CUDA_CLASS_MANY,
                       (struct wanted){ i & 1, i & 2, i & 4, i % 3 == 1 });
        }
}

/* F32 has one kernel for both classes. */
static void many_rows_of_f32_are_few_rows(void **state)
{
    (void)state;
    check_bits(DTYPE_F32, (struct shape){ 33, 172, 40 }, CUDA_CLASS_MANY, (struct wanted){ 0 });
}

/* ---- Halves. ---- */

/* An activation is rounded to 11 bits (F16) or 8 (BF16), or to twice as many. */
static void compare_with_double(const struct run *run)
{
    const struct cuda_product *p = &run->product;
    const struct tensor *w = &run->weight;
    double unit = w->dtype == DTYPE_F16 ? 0x1p-11 : 0x1p-8;
    if (p->row_class == CUDA_CLASS_FEW)
        unit *= unit; /* an activation is the sum of two */
    float *weights = mem_take((size_t)w->n_columns * sizeof(float));
    for (int32_t output = 0; output < w->n_rows; output++) {
        quant_row_to_float(w, output, weights);
        for (int32_t r = 0; r < p->src.n_rows; r++) {
            const float *x = p->src.at + r * p->src.stride;
            double sum = 0, size = 0;
            for (int32_t k = 0; k < w->n_columns; k++) {
                sum += (double)weights[k] * (double)x[k];
                size += __builtin_fabs((double)weights[k] * (double)x[k]);
            }
            double got = (double)p->dst.at[r * p->dst.stride + output];
            if (!(__builtin_fabs(got - sum) <= size * (unit + w->n_columns * 0x1p-23)))
                fail_msg("%s, %d rows of %d: row %d, output %d: %g, not %g",
                         dtype_info(w->dtype)->name, p->src.n_rows, w->n_columns, r, output, got,
                         sum);
        }
    }
    mem_give(weights);
}

static void check_halves(enum dtype dtype, struct shape shape, enum cuda_class row_class,
                         bool has_rows)
{
    struct rng rng;
    struct run run;
    rng_init(&rng, (uint64_t)shape.n_rows, 1);
    emulate_seed((uint64_t)shape.n_rows);
    open_run(&run, dtype, shape, &rng);
    multiply(&run, row_class, (struct wanted){ .has_rows = has_rows });
    compare_with_double(&run);
    close_run(&run);
}

static void few_rows_of_halves_are_right(void **state)
{
    static const struct shape shapes[] = {
        { 1, 1, 2 },    { 1, 1184, 17 }, { 2, 8, 15 },   { 7, 31, 16 },  { 8, 32, 33 },
        { 9, 255, 16 }, { 16, 257, 31 }, { 17, 264, 5 }, { 64, 40, 18 }, { 65, 288, 16 },
    };
    (void)state;
    for (int dtype = DTYPE_F16; dtype <= DTYPE_BF16; dtype++)
        for (size_t i = 0; i < COUNT_OF(shapes); i++)
            check_halves((enum dtype)dtype, shapes[i], CUDA_CLASS_FEW, i % 2);
}

static void many_rows_of_halves_are_right(void **state)
{
    static const struct shape shapes[] = {
        { 1, 1, 2 },     { 2, 8, 127 },   { 17, 31, 128 }, { 127, 33, 129 },
        { 128, 64, 31 }, { 129, 96, 33 }, { 5, 264, 64 },
    };
    (void)state;
    for (int dtype = DTYPE_F16; dtype <= DTYPE_BF16; dtype++)
        for (size_t i = 0; i < COUNT_OF(shapes); i++)
            check_halves((enum dtype)dtype, shapes[i], CUDA_CLASS_MANY, i % 2);
}

/* The bits of a row alone, compared with its bits among others. */
static void check_alone(struct run *run, enum cuda_class row_class, int32_t row)
{
    struct cuda_product *p = &run->product;
    struct cuda_rows all = p->dst, src = p->src;
    struct run alone = *run;
    alone.product.src = piece_rows(1, src.width);
    alone.product.dst = piece_rows(1, all.width);
    memcpy(alone.product.src.at, src.at + row * src.stride, (size_t)src.width * sizeof(float));
    multiply(&alone, row_class, (struct wanted){ 0 });
    assert_memory_equal(alone.product.dst.at, all.at + row * all.stride,
                        (size_t)all.width * sizeof(float));
    emulate_give(alone.product.src.at);
    emulate_give(alone.product.dst.at);
}

/* One of the other rows is full of NaN. */
static void a_row_of_halves_does_not_depend_on_its_neighbours(void **state)
{
    static const int32_t n_rows[] = { 2, 8, 9, 17, 33, 65, 127, 128, 129 };
    (void)state;
    for (int32_t variant = 0; variant < 4; variant++)
        for (size_t i = 0; i < COUNT_OF(n_rows); i++) {
            struct rng rng;
            struct run run;
            enum cuda_class row_class = variant / 2 == 0 ? CUDA_CLASS_FEW : CUDA_CLASS_MANY;
            rng_init(&rng, i, 1);
            open_run(&run, DTYPE_F16 + (enum dtype)(variant % 2),
                     (struct shape){ n_rows[i], 104, 20 }, &rng);
            run.product.src.at[(n_rows[i] / 2) * run.product.src.stride] = __builtin_nanf("");
            multiply(&run, row_class, (struct wanted){ 0 });
            check_alone(&run, row_class, 0);
            if (n_rows[i] > 2)
                check_alone(&run, row_class, n_rows[i] - 1);
            close_run(&run);
        }
}

/* Magnitudes that no half can hold, and rows of zeros. */
static void rows_of_any_magnitude_become_halves(void **state)
{
    static const float sizes[] = { 0.0f, 1e-38f, 1e-30f, 1e-6f, 70000.0f, 1e20f, 1e36f };
    (void)state;
    struct rng rng;
    struct run run;
    rng_init(&rng, 1, 1);
    open_run(&run, DTYPE_F16, (struct shape){ COUNT_OF(sizes), 40, 9 }, &rng);
    struct cuda_rows src = run.product.src;
    for (int32_t r = 0; r < src.n_rows; r++)
        for (int32_t k = 0; k < src.width; k++)
            src.at[r * src.stride + k] = sizes[r] * (0.5f + 0.0125f * (float)k);
    for (int row_class = 0; row_class < 2; row_class++) {
        multiply(&run, (enum cuda_class)row_class, (struct wanted){ 0 });
        for (int32_t output = 0; output < 9; output++)
            assert_true(run.product.dst.at[output] == 0.0f);
        compare_with_double(&run);
    }
    close_run(&run);
}

/* ---- Activations. ---- */

static void blocks_of_activations_are_the_processors(void **state)
{
    static const float odd[] = { 0.0f, -0.0f, 1e-45f, 1e-37f, 3e38f, -3e38f, __builtin_inff() };
    (void)state;
    struct rng rng;
    rng_init(&rng, 9, 1);
    for (int32_t width = 32; width <= 1056; width += 512) {
        struct cuda_rows src = piece_random(9, width, &rng);
        for (size_t i = 0; i < COUNT_OF(odd); i++)
            for (int k = 0; k < 32; k++)
                src.at[(int64_t)i * src.stride + k] = i == 4 || k == 5 ? odd[i] : 0.0f;
        src.at[7 * src.stride + 31] = __builtin_nanf("");
        unsigned char *to =
            emulate_take(cuda_matrix_prepared_bytes(CUDA_PREPARED_BLOCKS, src.n_rows, width));
        const struct cuda_block *blocks =
            (const struct cuda_block *)(const void *)(to +
                                                      cuda_matrix_prepared_at(CUDA_PREPARED_BLOCKS,
                                                                              src.n_rows, width));
        assert_true(cuda_matrix_prepare(NULL, &src, CUDA_PREPARED_BLOCKS, to));
        for (int32_t r = 0; r < src.n_rows; r++)
            for (int32_t k = 0; k < width; k += 32) {
                int8_t q[32];
                int32_t sums[2] = { 0, 0 };
                float scale = quant_activations(src.at + r * src.stride + k, q);
                const struct cuda_block *block = &blocks[(r * width + k) / 32];
                for (int i = 0; i < 32; i++)
                    sums[i / 16] += q[i];
                assert_memory_equal(to + r * width + k, q, 32);
                assert_true(vmath_bits(block->scale) == vmath_bits(scale));
                assert_int_equal(block->sums[0], sums[0]);
                assert_int_equal(block->sums[1], sums[1]);
            }
        emulate_give(to);
        emulate_give(src.at);
    }
}

/* Scales that are not finite, and blocks of zeros, as the CPU takes them. */
static void odd_scales_have_the_processors_bits(void **state)
{
    static const uint16_t odd[] = { 0x7C00, 0xFC00, 0x7E00, 0x0000, 0x0001, 0x7BFF };
    (void)state;
    struct rng rng;
    rng_init(&rng, 4, 1);
    for (int row_class = 0; row_class < 2; row_class++) {
        struct run run;
        open_run(&run, DTYPE_Q8_0, (struct shape){ 3, 64, COUNT_OF(odd) }, &rng);
        unsigned char *data = (unsigned char *)(uintptr_t)run.weight.data;
        for (size_t i = 0; i < COUNT_OF(odd); i++)
            memcpy(data + (int64_t)i * run.weight.row_bytes, &odd[i], 2);
        piece_give_matrix(run.matrix);
        run.matrix = run.product.weight = piece_matrix(&run.weight);
        multiply(&run, (enum cuda_class)row_class, (struct wanted){ 0 });
        compare_bits(&run);
        close_run(&run);
    }
}

static void wrong_shapes_are_refused(void **state)
{
    (void)state;
    struct rng rng;
    struct run run;
    rng_init(&rng, 1, 1);
    open_run(&run, DTYPE_F32, (struct shape){ 2, 32, 4 }, &rng);
    struct cuda_product p = run.product;
    p.n_rows = 2;
    p.src.width = 31;
    assert_false(cuda_matrix_product(NULL, &p));
    p = run.product;
    p.dst.width = 5;
    assert_false(cuda_matrix_product(NULL, &p));
    p = run.product;
    p.src.stride = 33;
    assert_false(cuda_matrix_product(NULL, &p));
    struct cuda_rows odd = { p.src.at, 36, 2, 20 };
    assert_false(cuda_matrix_prepare(NULL, &odd, CUDA_PREPARED_BLOCKS, run.bias));
    close_run(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_rows_have_the_stated_bits),
        cmocka_unit_test(few_rows_meet_every_tail),
        cmocka_unit_test(many_rows_of_integers_have_the_processors_bits),
        cmocka_unit_test(many_rows_of_f32_are_few_rows),
        cmocka_unit_test(few_rows_of_halves_are_right),
        cmocka_unit_test(many_rows_of_halves_are_right),
        cmocka_unit_test(a_row_of_halves_does_not_depend_on_its_neighbours),
        cmocka_unit_test(rows_of_any_magnitude_become_halves),
        cmocka_unit_test(blocks_of_activations_are_the_processors),
        cmocka_unit_test(odd_scales_have_the_processors_bits),
        cmocka_unit_test(wrong_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
