/* Attention of both kernels on the emulated device, against sums in double, and against itself: a
 * row's bits depend neither on its neighbours, nor on the layout of the cache, the size of its
 * blocks, the number of processors or the choice of tiles. */
#include "cuda/kernels.h"

#include "base/half.h"
#include "base/mem.h"
#include "base/num.h"
#include "compute/vmath.h"
#include "cache.h"

enum { LAYER = 1 };

struct attend_case {
    struct cache_shape shape;
    const struct cache_sequence *sequences;
    int n_sequences;
    int32_t group, window, n_processors;
    bool has_list;  /* rows in reverse, without the first */
    int32_t n_tile; /* rows of a tile at most, for the kernel of prompt rows; 0: the other one */
};

struct attend_run {
    struct attend_case c;
    struct cache cache;
    struct cuda_attend attend;
    int32_t n_positions;
};

/* The content of position t of a sequence follows from these numbers alone. */
static void fill_row(const struct cache *cache, int sequence, int part, int head, int32_t t)
{
    const struct compute_kv *kv = &cache->kv;
    size_t n = (size_t)kv->block_tokens, at = (size_t)(t % kv->block_tokens);
    size_t n_dims = (size_t)kv->head_dim;
    unsigned char *rows =
        compute_kv_rows(kv, &cache->sequences[sequence], t / kv->block_tokens, LAYER, part, head);
    struct rng rng;
    rng_init(&rng, (uint64_t)t * 8 + (uint64_t)part * 4 + (uint64_t)head, (uint64_t)sequence);
    for (size_t d = 0; d < n_dims; d++) {
        float x = (float)rng_normal(&rng);
        uint16_t half = half_from_float(x),
                 scale = half_from_float(0.01f + 0.001f * (float)(t % 9));
        if (kv->dtype == DTYPE_F32)
            memcpy(rows + (at * n_dims + d) * 4, &x, 4);
        else if (kv->dtype == DTYPE_F16)
            memcpy(rows + (at * n_dims + d) * 2, &half, 2);
        else
            rows[at * n_dims + d] = (unsigned char)(int8_t)(x * 40);
        if (kv->dtype == DTYPE_Q8_0)
            memcpy(rows + n * n_dims + 2 * (d / 32 * n + at), &scale, 2);
    }
}

static void launch_tiles(struct attend_run *run)
{
    struct cuda_tile *tiles = emulate_take((size_t)run->cache.n_rows * sizeof(*tiles));
    int32_t n = 0, n_tile = run->c.n_tile;
    for (int i = 0; i < run->c.n_sequences; i++) {
        const struct compute_sequence *s = &run->cache.sequences[i];
        for (int32_t r = 0; r < s->n_rows; r += n_tile)
            tiles[n++] = (struct cuda_tile){ s->first_row + r, min_i32(n_tile, s->n_rows - r) };
    }
    assert_true(cuda_kernels_attend_tiles(NULL, &run->attend, tiles, n));
    emulate_give(tiles);
}

static void open_run(struct attend_run *run, const struct attend_case *c)
{
    struct rng rng;
    *run = (struct attend_run){ .c = *c };
    rng_init(&rng, 1, 1);
    cache_open(&run->cache, &c->shape, c->sequences, c->n_sequences, &rng);
    for (int i = 0; i < c->n_sequences; i++) {
        int32_t n = c->sequences[i].n_before + c->sequences[i].n_rows;
        run->n_positions = max_i32(run->n_positions, n);
        for (int32_t t = 0; t < n; t++)
            for (int32_t at = 0; at < 2 * c->shape.n_kv_heads; at++)
                fill_row(&run->cache, i, at % 2, at / 2, t);
    }
    int32_t n_heads = c->group * c->shape.n_kv_heads, n_rows = run->cache.n_rows;
    rng_init(&rng, 5, 5);
    int32_t n_seen = c->window > 0 ? min_i32(c->window, run->n_positions) : run->n_positions;
    run->attend = (struct cuda_attend){
        .queries = piece_random(n_rows, n_heads * c->shape.head_dim, &rng),
        .dst = piece_rows(n_rows, n_heads * c->shape.head_dim),
        .n_rows = c->has_list ? n_rows - 1 : n_rows,
        .n_heads = n_heads,
        .layer = LAYER,
        .window = c->window,
        .n_positions_max = n_seen,
        .scale = (float)(1 / num_sqrt(c->shape.head_dim)),
        .batch = run->cache.batch,
        .cache = run->cache.cuda,
        .n_processors = c->n_processors,
    };
    if (c->has_list) {
        int32_t *rows = emulate_take((size_t)(n_rows - 1) * sizeof(int32_t));
        for (int32_t i = 0; i < n_rows - 1; i++)
            rows[i] = n_rows - 1 - i;
        run->attend.rows = rows;
    }
    if (c->n_tile > 0) {
        launch_tiles(run);
        return;
    }
    run->attend.scratch = emulate_take(cuda_kernels_attend_bytes(
        run->attend.n_rows, n_heads, c->shape.head_dim, run->attend.n_positions_max));
    assert_true(cuda_kernels_attend(NULL, &run->attend));
}

