/* Quantized matrices of safetensors: their parts by name, compared with the schemes of config.json.
 *
 * A module's parts are NAME.qweight, .qzeros, .scales and .g_idx (GPTQ, AWQ); NAME.weight_packed or
 * .weight, .weight_scale, .weight_zero_point, .weight_shape and .weight_g_idx (compressed-tensors);
 * NAME.weight and .weight_scale_inv or .weight_scale (FP8). Scales of activations are not used,
 * since activations stay what they are. */
#include "weights/apart.h"
#include "base/half.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define F8_SCALE_MAX 0x1p100f /* so that 256 times it, and products with it, stay finite */

struct reader {
    struct weights_catalog *catalog;
    struct fault *fault;
    int n_stem; /* of name: "model.layers.0.self_attn.q_proj." */
    const char *name;
    int64_t n_rows, n_columns;
    struct tensor_apart apart;
    struct weights_entry *values, *scales, *zeros;
};

/* Returns the length of a name without its last part, "weight"; 0: it has another one. */
static int stem_of(const char *name)
{
    size_t n = strlen(name), n_end = strlen("weight");
    bool fits = n > n_end && name[n - n_end - 1] == '.' && strcmp(name + n - n_end, "weight") == 0;
    return fits ? (int)(n - n_end) : 0;
}

static struct weights_entry *find_part(const struct weights_catalog *catalog, const char *name,
                                       int n_stem, const char *part)
{
    char full[CATALOG_NAME_BYTES];
    int n = snprintf(full, sizeof(full), "%.*s%s", n_stem, name, part);
    return n < (int)sizeof(full) ? weights_catalog_find(catalog, full) : NULL;
}

/* Returns a part that holds no parameters, and marks it as used. */
static struct weights_entry *take_aside(const struct reader *r, const char *part)
{
    struct weights_entry *entry = find_part(r->catalog, r->name, r->n_stem, part);
    if (entry != NULL)
        entry->is_used = entry->is_aside = true;
    return entry;
}

static bool is_type(const struct weights_entry *entry, const char *type)
{
    return strcmp(entry->type, type) == 0;
}

static bool is_zero(const struct weights_entry *entry)
{
    uint64_t i = 0;
    while (i < entry->n_bytes && entry->data[i] == 0)
        i++;
    return i == entry->n_bytes && entry->dtype != DTYPE_N;
}

void weights_apart_begin(struct weights_catalog *catalog)
{
    if (catalog->quantization->method != WEIGHTS_GPTQ)
        return;
    for (int32_t i = 0; i < catalog->n; i++) {
        struct weights_entry *entry = &catalog->at[i];
        size_t n = strlen(entry->name), n_end = strlen("bias");
        if (n <= n_end || strcmp(entry->name + n - n_end, "bias") != 0 ||
            find_part(catalog, entry->name, (int)(n - n_end), "qweight") == NULL)
            continue;
        entry->is_void = entry->is_used = entry->is_aside = is_zero(entry);
    }
}

/* Returns the entry of the values, in whatever layout the method has. */
static struct weights_entry *find_values(const struct weights_catalog *catalog, const char *name,
                                         enum tensor_layout *layout)
{
    const struct weights_quantization *q = catalog->quantization;
    enum weights_quantized method = q == NULL ? WEIGHTS_PLAIN : q->method;
    int n_stem = stem_of(name);
    struct weights_entry *entry = NULL;
    *layout = method == WEIGHTS_AWQ ? TENSOR_AWQ : TENSOR_GPTQ;
    if (n_stem == 0)
        return NULL;
    if (method == WEIGHTS_GPTQ || method == WEIGHTS_AWQ)
        return find_part(catalog, name, n_stem, "qweight");
    *layout = TENSOR_PACKED;
    if (method == WEIGHTS_COMPRESSED)
        entry = find_part(catalog, name, n_stem, "weight_packed");
    if (entry != NULL || (method != WEIGHTS_COMPRESSED && method != WEIGHTS_FP8))
        return entry;
    entry = weights_catalog_find(catalog, name);
    if (entry == NULL || (!is_type(entry, "F8_E4M3") && !is_type(entry, "I8")))
        return NULL;
    *layout = is_type(entry, "I8") ? TENSOR_BYTES : TENSOR_F8;
    return entry;
}

