/* Programs: a forward pass is a flat list of operations (data) that a device runs whole.
 *
 * A program is compiled once per model (run/forward.c). A pass (compute/pass.h) is what changes
 * each step, and a device (compute/device.h) runs it.
 * Activations are registers: float32 matrices (n_rows, width). The backend may fuse neighbours and
 * runs the list in one parallel region.
 *
 * The arithmetic that all CPU backends share, bit for bit, except for halves (below):
 *  - A sum over K has one order for every batch size, tail, thread count and instruction set. Each
 *    output has its own accumulator, which starts at 0 and walks k upwards (lanes along outputs).
 *    Float products are added by fused multiply-add. Then bias is added, act applied, and last dst
 *    added to.
 *  - Against integer weights a row is quantized per 32 inputs (quant_activations: scale = max|x| /
 * 127, q = round to nearest even of x / scale). The 32 products are summed exactly in int32. Then
 * acc = fma((float)sum * weight_scale, x_scale, acc), blocks upwards. Types with a minimum do acc =
 * fma(minimum, x_scale * (float)sum(q), acc) after it. Types with 16-element sub-blocks do it per
 * 16. A weight's scale that is not finite counts as NaN there.
 *  - Reductions over a vector (norms, scores, sums of a softmax) use 16 partial sums, element i
 * into sum i mod 16 (products by fma), folded 8, 4, 2, 1. Norms: t = (x - mean) * (1 / sqrt(mean
 * square + epsilon)), then t * weight, or fma(t, weight, bias); RMS has no mean.
 *  - Attention walks pieces at absolute multiples of 256 positions, each from scratch. There score
 *    = dot(q, k) * scale, p = exp(score - max), sum of p in 16 partial sums by position mod 16,
 *    o[d] = fma(p, v[d], o[d]) with positions upwards. Pieces are merged upwards: M = max(m, m2), a
 *    = exp(m - M), b = exp(m2 - M), sum = fma(sum2, b, sum * a), o = fma(o2, b, o * a). At last o *
 *    (1 / sum).
 *  - A cache of Q8_0: a row of a head is rounded per 32 dims once, when it is stored
 *    (quant_activations, the scale then to half, NaN where that is infinite). For scores the query
 *    is rounded in the same way, but its scale stays a float. The 32 products are summed exactly in
 *    int32. Then acc = fma((float)sum * key_scale, query_scale, acc), blocks upwards, gives the
 *    dot. A value is q * scale, which is exact.
 *  - Rotation: angle = (float)position * inverse frequency, sine and cosine by vmath_sincos, each
 * times the rope's scale, (x c - y s, y c + x s) as (fma(x, c, -(y * s)), fma(y, c, x * s)).
 *  - A sink is one more logit of a head. Behind the last piece top = max(m, sink), a = exp(m -
 *    top), sum = fma(sum, a, exp(sink - top)), and o * (a * (1 / sum)) is the result.
 *  - A capped x is vmath_tanh(x / cap) * cap.
 *  - Experts: a softmax over the router's logits (exp(logit - max), summed in 16 partial sums as
 *    above, times 1 / sum) gives each expert's share, or 1 / (1 + exp(-logit)) does. A row uses
 *    the experts with the highest logits or, with a bias of the choice, with the highest share +
 *    bias. The first of equal ones counts as higher, and NaN is lowest. With groups, only experts
 *    of the best groups are chosen; a group's value is the sum of its two highest ones. If shares
 *    are scaled to one, each is divided by the sum of the used ones, added up by ascending expert
 *    (plus 1e-20 for sigmoids). In the end each is multiplied by the scale, unless that is 1.
 *  - COMBINE is acc = fma(share, x, acc) from 0 by ascending expert, then dst += acc. SCALE is
 *    fma(x, 1 / (1 + exp(-gate)), dst).
 *  - SUM adds the values of all ranks in rank order, from rank 0's on. Then bias is added, act
 *    applied, and last dst added to.
 *  - exp and the activations are the polynomials of compute/vmath.h, the same operations in every
 * instruction set.
 *  - Masked lanes select, never multiply: stale memory may hold NaN.
 *
 * When matrix units multiply bfloat16 (AMX), matrices of F16 and BF16, and no others, have another
 * arithmetic. It is as independent of batch, tails and threads, but has other bits. An activation
 * is two bfloat16, high = bf16(x), low = bf16(x - high), rounded to nearest even. A weight is high
 * + low too, exactly: high is the upper 16 bits of its float, and low is the rest (nothing for
 * BF16). Columns go in blocks of 32, upwards. A block adds low x * high w, high x * high w and, for
 * F16, high x * low w, in this order. For each of these the even columns' products are summed by
 * fma from 0 upwards, the odd ones' likewise, and acc += even sum + odd sum. Magnitudes below
 * 2^-126 are 0. halves.h has it in C. */
#pragma once
#include "compute/shapes.h"
#include "core/model_weights.h"

/* The numbers of arithmetics. Every change of bits gets a new one. */
enum {
    COMPUTE_ARITHMETIC_CPU = 1,         /* the one above */
    COMPUTE_ARITHMETIC_CPU_TILES = 2,   /* with matrices of F16 and BF16 as in matrix units */
    COMPUTE_ARITHMETIC_CUDA = 3,        /* src/cuda/kernels.h states it */
    COMPUTE_ARITHMETIC_CUDA_STRICT = 4, /* of its class of generated rows, for all rows */
};

