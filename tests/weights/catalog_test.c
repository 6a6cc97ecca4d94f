/* The catalog: found by name, twice refused, shapes printed. */
#include "weights/refused.h"
#include "base/mem.h"
#include "weights/catalog.h"

static enum status add(struct weights_catalog *catalog, const char *name, enum dtype dtype,
                       int64_t columns, int64_t rows, struct fault *fault)
{
    struct weights_entry entry = { .name = name,
                                   .dtype = dtype,
                                   .type = "T",
                                   .n_dims = 2,
                                   .dims = { columns, rows },
                                   .data = (const unsigned char *)"" };
    return weights_catalog_add(catalog, entry, strlen(name), fault);
}

static void finds_by_name(void **state)
{
    (void)state;
    struct weights_catalog catalog;
    struct pile pile;
    struct fault fault = { 0 };
    char name[32], text[64];
    int64_t n;
    pile_init(&pile);
    weights_catalog_init(&catalog, &pile, "x");
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "tensor.%d", i);
        assert_int_equal(add(&catalog, name, DTYPE_Q4_0, 64, i + 1, &fault), STATUS_OK);
        catalog.at[i].is_used = i < 299;
    }
    assert_int_equal(weights_catalog_seal(&catalog, &fault), STATUS_OK);
    const struct weights_entry *entry = weights_catalog_find(&catalog, "tensor.299");
    assert_non_null(entry);
    assert_int_equal(entry->n_bytes, 36 * 300);
    assert_null(weights_catalog_find(&catalog, "tensor.300"));
    struct tensor tensor = weights_catalog_tensor(entry);
    assert_int_equal(tensor.n_rows, 300);
    assert_int_equal(tensor.n_columns, 64);
    assert_int_equal(tensor.row_bytes, 36);
    weights_catalog_print_dims(entry, text, sizeof(text));
    assert_string_equal(text, "(300, 64)");
    assert_int_equal(weights_catalog_count(&catalog, &n, &fault), STATUS_OK);
    assert_int_equal(n, 64 * 299 * 300 / 2);
    weights_catalog_free(&catalog);
    pile_free(&pile);
}

static void refuses_by_name(void **state)
{
    (void)state;
    struct weights_catalog catalog;
    struct pile pile;
    struct fault fault = { 0 };
    int64_t n;
    pile_init(&pile);
    weights_catalog_init(&catalog, &pile, "x");
    assert_refused(add(&catalog, "", DTYPE_F32, 1, 1, &fault), STATUS_BAD_INPUT, &fault, "name of");
    assert_refused(add(&catalog, "a\x7f", DTYPE_F32, 1, 1, &fault), STATUS_BAD_INPUT, &fault,
                   "name of tensor 0");
    assert_refused(add(&catalog, "\xff", DTYPE_F32, 1, 1, &fault), STATUS_BAD_INPUT, &fault,
                   "name of tensor 0");
    assert_refused(add(&catalog, "k", DTYPE_Q6_K, 128, 1, &fault), STATUS_BAD_INPUT, &fault,
                   "tensor k has rows of 128");
    assert_refused(add(&catalog, "k", DTYPE_F32, INT64_MAX, 2, &fault), STATUS_BAD_INPUT, &fault,
                   "tensor k has dimension");
    for (int i = 0; i < 8; i++) {
        char name[8];
        snprintf(name, sizeof(name), "v%d", i);
        assert_int_equal(add(&catalog, name, DTYPE_N, (int64_t)1 << 57, 2, &fault), STATUS_OK);
        catalog.at[i].is_used = true;
    }
    assert_refused(weights_catalog_count(&catalog, &n, &fault), STATUS_BAD_INPUT, &fault,
                   "more elements");
    assert_null(weights_catalog_tensor(&catalog.at[0]).data);
    assert_int_equal(add(&catalog, "v1", DTYPE_F32, 1, 1, &fault), STATUS_OK);
    assert_refused(weights_catalog_seal(&catalog, &fault), STATUS_BAD_INPUT, &fault,
                   "tensor v1 appears twice");
    weights_catalog_free(&catalog);
    pile_free(&pile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_by_name),
        cmocka_unit_test(refuses_by_name),
    };
    return cmocka_run_group_tests_name("weights/catalog", tests, NULL, NULL);
}
