/* Decodes GGUF's block formats, with one function per type, each with its layout drawn.
 *
 * The byte order is little endian; half = IEEE binary16. "d" is the scale of a block, "m" or "dmin"
 * that of its minimums. The ggml project defined the formats; the layouts follow its gguf package's
 * reader. */
#include "compute/quant.h"

#include "compute/vmath.h"
#include <string.h>

static uint16_t u16_at(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static void start(struct quant_block *out, int32_t n, int32_t n_sub, bool has_minimum)
{
    out->n = n;
    out->n_sub = n_sub;
    out->has_minimum = has_minimum;
    out->has_bf16 = false;
    out->m_sign = n == 32 ? 1.0f : -1.0f;
    out->m = 0;
    out->scales[0] = out->minimums[0] = 1;
}

/* | d: half | 32 x int8 | */
static void decode_q8_0(const unsigned char *p, struct quant_block *out)
{
    start(out, 32, 32, false);
    out->d = u16_at(p);
    memcpy(out->values, p + 2, 32);
}

/* Byte j holds element j in its low nibble and element j + 16 in its high one. Fifth bits, if any,
 * are bit j of a 32-bit word. */
static void nibbles(const unsigned char *qs, uint32_t fifth, int offset, struct quant_block *out)
{
    for (int j = 0; j < 16; j++) {
        int low = (qs[j] & 15) | (int)(fifth >> j & 1) << 4;
        int high = qs[j] >> 4 | (int)(fifth >> (j + 16) & 1) << 4;
        out->values[j] = (int8_t)(low - offset);
        out->values[j + 16] = (int8_t)(high - offset);
    }
}

static uint32_t u32_at(const unsigned char *p)
{
    return (uint32_t)u16_at(p) | (uint32_t)u16_at(p + 2) << 16;
}

/* | d: half | 16 bytes of nibbles |, value = nibble - 8 */
static void decode_q4_0(const unsigned char *p, struct quant_block *out)
{
    start(out, 32, 32, false);
    out->d = u16_at(p);
    nibbles(p + 2, 0, 8, out);
}

/* | d: half | m: half | 16 bytes of nibbles | */
static void decode_q4_1(const unsigned char *p, struct quant_block *out)
{
    start(out, 32, 32, true);
    out->d = u16_at(p);
    out->m = u16_at(p + 2);
    nibbles(p + 4, 0, 0, out);
}

/* | d: half | fifth bits: 4 bytes | 16 bytes of nibbles |, value = 5 bits - 16 */
static void decode_q5_0(const unsigned char *p, struct quant_block *out)
{
    start(out, 32, 32, false);
    out->d = u16_at(p);
    nibbles(p + 6, u32_at(p + 2), 16, out);
}

/* | d: half | m: half | fifth bits: 4 bytes | 16 bytes of nibbles | */
static void decode_q5_1(const unsigned char *p, struct quant_block *out)
{
    start(out, 32, 32, true);
    out->d = u16_at(p);
    out->m = u16_at(p + 2);
    nibbles(p + 8, u32_at(p + 4), 0, out);
}

/* | 16 bytes: scale (low nibble), minimum (high) per 16 | 64 bytes | d: half | dmin: half |
 * Element 128 h + 32 s + l is bits 2s, 2s + 1 of byte 32 h + l. */
static void decode_q2_k(const unsigned char *p, struct quant_block *out)
{
    start(out, 256, 16, true);
    for (int i = 0; i < 16; i++) {
        out->scales[i] = (int8_t)(p[i] & 15);
        out->minimums[i] = (int8_t)(p[i] >> 4);
    }
    for (int i = 0; i < 256; i++) {
        int half = i / 128, shift = i % 128 / 32, byte = i % 32;
        out->values[i] = (int8_t)(p[16 + 32 * half + byte] >> (2 * shift) & 3);
    }
    out->d = u16_at(p + 80);
    out->m = u16_at(p + 82);
}

/* Scale i: low 4 bits in nibble i / 8 of byte i % 8, high 2 bits are bits 2 (i / 4), + 1 of byte 8
 * + i % 4; minus 32. */
void quant_scales_of_16(const unsigned char *p, int8_t scales[16])
{
    for (int i = 0; i < 16; i++) {
        int low = p[i % 8] >> (4 * (i / 8)) & 15, high = p[8 + i % 4] >> (2 * (i / 4)) & 3;
        scales[i] = (int8_t)((low | high << 4) - 32);
    }
}

/* | 32 bytes: third bits | 64 bytes: two bits as Q2_K | 12 bytes: 16 scales of 6 bits | d: half |
 * Third bit of element 32 s + l is bit s of byte l; value = 3 bits - 4. */
static void decode_q3_k(const unsigned char *p, struct quant_block *out)
{
    start(out, 256, 16, false);
    quant_scales_of_16(p + 96, out->scales);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, shift = i % 128 / 32, byte = i % 32;
        int low = p[32 + 32 * half + byte] >> (2 * shift) & 3;
        int third = p[byte] >> (i / 32) & 1;
        out->values[i] = (int8_t)((low | third << 2) - 4);
    }
    out->d = u16_at(p + 108);
}