bool weights_apart_has(const struct weights_catalog *catalog, const char *name)
{
    enum tensor_layout layout;
    return find_values(catalog, name, &layout) != NULL;
}

static enum status refuse(const struct reader *r, const struct weights_entry *entry,
                          const char *what)
{
    return fault_set(r->fault, STATUS_UNSUPPORTED, "%s: tensor %s %s", r->catalog->label,
                     entry->name, what);
}

static enum status missing(const struct reader *r, const char *part)
{
    return fault_set(r->fault, STATUS_BAD_INPUT, "%s: tensor %.*s%s is missing", r->catalog->label,
                     r->n_stem, r->name, part);
}

static enum status find_parts(struct reader *r)
{
    bool is_gptq = r->apart.layout == TENSOR_GPTQ || r->apart.layout == TENSOR_AWQ;
    const char *scales = is_gptq ? "scales" : "weight_scale";
    if (r->catalog->quantization->method == WEIGHTS_FP8 &&
        find_part(r->catalog, r->name, r->n_stem, "weight_scale_inv") != NULL)
        scales = "weight_scale_inv";
    r->values->is_used = true;
    r->scales = take_aside(r, scales);
    r->zeros = take_aside(r, is_gptq ? "qzeros" : "weight_zero_point");
    take_aside(r, "input_scale");
    take_aside(r, "input_zero_point");
    take_aside(r, "activation_scale");
    if (r->scales == NULL)
        return missing(r, scales);
    if (is_gptq && r->zeros == NULL)
        return missing(r, "qzeros");
    if (r->scales->dtype != DTYPE_F32 && r->scales->dtype != DTYPE_F16 &&
        r->scales->dtype != DTYPE_BF16)
        return refuse(r, r->scales, "isn't F32, F16 or BF16");
    r->apart.scale_dtype = r->scales->dtype;
    r->apart.values = r->values->data;
    r->apart.scales = r->scales->data;
    r->apart.zeros = r->zeros == NULL ? NULL : r->zeros->data;
    return STATUS_OK;
}

/* Returns whether an entry is (outer, inner). One of 1 may be left out. */
static bool has_shape(const struct weights_entry *entry, int64_t outer, int64_t inner)
{
    bool is_flat = inner == 1 && entry->n_dims <= 1 && entry->dims[0] == outer;
    return is_flat || (entry->dims[0] == inner && entry->dims[1] == outer && entry->dims[2] == 1 &&
                       entry->dims[3] == 1);
}

/* Returns whether the parts have the types and shapes of a scheme, and sets the rest of apart. */
static bool is_of_scheme(struct reader *r, const struct weights_scheme *scheme)
{
    struct tensor_apart *a = &r->apart;
    enum tensor_layout layout = a->layout;
    bool is_packed = layout != TENSOR_BYTES && layout != TENSOR_F8;
    int64_t rows = r->n_rows, columns = r->n_columns, per_word = 32 / scheme->n_bits;
    a->n_bits = scheme->n_bits;
    a->row_group = scheme->row_group == 0 ? rows : scheme->row_group;
    a->group = scheme->group == 0 ? columns : scheme->group;
    int64_t groups = (columns + a->group - 1) / a->group;
    int64_t row_groups = (rows + a->row_group - 1) / a->row_group;
    if (scheme->is_float != (layout == TENSOR_F8) || scheme->is_packed != is_packed)
        return false;
    if (!is_packed)
        return has_shape(r->values, rows, columns) && has_shape(r->scales, row_groups, groups) &&
               (layout == TENSOR_F8 || columns % a->group == 0);
    if (columns % a->group != 0 || columns % per_word != 0 || !is_type(r->values, "I32") ||
        (r->zeros != NULL && !is_type(r->zeros, "I32")))
        return false;
    if (layout == TENSOR_PACKED)
        return has_shape(r->values, rows, columns / per_word) &&
               has_shape(r->scales, row_groups, groups) &&
               scheme->is_symmetric == (r->zeros == NULL) &&
               (r->zeros == NULL || has_shape(r->zeros, (rows + per_word - 1) / per_word, groups));
    bool is_gptq = layout == TENSOR_GPTQ;
    return rows % per_word == 0 && has_shape(r->scales, groups, rows) &&
           has_shape(r->zeros, groups, rows / per_word) &&
           has_shape(r->values, is_gptq ? columns / per_word : columns,
                     is_gptq ? rows : rows / per_word);
}

