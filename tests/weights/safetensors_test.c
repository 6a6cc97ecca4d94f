/* safetensors: whole, sharded, misaligned, and wrong in every field. */
#include "weights/refused.h"
#include "weights/build.h"
#include "base/file.h"
#include "weights/safetensors.h"

#define TWO                                                                                        \
    "{\"__metadata__\":{\"format\":\"pt\"},"                                                       \
    "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"                           \
    "\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[24,32]}}"

static void reads_a_file(void **state)
{
    (void)state;
    struct weights_safetensors set;
    struct fault fault = { 0 };
    size_t n;
    char header[256];
    for (int pad = 0; pad < 8; pad++) { /* all but one leave the data misaligned */
        snprintf(header, sizeof(header), "%s%.*s", TWO, pad, "        ");
        unsigned char *bytes = build_safetensors(header, 32, &n);
        assert_int_equal(weights_safetensors_read(&set, bytes, n, &fault), STATUS_OK);
        assert_int_equal(set.catalog.n, 2);
        struct tensor a = weights_catalog_tensor(weights_catalog_find(&set.catalog, "a"));
        assert_int_equal(a.n_rows, 2);
        assert_int_equal(a.n_columns, 3);
        assert_int_equal(a.dtype, DTYPE_F32);
        assert_int_equal((uintptr_t)a.data % 4, 0);
        assert_int_equal(((const unsigned char *)a.data)[5], 5);
        const struct weights_entry *b = weights_catalog_find(&set.catalog, "b");
        assert_int_equal(b->n_bytes, 8);
        assert_int_equal(b->data[0], 24);
        weights_safetensors_close(&set);
        mem_give(bytes);
    }
}

static void keeps_strange_types_aside(void **state)
{
    (void)state;
    struct weights_safetensors set;
    struct fault fault = { 0 };
    size_t n;
    unsigned char *bytes =
        build_safetensors("{\"i\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]},"
                          "\"x\":{\"dtype\":\"Q9\",\"shape\":[],\"data_offsets\":[0,1]}}",
                          16, &n);
    assert_int_equal(weights_safetensors_read(&set, bytes, n, &fault), STATUS_OK);
    assert_int_equal(weights_catalog_find(&set.catalog, "i")->dtype, DTYPE_N);
    assert_string_equal(weights_catalog_find(&set.catalog, "i")->type, "I64");
    assert_null(weights_catalog_tensor(weights_catalog_find(&set.catalog, "x")).data);
    weights_safetensors_close(&set);
    mem_give(bytes);
}

