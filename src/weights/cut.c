/* Copies and views of tensors. */
#include "weights/cut.h"
#include "base/half.h"
#include <string.h>

struct tensor weights_cut(const struct tensor *whole, bool is_vector, int64_t first, int64_t n)
{
    struct tensor part = *whole;
    const unsigned char *data = whole->data;
    if (is_vector || whole->is_transposed) {
        data += first * dtype_info(whole->dtype)->block_bytes;
        if (is_vector)
            part.row_bytes = dtype_row_bytes(whole->dtype, n);
    } else if (whole->apart != NULL) {
        part.apart_row += first * whole->apart_step;
    } else {
        data += first * whole->row_bytes;
    }
    if (is_vector)
        part.n_columns = (int32_t)n;
    else
        part.n_rows = (int32_t)n;
    part.data = data;
    return part;
}

float weights_cut_element(const struct tensor *vector, int32_t i)
{
    const unsigned char *at = vector->data;
    uint16_t half;
    float value;
    if (vector->dtype == DTYPE_F32) {
        memcpy(&value, at + 4 * (size_t)i, sizeof(value));
        return value;
    }
    memcpy(&half, at + 2 * (size_t)i, sizeof(half));
    return vector->dtype == DTYPE_F16 ? half_to_float(half) : bf16_to_float(half);
}

struct tensor weights_cut_plus_one(const struct tensor *stored, struct pile *pile)
{
    struct tensor whole = *stored;
    float *values = pile_take(pile, (size_t)stored->n_columns * sizeof(*values));
    for (int32_t i = 0; i < stored->n_columns; i++)
        values[i] = weights_cut_element(stored, i) + 1.0f;
    whole.dtype = DTYPE_F32;
    whole.row_bytes = dtype_row_bytes(DTYPE_F32, stored->n_columns);
    whole.data = values;
    return whole;
}

struct tensor weights_cut_scaled(const struct tensor *stored, float factor, struct pile *pile)
{
    struct tensor whole = *stored;
    float *values = pile_take(pile, (size_t)stored->n_columns * sizeof(*values));
    for (int32_t i = 0; i < stored->n_columns; i++)
        values[i] = weights_cut_element(stored, i) * factor;
    whole.dtype = DTYPE_F32;
    whole.row_bytes = dtype_row_bytes(DTYPE_F32, stored->n_columns);
    whole.data = values;
    return whole;
}

struct tensor weights_cut_heads(const struct tensor *whole, const struct model_spec *spec,
                                bool is_vector, int32_t first, int32_t n, struct pile *pile)
{
    int32_t n_groups = spec->n_kv_heads, n_heads = spec->n_heads / n_groups + 2;
    size_t row = (size_t)(is_vector ? dtype_info(whole->dtype)->block_bytes : whole->row_bytes);
    size_t head = (size_t)spec->head_dim * row, n_bytes = (size_t)n * head;
    unsigned char *copy = pile_take(pile, (size_t)n_groups * n_bytes);
    for (int32_t g = 0; g < n_groups; g++)
        memcpy(copy + (size_t)g * n_bytes,
               (const unsigned char *)whole->data +
                   ((size_t)g * (size_t)n_heads + (size_t)first) * head,
               n_bytes);
    struct tensor part = *whole;
    int32_t size = n_groups * n * spec->head_dim;
    part.data = copy;
    if (is_vector)
        part.row_bytes = dtype_row_bytes(whole->dtype, size);
    *(is_vector ? &part.n_columns : &part.n_rows) = size;
    return part;
}

struct tensor weights_cut_each_second(const struct tensor *whole, int32_t first, struct pile *pile)
{
    struct tensor part = *whole;
    int32_t n = whole->n_columns / 2;
    float *values = pile_take(pile, (size_t)n * sizeof(*values));
    for (int32_t i = 0; i < n; i++)
        values[i] = weights_cut_element(whole, 2 * i + first);
    part.dtype = DTYPE_F32;
    part.n_columns = n;
    part.row_bytes = dtype_row_bytes(DTYPE_F32, n);
    part.data = values;
    return part;
}

struct tensor weights_cut_alternate(const struct tensor *whole, int part)
{
    struct tensor half = *whole;
    half.n_rows = whole->n_rows / 2;
    half.is_alternate = whole->is_transposed;
    if (whole->apart != NULL) {
        half.apart_row += part * whole->apart_step;
        half.apart_step *= 2;
        return half;
    }
    int64_t step = whole->is_transposed ? dtype_info(whole->dtype)->block_bytes : whole->row_bytes;
    half.data = (const unsigned char *)whole->data + part * step;
    if (!whole->is_transposed)
        half.row_bytes *= 2;
    return half;
}

static float matrix_element(const struct tensor *matrix, int32_t row, int32_t column)
{
    struct tensor vector = *matrix;
    vector.data = (const unsigned char *)matrix->data + row * matrix->row_bytes;
    return weights_cut_element(&vector, column);
}

struct tensor weights_cut_sums(const struct tensor *a, const struct tensor *b, struct pile *pile)
{
    int32_t n = a->n_rows, width = a->n_columns;
    struct tensor sums = { .dtype = DTYPE_F32, .n_rows = n * b->n_rows, .n_columns = width };
    sums.row_bytes = dtype_row_bytes(DTYPE_F32, width);
    float *values = pile_take(pile, (size_t)sums.n_rows * (size_t)width * sizeof(*values));
    sums.data = values;
    for (int32_t row = 0; row < sums.n_rows; row++)
        for (int32_t k = 0; k < width; k++)
            *values++ = matrix_element(a, row % n, k) + matrix_element(b, row / n, k);
    return sums;
}
