/* The table of devices: names once, figures sane. */
#include "test.h"
#include "predict/device.h"

static void devices_are_found_by_name(void **state)
{
    (void)state;
    int n;
    const struct predict_device *all = predict_device_all(&n);
    assert_true(n >= 12);
    for (int i = 0; i < n; i++) {
        assert_ptr_equal(predict_device_find(all[i].name), &all[i]);
        assert_true(all[i].flops_per_s > 1e11 && all[i].bytes_per_s > 1e10);
        assert_true(all[i].link_bytes_per_s <= all[i].bytes_per_s);
        assert_true(all[i].host_bytes_per_s <= all[i].link_bytes_per_s);
        assert_true(all[i].memory_bytes >= INT64_C(4) << 30 && all[i].n_node >= 1);
    }
    assert_null(predict_device_find("abacus"));
    const char *names = predict_device_names();
    for (int i = 0; i < n; i++) {
        size_t n_name = strlen(all[i].name);
        assert_memory_equal(names, all[i].name, n_name);
        assert_string_equal(i + 1 < n ? "" : names + n_name, "");
        names += n_name + 2; /* ", " */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(devices_are_found_by_name) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