/* 12 bytes hold 8 scales and 8 minimums of 6 bits (Q4_K and Q5_K):
 *   i < 4: scale = byte i & 63, minimum = byte i + 4 & 63
 *   else:  scale = byte i + 4 & 15 | top 2 bits of byte i - 4,
 *          minimum = byte i + 4 >> 4 | top 2 bits of byte i */
void quant_scales_of_8(const unsigned char *p, int8_t scales[8], int8_t minimums[8])
{
    for (int i = 0; i < 4; i++) {
        scales[i] = (int8_t)(p[i] & 63);
        minimums[i] = (int8_t)(p[i + 4] & 63);
        scales[i + 4] = (int8_t)((p[i + 8] & 15) | (p[i] >> 6) << 4);
        minimums[i + 4] = (int8_t)(p[i + 8] >> 4 | (p[i + 4] >> 6) << 4);
    }
}

/* | d: half | dmin: half | 12 bytes of scales | 128 bytes of nibbles |
 * Element 64 s + l is the low nibble of byte 32 s + l for l < 32, else the high one of byte 32 s +
 * l - 32. */
static void decode_q4_k(const unsigned char *p, struct quant_block *out)
{
    start(out, 256, 32, true);
    out->d = u16_at(p);
    out->m = u16_at(p + 2);
    quant_scales_of_8(p + 4, out->scales, out->minimums);
    for (int i = 0; i < 256; i++) {
        int byte = 16 + 32 * (i / 64) + i % 32;
        out->values[i] = (int8_t)(p[byte] >> (i / 32 % 2 * 4) & 15);
    }
}

/* | d: half | dmin: half | 12 bytes of scales | 32 bytes: fifth bits | 128 bytes of nibbles |
 * Nibbles as Q4_K; the fifth bit of element 32 s + l is bit s of byte l. */
static void decode_q5_k(const unsigned char *p, struct quant_block *out)
{
    start(out, 256, 32, true);
    out->d = u16_at(p);
    out->m = u16_at(p + 2);
    quant_scales_of_8(p + 4, out->scales, out->minimums);
    for (int i = 0; i < 256; i++) {
        int byte = 48 + 32 * (i / 64) + i % 32;
        int low = p[byte] >> (i / 32 % 2 * 4) & 15;
        out->values[i] = (int8_t)(low | (p[16 + i % 32] >> (i / 32) & 1) << 4);
    }
}

/* | 128 bytes: low nibbles | 64 bytes: high 2 bits | 16 x int8 scales | d: half |, minus 32
 * Element 128 h + 64 n + l (l < 64): nibble n of byte 64 h + l; element 128 h + 32 s + l: high bits
 * 2s, 2s + 1 of byte 32 h + l. */
static void decode_q6_k(const unsigned char *p, struct quant_block *out)
{
    start(out, 256, 16, false);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, rest = i % 128;
        int low = p[64 * half + rest % 64] >> (rest / 64 * 4) & 15;
        int high = p[128 + 32 * half + rest % 32] >> (rest / 32 * 2) & 3;
        out->values[i] = (int8_t)((low | high << 4) - 32);
    }
    memcpy(out->scales, p + 192, 16);
    out->d = u16_at(p + 208);
}

const int8_t quant_iq4_values[16] = { -127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113 };
const int8_t quant_mxfp4_values[16] = { 0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12 };

static void table_values(const unsigned char *qs, const int8_t table[16], int8_t values[32])
{
    for (int j = 0; j < 16; j++) {
        values[j] = table[qs[j] & 15];
        values[j + 16] = table[qs[j] >> 4];
    }
}

/* | d: half | 16 bytes of nibbles |, value = quant_iq4_values[nibble] */
static void decode_iq4_nl(const unsigned char *p, struct quant_block *out)
{
    start(out, 32, 32, false);
    out->d = u16_at(p);
    table_values(p + 2, quant_iq4_values, out->values);
}

