/* Matrices in another type: see recode.h. src/compute/quant.c draws the formats. */
#include "recode.h"

#include "base/mem.h"
#include "compute/quant.h"
#include <math.h>
#include <string.h>

struct recode {
    struct compute_device face;
    struct compute_device *inner;
    enum dtype dtype;
    bool is_opened;
};

static void put_half(unsigned char **p, float x)
{
    uint16_t half = half_from_float(x);
    memcpy(*p, &half, 2);
    *p += 2;
}

/* Returns x as the file will have it. */
static float stored(float x)
{
    return half_to_float(half_from_float(x));
}

static int nearest(float x, float scale, int low, int high)
{
    int q = scale != 0 ? (int)lrintf(x / scale) : 0;
    return q < low ? low : q > high ? high : q;
}

static void range_of(const float *x, int n, float *low, float *high)
{
    *low = *high = x[0];
    for (int i = 1; i < n; i++) {
        *low = fminf(*low, x[i]);
        *high = fmaxf(*high, x[i]);
    }
}

/* Returns the value that is farthest from 0, with its sign. */
static float extreme(const float *x, int n)
{
    float low, high;
    range_of(x, n, &low, &high);
    return -low > high ? low : high;
}

/* Q4_0, Q4_1, Q5_0, Q5_1: scale, minimum, fifth bits, nibbles of element j and j + 16. */
static void encode_32(const float *x, bool has_minimum, int n_bits, unsigned char *p)
{
    int q[32], top = 1 << n_bits, half = top / 2;
    uint32_t fifth = 0;
    float low, high, scale;
    range_of(x, 32, &low, &high);
    scale = has_minimum ? (high - low) / (float)(top - 1) : extreme(x, 32) / (float)-half;
    put_half(&p, scale);
    if (has_minimum)
        put_half(&p, low);
    for (int i = 0; i < 32; i++) {
        q[i] = has_minimum ? nearest(x[i] - stored(low), stored(scale), 0, top - 1)
                           : nearest(x[i], stored(scale), -half, half - 1) + half;
        fifth |= (uint32_t)(q[i] >> 4 & 1) << i;
    }
    if (n_bits == 5) {
        memcpy(p, &fifth, 4);
        p += 4;
    }
    for (int i = 0; i < 16; i++)
        p[i] = (unsigned char)((q[i] & 15) | (q[i + 16] & 15) << 4);
}

/* Q4_K, Q5_K: 8 sub-blocks of 32 with scales and minimums of 6 bits. */
static void encode_k(const float *x, int n_bits, unsigned char *p)
{
    float scale[8], minimum[8], low, high, d = 0, m = 0;
    int s[8], t[8], top = (1 << n_bits) - 1;
    for (int i = 0; i < 8; i++) {
        range_of(x + 32 * i, 32, &low, &high);
        low = fminf(low, 0);
        scale[i] = (high - low) / (float)top;
        minimum[i] = -low;
        d = fmaxf(d, scale[i] / 63);
        m = fmaxf(m, minimum[i] / 63);
    }
    put_half(&p, d);
    put_half(&p, m);
    for (int i = 0; i < 8; i++) {
        s[i] = nearest(scale[i], stored(d), 0, 63);
        t[i] = nearest(minimum[i], stored(m), 0, 63);
    }
    for (int i = 0; i < 4; i++) {
        p[i] = (unsigned char)(s[i] | s[i + 4] >> 4 << 6);
        p[i + 4] = (unsigned char)(t[i] | t[i + 4] >> 4 << 6);
        p[i + 8] = (unsigned char)((s[i + 4] & 15) | (t[i + 4] & 15) << 4);
    }
    p += 12;
    unsigned char *fifths = p, *nibbles = n_bits == 5 ? p + 32 : p;
    memset(fifths, 0, n_bits == 5 ? 32 : 0);
    for (int i = 0; i < 256; i++) {
        int sub = i / 32, at = i % 32, high_half = sub % 2;
        int q = nearest(x[i] + stored(m) * (float)t[sub], stored(d) * (float)s[sub], 0, top);
        unsigned char *byte = &nibbles[sub / 2 * 32 + at];
        *byte = (unsigned char)(high_half ? *byte | (q & 15) << 4 : q & 15);
        if (n_bits == 5)
            fifths[at] |= (unsigned char)((q >> 4) << sub);
    }
}