static void close_run(struct attend_run *run)
{
    emulate_give(run->attend.queries.at);
    emulate_give(run->attend.dst.at);
    if (run->attend.scratch != NULL)
        emulate_give(run->attend.scratch);
    if (run->attend.rows != NULL)
        emulate_give((void *)(uintptr_t)run->attend.rows);
    cache_close(&run->cache);
}

/* Rounds a row to halves, after a division by a power of two for queries. */
static void round_row(float *x, int32_t n, bool is_query)
{
    float top = 0, by = 1;
    for (int32_t d = 0; d < n; d++)
        top = __builtin_fabsf(x[d]) > top ? __builtin_fabsf(x[d]) : top;
    for (; is_query && top > 0 && top * by < 16384; by *= 2)
        continue;
    for (int32_t d = 0; d < n; d++)
        x[d] = half_to_float(half_from_float(x[d] * by)) / by;
}

/* One head of one row in double; `sizes` (n) is the same with the values' magnitudes. */
static void expect(const struct attend_run *run, int sequence, int32_t r, int32_t head, double *out,
                   double *sizes)
{
    const struct compute_sequence *s = &run->cache.sequences[sequence];
    const struct cuda_attend *a = &run->attend;
    int32_t n = run->c.shape.head_dim, last = s->n_before + r, kv_head = head / run->c.group;
    int32_t first = a->window > 0 ? max_i32(0, last - a->window + 1) : 0;
    float x[CUDA_HEAD_DIM_MAX], q[CUDA_HEAD_DIM_MAX];
    memcpy(q, a->queries.at + (s->first_row + r) * a->queries.stride + (int64_t)head * n,
           (size_t)n * sizeof(float));
    if (run->c.n_tile > 0)
        round_row(q, n, true);
    double *scores = mem_take((size_t)(last + 1) * sizeof(double)), top = -1e300, sum = 0;
    for (int32_t t = first; t <= last; t++) {
        cache_read(&run->cache, sequence, LAYER, 0, kv_head, t, x);
        if (run->c.n_tile > 0)
            round_row(x, n, false);
        scores[t] = 0;
        for (int32_t d = 0; d < n; d++)
            scores[t] += (double)q[d] * (double)x[d] * (double)a->scale;
        top = scores[t] > top ? scores[t] : top;
    }
    for (int32_t d = 0; d < n; d++)
        out[d] = sizes[d] = 0;
    for (int32_t t = first; t <= last; t++) {
        double weight = num_exp(scores[t] - top);
        cache_read(&run->cache, sequence, LAYER, 1, kv_head, t, x);
        if (run->c.n_tile > 0)
            round_row(x, n, false);
        sum += weight;
        for (int32_t d = 0; d < n; d++) {
            out[d] += weight * (double)x[d];
            sizes[d] += weight * __builtin_fabs((double)x[d]);
        }
    }
    for (int32_t d = 0; d < n; d++) {
        out[d] /= sum;
        sizes[d] /= sum;
    }
    mem_give(scores);
}

