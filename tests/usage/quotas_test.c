/* Quotas: their text, their windows, their parts. */
#include "usage/quotas.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

enum { NOON_S = 20000 * 86400 + 43200 };

static void texts_are_read_or_refused(void **state)
{
    static const char *const bad[] = {
        "",         "acme",    "acme=",     "=rpm:1",         "a=rpm",
        "a=rpm:",   "a=rpm:0", "a=rpm:-1",  "a=rpm:1x",       "a=rpm:1/",
        "a=/rpm:1", "a=rps:1", "a=rpm:1.5", "a=rpm:1//tpm:1", "a=rpm:99999999999999999999"
    };
    struct usage_quota quota;
    struct fault fault;
    (void)state;
    assert_true(usage_quotas_read(&quota, "acme=rpm:60/tpd:1000", &fault));
    assert_string_equal(quota.name, "acme");
    assert_true(quota.most[USAGE_RPM] == 60 && quota.most[USAGE_TPD] == 1000);
    assert_true(quota.most[USAGE_TPM] == 0 && quota.most[USAGE_RPD] == 0);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        if (usage_quotas_read(&quota, bad[i], &fault))
            fail_msg("\"%s\" was accepted", bad[i]);
}

struct scene {
    struct usage *usage;
    struct usage_quotas *quotas;
    struct usage_allowance allowance;
    int32_t meter;
};

static void open_scene(struct scene *s, const char *text, int32_t n_gateways)
{
    struct fault fault;
    assert_int_equal(usage_open(&s->usage, &(struct usage_options){ NULL, 30 }, &fault), STATUS_OK);
    s->quotas = usage_quotas_open(n_gateways);
    usage_quotas_set(s->quotas, &text, 1);
}

static void close_scene(struct scene *s)
{
    usage_quotas_close(s->quotas);
    usage_close(s->usage);
}

static bool enter(struct scene *s, const char *tenant, const char *key, int64_t at_s)
{
    return usage_quotas_enter(s->quotas, s->usage, (struct usage_who){ tenant, key }, at_s,
                              &s->meter, &s->allowance);
}

static void minutes_begin_anew(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, "acme=rpm:3", 1);
    for (int i = 0; i < 3; i++) {
        assert_true(enter(&s, "acme", "k1", NOON_S + 20));
        assert_int_equal(s.allowance.of[0].left, 2 - i);
    }
    assert_false(enter(&s, "acme", "k1", NOON_S + 20));
    assert_true(s.allowance.retry_s == 40 && s.allowance.refused == USAGE_RPM);
    assert_true(s.allowance.of[0].most == 3 && s.allowance.of[0].left == 0);
    assert_int_equal(s.allowance.of[0].reset_s, 40);
    assert_true(enter(&s, "acme", "k2", NOON_S + 20)); /* each key has its own */
    assert_true(enter(&s, "other", "k1", NOON_S + 20) && s.meter == USAGE_METER_NONE);
    assert_true(enter(&s, "acme", "k1", NOON_S + 60));
    close_scene(&s);
}

static void tokens_count_as_they_come(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, "*=tpm:100/tpd:150", 1);
    assert_true(enter(&s, "acme", "k1", NOON_S));
    usage_quotas_spend(s.quotas, s.meter, NOON_S, 99);
    assert_true(enter(&s, "acme", "k1", NOON_S));
    assert_int_equal(s.allowance.of[1].left, 1);
    usage_quotas_spend(s.quotas, s.meter, NOON_S, 30);
    assert_false(enter(&s, "acme", "k1", NOON_S));
    assert_int_equal(s.allowance.retry_s, 60);
    assert_true(enter(&s, "acme", "k1", NOON_S + 60));
    assert_int_equal(s.allowance.of[1].left, 21); /* of the day */
    usage_quotas_spend(s.quotas, s.meter, NOON_S + 60, 21);
    assert_false(enter(&s, "acme", "k1", NOON_S + 120));
    assert_int_equal(s.allowance.retry_s, 43200 - 120);
    assert_true(enter(&s, "acme", "k1", NOON_S + 43200));
    close_scene(&s);
}

static void a_day_outlives_the_process_and_gateways_share(void **state)
{
    struct scene s;
    (void)state;
    open_scene(&s, "acme=rpd:10", 4);
    usage_add(s.usage, "acme", "k1", NOON_S / 86400, &(struct usage_counts){ .n_requests = 8 });
    assert_true(enter(&s, "acme", "k1", NOON_S));
    assert_int_equal(s.allowance.of[0].most, 3); /* a fourth, rounded up */
    assert_false(enter(&s, "acme", "k1", NOON_S));
    close_scene(&s);
}

static void keys_without_number_share_a_meter(void **state)
{
    struct scene s;
    char key[16];
    (void)state;
    open_scene(&s, "*=rpm:2", 1);
    for (int i = 0; i < USAGE_METERS_MAX; i++) {
        snprintf(key, sizeof key, "%d", i);
        assert_true(enter(&s, "acme", key, NOON_S));
    }
    assert_true(enter(&s, "acme", "more", NOON_S));
    assert_false(enter(&s, "acme", "and more", NOON_S));
    assert_true(enter(&s, "acme", "0", NOON_S));
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read_or_refused),
        cmocka_unit_test(minutes_begin_anew),
        cmocka_unit_test(tokens_count_as_they_come),
        cmocka_unit_test(a_day_outlives_the_process_and_gateways_share),
        cmocka_unit_test(keys_without_number_share_a_meter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
