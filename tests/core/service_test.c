/* Every reason and every status has its own name. */
#include "test.h"
#include "core/report.h"
#include "core/service.h"

static void every_why_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < SERVICE_WHY_N; i++) {
        assert_string_not_equal(service_why_name((enum service_why)i), "unknown");
        for (int k = 0; k < i; k++)
            assert_string_not_equal(service_why_name((enum service_why)i),
                                    service_why_name((enum service_why)k));
    }
    assert_string_equal(service_why_name(SERVICE_LENGTH), "length");
    assert_string_equal(service_why_name(SERVICE_WHY_N), "unknown");
}

static void every_status_has_a_name(void **state)
{
    (void)state;
    for (int i = SERVICE_UNLOADED; i <= SERVICE_BROKEN; i++)
        assert_string_not_equal(service_status_name((enum service_status)i), "unknown");
    assert_string_equal(service_status_name(SERVICE_LOADED), "loaded");
    assert_string_equal(service_status_name((enum service_status)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_why_has_a_name),
        cmocka_unit_test(every_status_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
