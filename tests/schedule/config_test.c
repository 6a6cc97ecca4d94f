/* Thresholds by name: every field of the struct has a row, values are kept within bounds. */
#include "test.h"
#include "base/time.h"
#include "schedule/policy.h"

static void a_value_lands_in_its_field(void **state)
{
    (void)state;
    struct schedule_config config;
    struct fault fault;
    schedule_config_init(&config);
    assert_int_equal(schedule_config_set(&config, "lease_tokens=64", &fault), STATUS_OK);
    assert_int_equal(schedule_config_set(&config, "starve_ns_min=2.5", &fault), STATUS_OK);
    assert_int_equal(schedule_config_set(&config, "quota_lent=0.25", &fault), STATUS_OK);
    assert_int_equal(schedule_config_set(&config, "has_leases=1", &fault), STATUS_OK);
    assert_int_equal(config.lease_tokens, 64);
    assert_int_equal(config.starve_ns_min, 2500000);
    assert_true(config.quota_lent == 0.25);
    assert_true(config.has_leases);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    static const char *const bad[] = { "lease_tokens",     "lease_token=3",  "lease_tokens=",
                                       "lease_tokens=1.5", "lease_tokens=0", "watermark=1.1",
                                       "has_leases=yes",   "watermark=nan",  "=1" };
    struct schedule_config config, before;
    schedule_config_init(&config);
    before = config;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct fault fault = { { 0 } };
        assert_int_equal(schedule_config_set(&config, bad[i], &fault), STATUS_BAD_INPUT);
        assert_true(strlen(fault.text) > 20);
        assert_memory_equal(&config, &before, sizeof(config));
    }
}

/* Each byte of the struct that is not padding belongs to a row: setting all rows to the most and to
 * the least leaves no field that only schedule_config_init wrote. */
static void every_field_has_a_row(void **state)
{
    (void)state;
    struct schedule_config ones, zeros;
    size_t n_bytes = 0;
    memset(&ones, 0xff, sizeof(ones));
    memset(&zeros, 0, sizeof(zeros));
    int n;
    const struct settings_row *rows = schedule_config_rows(&n);
    for (int i = 0; i < n; i++) {
        static const char *const values[] = { "1", "16", "1000" };
        enum status status = STATUS_BAD_INPUT;
        for (size_t k = 0; k < COUNT_OF(values) && status != STATUS_OK; k++) {
            char text[80];
            snprintf(text, sizeof(text), "%s=%s", rows[i].name, values[k]);
            status = schedule_config_set(&ones, text, NULL);
            if (status == STATUS_OK)
                status = schedule_config_set(&zeros, text, NULL);
        }
        assert_int_equal(status, STATUS_OK);
    }
    /* The only padding lies before eight-byte fields, so that there are never eight padding bytes
     * in a row. */
    for (size_t i = 0; i < sizeof(ones); i++) {
        n_bytes = ((unsigned char *)&ones)[i] != ((unsigned char *)&zeros)[i] ? n_bytes + 1 : 0;
        assert_true(n_bytes < 8);
    }
}

/* Where a log or a crash left any bytes, no policy reckons with them: minus one, no number, and a
 * flag that is neither. */
static void no_field_may_hold_any_bytes(void **state)
{
    (void)state;
    int n;
    const struct settings_row *rows = schedule_config_rows(&n);
    struct schedule_config config;
    schedule_config_init(&config);
    assert_true(schedule_config_is_sound(&config));
    for (int i = 0; i < n; i++) {
        static const size_t bytes[] = {
            [SETTINGS_COUNT] = 4,  [SETTINGS_SEED] = 8,         [SETTINGS_BYTES] = 8,
            [SETTINGS_NUMBER] = 8, [SETTINGS_MILLISECONDS] = 8, [SETTINGS_FLAG] = 1,
            [SETTINGS_WORD] = 4
        };
        schedule_config_init(&config);
        memset((unsigned char *)&config + rows[i].offset, 0xff, bytes[rows[i].kind]);
        if (schedule_config_is_sound(&config))
            fail_msg("%s may hold any bytes", rows[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_lands_in_its_field),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(every_field_has_a_row),
        cmocka_unit_test(no_field_may_hold_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
