/* Makes packed words directly from a file's blocks. quant.c draws the blocks, pack.h the words. */
#include "cpu/pack_words.h"

#include "compute/quant.h"
#include <string.h>

static uint32_t word_at(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

#define LOW_NIBBLES  UINT32_C(0x0f0f0f0f)
#define HIGH_NIBBLES UINT32_C(0xf0f0f0f0)
#define LOW_PAIRS    UINT32_C(0x03030303)
#define LOW_BITS     UINT32_C(0x01010101)

/* Makes a plane of pairs of bits from bytes that have one pair each. */
static void put_pairs(const uint32_t bytes[8], uint32_t out[2])
{
    for (int v = 0; v < 2; v++)
        out[v] = bytes[v] | bytes[v + 2] << 2 | bytes[v + 4] << 4 | bytes[v + 6] << 6;
}

/* Makes a plane of bit `bit` of 32 bytes. */
static void put_bits(const unsigned char *bytes, int bit, uint32_t *out)
{
    *out = 0;
    for (int g = 0; g < 8; g++)
        *out |= (word_at(bytes + 4 * g) >> bit & LOW_BITS) << g;
}

/* Signed bytes stay signed bytes. */
static void words_of_q8_0(const unsigned char *block, int b, uint32_t *out)
{
    (void)b;
    for (int g = 0; g < 8; g++)
        out[g] = word_at(block + 2 + 4 * g);
}

/* Element j is low, j + 16 high: the file has its nibbles in the packed order. */
static void words_of_q4_0(const unsigned char *block, int b, uint32_t *out)
{
    (void)b;
    for (int v = 0; v < 4; v++)
        out[v] = word_at(block + 2 + 4 * v);
}

static void words_of_q4_1(const unsigned char *block, int b, uint32_t *out)
{
    words_of_q4_0(block + 2, b, out);
}

/* Makes fifth bits, then nibbles as for Q4_0. A multiplication spreads four bits over a word. */
static void words_of_fives(const unsigned char *fifths, uint32_t *out)
{
    uint32_t fifth = word_at(fifths);
    for (int v = 0; v < 4; v++)
        out[v] = word_at(fifths + 4 + 4 * v);
    out[4] = 0;
    for (int g = 0; g < 8; g++)
        out[4] |= ((fifth >> (4 * g) & 15) * UINT32_C(0x00204081) & LOW_BITS) << g;
}

static void words_of_q5_0(const unsigned char *block, int b, uint32_t *out)
{
    (void)b;
    words_of_fives(block + 2, out);
}

static void words_of_q5_1(const unsigned char *block, int b, uint32_t *out)
{
    (void)b;
    words_of_fives(block + 4, out);
}

/* 32 bytes have a pair of bits for each of four blocks of 32 values. */
static void words_of_pairs(const unsigned char *bytes, int b, uint32_t *out)
{
    uint32_t pairs[8];
    for (int g = 0; g < 8; g++)
        pairs[g] = word_at(bytes + 32 * (b / 4) + 4 * g) >> (2 * (b % 4)) & LOW_PAIRS;
    put_pairs(pairs, out);
}

static void words_of_q2_k(const unsigned char *block, int b, uint32_t *out)
{
    words_of_pairs(block + 16, b, out);
}

static void words_of_q3_k(const unsigned char *block, int b, uint32_t *out)
{
    words_of_pairs(block + 32, b, out);
    put_bits(block, b, out + 2);
}

/* 32 values are the low or the high nibbles of 32 bytes. When packed, their second half goes above
 * the first. */
static void words_of_nibbles(const unsigned char *bytes, bool are_high, uint32_t *out)
{
    for (int v = 0; v < 4; v++) {
        uint32_t first = word_at(bytes + 4 * v), second = word_at(bytes + 16 + 4 * v);
        out[v] = are_high ? (first >> 4 & LOW_NIBBLES) | (second & HIGH_NIBBLES)
                          : (first & LOW_NIBBLES) | (second & LOW_NIBBLES) << 4;
    }
}

static void words_of_q4_k(const unsigned char *block, int b, uint32_t *out)
{
    words_of_nibbles(block + 16 + 32 * (b / 2), b % 2 == 1, out);
}

static void words_of_q5_k(const unsigned char *block, int b, uint32_t *out)
{
    words_of_nibbles(block + 48 + 32 * (b / 2), b % 2 == 1, out);
    put_bits(block + 16, b, out + 4);
}

static void words_of_q6_k(const unsigned char *block, int b, uint32_t *out)
{
    words_of_nibbles(block + 64 * (b / 4) + 32 * (b % 2), b % 4 / 2 == 1, out);
    words_of_pairs(block + 128, b, out + 4);
}

static void words_of_mxfp4(const unsigned char *block, int b, uint32_t *out)
{
    words_of_q4_0(block - 1, b, out);
}

static void words_of_iq4_xs(const unsigned char *block, int b, uint32_t *out)
{
    words_of_q4_0(block + 6 + 16 * b, b, out);
}

static void words_of_tq1_0(const unsigned char *block, int b, uint32_t *out)
{
    uint32_t bytes[8] = { 0 };
    for (int k = 0; k < 32; k++)
        bytes[k / 4] |= (uint32_t)quant_tq1_0_element(block, 32 * b + k) << (8 * (k % 4));
    put_pairs(bytes, out);
}

static void scales_of_iq4_xs(const unsigned char *block, int8_t *scales, int8_t *minimums)
{
    (void)minimums;
    quant_scales_of_iq4(block, scales);
}

static void scales_of_ternary(const unsigned char *block, int8_t *scales, int8_t *minimums)
{
    (void)block;
    (void)minimums;
    memset(scales, 1, 8);
}

static void scales_of_q2_k(const unsigned char *block, int8_t *scales, int8_t *minimums)
{
    for (int i = 0; i < 16; i++) {
        scales[i] = (int8_t)(block[i] & 15);
        minimums[i] = (int8_t)(block[i] >> 4);
    }
}

static void scales_of_q3_k(const unsigned char *block, int8_t *scales, int8_t *minimums)
{
    (void)minimums;
    quant_scales_of_16(block + 96, scales);
}

static void scales_of_q4_k(const unsigned char *block, int8_t *scales, int8_t *minimums)
{
    quant_scales_of_8(block + 4, scales, minimums);
}

static void scales_of_q6_k(const unsigned char *block, int8_t *scales, int8_t *minimums)
{
    (void)minimums;
    memcpy(scales, block + 192, 16);
}

const struct cpu_pack_source *cpu_pack_words_source(enum dtype dtype)
{
    static const struct cpu_pack_source sources[DTYPE_N] = {
        [DTYPE_Q8_0] = { 0, -1, words_of_q8_0, NULL },
        [DTYPE_Q4_0] = { 0, -1, words_of_q4_0, NULL },
        [DTYPE_Q4_1] = { 0, 2, words_of_q4_1, NULL },
        [DTYPE_Q5_0] = { 0, -1, words_of_q5_0, NULL },
        [DTYPE_Q5_1] = { 0, 2, words_of_q5_1, NULL },
        [DTYPE_Q2_K] = { 80, 82, words_of_q2_k, scales_of_q2_k },
        [DTYPE_Q3_K] = { 108, -1, words_of_q3_k, scales_of_q3_k },
        [DTYPE_Q4_K] = { 0, 2, words_of_q4_k, scales_of_q4_k },
        [DTYPE_Q5_K] = { 0, 2, words_of_q5_k, scales_of_q4_k },
        [DTYPE_Q6_K] = { 208, -1, words_of_q6_k, scales_of_q6_k },
        [DTYPE_IQ4_NL] = { 0, -1, words_of_q4_0, NULL },
        [DTYPE_IQ4_XS] = { 0, -1, words_of_iq4_xs, scales_of_iq4_xs },
        [DTYPE_MXFP4] = { 0, -1, words_of_mxfp4, NULL },
        [DTYPE_TQ1_0] = { 52, -1, words_of_tq1_0, scales_of_ternary },
        [DTYPE_TQ2_0] = { 64, -1, words_of_pairs, scales_of_ternary },
    };
    CHECK(sources[dtype].words != NULL);
    return &sources[dtype];
}