enum compute_op_kind {
    COMPUTE_EMBED, /* dst = token_embedding[ids] * scale (+ position_embedding[positions + n] when
                      weight2 is there) */
    COMPUTE_NORM,  /* dst = norm(src) * weight + bias, epsilon in scale; ADD_TO: dst += ... */
    COMPUTE_HEAD_NORM, /* in place on dst: RMS norm of each head of n dims with weight (head_dim) */
    COMPUTE_MATMUL,   /* dst = src . weight^T + bias; COMPUTE_HAS_ACT: act(...); COMPUTE_ADD_TO: dst
                         += ... */
    COMPUTE_GATE,     /* dst = act(src) * src2; ACT_SWIGLU_CLAMPED with cap as its limit */
    COMPUTE_ROPE,     /* in place on dst (n heads of head_dim), by one of the program's ropes */
    COMPUTE_KV_STORE, /* keys src, values src2 of every row go into the cache of `layer`; with
                         latents a key is src, followed by src2 */
    COMPUTE_ATTEND, /* dst = attention of queries src over the cache of `layer`, each over the last
                       n positions (0: all), itself included; scale on the scores, then cap;
                       weight: sinks (n_heads) */
    COMPUTE_TAKE_ROWS, /* dst = the rows of src in pass->logit_rows */
    COMPUTE_LOGITS,    /* logits = src . weight^T + bias, then cap; left out if no row of the pass
                          asks for them */
    COMPUTE_VECTORS,   /* adds rows of src to the pass's sums: compute_vector */
    /* A mixture of experts. Registers of expert rows have a row for each expert that a row uses. */
    COMPUTE_ROUTE,   /* chooses the experts of all rows by their logits src (n_experts), for the
                        operations up to the next one of this kind; weight: bias of the choice */
    COMPUTE_SPREAD,  /* dst (expert rows) = the rows of src */
    COMPUTE_EXPERTS, /* a MATMUL of expert rows, each by the matrix weight + e, and the bias + e if
                        there is one, of its expert e */
    COMPUTE_COMBINE, /* dst += the expert rows src of each row, each times its share */
    COMPUTE_SCALE,   /* dst += src * sigmoid(src2), whose rows are one number */
    COMPUTE_HEADS,   /* each of n heads of src, times a matrix of its own, weight + its number. With
                        KEEPS_REST: a head of dst is the rest of src's, then the first part's
                        product. Otherwise: it is the product of the last part of src's */
    /* These are for programs that several ranks compute together. All ranks of a program have its
     * SUM and MEET operations in the same order. */
    COMPUTE_SUM,  /* dst = the sum of src over the ranks + bias; ACT, ADD_TO as for MATMUL; src is
                     not read afterwards */
    COMPUTE_MEET, /* waits until all ranks have stored their keys and values */
    COMPUTE_SEND, /* gives the rows of src to the next rank */
    COMPUTE_RECEIVE, /* dst = the rows that the previous rank sent */
};
enum compute_flag {
    COMPUTE_ADD_TO = 1,      /* MATMUL, NORM: add to dst (the residual stream) */
    COMPUTE_NORM_LAYER = 2,  /* NORM: layer norm, else RMS */
    COMPUTE_HAS_ACT = 4,     /* MATMUL: apply act after the bias */
    COMPUTE_ROPE_PAIRS = 8,  /* ROPE: pairs, else halves */
    COMPUTE_SEES_ALL = 16,   /* ATTEND: rows see all positions of their sequence up to its last row
                                in the pass */
    COMPUTE_FROM_ZERO = 32,  /* COMBINE: dst = ..., instead of dst += ... */
    COMPUTE_KEEPS_REST = 64, /* HEADS */
};
struct compute_op {
    uint8_t kind, act;             /* enum act_kind */
    uint16_t flags, layer, rope;   /* ROPE: which of the program's */
    uint16_t dst, src, src2;       /* registers */
    int32_t weight, bias, weight2; /* indices into the program's weights, -1 = none */
    int32_t n; /* heads (HEAD_NORM, ROPE, HEADS), position offset (EMBED), window (ATTEND), column
                  of the first output (LOGITS) */
    float scale;
    float cap; /* ATTEND, LOGITS: x becomes cap * tanh(x / cap), 0: none; GATE: the limit */
};

struct compute_weight; /* bound by a device, in its own layout */
struct compute_group_rank;
/* One rank's part of a program that several ranks compute together. One of them draws. */
struct compute_rank {
    struct compute_group_rank *group; /* its end of the collectives: compute/group.h */
    int32_t index;
    bool draws;
    bool shares_logits; /* each rank computes some columns of the logits */
    int32_t *last;      /* (n_logit_rows) ids that the previous pass drew; shared by all ranks */
};
struct compute_rope {
    const float *inverse_frequencies; /* (n_rope_dims / 2), scaling applied */
    float scale;                      /* on sines and cosines, mostly 1 */
};

struct compute_program {
    int n_ops;
    const struct compute_op *ops;
    int n_registers;
    const int32_t *widths; /* floats of one row of each register; multiples of 16 are allocated */
    const bool *is_logit_rows;  /* register holds n_logit_rows rows, not n_rows (after TAKE_ROWS) */
    const bool *is_expert_rows; /* register holds expert rows; NULL: none does */
    int n_weights;
    struct compute_weight *const *weights;
    int32_t n_heads, n_kv_heads, head_dim, n_rope_dims, n_vocabulary, n_ropes;
    struct compute_rope ropes[2];
    struct compute_shapes shapes;    /* none: all zero */
    const struct compute_rank *rank; /* NULL: one device computes all of it */
};
/* Returns whether this device draws the program's tokens. */
static inline bool compute_draws(const struct compute_program *program)
{
    return program->rank == NULL || program->rank->draws;
}
static inline bool compute_has_expert_rows(const struct compute_program *program, int reg)
{
    return program->is_expert_rows != NULL && program->is_expert_rows[reg];
}
