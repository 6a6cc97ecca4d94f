/* Catalogs: names, and how long a removed model is still used. */
#include "test.h"
#include "api/catalog.h"

static const char *const aliases[] = { "small", "s" };
static const struct api_model one = { .name = "one", .aliases = aliases, .n_aliases = 2 };
static const struct api_model two = { .name = "two", .service = 1 };
static const struct api_model other_one = { .name = "one", .service = 2 };

static void models_are_found_by_name_and_alias(void **state)
{
    (void)state;
    const struct api_catalog catalog = { .n = 2, .models = { &one, &two } };
    const struct api_catalog single = { .n = 1, .models = { &two } };
    struct api_error error = { 0 };
    assert_ptr_equal(api_catalog_find(&catalog, "two", &error), &two);
    assert_ptr_equal(api_catalog_find(&catalog, "s", &error), &one);
    assert_ptr_equal(api_catalog_find(&single, NULL, &error), &two);
    assert_false(error.is_set);
    assert_null(api_catalog_find(&catalog, NULL, &error));
    assert_int_equal(error.status, 400);
    error = (struct api_error){ 0 };
    assert_null(api_catalog_find(&catalog, "three", &error));
    assert_int_equal(error.status, 404);
}

/* Calls of the old catalogs end in any order. */
static void what_is_used_stays(void **state)
{
    (void)state;
    struct api_catalog *newest = NULL;
    const struct api_model *first[] = { &one, &two }, *second[] = { &two, &other_one };
    api_catalog_renew(&newest, first, 2);
    struct api_catalog *a = api_catalog_use(newest), *b = api_catalog_use(newest);
    api_catalog_renew(&newest, second, 2);
    struct api_catalog *c = api_catalog_use(newest);
    assert_true(api_catalog_has(newest, &one) && api_catalog_has(newest, &other_one));
    api_catalog_renew(&newest, NULL, 0);
    assert_true(api_catalog_has(newest, &one) && api_catalog_has(newest, &two));
    api_catalog_put(&newest, a);
    assert_true(api_catalog_has(newest, &one));
    api_catalog_put(&newest, b);
    assert_false(api_catalog_has(newest, &one));
    assert_true(api_catalog_has(newest, &two));
    api_catalog_put(&newest, c);
    assert_false(api_catalog_has(newest, &two) || api_catalog_has(newest, &other_one));
    api_catalog_put(&newest, newest);
    assert_null(newest);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(models_are_found_by_name_and_alias),
                                        cmocka_unit_test(what_is_used_stays) };
    return cmocka_run_group_tests_name("catalog", tests, NULL, NULL);
}
