/* Packed weights: panels of 16 outputs side by side, so that vector lanes run along outputs.
 *
 * A matrix is n_panels = ceil(n_rows / 16) panels, each walking k upwards; missing outputs are 0.
 * Packing is exact: nothing is rounded, and any row can be read back.
 *
 *   F32, F16, BF16   for every k: 16 elements as they were stored
 *   F8_E4M3          units of 128 k: | 16 floats, 256 times the scales | for every k: 16 bytes |; a
 *                    weight is (f8_to_half as a float) * the unit's float, rounded once
 *   integer types    units of 32 k, or of 256 k for the K types:
 *     | 16 halves d | 16 halves m (types with minimums) | blocks of 32 k |
 *   a block:
 *     | K types: per sub-block 16 int8 scales, 16 int8 minimums (types with minimums) | weights |
 *   weights: 64 * n_bits bytes, planes of 8, 4, 2 and 1 bits of the values, those that add up to
 *     n_bits, the lowest bits first. A plane of b bits is b vectors of 64 bytes: byte 4 o + j of
 *     vector v has, of output o, k = 4 v + j in its lowest b bits, k = 4 (v + b) + j in the next,
 *     and so on.
 *   Stored is value + offset, never negative; 8 bits alone are stored as they are, signed. */
#pragma once
#include "base/team.h"
#include "compute/pass.h"
#include "compute/quant.h"

enum { CPU_PANEL = 16 };

/* Values that nibbles stand for, see compute/quant.h. MXFP4's are read with the offset added. */
enum cpu_table { CPU_TABLE_NONE, CPU_TABLE_IQ4, CPU_TABLE_MXFP4 };

struct cpu_form {
    int32_t n_bits; /* 2 to 6, or 8 */
    int32_t offset; /* half of the range of n_bits, or 0: signed bytes, types with minimums */
    int32_t n_sub;  /* k per scale: 16 or 32 */
    int32_t n_unit; /* 32 or 256 */
    bool has_minimum;
    enum cpu_table table; /* what nibbles stand for */
    bool has_bf16;        /* the halves are bfloat16 */
};

#define CPU_FORM_Q8_0   ((struct cpu_form){ 8, 0, 32, 32, false })
#define CPU_FORM_Q4_0   ((struct cpu_form){ 4, 8, 32, 32, false })
#define CPU_FORM_Q4_1   ((struct cpu_form){ 4, 0, 32, 32, true })
#define CPU_FORM_Q5_0   ((struct cpu_form){ 5, 16, 32, 32, false })
#define CPU_FORM_Q5_1   ((struct cpu_form){ 5, 0, 32, 32, true })
#define CPU_FORM_Q2_K   ((struct cpu_form){ 2, 0, 16, 256, true })
#define CPU_FORM_Q3_K   ((struct cpu_form){ 3, 4, 16, 256, false })
#define CPU_FORM_Q4_K   ((struct cpu_form){ 4, 0, 32, 256, true })
#define CPU_FORM_Q5_K   ((struct cpu_form){ 5, 0, 32, 256, true })
#define CPU_FORM_Q6_K   ((struct cpu_form){ 6, 32, 16, 256, false })
#define CPU_FORM_IQ4_NL ((struct cpu_form){ 4, 0, 32, 32, false, CPU_TABLE_IQ4, false })
#define CPU_FORM_IQ4_XS ((struct cpu_form){ 4, 0, 32, 256, false, CPU_TABLE_IQ4, false })
#define CPU_FORM_MXFP4  ((struct cpu_form){ 4, 16, 32, 32, false, CPU_TABLE_MXFP4, true })
#define CPU_FORM_TQ     ((struct cpu_form){ 2, 1, 32, 256, false }) /* TQ1_0 and TQ2_0 */

/* Return the bytes of the halves at the start of a unit, of the scales at the start of a block, and
 * of the weights of a block. */
static inline int32_t cpu_form_head(struct cpu_form f)
{
    return f.has_minimum ? 64 : 32;
}
static inline int32_t cpu_form_scales(struct cpu_form f)
{
    return f.n_unit == 32 ? 0 : 32 / f.n_sub * (f.has_minimum ? 32 : 16);
}
static inline int32_t cpu_form_weights(struct cpu_form f)
{
    return 64 * f.n_bits;
}
static inline int32_t cpu_form_unit_bytes(struct cpu_form f)
{
    return cpu_form_head(f) + f.n_unit / 32 * (cpu_form_scales(f) + cpu_form_weights(f));
}

/* Returns the value at k = 4 g + j of a block. byte is byte j of the output's word in the first
 * vector. */
static inline int cpu_form_value(struct cpu_form f, const unsigned char *byte, int g)
{
    int stored = 0, shift = 0;
    for (int bits = 8; bits > 0; bits /= 2) { /* plane by plane */
        if ((f.n_bits & bits) == 0)
            continue;
        stored |= (byte[64 * (g % bits)] >> (g / bits * bits) & ((1 << bits) - 1)) << shift;
        shift += bits;
        byte += 64 * bits;
    }
    if (f.table != CPU_TABLE_NONE)
        return (f.table == CPU_TABLE_IQ4 ? quant_iq4_values : quant_mxfp4_values)[stored];
    return f.n_bits == 8 ? (int8_t)stored : stored - f.offset;
}

/* A unit of F8_E4M3: bytes before the columns, columns, and all its bytes. */
enum { CPU_F8_HEAD = 64, CPU_F8_UNIT = 128, CPU_F8_BYTES = CPU_F8_HEAD + CPU_F8_UNIT * CPU_PANEL };

struct compute_weight {
    enum dtype dtype;
    int32_t n_rows, n_columns, n_panels;
    size_t panel_bytes;
    const unsigned char *panels; /* (n_panels, panel_bytes), NULL for a vector: */
    const float *vector;         /* n_rows == 1: (n_columns), 16 floats allocated at least */
};

/* Packs with all members of the team to an address of cpu_pack_bytes bytes, a multiple of 64. */
size_t cpu_pack_bytes(const struct tensor *tensor);
enum status cpu_pack(struct team *team, const struct tensor *tensor, unsigned char *to,
                     struct fault *fault) MUST_USE;
/* Binds a weight to bytes that were packed from a tensor of this type and size. */
struct compute_weight *cpu_pack_bind(const struct tensor *tensor, const unsigned char *packed);
void cpu_pack_unbind(struct compute_weight *weight);
/* Reads one row back as floats: exactly the dequantized values. */
void cpu_pack_row(const struct compute_weight *weight, int32_t row, float *out);
struct cpu_form cpu_pack_form(enum dtype dtype); /* for an integer type */
