/* Packed words straight from a file's blocks; quant.c draws the blocks, pack.h the words. */
#include "cpu/pack_words.h"

#include "compute/quant.h"
#include <string.h>

static uint32_t word_at(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

#define LOW_NIBBLES  UINT32_C(0x0f0f0f0f)
#define HIGH_NIBBLES UINT32_C(0xf0f0f0f0)

/* Signed bytes stay signed bytes. */
static void words_of_q8_0(const unsigned char *block, int b, uint32_t *out)
{
    (void)b;
    for (int g = 0; g < 8; g++)
        out[g] = word_at(block + 2 + 4 * g);
}

/* Element j low, j + 16 high: the file's nibbles lie as the packed ones do. */
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

/* Nibbles and fifth bits become bytes: four bits are spread over a word by a multiplication. */
static void words_of_fives(const unsigned char *fifths, uint32_t *out)
{
    uint32_t fifth = word_at(fifths);
    for (int g = 0; g < 8; g++) {
        uint32_t nibbles = word_at(fifths + 4 + 4 * (g % 4)) >> (g / 4 * 4) & LOW_NIBBLES;
        uint32_t bits = fifth >> (4 * g) & 15;
        out[g] = nibbles | (bits * UINT32_C(0x00204081) & UINT32_C(0x01010101)) << 4;
    }
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

/* 32 values are the low or the high nibbles of 32 bytes; packed, the second half of them goes above
 * the first. */
static void words_of_q4_k(const unsigned char *block, int b, uint32_t *out)
{
    const unsigned char *bytes = block + 16 + 32 * (b / 2);
    for (int v = 0; v < 4; v++) {
        uint32_t first = word_at(bytes + 4 * v), second = word_at(bytes + 16 + 4 * v);
        out[v] = b % 2 == 0 ? (first & LOW_NIBBLES) | (second & LOW_NIBBLES) << 4
                            : (first >> 4 & LOW_NIBBLES) | (second & HIGH_NIBBLES);
    }
}

static void words_of_q6_k(const unsigned char *block, int b, uint32_t *out)
{
    int half = b / 4, s = b % 4;
    const unsigned char *low = block + 64 * half + 32 * (s % 2), *high = block + 128 + 32 * half;
    for (int g = 0; g < 8; g++)
        out[g] = (word_at(low + 4 * g) >> (s / 2 * 4) & LOW_NIBBLES) |
                 (word_at(high + 4 * g) >> (2 * s) & UINT32_C(0x03030303)) << 4;
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
        [DTYPE_Q4_K] = { 0, 2, words_of_q4_k, scales_of_q4_k },
        [DTYPE_Q6_K] = { 208, -1, words_of_q6_k, scales_of_q6_k },
    };
    return sources[dtype].words != NULL ? &sources[dtype] : NULL;
}
