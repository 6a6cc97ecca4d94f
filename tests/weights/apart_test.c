/* Parts of quantized matrices: found, compared with their scheme, and refused when a part is
 * missing, has another shape, or holds what is not supported. */
#include "weights/refused.h"
#include "weights/build.h"
#include "weights/apart.h"
#include "weights/safetensors.h"

enum { PARTS_MAX = 8, ROWS = 8, COLUMNS = 128 };

/* A tensor of `outer` by `inner` (0: a vector) whose bytes repeat four given ones. */
struct part {
    const char *name, *type;
    int outer, inner;
    uint32_t fill;
};
struct given {
    enum weights_quantized method;
    struct weights_scheme scheme;
    int zero_added;
    bool is_ordered;
    struct part parts[PARTS_MAX];
};

static int bytes_of(const char *type)
{
    bool is_long = strcmp(type, "I64") == 0, is_short = strstr(type, "16") != NULL;
    return is_long ? 8 : is_short ? 2 : strstr(type, "8") != NULL ? 1 : 4;
}

static unsigned char *kept; /* the file of the set that is open */

static void close_set(struct weights_safetensors *set)
{
    weights_safetensors_close(set);
    mem_give(kept);
}

/* Reads the parts, and binds the matrix. g_idx has the usual order if it is filled with 0. */
static enum status find(const struct given *given, struct weights_safetensors *set,
                        struct weights_quantization *q, struct tensor *whole, struct fault *fault)
{
    static const int64_t size[] = { ROWS, COLUMNS };
    char header[2048] = "{";
    size_t n = 1, n_data = 0, n_bytes;
    *q = (struct weights_quantization){
        given->method, given->zero_added, given->is_ordered, 1, { given->scheme }
    };
    for (const struct part *p = given->parts; p->name != NULL; p++) {
        size_t n_own = (size_t)(p->outer * (p->inner > 0 ? p->inner : 1) * bytes_of(p->type));
        char inner[16] = "";
        if (p->inner > 0)
            snprintf(inner, sizeof(inner), ",%d", p->inner);
        n += (size_t)snprintf(header + n, sizeof(header) - n,
                              "%s\"a.%s\":{\"dtype\":\"%s\",\"shape\":[%d%s],"
                              "\"data_offsets\":[%zu,%zu]}",
                              n > 1 ? "," : "", p->name, p->type, p->outer, inner, n_data,
                              n_data + n_own);
        n_data += n_own;
    }
    snprintf(header + n, sizeof(header) - n, "}");
    unsigned char *bytes = build_safetensors(header, n_data, &n_bytes);
    unsigned char *data = bytes + n_bytes - n_data;
    for (const struct part *p = given->parts; p->name != NULL; p++) {
        int n_own = p->outer * (p->inner > 0 ? p->inner : 1) * bytes_of(p->type);
        for (int i = 0; i < n_own; i++)
            data[i] = (unsigned char)(p->fill >> (8 * (i % 4)));
        for (int i = 0; i < n_own / 4 && strstr(p->name, "g_idx") != NULL && p->fill == 0; i++)
            data[4 * i] = (unsigned char)(i / 32);
        data += n_own;
    }
    enum status status = weights_safetensors_read(set, bytes, n_bytes, fault);
    kept = bytes;
    if (status != STATUS_OK)
        fail_msg("%s: %s", header, fault->text);
    set->catalog.quantization = q;
    assert_true(weights_apart_has(&set->catalog, "a.weight"));
    assert_false(weights_apart_has(&set->catalog, "b.weight"));
    assert_false(weights_apart_has(&set->catalog, "a.bias"));
    return weights_apart_find(&set->catalog, "a.weight", size, whole, fault);
}

#define HALVES 0x2C002C00u /* F16 1/16 */
#define WORDS_4                                                                                    \
    {                                                                                              \
        false, true, true, 4, 1, 32                                                                \
    }
#define WITH_ZEROS                                                                                 \
    {                                                                                              \
        false, true, false, 4, 1, 32                                                               \
    }
#define QWEIGHT                                                                                    \
    {                                                                                              \
        "qweight", "I32", COLUMNS / 8, ROWS, 0x12345678                                            \
    }
#define SCALES                                                                                     \
    {                                                                                              \
        "scales", "F16", COLUMNS / 32, ROWS, HALVES                                                \
    }
#define QZEROS(fill)                                                                               \
    {                                                                                              \
        "qzeros", "I32", COLUMNS / 32, ROWS / 8, fill                                              \
    }
#define PACK                                                                                       \
    {                                                                                              \
        "weight_packed", "I32", ROWS, COLUMNS / 8, 0x12345678                                      \
    }