static enum status choose_scheme(struct reader *r, bool *is_symmetric)
{
    const struct weights_quantization *q = r->catalog->quantization;
    for (int i = 0; i < q->n_schemes; i++)
        if (is_of_scheme(r, &q->schemes[i])) {
            *is_symmetric = q->schemes[i].is_symmetric;
            return STATUS_OK;
        }
    char values[96], scales[96];
    weights_catalog_print_dims(r->values, values, sizeof(values));
    weights_catalog_print_dims(r->scales, scales, sizeof(scales));
    return fault_set(r->fault, STATUS_BAD_INPUT,
                     "%s: tensor %s is %s of shape %s with scales of shape %s%s, which no group of "
                     "config.json's quantization makes of a matrix of (%lld, %lld)",
                     r->catalog->label, r->values->name, r->values->type, values, scales,
                     r->zeros == NULL ? "" : " and zero points", (long long)r->n_rows,
                     (long long)r->n_columns);
}

static float element(const struct weights_entry *entry, int64_t i)
{
    float value;
    uint16_t bits;
    if (entry->dtype == DTYPE_F32) {
        memcpy(&value, entry->data + 4 * i, sizeof(value));
        return value;
    }
    memcpy(&bits, entry->data + 2 * i, sizeof(bits));
    return entry->dtype == DTYPE_F16 ? half_to_float(bits) : bf16_to_float(bits);
}

/* Returns whether a half holds a finite scale exactly. Nearly all are normal halves. */
static bool is_half(float scale)
{
    uint32_t bits;
    memcpy(&bits, &scale, sizeof(bits));
    float magnitude = fabsf(scale);
    bool is_normal = magnitude >= 0x1p-14f && magnitude < 0x1p16f && (bits & 0x1FFF) == 0;
    return is_normal || half_to_float(half_from_float(scale)) == scale;
}

static enum status check_scales(const struct reader *r)
{
    const struct weights_entry *scales = r->scales;
    int64_t n = scales->dims[0] * scales->dims[1];
    bool is_f8 = r->apart.layout == TENSOR_F8;
    for (int64_t i = 0; i < n; i++) {
        float scale = element(scales, i);
        if (!isfinite(scale) || (is_f8 && fabsf(scale) > F8_SCALE_MAX))
            return fault_set(r->fault, STATUS_BAD_INPUT,
                             "%s: tensor %s holds the scale %g, expected a finite one%s",
                             r->catalog->label, scales->name, (double)scale,
                             is_f8 ? " of 1e30 at most" : "");
        if (!is_f8 && scales->dtype != DTYPE_F16 && !is_half(scale))
            return fault_set(r->fault, STATUS_UNSUPPORTED,
                             "%s: tensor %s holds the scale %.9g, which F16 does not hold exactly, "
                             "and integers with other scales are not supported",
                             r->catalog->label, scales->name, (double)scale);
    }
    return STATUS_OK;
}

