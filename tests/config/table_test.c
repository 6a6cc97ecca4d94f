/* The table of keys: in order, with defaults inside their ranges, and help that names the existing
 * values. */
#include "test.h"

#include "config/presets.h"
#include "config/table.h"
#include "route/policy.h"
#include "schedule/policy.h"

static const struct config_key *find(const char *name)
{
    int n;
    const struct config_key *keys = config_table_globals(&n);
    for (int i = 0; i < n; i++) {
        if (strcmp(keys[i].name, name) == 0)
            return &keys[i];
    }
    fail_msg("no key %s", name);
    return NULL;
}

static void check_rows(const struct config_key *keys, int n)
{
    for (int i = 0; i < n; i++) {
        assert_true(strlen(keys[i].help) > 4 && strlen(keys[i].name) < 32);
        assert_true((keys[i].type == CONFIG_TEXTS) == (keys[i].n_offset != 0));
        assert_true(keys[i].type == CONFIG_TEXT || keys[i].type == CONFIG_BOOL ||
                    keys[i].min < keys[i].max);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(keys[i].name, keys[j].name);
            assert_int_not_equal(keys[i].offset, keys[j].offset);
        }
    }
}

static void config_table_rows_are_sound(void **state)
{
    int n;
    const struct config_key *keys = config_table_globals(&n);
    (void)state;
    check_rows(keys, n);
    keys = config_table_models(&n);
    check_rows(keys, n);
}

static void config_table_defaults_are_in_range(void **state)
{
    static struct config config;
    int n;
    const struct config_key *keys = config_table_globals(&n);
    (void)state;
    config_init(&config);
    for (int i = 0; i < n; i++) {
        if (keys[i].type != CONFIG_COUNT && keys[i].type != CONFIG_BYTES &&
            keys[i].type != CONFIG_DURATION)
            continue;
        int64_t value;
        memcpy(&value, (const char *)&config + keys[i].offset, sizeof value);
        assert_in_range(value - keys[i].min, 0, keys[i].max - keys[i].min);
    }
    config_free(&config);
}

static void config_table_help_names_every_policy(void **state)
{
    int n;
    (void)state;
    const struct schedule_policy *const *policies = schedule_all(&n);
    for (int i = 0; i < n; i++)
        assert_non_null(strstr(find("policy")->help, policies[i]->name));
    const struct route_policy *const *routers = route_all(&n);
    for (int i = 0; i < n; i++)
        assert_non_null(strstr(find("router")->help, routers[i]->name));
    const struct preset *presets = presets_all(&n);
    for (int i = 0; i < n; i++)
        assert_non_null(strstr(find("preset")->help, presets[i].name));
}

static void config_table_assigns_each_type(void **state)
{
    static struct config config;
    struct fault fault;
    (void)state;
    config_init(&config);
    assert_int_equal(config_table_assign(&config.pile, &config, find("max_batch"), "7", &fault),
                     STATUS_OK);
    assert_int_equal(config.n_batch_max, 7);
    assert_int_equal(config_table_assign(&config.pile, &config, find("memory"), "2K", &fault),
                     STATUS_OK);
    assert_int_equal(config.memory_bytes, 2048);
    assert_int_equal(config_table_assign(&config.pile, &config, find("strict"), "true", &fault),
                     STATUS_OK);
    assert_true(config.is_strict);
    for (int i = 0; i < LIMIT_DEVICES; i++)
        assert_int_equal(config_table_assign(&config.pile, &config, find("devices"), "d", &fault),
                         STATUS_OK);
    assert_int_equal(config_table_assign(&config.pile, &config, find("devices"), "d", &fault),
                     STATUS_TOO_LARGE);
    assert_int_equal(config.n_devices, LIMIT_DEVICES);
    config_free(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(config_table_rows_are_sound),
        cmocka_unit_test(config_table_defaults_are_in_range),
        cmocka_unit_test(config_table_help_names_every_policy),
        cmocka_unit_test(config_table_assigns_each_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