#define SCALE(fill)                                                                                \
    {                                                                                              \
        "weight_scale", "BF16", ROWS, COLUMNS / 32, fill                                           \
    }
#define BYTES                                                                                      \
    {                                                                                              \
        "weight", "F8_E4M3", ROWS, COLUMNS, 0x01020304                                             \
    }
#define BLOCKS                                                                                     \
    {                                                                                              \
        true, false, true, 8, 128, 128                                                             \
    }

static void finds_every_layout(void **state)
{
    (void)state;
    static const struct {
        struct given given;
        enum dtype dtype;
    } rows[] = {
        { { WEIGHTS_GPTQ, WORDS_4, 1, false, { QWEIGHT, SCALES, QZEROS(0x77777777) } },
          DTYPE_Q4_0 },
        { { WEIGHTS_GPTQ,
            WITH_ZEROS,
            0,
            true,
            { QWEIGHT, SCALES, QZEROS(0xFF077777), { "g_idx", "I32", COLUMNS, 0, 0 } } },
          DTYPE_Q5_0 },
        { { WEIGHTS_AWQ,
            WITH_ZEROS,
            0,
            false,
            { { "qweight", "I32", COLUMNS, ROWS / 8, 5 }, SCALES, QZEROS(0x01234567) } },
          DTYPE_Q5_0 },
        { { WEIGHTS_COMPRESSED, WORDS_4, 0, false, { PACK, SCALE(0x3C003C00) } }, DTYPE_Q4_0 },
        { { WEIGHTS_COMPRESSED,
            WITH_ZEROS,
            0,
            false,
            { PACK,
              SCALE(0x3C003C00),
              { "weight_zero_point", "I32", ROWS / 8, COLUMNS / 32, 0x01234567 } } },
          DTYPE_Q5_0 },
        { { WEIGHTS_COMPRESSED,
            { false, false, true, 8, 1, 0 },
            0,
            false,
            { { "weight", "I8", ROWS, COLUMNS, 7 },
              { "weight_scale", "F32", ROWS, 1, 0x3D800000 },
              { "weight_zero_point", "I8", ROWS, 1, 0 } } },
          DTYPE_Q8_0 },
        { { WEIGHTS_FP8, BLOCKS, 0, false, { BYTES, { "weight_scale_inv", "F32", 1, 1, 0 } } },
          DTYPE_F8_E4M3 },
        { { WEIGHTS_FP8,
            { true, false, true, 8, 0, 0 },
            0,
            false,
            { BYTES,
              { "input_scale", "F32", 1, 0, 0 },
              { "weight_scale", "BF16", 1, 0, 0x3F803F80 } } },
          DTYPE_F8_E4M3 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct weights_safetensors set;
        struct weights_quantization q;
        struct tensor whole;
        struct fault fault = { 0 };
        int64_t n_parameters;
        if (find(&rows[i].given, &set, &q, &whole, &fault) != STATUS_OK)
            fail_msg("row %zu: %s", i, fault.text);
        assert_int_equal(whole.dtype, rows[i].dtype);
        assert_int_equal(whole.n_rows, ROWS);
        assert_int_equal(whole.n_columns, COLUMNS);
        for (int32_t j = 0; j < set.catalog.n; j++)
            assert_true(set.catalog.at[j].is_used);
        assert_int_equal(weights_catalog_count(&set.catalog, &n_parameters, &fault), STATUS_OK);
        assert_int_equal(n_parameters, ROWS * COLUMNS);
        struct weights_apart_piece pieces[2];
        assert_int_equal(weights_apart_pieces(&whole, pieces), 1);
        assert_int_equal(pieces[0].n_bytes, ROWS * COLUMNS * whole.apart->n_bits / 8);
        close_set(&set);
    }
}

static const struct {
    struct given given;
    enum status status;
    const char *words;
} refusals[] = {
    { { WEIGHTS_GPTQ, WORDS_4, 1, false, { QWEIGHT, QZEROS(0x77777777) } },
      STATUS_BAD_INPUT,
      "a.scales is missing" },
    { { WEIGHTS_GPTQ, WORDS_4, 1, false, { QWEIGHT, SCALES } },
      STATUS_BAD_INPUT,
      "a.qzeros is missing" },
    { { WEIGHTS_GPTQ, WORDS_4, 1, true, { QWEIGHT, SCALES, QZEROS(0x77777777) } },
      STATUS_BAD_INPUT,
      "a.g_idx is missing" },
    { { WEIGHTS_GPTQ, WORDS_4, 1, false, { QWEIGHT, SCALES, QZEROS(0x77777767) } },
      STATUS_UNSUPPORTED,
      "although quantization_config says sym" },
    { { WEIGHTS_GPTQ, WITH_ZEROS, 1, false, { QWEIGHT, SCALES, QZEROS(0xF1234567) } },
      STATUS_UNSUPPORTED,
      "15 + 1" },
    { { WEIGHTS_GPTQ,
        WORDS_4,
        1,
        false,
        { QWEIGHT, SCALES, QZEROS(0x77777777), { "g_idx", "I32", COLUMNS, 0, 1 } } },
      STATUS_UNSUPPORTED,
      "another order" },
    { { WEIGHTS_GPTQ,
        WORDS_4,
        1,
        false,
        { QWEIGHT, SCALES, QZEROS(0x77777777), { "g_idx", "I32", 32, 0, 0 } } },
      STATUS_UNSUPPORTED,
      "a.g_idx isn't an I32 for each column" },
    { { WEIGHTS_GPTQ,
        WORDS_4,
        1,
        false,
        { { "qweight", "I32", COLUMNS, ROWS / 8, 0 }, SCALES, QZEROS(0x77777777) } },
      STATUS_BAD_INPUT,
      "a.qweight is I32 of shape (128, 1)" },
    { { WEIGHTS_GPTQ,
        WORDS_4,
        1,
        false,
        { { "qweight", "F32", COLUMNS / 8, ROWS, 0 }, SCALES, QZEROS(0x77777777) } },
      STATUS_BAD_INPUT,
      "a.qweight is F32" },
    { { WEIGHTS_GPTQ,
        WORDS_4,
        1,
        false,
        { QWEIGHT, { "scales", "F16", COLUMNS / 64, ROWS, HALVES }, QZEROS(0x77777777) } },
      STATUS_BAD_INPUT,
      "scales of shape (2, 8)" },
    { { WEIGHTS_GPTQ,
        WORDS_4,
        1,
        false,
        { QWEIGHT, { "scales", "I16", COLUMNS / 32, ROWS, HALVES }, QZEROS(0x77777777) } },
      STATUS_UNSUPPORTED,
      "a.scales isn't F32, F16 or BF16" },
    { { WEIGHTS_GPTQ,
        WORDS_4,
        1,
        false,
        { QWEIGHT, { "scales", "F16", COLUMNS / 32, ROWS, 0x7E002C00 }, QZEROS(0x77777777) } },
      STATUS_BAD_INPUT,
      "holds the scale nan" },
    { { WEIGHTS_AWQ, WITH_ZEROS, 0, false, { QWEIGHT, SCALES, QZEROS(0) } },
      STATUS_BAD_INPUT,
      "a.qweight is I32 of shape (16, 8)" },
    { { WEIGHTS_COMPRESSED, WORDS_4, 0, false, { PACK } },
      STATUS_BAD_INPUT,
      "a.weight_scale is missing" },
    { { WEIGHTS_COMPRESSED, WORDS_4, 0, false, { PACK, SCALE(0x30013001) } },
      STATUS_UNSUPPORTED,
      "which F16 does not hold exactly" },
    { { WEIGHTS_COMPRESSED, WORDS_4, 0, false, { PACK, SCALE(0x7F807F80) } },
      STATUS_BAD_INPUT,
      "holds the scale inf" },
    { { WEIGHTS_COMPRESSED, WITH_ZEROS, 0, false, { PACK, SCALE(0x3C003C00) } },
      STATUS_BAD_INPUT,
      "no group of config.json" },
    { { WEIGHTS_COMPRESSED,
        WORDS_4,
        0,
        false,
        { PACK, SCALE(0x3C003C00), { "weight_zero_point", "I32", 1, COLUMNS / 32, 0 } } },
      STATUS_BAD_INPUT,
      "and zero points, which no group" },
    { { WEIGHTS_COMPRESSED,
        WORDS_4,
        0,
        false,
        { PACK, SCALE(0x3C003C00), { "weight_shape", "I64", 2, 0, 7 } } },
      STATUS_UNSUPPORTED,
      "a.weight_shape states another shape" },
    { { WEIGHTS_COMPRESSED,
        WORDS_4,
        0,
        false,
        { PACK, SCALE(0x3C003C00), { "weight_g_idx", "I32", COLUMNS, 0, 3 } } },
      STATUS_UNSUPPORTED,
      "actorder" },
    { { WEIGHTS_COMPRESSED,
        { false, false, true, 8, 1, 0 },
        0,
        false,
        { { "weight", "I8", ROWS, COLUMNS, 7 },
          { "weight_scale", "F32", ROWS, 1, 0x3D800000 },
          { "weight_zero_point", "I8", ROWS, 1, 1 } } },
      STATUS_UNSUPPORTED,
      "zero points other than 0" },
    { { WEIGHTS_FP8, BLOCKS, 0, false, { BYTES } }, STATUS_BAD_INPUT, "a.weight_scale is missing" },
    { { WEIGHTS_FP8,
        BLOCKS,
        0,
        false,
        { BYTES, { "weight_scale_inv", "F32", ROWS, 1, 0x3D800000 } } },
      STATUS_BAD_INPUT,
      "scales of shape (8, 1)" },
    { { WEIGHTS_FP8, BLOCKS, 0, false, { BYTES, { "weight_scale_inv", "F32", 1, 1, 0x7FC00000 } } },
      STATUS_BAD_INPUT,
      "holds the scale nan" },
    { { WEIGHTS_FP8, BLOCKS, 0, false, { BYTES, { "weight_scale_inv", "F32", 1, 1, 0x7F000000 } } },
      STATUS_BAD_INPUT,
      "expected a finite one of 1e30" },
    { { WEIGHTS_FP8,
        BLOCKS,
        0,
        false,
        { { "weight", "I8", ROWS, COLUMNS, 0 }, { "weight_scale_inv", "F32", 1, 1, 0 } } },
      STATUS_BAD_INPUT,
      "a.weight is I8" },
    { { WEIGHTS_FP8,
        BLOCKS,
        0,
        false,
        { { "weight", "F8_E4M3", ROWS, COLUMNS / 2, 0 }, { "weight_scale_inv", "F32", 1, 1, 0 } } },
      STATUS_BAD_INPUT,
      "of shape (8, 64)" },
};

static void refuses_broken_parts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        struct weights_safetensors set;
        struct weights_quantization q;
        struct tensor whole;
        struct fault fault = { 0 };
        assert_refused(find(&refusals[i].given, &set, &q, &whole, &fault), refusals[i].status,
                       &fault, refusals[i].words);
        close_set(&set);
    }
}