static uint32_t word_at(const struct weights_entry *entry, int64_t i)
{
    uint32_t word;
    memcpy(&word, entry->data + 4 * i, sizeof(word));
    return word;
}

/* Checks zero points. Those of symmetric matrices need no reading any more. */
static enum status check_zeros(struct reader *r, bool is_symmetric)
{
    struct weights_entry *zeros = r->zeros;
    int n_bits = r->apart.n_bits;
    if (zeros == NULL)
        return STATUS_OK;
    if (r->apart.layout == TENSOR_BYTES || r->apart.layout == TENSOR_F8) {
        bool are_zero = zeros->n_bytes > 0; /* of a known type */
        for (uint64_t i = 0; i < zeros->n_bytes && are_zero; i++)
            are_zero = zeros->data[i] == 0;
        if (!are_zero)
            return refuse(r, zeros,
                          "holds zero points other than 0, which are not supported "
                          "for 8 bits");
        r->apart.zeros = NULL;
        return STATUS_OK;
    }
    uint32_t all = n_bits == 4 ? 0x11111111u : 0x01010101u;
    uint32_t half = all * (uint32_t)((1 << (n_bits - 1)) - r->apart.zero_added);
    for (int64_t i = 0; i < (int64_t)(zeros->n_bytes / 4); i++) {
        uint32_t word = word_at(zeros, i);
        if (is_symmetric && word != half)
            return refuse(r, zeros,
                          "holds zero points that are not the middle of the range, "
                          "although quantization_config says sym");
        for (int j = 0; j < 8 && n_bits == 4 && r->apart.zero_added > 0; j++)
            if ((word >> (4 * j) & 15) == 15)
                return refuse(r, zeros,
                              "holds the zero point 15 + 1, which programs read in "
                              "different ways");
    }
    if (is_symmetric)
        r->apart.zeros = NULL;
    return STATUS_OK;
}

/* Checks that columns have the order of their groups. */
static enum status check_order(const struct reader *r)
{
    bool is_gptq = r->apart.layout == TENSOR_GPTQ;
    const struct weights_entry *order = take_aside(r, is_gptq ? "g_idx" : "weight_g_idx");
    if (order == NULL)
        return is_gptq && r->catalog->quantization->is_ordered ? missing(r, "g_idx") : STATUS_OK;
    if (!is_type(order, "I32") || !has_shape(order, r->n_columns, 1))
        return refuse(r, order, "isn't an I32 for each column");
    for (int64_t k = 0; k < r->n_columns; k++)
        if ((int64_t)word_at(order, k) != k / r->apart.group)
            return refuse(r, order,
                          "has the columns in another order (desc_act, actorder), which "
                          "is not supported");
    return STATUS_OK;
}

/* compressed-tensors: the shape of the matrix, as two integers. */
static enum status check_stated_shape(const struct reader *r)
{
    const struct weights_entry *shape = take_aside(r, "weight_shape");
    int64_t stated[2] = { r->n_rows, r->n_columns };
    if (shape == NULL)
        return STATUS_OK;
    if (!has_shape(shape, 2, 1) || (!is_type(shape, "I64") && !is_type(shape, "I32")))
        return refuse(r, shape, "isn't two integers");
    for (int64_t i = 0; i < 2 && is_type(shape, "I64"); i++)
        memcpy(&stated[i], shape->data + 8 * i, sizeof(stated[i]));
    for (int64_t i = 0; i < 2 && is_type(shape, "I32"); i++)
        stated[i] = word_at(shape, i);
    return stated[0] == r->n_rows && stated[1] == r->n_columns
               ? STATUS_OK
               : refuse(r, shape, "states another shape than config.json's");
}