#define A(dtype, shape, offsets)                                                                   \
    "{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void refuses_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *header, *words;
    } rows[] = {
        { "[]", "isn't an object" },
        { "{", "not valid JSON" },
        { "{} x", "something follows" },
        { A("1", "[2]", "[0,8]"), "tensor a: dtype" },
        { A("\"F32\"", "2", "[0,8]"), "tensor a: shape isn't an array" },
        { A("\"F32\"", "[1,1,1,1,2]", "[0,8]"), "more than 4 dimensions" },
        { A("\"F32\"", "[\"2\"]", "[0,8]"), "isn't an integer" },
        { A("\"F32\"", "[0]", "[0,0]"), "tensor a has dimension 0 of size 0" },
        { A("\"F32\"", "[-2]", "[0,8]"), "tensor a has dimension 0 of size -2" },
        { A("\"F32\"", "[9007199254740992,9007199254740992]", "[0,8]"), "no file can hold" },
        { A("\"F32\"", "[2]", "[0]"), "data_offsets aren't two integers" },
        { A("\"F32\"", "[2]", "[0,8,9]"), "data_offsets aren't two integers" },
        { A("\"F32\"", "[2]", "8"), "data_offsets aren't two integers" },
        { A("\"F32\"", "[2]", "[8,0]"), "outside the file" },
        { A("\"F32\"", "[2]", "[-8,0]"), "outside the file" },
        { A("\"F32\"", "[2]", "[12,20]"), "outside the file" },
        { A("\"F32\"", "[2]", "[0,9223372036854775807]"), "outside the file" },
        { A("\"F32\"", "[2]", "[0,4]"), "don't agree with shape" },
        { A("\"F32\"", "[2]", "[1,9]"), "aren't a multiple" },
        { "{\"a b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "the name of" },
        { "{\"a\":3}", "tensor a: shape" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
          "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
          "tensor a appears twice" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct weights_safetensors set;
        struct fault fault = { 0 };
        size_t n;
        unsigned char *bytes = build_safetensors(rows[i].header, 16, &n);
        assert_refused(weights_safetensors_read(&set, bytes, n, &fault), STATUS_BAD_INPUT, &fault,
                       rows[i].words);
        mem_give(bytes);
    }
}

static void refuses_short_files(void **state)
{
    (void)state;
    struct weights_safetensors set;
    struct fault fault = { 0 };
    size_t n;
    unsigned char *bytes = build_safetensors(TWO, 32, &n);
    for (size_t cut = 0; cut < n; cut++) {
        unsigned char *copy = mem_take(cut);
        memcpy(copy, bytes, cut);
        assert_int_equal(weights_safetensors_read(&set, copy, cut, &fault), STATUS_BAD_INPUT);
        mem_give(copy);
    }
    uint64_t huge = UINT64_MAX;
    memcpy(bytes, &huge, 8);
    assert_refused(weights_safetensors_read(&set, bytes, n, &fault), STATUS_BAD_INPUT, &fault,
                   "header claims");
    mem_give(bytes);
}

static void write_text(const char *directory, const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    assert_int_equal(file_write(path, text, strlen(text), NULL), STATUS_OK);
}

static void write_shard(const char *directory, const char *name, const char *tensor)
{
    char path[512], header[256];
    size_t n;
    snprintf(header, sizeof(header),
             "{\"%s\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}", tensor);
    unsigned char *bytes = build_safetensors(header, 16, &n);
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    assert_int_equal(file_write(path, bytes, n, NULL), STATUS_OK);
    mem_give(bytes);
}

static void opens_shards(void **state)
{
    (void)state;
    static const struct {
        const char *index;
        enum status status;
        const char *words;
    } rows[] = {
        { "{}", STATUS_BAD_INPUT, "weight_map is missing" },
        { "{\"weight_map\":{\"t1\":7}}", STATUS_BAD_INPUT, "t1 no plain file name" },
        { "{\"weight_map\":{\"t1\":\"../../etc/passwd\"}}", STATUS_BAD_INPUT, "no plain file" },
        { "{\"weight_map\":{\"t1\":\"none.safetensors\"}}", STATUS_NOT_FOUND, "none.safetensors" },
        { "{\"weight_map\":{\"t1\":\"s1\",\"t9\":\"s2\"}}", STATUS_BAD_INPUT, "no tensor t9" },
        { "{\"weight_map\":{\"t1\":\"s1\",\"t2\":\"s1\",\"t3\":\"s3\"}}", STATUS_BAD_INPUT,
          "tensor t1 appears twice" },
    };
    char directory[] = "/tmp/safetensors_test.XXXXXX", path[512];
    struct weights_safetensors set;
    struct fault fault = { 0 };
    static const char *const files[] = { "s1", "s2", "s3", "model.safetensors.index.json",
                                         "model.safetensors" };
    assert_non_null(mkdtemp(directory));
    assert_refused(weights_safetensors_open(&set, directory, &fault), STATUS_NOT_FOUND, &fault,
                   "model.safetensors");
    write_shard(directory, "model.safetensors", "t0");
    assert_int_equal(weights_safetensors_open(&set, directory, &fault), STATUS_OK);
    assert_non_null(weights_catalog_find(&set.catalog, "t0"));
    weights_safetensors_close(&set);
    write_shard(directory, "s1", "t1");
    write_shard(directory, "s2", "t2");
    write_shard(directory, "s3", "t1");
    write_text(directory, files[3], "{\"weight_map\":{\"t1\":\"s1\",\"t2\":\"s2\"}}");
    assert_int_equal(weights_safetensors_open(&set, directory, &fault), STATUS_OK);
    assert_int_equal(set.n_parts, 2);
    assert_non_null(weights_catalog_find(&set.catalog, "t2"));
    weights_safetensors_close(&set);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        write_text(directory, files[3], rows[i].index);
        assert_refused(weights_safetensors_open(&set, directory, &fault), rows[i].status, &fault,
                       rows[i].words);
    }
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        snprintf(path, sizeof(path), "%s/%s", directory, files[i]);
        unlink(path);
    }
    rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_file),    cmocka_unit_test(keeps_strange_types_aside),
        cmocka_unit_test(refuses_by_name), cmocka_unit_test(refuses_short_files),
        cmocka_unit_test(opens_shards),
    };
    return cmocka_run_group_tests_name("weights/safetensors", tests, NULL, NULL);
}
