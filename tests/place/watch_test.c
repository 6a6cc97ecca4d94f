/* When layers are planned anew. */
#include "test.h"

#include "place/watch.h"

#define S INT64_C(1000000000)

static const struct watch_config config = { WATCH_OVER_NS };
static const uint64_t ids[] = { 11, 22, 33, 44 };
static const uint64_t mixed[] = { 33, 11, 22 }, other[] = { 11, 22, 44 };

static void test_devices(void **state)
{
    (void)state;
    struct watch watch;
    const struct watch_seen three = { 0, ids, 3, 0, 100 }, four = { S, ids, 4, 0, 100 };
    const struct watch_seen turned = { S, mixed, 3, 0, 100 }, swapped = { S, other, 3, 0, 100 };
    const struct watch_seen two = { S, ids, 2, 0, 100 };
    watch_planned(&watch, &three);
    assert_int_equal(watch_saw(&watch, &config, &three), WATCH_NOTHING);
    assert_int_equal(watch_saw(&watch, &config, &turned), WATCH_NOTHING); /* the same three */
    assert_int_equal(watch_saw(&watch, &config, &four), WATCH_JOINED);
    assert_int_equal(watch_saw(&watch, &config, &four), WATCH_JOINED); /* until it is planned */
    assert_int_equal(watch_saw(&watch, &config, &two), WATCH_LEFT);
    assert_int_equal(watch_saw(&watch, &config, &swapped), WATCH_LEFT);
    watch_planned(&watch, &four);
    assert_int_equal(watch_saw(&watch, &config, &four), WATCH_NOTHING);
    assert_int_equal(watch_saw(&watch, &config, &three), WATCH_LEFT);
}

static enum watch_why at(struct watch *watch, int64_t s, int64_t kv_bytes)
{
    const struct watch_seen seen = { s * S, ids, 3, kv_bytes, 100 };
    return watch_saw(watch, &config, &seen);
}

static void test_kv_for_30_s(void **state)
{
    (void)state;
    struct watch watch;
    watch_planned(&watch, &(struct watch_seen){ 0, ids, 3, 0, 100 });
    assert_int_equal(at(&watch, 10, 101), WATCH_NOTHING);
    assert_int_equal(at(&watch, 39, 200), WATCH_NOTHING); /* 29 s */
    assert_int_equal(at(&watch, 40, 101), WATCH_KV);
    assert_int_equal(at(&watch, 41, 100), WATCH_NOTHING); /* within its reserve: it begins anew */
    assert_int_equal(at(&watch, 42, 150), WATCH_NOTHING);
    assert_int_equal(at(&watch, 71, 150), WATCH_NOTHING);
    assert_int_equal(at(&watch, 72, 150), WATCH_KV);
    watch_planned(&watch, &(struct watch_seen){ 72 * S, ids, 3, 150, 100 });
    assert_int_equal(at(&watch, 80, 150), WATCH_NOTHING);
    assert_int_equal(at(&watch, 110, 150), WATCH_KV);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_kv_for_30_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