/* Returns a tensor of all rows. */
static struct tensor tensor_of(struct weights_catalog *catalog, const struct tensor_apart *apart,
                               enum dtype dtype)
{
    struct tensor_apart *kept = pile_take(catalog->pile, sizeof(*kept));
    *kept = *apart;
    return (struct tensor){ .data = apart->values,
                            .dtype = dtype,
                            .n_rows = (int32_t)apart->n_rows,
                            .n_columns = (int32_t)apart->n_columns,
                            .row_bytes = dtype_row_bytes(dtype, apart->n_columns),
                            .apart = kept,
                            .apart_step = 1 };
}

/* The types that hold the values exactly: see compute/quant_apart.h. */
static enum dtype dtype_of(const struct tensor_apart *apart)
{
    if (apart->layout == TENSOR_F8)
        return DTYPE_F8_E4M3;
    if (apart->n_bits == 8)
        return DTYPE_Q8_0;
    return apart->zeros == NULL ? DTYPE_Q4_0 : DTYPE_Q5_0;
}

enum status weights_apart_find(struct weights_catalog *catalog, const char *name,
                               const int64_t size[2], struct tensor *whole, struct fault *fault)
{
    struct reader r = { .catalog = catalog,
                        .fault = fault,
                        .n_stem = stem_of(name),
                        .name = name,
                        .n_rows = size[0],
                        .n_columns = size[1] };
    bool is_symmetric = true;
    r.values = find_values(catalog, name, &r.apart.layout);
    CHECK(r.values != NULL);
    r.apart.n_rows = size[0];
    r.apart.n_columns = size[1];
    r.apart.zero_added = catalog->quantization->zero_added;
    enum status status = find_parts(&r);
    if (status == STATUS_OK)
        status = choose_scheme(&r, &is_symmetric);
    if (status == STATUS_OK)
        status = check_scales(&r);
    if (status == STATUS_OK)
        status = check_zeros(&r, is_symmetric);
    if (status == STATUS_OK)
        status = check_order(&r);
    if (status == STATUS_OK)
        status = check_stated_shape(&r);
    if (status != STATUS_OK)
        return status;
    r.values->n_packed =
        r.apart.layout == TENSOR_BYTES || r.apart.layout == TENSOR_F8 ? 1 : 32 / r.apart.n_bits;
    enum dtype dtype = dtype_of(&r.apart);
    int32_t n_block = dtype_info(dtype)->n_block;
    if (r.n_columns % n_block != 0 || r.apart.group % n_block != 0)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%s: tensor %s has rows of %lld and groups of %lld, not multiples of %d",
                         catalog->label, r.values->name, (long long)r.n_columns,
                         (long long)r.apart.group, n_block);
    *whole = tensor_of(catalog, &r.apart, dtype);
    return STATUS_OK;
}

struct tensor weights_apart_floats(const struct tensor *whole, struct pile *pile)
{
    const struct tensor_apart *a = whole->apart;
    int64_t n_groups = (a->n_columns + a->group - 1) / a->group;
    float *values = pile_take(pile, sizeof(*values) * (size_t)(a->n_rows * a->n_columns));
    const struct weights_entry scales = { .dtype = a->scale_dtype, .data = a->scales };
    CHECK(a->layout == TENSOR_F8);
    for (int64_t i = 0; i < a->n_rows * a->n_columns; i++) {
        unsigned char byte = a->values[i];
        int64_t row = i / a->n_columns, column = i % a->n_columns;
        float scale = element(&scales, row / a->row_group * n_groups + column / a->group);
        values[i] = f8_is_nan(byte) ? NAN : half_to_float(f8_to_half(byte)) * 256.0f * scale;
    }
    return (struct tensor){ .data = values,
                            .dtype = DTYPE_F32,
                            .n_rows = whole->n_rows,
                            .n_columns = whole->n_columns,
                            .row_bytes = dtype_row_bytes(DTYPE_F32, whole->n_columns) };
}