/* Q6_K: low nibbles, high pairs of bits, 16 scales of 8 bits, one scale of all. */
static void encode_q6_k(const float *x, unsigned char *p)
{
    float scale[16], d;
    int s[16];
    for (int i = 0; i < 16; i++)
        scale[i] = extreme(x + 16 * i, 16) / -32;
    d = extreme(scale, 16) / -128;
    memset(p, 0, 192);
    for (int i = 0; i < 16; i++) {
        s[i] = nearest(scale[i], stored(d), -128, 127);
        p[192 + i] = (unsigned char)(int8_t)s[i];
    }
    for (int i = 0; i < 256; i++) {
        int q = nearest(x[i], stored(d) * (float)s[i / 16], -32, 31) + 32;
        int part = i / 128, row = i % 128 / 32, at = i % 32;
        p[part * 64 + (row % 2) * 32 + at] |= (unsigned char)((q & 15) << (row / 2 * 4));
        p[128 + part * 32 + at] |= (unsigned char)((q >> 4) << (2 * row));
    }
    p += 208;
    put_half(&p, d);
}

static void encode_block(enum dtype dtype, const float *x, unsigned char *out)
{
    switch (dtype) {
    case DTYPE_F32:
        memcpy(out, x, 4);
        return;
    case DTYPE_F16:
        put_half(&out, *x);
        return;
    case DTYPE_BF16: {
        uint32_t bits;
        memcpy(&bits, x, 4);
        bits = (bits + 0x8000) >> 16;
        memcpy(out, &bits, 2);
        return;
    }
    case DTYPE_Q8_0:
        quant_row_to_q8_0(x, 32, out);
        return;
    case DTYPE_Q4_0:
    case DTYPE_Q4_1:
        encode_32(x, dtype == DTYPE_Q4_1, 4, out);
        return;
    case DTYPE_Q5_0:
    case DTYPE_Q5_1:
        encode_32(x, dtype == DTYPE_Q5_1, 5, out);
        return;
    case DTYPE_Q4_K:
    case DTYPE_Q5_K:
        encode_k(x, dtype == DTYPE_Q5_K ? 5 : 4, out);
        return;
    default:
        CHECK(dtype == DTYPE_Q6_K);
        encode_q6_k(x, out);
    }
}

static bool is_encoded(const struct recode *r, const struct tensor *tensor)
{
    return tensor->n_rows > 1 && tensor->n_columns % dtype_info(r->dtype)->n_block == 0;
}

/* Returns the tensor's shape and type on the inner device, without its bytes. */
static struct tensor shape_of(const struct recode *r, const struct tensor *tensor)
{
    struct tensor shape = *tensor;
    if (!is_encoded(r, tensor))
        return shape;
    shape.dtype = r->is_opened ? DTYPE_F32 : r->dtype;
    shape.row_bytes = dtype_row_bytes(shape.dtype, tensor->n_columns);
    shape.is_transposed = false;
    return shape;
}