/* Scale i: low 4 bits in nibble i % 2 of byte 4 + i / 2, high 2 bits are bits 2i, 2i + 1 of the
 * word at 2. */
void quant_scales_of_iq4(const unsigned char *p, int8_t scales[8])
{
    for (int i = 0; i < 8; i++) {
        int low = p[4 + i / 2] >> (4 * (i % 2)) & 15, high = u16_at(p + 2) >> (2 * i) & 3;
        scales[i] = (int8_t)((low | high << 4) - 32);
    }
}

/* | d: half | high bits of 8 scales: 2 bytes | low bits: 4 bytes | 8 x 16 bytes of nibbles as
 * IQ4_NL | */
static void decode_iq4_xs(const unsigned char *p, struct quant_block *out)
{
    start(out, 256, 32, false);
    out->d = u16_at(p);
    quant_scales_of_iq4(p, out->scales);
    for (int b = 0; b < 8; b++)
        table_values(p + 8 + 16 * b, quant_iq4_values, out->values + 32 * b);
}

uint16_t quant_mxfp4_scale(unsigned char e)
{
    enum { TOO_LARGE = 224 };
    if (e >= TOO_LARGE)
        return 0x7FC0;
    return (uint16_t)(e < 2 ? 0x20 << e : (e - 1) << 7);
}

/* | e: exponent of the scale 2^(e - 127) | 16 bytes of nibbles |, each a sign, two bits of exponent
 * and one of mantissa */
static void decode_mxfp4(const unsigned char *p, struct quant_block *out)
{
    start(out, 32, 32, false);
    out->has_bf16 = true;
    out->d = quant_mxfp4_scale(p[0]);
    table_values(p + 1, quant_mxfp4_values, out->values);
}

/* | 48 bytes | 4 bytes | d: half |, minus 1. A byte has five digits to the base of 3, the last
 * bytes four, as a fraction of 256: digit n is the whole part of 3 * (byte * 3^n mod 256) / 256.
 * Digit n of the first 32 bytes is elements 32 n.., then that of 16 bytes 160 + 16 n.., then that
 * of the last four 240 + 4 n... */
int quant_tq1_0_element(const unsigned char *p, int i)
{
    static const uint8_t powers[5] = { 1, 3, 9, 27, 81 };
    int n = i < 160 ? i / 32 : i < 240 ? (i - 160) / 16 : (i - 240) / 4;
    int byte = i < 160 ? i % 32 : i < 240 ? 32 + i % 16 : 48 + i % 4;
    uint8_t rest = (uint8_t)(p[byte] * powers[n]);
    return rest * 3 >> 8;
}

static void start_ternary(struct quant_block *out, uint16_t d)
{
    start(out, 256, 32, false);
    out->d = d;
    memset(out->scales, 1, 8);
}

static void decode_tq1_0(const unsigned char *p, struct quant_block *out)
{
    start_ternary(out, u16_at(p + 52));
    for (int i = 0; i < 256; i++)
        out->values[i] = (int8_t)(quant_tq1_0_element(p, i) - 1);
}

/* | 64 bytes: two bits as Q2_K | d: half |, minus 1 */
static void decode_tq2_0(const unsigned char *p, struct quant_block *out)
{
    start_ternary(out, u16_at(p + 64));
    for (int i = 0; i < 256; i++)
        out->values[i] = (int8_t)((p[32 * (i / 128) + i % 32] >> (i % 128 / 32 * 2) & 3) - 1);
}

const unsigned char *quant_block_at(const struct tensor *tensor, int32_t row, int32_t i,
                                    unsigned char made[QUANT_MADE_BYTES])
{
    const unsigned char *data = tensor->data;
    if (tensor->apart == NULL)
        return data + row * tensor->row_bytes + (int64_t)i * dtype_info(tensor->dtype)->block_bytes;
    quant_apart_block(tensor->apart, tensor->apart_row + row * tensor->apart_step,
                      tensor->apart_column / dtype_info(tensor->dtype)->n_block + i, made);
    return made;
}