/* Refuses a tensor of bytes whose shape isn't the expected one. */
static enum status check_bytes(const struct weights_catalog *catalog,
                               const struct weights_entry *entry,
                               const int64_t expected[CATALOG_DIMS], struct fault *fault)
{
    char found[96];
    bool fits = is_type(entry, "U8");
    for (int i = 0; i < CATALOG_DIMS; i++)
        fits = fits && entry->dims[i] == expected[i];
    if (fits)
        return STATUS_OK;
    weights_catalog_print_dims(entry, found, sizeof(found));
    return fault_set(fault, STATUS_BAD_INPUT,
                     "%s: tensor %s is %s of shape %s, expected U8 (%lld, %lld, %lld, %lld)",
                     catalog->label, entry->name, entry->type, found, (long long)expected[3],
                     (long long)expected[2], (long long)expected[1], (long long)expected[0]);
}

enum status weights_apart_mxfp4(struct weights_catalog *catalog, struct weights_entry *blocks,
                                int32_t n, const int64_t size[2], struct tensor *whole,
                                struct fault *fault)
{
    int n_name = (int)(strlen(blocks->name) - strlen("blocks"));
    struct weights_entry *scales = find_part(catalog, blocks->name, n_name, "scales");
    int64_t rows = size[0], columns = size[1];
    if (scales == NULL)
        return fault_set(fault, STATUS_BAD_INPUT, "%s: tensor %.*sscales is missing",
                         catalog->label, n_name, blocks->name);
    if (columns % 32 != 0 || rows > INT32_MAX / n)
        return fault_set(fault, STATUS_UNSUPPORTED,
                         "%s: tensor %s has rows of %lld, not a multiple of MXFP4's 32, or more "
                         "rows than a matrix may have",
                         catalog->label, blocks->name, (long long)columns);
    blocks->n_packed = 2;
    scales->is_used = scales->is_aside = true;
    const int64_t dims[] = { 16, columns / 32, rows, n };
    const int64_t scale_dims[] = { columns / 32, rows, n, 1 };
    enum status status = check_bytes(catalog, blocks, dims, fault);
    if (status == STATUS_OK)
        status = check_bytes(catalog, scales, scale_dims, fault);
    if (status != STATUS_OK)
        return status;
    const struct tensor_apart apart = { .layout = TENSOR_MXFP4,
                                        .n_bits = 4,
                                        .n_rows = rows * n,
                                        .n_columns = columns,
                                        .row_group = 1,
                                        .group = 32,
                                        .values = blocks->data,
                                        .scales = scales->data };
    *whole = tensor_of(catalog, &apart, DTYPE_MXFP4);
    return STATUS_OK;
}

enum status weights_apart_check(const struct weights_catalog *catalog, struct fault *fault)
{
    if (catalog->quantization == NULL || catalog->quantization->method <= WEIGHTS_MXFP4)
        return STATUS_OK;
    for (int32_t i = 0; i < catalog->n; i++)
        if (catalog->at[i].n_packed > 0)
            return STATUS_OK;
    return fault_set(fault, STATUS_BAD_INPUT,
                     "%s: no tensor has the form that config.json's quantization_config states; "
                     "remove the key if the weights are not quantized",
                     catalog->label);
}

int weights_apart_pieces(const struct tensor *tensor, struct weights_apart_piece pieces[2])
{
    const struct tensor_apart *a = tensor->apart;
    int64_t first = tensor->apart_row, rows = (tensor->n_rows - 1) * tensor->apart_step + 1;
    if (a->layout == TENSOR_GPTQ || a->layout == TENSOR_AWQ) {
        first = 0;
        rows = a->n_rows;
    }
    int64_t row_bytes = a->n_columns * a->n_bits / 8;
    pieces[0] =
        (struct weights_apart_piece){ a->values + first * row_bytes, (size_t)(rows * row_bytes) };
    if (a->layout != TENSOR_MXFP4)
        return 1;
    int64_t n_scales = a->n_columns / 32;
    pieces[1] =
        (struct weights_apart_piece){ a->scales + first * n_scales, (size_t)(rows * n_scales) };
    return 2;
}