static void compare_with_double(const struct attend_run *run)
{
    double want[CUDA_HEAD_DIM_MAX], sizes[CUDA_HEAD_DIM_MAX];
    double unit = run->c.n_tile > 0 ? 0x1p-11 : 0; /* what weights are rounded to */
    int32_t n = run->c.shape.head_dim;
    const struct cuda_rows *dst = &run->attend.dst;
    for (int i = 0; i < run->c.n_sequences; i++)
        for (int32_t r = 0; r < run->cache.sequences[i].n_rows; r++)
            for (int32_t head = 0; head < run->attend.n_heads; head++) {
                int32_t row = run->cache.sequences[i].first_row + r;
                const float *got = dst->at + row * dst->stride + (int64_t)head * n;
                if (run->c.has_list && row == 0) {
                    assert_true(got[0] != got[0]); /* left alone */
                    continue;
                }
                expect(run, i, r, head, want, sizes);
                for (int32_t d = 0; d < n; d++)
                    if (!(__builtin_fabs((double)got[d] - want[d]) < unit * sizes[d] + 2e-5))
                        fail_msg("%s, %d dims, group %d, window %d, tiles of %d: sequence %d, row "
                                 "%d, head %d, dim %d: %.8g, not %.8g",
                                 dtype_info(run->c.shape.dtype)->name, n, run->c.group,
                                 run->c.window, run->c.n_tile, i, r, head, d, (double)got[d],
                                 want[d]);
            }
}

static void check(const struct attend_case *c)
{
    struct attend_run run;
    open_run(&run, c);
    compare_with_double(&run);
    close_run(&run);
}

static const enum dtype dtypes[] = { DTYPE_F32, DTYPE_F16, DTYPE_Q8_0 };

static void every_head_is_right(void **state)
{
    static const struct cache_sequence sequences[] = { { 0, 3 }, { 40, 1 }, { 17, 2 } };
    static const int32_t dims[] = { 8, 16, 64, 80, 96, 128, 256 }, groups[] = { 1, 2, 4, 7, 9 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(dtypes); i++)
        for (size_t j = 0; j < COUNT_OF(dims); j++)
            for (size_t k = 0; k < COUNT_OF(groups); k++) {
                struct attend_case c = {
                    .shape = { dtypes[i], 16, 2, 2, dims[j], (j + k) % 2 },
                    .sequences = sequences,
                    .n_sequences = COUNT_OF(sequences),
                    .group = groups[k],
                    .n_processors = 1,
                    .has_list = k % 2,
                };
                if ((dtypes[i] == DTYPE_Q8_0 && dims[j] % 32 != 0) || (j + k) % 3 == i)
                    continue;
                emulate_seed(i + j + k + 1);
                check(&c);
            }
}

/* One position less and more than a piece, than two, and windows that begin at such places. */
static void pieces_are_merged(void **state)
{
    static const struct cache_sequence sequences[] = {
        { 254, 1 }, { 255, 1 }, { 256, 1 }, { 510, 3 }, { 767, 2 },
    };
    static const int32_t windows[] = { 0, 1, 2, 255, 256, 257, 300, 600 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        struct attend_case c = {
            .shape = { dtypes[i % 3], 32, 2, 1, 32, i % 2 },
            .sequences = sequences,
            .n_sequences = COUNT_OF(sequences),
            .group = 2,
            .window = windows[i],
            .n_processors = 1 + (int32_t)i,
        };
        check(&c);
    }
}

static void bits_depend_on_the_row_alone(void **state)
{
    static const struct cache_sequence few[] = { { 0, 2 }, { 700, 2 } };
    static const struct cache_sequence many[] = { { 0, 2 }, { 700, 2 }, { 3, 9 } };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(dtypes); i++) {
        struct attend_case c = {
            .shape = { dtypes[i], 16, 2, 2, 64, false },
            .sequences = few,
            .n_sequences = COUNT_OF(few),
            .group = 4,
            .n_processors = 1,
        };
        struct attend_run one, other;
        open_run(&one, &c);
        for (int variant = 0; variant < 4; variant++) {
            struct attend_case d = c;
            d.shape.is_by_head = variant & 1;
            d.shape.block_tokens = variant == 2 ? 256 : variant == 3 ? 24 : 16;
            d.sequences = variant == 1 ? many : few;
            d.n_sequences = variant == 1 ? 3 : 2;
            d.n_processors = variant == 0 ? 132 : 7;
            emulate_seed((uint64_t)variant + 10);
            open_run(&other, &d);
            for (int32_t r = 0; r < 4; r++)
                assert_memory_equal(other.attend.dst.at + r * other.attend.dst.stride,
                                    one.attend.dst.at + r * one.attend.dst.stride,
                                    (size_t)one.attend.dst.width * sizeof(float));
            close_run(&other);
        }
        close_run(&one);
    }
}

/* ---- Tiles of prompt rows. ---- */

