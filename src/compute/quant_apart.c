/* Makes blocks of matrices whose parts lie apart. core/tensor.h describes the layouts. */
#include "compute/quant_apart.h"

#include "base/half.h"
#include <string.h>

enum { BLOCK = 32, F8_BLOCK = 128 };

/* The place of each of 8 rows in AWQ's words. */
static const int awq_places[8] = { 0, 4, 1, 5, 2, 6, 3, 7 };

static uint32_t word_at(const unsigned char *words, int64_t i)
{
    const unsigned char *p = words + 4 * i;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static int field_at(uint32_t word, int n_bits, int place)
{
    return (int)(word >> (n_bits * place) & ((1u << n_bits) - 1));
}

static bool has_rows_inside(const struct tensor_apart *apart)
{
    return apart->layout == TENSOR_GPTQ || apart->layout == TENSOR_AWQ;
}

float quant_apart_scale(const struct tensor_apart *apart, int64_t row, int64_t column)
{
    int64_t group = column / apart->group;
    int64_t n_groups = (apart->n_columns + apart->group - 1) / apart->group;
    int64_t i = has_rows_inside(apart) ? group * apart->n_rows + row
                                       : row / apart->row_group * n_groups + group;
    if (apart->scale_dtype == DTYPE_F32) {
        float value;
        memcpy(&value, apart->scales + 4 * i, sizeof(value));
        return value;
    }
    uint16_t bits;
    memcpy(&bits, apart->scales + 2 * i, sizeof(bits));
    return apart->scale_dtype == DTYPE_F16 ? half_to_float(bits) : bf16_to_float(bits);
}

int quant_apart_zero(const struct tensor_apart *apart, int64_t row, int64_t column)
{
    int per_word = 32 / apart->n_bits, place = (int)(row % per_word);
    int64_t group = column / apart->group, n_words = (apart->n_rows + per_word - 1) / per_word;
    if (apart->zeros == NULL)
        return 1 << (apart->n_bits - 1);
    int64_t i = apart->layout == TENSOR_PACKED
                    ? row / per_word * (apart->n_columns / apart->group) + group
                    : group * n_words + row / per_word;
    if (apart->layout == TENSOR_AWQ)
        place = awq_places[place];
    return field_at(word_at(apart->zeros, i), apart->n_bits, place) + apart->zero_added;
}

/* Reads the 32 codes of a row from `column` on. */
static void read_codes(const struct tensor_apart *apart, int64_t row, int64_t column,
                       int codes[BLOCK])
{
    int n_bits = apart->n_bits, per_word = 32 / n_bits;
    if (apart->layout == TENSOR_AWQ) {
        int64_t n_words = apart->n_rows / 8, i = column * n_words + row / 8;
        int place = awq_places[row % 8];
        for (int k = 0; k < BLOCK; k++)
            codes[k] = field_at(word_at(apart->values, i + k * n_words), 4, place);
        return;
    }
    bool is_gptq = apart->layout == TENSOR_GPTQ;
    int64_t step = is_gptq ? apart->n_rows : 1;
    int64_t i = is_gptq ? column / per_word * step + row
                        : row * (apart->n_columns / per_word) + column / per_word;
    for (int k = 0; k < BLOCK; k += per_word, i += step) {
        uint32_t word = word_at(apart->values, i);
        for (int j = 0; j < per_word; j++)
            codes[k + j] = field_at(word, n_bits, j);
    }
}

/* Writes nibbles, and fifth bits before them if made has them. */
static void put_nibbles(const int values[BLOCK], bool has_fifths, unsigned char *made)
{
    uint32_t fifths = 0;
    unsigned char *to = made + (has_fifths ? 4 : 0);
    for (int j = 0; j < BLOCK / 2; j++)
        to[j] = (unsigned char)((values[j] & 15) | (values[j + 16] & 15) << 4);
    for (int j = 0; j < BLOCK && has_fifths; j++)
        fifths |= (uint32_t)(values[j] >> 4 & 1) << j;
    for (int j = 0; j < 4 && has_fifths; j++)
        made[j] = (unsigned char)(fifths >> (8 * j));
}

static void make_integers(const struct tensor_apart *apart, int64_t row, int64_t column,
                          unsigned char *made)
{
    int codes[BLOCK];
    uint16_t d = half_from_float(quant_apart_scale(apart, row, column));
    memcpy(made, &d, sizeof(d));
    made += sizeof(d);
    if (apart->layout == TENSOR_BYTES) {
        memcpy(made, apart->values + row * apart->n_columns + column, BLOCK);
        return;
    }
    read_codes(apart, row, column, codes);
    if (apart->n_bits == 8) {
        for (int k = 0; k < BLOCK; k++)
            made[k] = (unsigned char)(codes[k] - 128);
        return;
    }
    int zero = quant_apart_zero(apart, row, column);
    for (int k = 0; k < BLOCK && apart->zeros != NULL; k++)
        codes[k] += 16 - zero;
    put_nibbles(codes, apart->zeros != NULL, made);
}

void quant_apart_mxfp4(const unsigned char blocks[16], unsigned char scale, unsigned char out[17])
{
    out[0] = scale;
    for (int j = 0; j < 16; j++) {
        int low = blocks[j / 2] >> (4 * (j % 2)) & 15,
            high = blocks[8 + j / 2] >> (4 * (j % 2)) & 15;
        out[1 + j] = (unsigned char)(low | high << 4);
    }
}

void quant_apart_block(const struct tensor_apart *apart, int64_t row, int64_t i,
                       unsigned char made[QUANT_MADE_BYTES])
{
    if (apart->layout == TENSOR_MXFP4) {
        quant_apart_mxfp4(apart->values + row * (apart->n_columns / 2) + 16 * i,
                          apart->scales[row * (apart->n_columns / 32) + i], made);
    } else if (apart->layout == TENSOR_F8) {
        float scale = quant_apart_scale(apart, row, i * F8_BLOCK);
        memcpy(made, &scale, sizeof(scale));
        memcpy(made + sizeof(scale), apart->values + row * apart->n_columns + i * F8_BLOCK,
               F8_BLOCK);
    } else {
        make_integers(apart, row, i * BLOCK, made);
    }
}