static enum status pack(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct fault *fault)
{
    struct recode *r = self;
    if (!is_encoded(r, tensor))
        return r->inner->pack(r->inner->self, tensor, memory, at, fault);
    const int32_t n = tensor->n_columns, n_block = dtype_info(r->dtype)->n_block;
    size_t row_bytes = (size_t)dtype_row_bytes(r->dtype, n);
    size_t block_bytes = row_bytes / (size_t)(n / n_block), float_bytes = (size_t)n * sizeof(float);
    unsigned char *rows = mem_take((size_t)tensor->n_rows * row_bytes);
    float *floats = mem_take((size_t)tensor->n_rows * float_bytes);
    struct tensor coded = { rows, r->dtype, tensor->n_rows, n, (int64_t)row_bytes, false },
                  opened = coded;
    for (int32_t i = 0; i < tensor->n_rows; i++) {
        float *row = floats + (int64_t)i * n;
        quant_row_to_float(tensor, i, row);
        for (int32_t k = 0; k < n / n_block; k++)
            encode_block(r->dtype, row + k * n_block,
                         rows + (size_t)i * row_bytes + (size_t)k * block_bytes);
        quant_row_to_float(&coded, i, row);
    }
    opened.data = floats;
    opened.dtype = DTYPE_F32;
    opened.row_bytes = (int64_t)float_bytes;
    enum status status =
        r->inner->pack(r->inner->self, r->is_opened ? &opened : &coded, memory, at, fault);
    mem_give(rows);
    mem_give(floats);
    return status;
}

static int64_t packed_bytes(void *self, const struct tensor *tensor)
{
    struct recode *r = self;
    const struct tensor shape = shape_of(r, tensor);
    return r->inner->packed_bytes(r->inner->self, &shape);
}

static enum status bind(void *self, const struct tensor *tensor, struct compute_memory *memory,
                        int64_t at, struct compute_weight **out, struct fault *fault)
{
    struct recode *r = self;
    const struct tensor shape = shape_of(r, tensor);
    return r->inner->bind(r->inner->self, &shape, memory, at, out, fault);
}

static void unbind(void *self, struct compute_weight *weight)
{
    struct recode *r = self;
    r->inner->unbind(r->inner->self, weight);
}

static enum status memory_open(void *self, const struct compute_memory_options *options,
                               struct compute_memory **out, struct fault *fault)
{
    struct recode *r = self;
    return r->inner->memory_open(r->inner->self, options, out, fault);
}

static void memory_close(void *self, struct compute_memory *memory)
{
    struct recode *r = self;
    r->inner->memory_close(r->inner->self, memory);
}

static enum status workspace_open(void *self, struct compute_lane *lane,
                                  const struct compute_program *program, struct compute_sizes sizes,
                                  struct compute_workspace **out, struct fault *fault)
{
    struct recode *r = self;
    return r->inner->workspace_open(r->inner->self, lane, program, sizes, out, fault);
}

static void workspace_close(void *self, struct compute_workspace *workspace)
{
    struct recode *r = self;
    r->inner->workspace_close(r->inner->self, workspace);
}

static void begin(void *self, struct compute_lane *lane, struct compute_work *work)
{
    struct recode *r = self;
    r->inner->begin(r->inner->self, lane, work);
}

static enum compute_state poll(void *self, struct compute_work *work)
{
    struct recode *r = self;
    return r->inner->poll(r->inner->self, work);
}

static void close_all(void *self)
{
    struct recode *r = self;
    r->inner->close(r->inner->self);
    mem_give(r);
}

struct compute_device *recode_open(struct compute_device *inner, enum dtype dtype, bool is_opened)
{
    struct recode *r = mem_take(sizeof(*r));
    *r = (struct recode){ .inner = inner, .dtype = dtype, .is_opened = is_opened };
    /* The functions that passes.c calls. */
    r->face = (struct compute_device){
        .self = r,
        .name = inner->name,
        .arithmetic = inner->arithmetic,
        .n_ranks = inner->n_ranks,
        .has_experts = inner->has_experts,
        .has_vectors = inner->has_vectors,
        .has_adapters = inner->has_adapters,
        .n_lanes = 1,
        .lanes = { inner->lanes[0] },
        .memory_open = memory_open,
        .memory_close = memory_close,
        .packed_bytes = packed_bytes,
        .pack = pack,
        .bind = bind,
        .unbind = unbind,
        .workspace_open = workspace_open,
        .workspace_close = workspace_close,
        .begin = begin,
        .poll = poll,
        .close = close_all,
    };
    return &r->face;
}