/* GPTQ's writers add biases of zeros; one with a number in it stays. */
static void biases_of_zeros_count_as_none(void **state)
{
    (void)state;
    for (int is_zero = 0; is_zero <= 1; is_zero++) {
        const struct given given = { WEIGHTS_GPTQ,
                                     WORDS_4,
                                     1,
                                     false,
                                     { QWEIGHT,
                                       SCALES,
                                       QZEROS(0x77777777),
                                       { "bias", "F16", ROWS, 0, is_zero ? 0 : HALVES } } };
        struct weights_safetensors set;
        struct weights_quantization q;
        struct tensor whole;
        struct fault fault = { 0 };
        int64_t n;
        assert_int_equal(find(&given, &set, &q, &whole, &fault), STATUS_OK);
        assert_non_null(weights_catalog_find(&set.catalog, "a.bias"));
        weights_apart_begin(&set.catalog);
        assert_int_equal(weights_catalog_find(&set.catalog, "a.bias") == NULL, is_zero);
        assert_int_equal(weights_catalog_count(&set.catalog, &n, &fault), STATUS_OK);
        assert_int_equal(n, ROWS * COLUMNS);
        close_set(&set);
    }
}

static void floats_are_the_products(void **state)
{
    (void)state;
    const struct given given = { WEIGHTS_FP8,
                                 BLOCKS,
                                 0,
                                 false,
                                 { { "weight", "F8_E4M3", ROWS, COLUMNS, 0x7EB80138 },
                                   { "weight_scale_inv", "F32", 1, 1, 0x3E800000 } } };
    static const float want[] = { 0.25f, 0x1p-11f, -0.25f, 112.0f }; /* a quarter of each */
    struct weights_safetensors set;
    struct weights_quantization q;
    struct tensor whole;
    struct fault fault = { 0 };
    assert_int_equal(find(&given, &set, &q, &whole, &fault), STATUS_OK);
    assert_int_equal(weights_apart_check(&set.catalog, &fault), STATUS_OK);
    const struct tensor floats = weights_apart_floats(&whole, &set.pile);
    assert_int_equal(floats.dtype, DTYPE_F32);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        assert_true(((const float *)floats.data)[i] == want[i % 4]);
    set.catalog.n = 0;
    assert_refused(weights_apart_check(&set.catalog, &fault), STATUS_BAD_INPUT, &fault,
                   "no tensor has the form");
    close_set(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_layout),
        cmocka_unit_test(refuses_broken_parts),
        cmocka_unit_test(biases_of_zeros_count_as_none),
        cmocka_unit_test(floats_are_the_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
