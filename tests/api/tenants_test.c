/* Which tenant has a key? */
#include "test.h"
#include "api/tenants.h"

static uint16_t tenant_of(const struct api_tenants *tenants, const char *header)
{
    static char text[512];
    struct api_http_head head;
    const char *why;
    snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", header);
    assert_int_equal(api_http_parse_head(view_text(text), &head, &why), 0);
    return api_tenants_of(tenants, &head);
}

static void test_keys_name_their_tenant(void **state)
{
    (void)state;
    static struct api_tenants tenants;
    static const char *const texts[] = { "ann=k1", "bob=k=2", "ann=k3", "nobody", "=x", "carl=" };
    assert_int_equal(tenant_of(&tenants, "Authorization: Bearer k1\r\n"), 0);
    assert_int_equal(api_tenants_set(&tenants, texts, 6), 3);
    assert_int_equal(tenant_of(&tenants, "Authorization: Bearer k1\r\n"), 1);
    assert_int_equal(tenant_of(&tenants, "x-api-key: k=2\r\n"), 2);
    assert_int_equal(tenant_of(&tenants, "x-api-key: k3\r\n"), 1);
    static const char *const wrong[] = { "",
                                         "x-api-key: \r\n",
                                         "x-api-key: k\r\n",
                                         "Authorization: Bearer \r\n",
                                         "x-api-key: ann\r\n",
                                         "Authorization: k1\r\n",
                                         "x-api-key: ann=k1\r\n" };
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(tenant_of(&tenants, wrong[i]), 0);
}

/* Another key, the same tenant; a number is never given to another name. */
static void test_a_name_keeps_its_number(void **state)
{
    (void)state;
    static struct api_tenants tenants;
    static const char *const before[] = { "ann=k1", "bob=k2" };
    static const char *const after[] = { "carl=k1", "bob=k9" };
    assert_int_equal(api_tenants_set(&tenants, before, 2), 2);
    assert_int_equal(api_tenants_set(&tenants, after, 2), 2);
    assert_int_equal(tenant_of(&tenants, "x-api-key: k9\r\n"), 2);
    assert_int_equal(tenant_of(&tenants, "x-api-key: k1\r\n"), 3);
    assert_int_equal(tenant_of(&tenants, "x-api-key: k2\r\n"), 0);
    for (int i = 0; i < 2 * API_TENANTS_MAX; i++) {
        char text[32];
        const char *only = text;
        snprintf(text, sizeof(text), "t%d=key", i);
        assert_int_equal(api_tenants_set(&tenants, &only, 1), i < API_TENANTS_MAX - 3);
    }
}

/* Two gateways with different lists compute equal hashes for a tenant, and different ones for two
 * tenants. */
static void test_a_hash_is_the_same_at_each_gateway(void **state)
{
    (void)state;
    static struct api_tenants one, two;
    static const char *const here[] = { "ann=k1", "bob=k2" };
    static const char *const there[] = { "carl=k1", "bob=k9", "ann=k8" };
    assert_int_equal(api_tenants_set(&one, here, 2), 2);
    assert_int_equal(api_tenants_set(&two, there, 3), 3);
    assert_true(api_tenants_hash(&one, 1) == api_tenants_hash(&two, 3)); /* ann */
    assert_true(api_tenants_hash(&one, 2) == api_tenants_hash(&two, 2)); /* bob */
    assert_true(api_tenants_hash(&two, 1) != api_tenants_hash(&two, 2));
    assert_true(api_tenants_hash(&two, 1) != api_tenants_hash(&two, 3));
    assert_true(api_tenants_hash(&one, 0) == 0 && api_tenants_hash(&one, 1) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_keys_name_their_tenant),
                                        cmocka_unit_test(test_a_name_keeps_its_number),
                                        cmocka_unit_test(test_a_hash_is_the_same_at_each_gateway) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