void quant_block_decode(enum dtype dtype, const void *block, struct quant_block *out)
{
    static void (*const decoders[DTYPE_N])(const unsigned char *, struct quant_block *) = {
        [DTYPE_Q8_0] = decode_q8_0,     [DTYPE_Q4_0] = decode_q4_0,
        [DTYPE_Q4_1] = decode_q4_1,     [DTYPE_Q5_0] = decode_q5_0,
        [DTYPE_Q5_1] = decode_q5_1,     [DTYPE_Q2_K] = decode_q2_k,
        [DTYPE_Q3_K] = decode_q3_k,     [DTYPE_Q4_K] = decode_q4_k,
        [DTYPE_Q5_K] = decode_q5_k,     [DTYPE_Q6_K] = decode_q6_k,
        [DTYPE_IQ4_NL] = decode_iq4_nl, [DTYPE_IQ4_XS] = decode_iq4_xs,
        [DTYPE_MXFP4] = decode_mxfp4,   [DTYPE_TQ1_0] = decode_tq1_0,
        [DTYPE_TQ2_0] = decode_tq2_0,
    };
    CHECK((int)dtype >= 0 && dtype < DTYPE_N && decoders[dtype] != NULL);
    decoders[dtype](block, out);
}

static float float_at(enum dtype dtype, const void *p)
{
    if (dtype != DTYPE_F32) {
        uint16_t bits = u16_at(p);
        return dtype == DTYPE_F16 ? half_to_float(bits) : bf16_to_float(bits);
    }
    float value;
    memcpy(&value, p, sizeof(value));
    return value;
}

/* | scale: float | 128 x (sign, four bits of exponent, three of mantissa) |, without infinities;
 * all ones is NaN */
static void decode_f8_e4m3(const unsigned char *p, float *out)
{
    float scale;
    memcpy(&scale, p, sizeof(scale));
    for (int i = 0; i < 128; i++) {
        unsigned char byte = p[sizeof(scale) + (size_t)i];
        float value = half_to_float(f8_to_half(byte)) * 256.0f;
        out[i] = f8_is_nan(byte) ? vmath_of_bits(0x7FC00000u) : value * scale;
    }
}

void quant_block_to_float(enum dtype dtype, const void *block, float *out)
{
    if (dtype == DTYPE_F8_E4M3) {
        decode_f8_e4m3(block, out);
        return;
    }
    if (!dtype_info(dtype)->is_integer) {
        *out = float_at(dtype, block);
        return;
    }
    struct quant_block b;
    quant_block_decode(dtype, block, &b);
    for (int32_t i = 0; i < b.n; i++) {
        float product = (float)b.values[i] * quant_scale(&b, i / b.n_sub);
        out[i] = b.has_minimum ? product + quant_minimum(&b, i / b.n_sub) : product;
    }
}

void quant_row_to_float(const struct tensor *tensor, int32_t row, float *out)
{
    const struct dtype_info *info = dtype_info(tensor->dtype);
    CHECK(row >= 0 && row < tensor->n_rows);
    const unsigned char *data = tensor->data;
    if (tensor->is_transposed) {
        CHECK(info->n_block == 1);
        data += (int64_t)row * info->block_bytes * (tensor->is_alternate ? 2 : 1);
        for (int32_t i = 0; i < tensor->n_columns; i++)
            out[i] = float_at(tensor->dtype, data + i * tensor->row_bytes);
        return;
    }
    unsigned char made[QUANT_MADE_BYTES];
    for (int32_t i = 0; i < tensor->n_columns / info->n_block; i++)
        quant_block_to_float(tensor->dtype, quant_block_at(tensor, row, i, made),
                             out + i * info->n_block);
}

/* Returns the biggest magnitude of 32 floats as bits. Magnitudes have the order of their bits, with
 * NaN above all. */
static uint32_t magnitude_max(const float x[32])
{
    uint32_t max = 0;
    for (int i = 0; i < 32; i++) {
        uint32_t magnitude = vmath_bits(x[i]) & 0x7FFFFFFFu;
        max = magnitude > max ? magnitude : max;
    }
    return max;
}

float quant_activations(const float x[32], int8_t q[32])
{
    const float shift = 12582912.0f; /* 1.5 * 2^23 rounds to nearest even */
    uint32_t max = magnitude_max(x);
    float scale = vmath_of_bits(max) / 127.0f;
    if (max >= 0x7F800000u || scale < 0x1p-126f) {
        memset(q, 0, 32);
        return max >= 0x7F800000u ? vmath_of_bits(0x7FC00000u) : 0.0f;
    }
    for (int i = 0; i < 32; i++)
        q[i] = (int8_t)(int32_t)((x[i] / scale + shift) - shift);
    return scale;
}

void quant_row_to_q8_0(const float *x, int64_t n, void *out)
{
    CHECK(n % 32 == 0);
    unsigned char *p = out;
    for (int64_t i = 0; i < n; i += 32, p += 34) {
        int8_t q[32];
        float scale = quant_activations(x + i, q);
        uint16_t d = half_from_float(scale);
        memcpy(p, &d, 2);
        memcpy(p + 2, q, 32);
    }
}
