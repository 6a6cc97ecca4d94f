/* The least room for KV agrees with pools: with one unit less there is no block. */
#include "../kv_open.h"
#include "../test.h"
#include "base/rng.h"
#include "kv/kv.h"
#include "serve/kv.h"

enum { N = 4 };
static struct config config;
static struct kv_layout layouts[N];
static int64_t unit_bytes;

static int64_t n_blocks(enum kv_kind kind, int64_t n_units, int model)
{
    struct kv_service_options services[N];
    for (int i = 0; i < config.n_models; i++)
        services[i] = (struct kv_service_options){ layouts[i], config.models[i].kv_bytes_min,
                                                   config.models[i].kv_bytes_max };
    struct kv *kv = kv_open_with(&(struct kv_options){ .kind = kind,
                                                       .pool_bytes_max = n_units * unit_bytes,
                                                       .pool_bytes = n_units * unit_bytes,
                                                       .unit_bytes = unit_bytes,
                                                       .n_requests_max = 1,
                                                       .n_tokens_max = 64,
                                                       .is_virtual = true },
                                 services, config.n_models);
    int64_t n = kv_most_blocks(kv, model, kv_budget(kv)->n_units_open);
    kv_close(kv);
    return n;
}

/* Draws some layers and heads for each, with a floor for some. */
static void draw(struct rng *rng, enum kv_kind kind, struct kv_shape *shapes)
{
    double waste;
    config_init(&config);
    config.n_models = 1 + (int)rng_below(rng, N);
    for (int i = 0; i < config.n_models; i++) {
        int32_t n_heads = 1 + (int32_t)rng_below(rng, 12);
        shapes[i] = (struct kv_shape){ (int64_t)n_heads * 64 * (1 + rng_below(rng, 3)), n_heads };
        bool has_floor = rng_below(rng, 3) == 0;
        config.models[i] =
            (struct config_model){ .kv_bytes_min = has_floor ? rng_below(rng, 1 << 18) : 0 };
        snprintf(config.models[i].name, sizeof(config.models[i].name), "m%d", i);
    }
    unit_bytes = kv_choose(kind, config.n_models, shapes, 1 << 14, layouts, &waste);
}

static void least_is_what_pools_say(void **state)
{
    struct kv_shape shapes[N];
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(1), 1);
    for (int k = 0; k < 300; k++) {
        enum kv_kind kind = (enum kv_kind)(k % KV_KINDS);
        int64_t most = 0;
        struct fault fault;
        draw(&rng, kind, shapes);
        for (int i = 0; i < config.n_models; i++) {
            int64_t n = serve_kv_units(&config, kind, layouts, unit_bytes, i);
            most = max_i64(most, n);
            assert_true(n_blocks(kind, n, i) >= 1);
            assert_true(n == 1 || n_blocks(kind, n - 1, i) == 0);
        }
        config.kv_bytes = most * unit_bytes;
        assert_int_equal(serve_kv_check(&config, kind, layouts, unit_bytes, &fault), STATUS_OK);
        config.kv_bytes--;
        assert_int_equal(serve_kv_check(&config, kind, layouts, unit_bytes, &fault),
                         STATUS_TOO_LARGE);
        config_free(&config);
    }
}

static void sentences_name_model_and_bytes(void **state)
{
    struct fault fault;
    (void)state;
    config_init(&config);
    config.n_models = 2;
    config.models[0] = (struct config_model){ .name = "small" };
    config.models[1] = (struct config_model){ .name = "large", .kv_bytes_max = 5 };
    layouts[0] = (struct kv_layout){ .bytes_per_token = 64, .units_per_block = 2 };
    layouts[1] = (struct kv_layout){ .bytes_per_token = 64, .units_per_block = 6 };
    assert_int_equal(serve_kv_check(&config, KV_HEADS, layouts, 1024, &fault), STATUS_TOO_LARGE);
    assert_string_equal(fault.text,
                        "model large: kv.max is 5 bytes, and needs to be 6144 at least");
    config.models[1].kv_bytes_max = 0;
    assert_int_equal(serve_kv_check(&config, KV_HEADS, layouts, 1024, &fault), STATUS_OK);
    config.kv_bytes = 1;
    assert_int_equal(serve_kv_check(&config, KV_HEADS, layouts, 1024, &fault), STATUS_TOO_LARGE);
    assert_string_equal(fault.text,
                        "kv_bytes is 1, and model large needs 6144 at least to answer anything");
    config_free(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(least_is_what_pools_say),
                                        cmocka_unit_test(sentences_name_model_and_bytes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