static void tiles_are_right(void **state)
{
    static const struct cache_sequence sequences[] = { { 0, 65 }, { 61, 5 }, { 130, 1 } };
    static const int32_t dims[] = { 8, 64, 80, 128, 136, 256 };
    (void)state;
    for (size_t i = 1; i < COUNT_OF(dtypes); i++)
        for (size_t j = 0; j < COUNT_OF(dims); j++) {
            struct attend_case c = {
                .shape = { dtypes[i], j % 2 ? 16 : 24, 2, 2, dims[j], j % 2 },
                .sequences = sequences,
                .n_sequences = COUNT_OF(sequences),
                .group = 2,
                .n_tile = j == 3 ? 64 : 33 + (int32_t)j,
            };
            if (dtypes[i] == DTYPE_Q8_0 && dims[j] % 32 != 0)
                continue;
            emulate_seed(i + j + 1);
            check(&c);
        }
}

/* Rows on both sides of a tile of positions, and windows that begin on both sides of one. */
static void tiles_end_where_rows_do(void **state)
{
    static const struct cache_sequence sequences[] = { { 0, 1 },  { 62, 1 },  { 63, 1 },
                                                       { 64, 2 }, { 126, 3 }, { 100, 64 } };
    static const int32_t windows[] = { 0, 1, 2, 63, 64, 65, 100 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(windows); i++) {
        struct attend_case c = {
            .shape = { dtypes[1 + i % 2], 16, 2, 1, 32, i % 2 },
            .sequences = sequences,
            .n_sequences = COUNT_OF(sequences),
            .group = 1,
            .window = windows[i],
            .n_tile = 64,
        };
        check(&c);
    }
}

static void bits_do_not_depend_on_tiles(void **state)
{
    static const struct cache_sequence sequences[] = { { 0, 2 }, { 90, 70 } };
    static const int32_t tiles[] = { 1, 16, 17, 63 };
    (void)state;
    for (size_t i = 1; i < COUNT_OF(dtypes); i++) {
        struct attend_case c = {
            .shape = { dtypes[i], 16, 2, 1, 64, false },
            .sequences = sequences,
            .n_sequences = COUNT_OF(sequences),
            .group = 1,
            .window = i == 1 ? 40 : 0,
            .n_tile = 64,
        };
        struct attend_run one, other;
        open_run(&one, &c);
        for (size_t j = 0; j < COUNT_OF(tiles); j++) {
            struct attend_case d = c;
            d.n_tile = tiles[j];
            d.shape.is_by_head = j & 1;
            d.shape.block_tokens = j == 2 ? 48 : 16;
            open_run(&other, &d);
            for (int32_t r = 0; r < one.cache.n_rows; r++)
                assert_memory_equal(other.attend.dst.at + r * other.attend.dst.stride,
                                    one.attend.dst.at + r * one.attend.dst.stride,
                                    (size_t)one.attend.dst.width * sizeof(float));
            close_run(&other);
        }
        close_run(&one);
    }
}

static void wrong_shapes_are_refused(void **state)
{
    (void)state;
    float x[8];
    struct cuda_attend a = {
        .queries = { x, 8, 1, 8 },
        .dst = { x, 8, 1, 8 },
        .n_rows = 1,
        .n_heads = 1,
        .n_positions_max = 1,
        .cache = { .type = CUDA_F16, .n_kv_heads = 1, .head_dim = 4, .block_tokens = 1 },
    };
    assert_false(cuda_kernels_attend(NULL, &a)); /* 8 does not divide 4 */
    a.cache.head_dim = 264;
    assert_false(cuda_kernels_attend(NULL, &a));
    a.cache.head_dim = 8;
    a.cache.type = CUDA_Q8_0;
    assert_false(cuda_kernels_attend(NULL, &a));
    a.cache.type = CUDA_F16;
    a.cache.n_kv_heads = 2;
    assert_false(cuda_kernels_attend(NULL, &a));
    a.cache.n_kv_heads = 1;
    a.cache.type = CUDA_F32;
    assert_false(cuda_kernels_attend_tiles(NULL, &a, NULL, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_head_is_right),
        cmocka_unit_test(pieces_are_merged),
        cmocka_unit_test(bits_depend_on_the_row_alone),
        cmocka_unit_test(tiles_are_right),
        cmocka_unit_test(tiles_end_where_rows_do),
        cmocka_unit_test(bits_do_not_depend_on_tiles),
        cmocka_unit_test(wrong_shapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
