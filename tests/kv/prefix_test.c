/* Prefix reuse: which requests may share, what may be offered, and what is evicted first. The tests
 * use a pool of merged blocks and a head-wise one. */
#include "../kv_open.h"
#include "test.h"
#include "pool_fixture.h"

static int32_t tokens[POOL_TOKENS];

static struct request request_of(uint16_t service, uint64_t tenant, uint16_t variant)
{
    return (struct request){ .service = service, .tenant = tenant, .variant = variant };
}

/* A request of n tokens comes, is computed, offers its blocks and goes. */
static void serve(struct kv *kv, const struct request *request, uint32_t slot, int32_t n)
{
    (void)kv_match(kv, request, slot, tokens, n);
    assert_true(pool_reserve(kv, request->service, slot, n));
    kv_publish(kv, request, slot, tokens, n);
    kv_release(kv, slot);
}

static int32_t found(struct kv *kv, const struct request *request, int32_t n)
{
    int32_t n_found = kv_match(kv, request, POOL_SLOTS - 1, tokens, n);
    kv_release(kv, POOL_SLOTS - 1);
    assert_true(kv_is_sound(kv));
    return n_found;
}

static void finds_whole_blocks_but_not_the_last_token(void **state)
{
    (void)state;
    struct kv *kv = pool_open(8, 8, true);
    struct request r = request_of(0, 0, 0);
    serve(kv, &r, 0, 30); /* blocks 0..23 are full, 24..29 is not offered */
    assert_int_equal(found(kv, &r, 30), 24);
    assert_int_equal(found(kv, &r, 100), 24);
    assert_int_equal(found(kv, &r, 24), 16); /* the last token must be computed */
    assert_int_equal(found(kv, &r, 25), 24);
    assert_int_equal(found(kv, &r, 8), 0);
    tokens[17]++;
    assert_int_equal(found(kv, &r, 30), 16);
    tokens[17]--;
    tokens[0]++;
    assert_int_equal(found(kv, &r, 30), 0);
    tokens[0]--;
    r.flags = REQUEST_NO_PREFIX_HIT;
    assert_int_equal(found(kv, &r, 30), 0);
    kv_close(kv);
}

static void nobody_sees_anothers(void **state)
{
    (void)state;
    struct kv *kv = pool_open(8, 8, true);
    struct request r = request_of(0, 1, 0);
    serve(kv, &r, 0, 64);
    struct request tenant = request_of(0, 2, 0), variant = request_of(0, 1, 1);
    struct request service = request_of(1, 1, 0), high = request_of(0, UINT64_C(1) << 63 | 1, 0);
    assert_int_equal(found(kv, &tenant, 64), 0);
    assert_int_equal(found(kv, &variant, 64), 0);
    assert_int_equal(found(kv, &high, 64), 0);
    assert_int_equal(found(kv, &service, 64), 0);
    assert_int_equal(found(kv, &r, 64), 56);
    kv_close(kv);
}

static void only_computed_positions_are_offered(void **state)
{
    (void)state;
    struct kv *kv = pool_open(8, 8, true);
    struct request r = request_of(0, 0, 0);
    assert_true(pool_reserve(kv, 0, 0, 64));
    kv_publish(kv, &r, 0, tokens, 0);
    assert_int_equal(found(kv, &r, 64), 0);
    kv_publish(kv, &r, 0, tokens, 23);
    assert_int_equal(found(kv, &r, 64), 16);
    kv_publish(kv, &r, 0, tokens, 24);
    kv_publish(kv, &r, 0, tokens, 24); /* idempotent */
    assert_int_equal(found(kv, &r, 64), 24);
    kv_close(kv);
}

static void shared_blocks_live_until_the_last_leaves(void **state)
{
    (void)state;
    struct kv *kv = pool_open(8, 8, true);
    struct request r = request_of(0, 0, 0);
    assert_true(pool_reserve(kv, 0, 0, 40));
    kv_publish(kv, &r, 0, tokens, 40);
    assert_int_equal(kv_match(kv, &r, 1, tokens, 40), 32);
    int32_t n, m;
    const uint32_t *a = kv_table(kv, 0, &n), *b = kv_table(kv, 1, &m);
    assert_int_equal(m, 4);
    assert_memory_equal(a, b, 4 * sizeof(*a));
    assert_true(pool_reserve(kv, 0, 1, 48)); /* its own blocks from there on */
    assert_int_not_equal(kv_table(kv, 1, &m)[4], a[4]);
    kv_release(kv, 0);
    assert_true(kv_is_sound(kv));
    struct kv_stats stats;
    kv_stats(kv, 0, &stats);
    assert_int_equal(stats.n_blocks_used, 6);
    assert_int_equal(stats.n_blocks_cached, 1);
    kv_release(kv, 1);
    assert_true(kv_is_idle(kv) && kv_is_sound(kv));
    kv_close(kv);
}

static void evicts_the_least_recently_used_from_its_tail(void **state)
{
    (void)state;
    struct kv *kv = pool_open(4, 4, true); /* 16 blocks of service 0 */
    struct request a = request_of(0, 1, 0), b = request_of(0, 2, 0), c = request_of(0, 3, 0);
    serve(kv, &a, 0, 64);
    serve(kv, &b, 0, 64);
    assert_int_equal(found(kv, &a, 65), 64); /* a is used again: now b is older */
    assert_true(pool_reserve(kv, 0, 0, 32));
    assert_int_equal(found(kv, &a, 65), 64);
    assert_int_equal(found(kv, &b, 65), 32);
    kv_release(kv, 0);
    serve(kv, &c, 0, 128);
    assert_int_equal(found(kv, &a, 65), 0);
    struct kv_stats stats;
    kv_stats(kv, 0, &stats);
    assert_int_equal(stats.n_evicted, 16);
    kv_close(kv);
}

static void fresh_memory_goes_before_what_is_cached(void **state)
{
    (void)state;
    struct kv *kv = pool_open(4, 4, true);
    struct request a = request_of(0, 1, 0);
    serve(kv, &a, 0, 32);
    assert_true(pool_reserve(kv, 1, 1, 16 * 9)); /* what else there is, about */
    assert_int_equal(found(kv, &a, 64), 32);
    assert_true(pool_reserve(kv, 1, 2, 16));
    assert_int_equal(found(kv, &a, 64), pool_is_by_head ? 24 : 0); /* a block less, or a unit */
    kv_close(kv);
}

static void a_hit_respects_the_quota(void **state)
{
    (void)state;
    struct kv_service_options services[2] = { { .layout = *pool_layout(0) },
                                              { .layout = *pool_layout(1) } };
    services[0].bytes_max = 2 * POOL_UNIT_BYTES;
    struct kv_options options = { .kind = pool_is_by_head ? KV_HEADS : KV_MERGED,
                                  .pool_bytes_max = 8 * POOL_UNIT_BYTES,
                                  .pool_bytes = 8 * POOL_UNIT_BYTES,
                                  .unit_bytes = pool_is_by_head ? POOL_HEAD_BYTES : POOL_UNIT_BYTES,
                                  .n_requests_max = POOL_SLOTS,
                                  .n_tokens_max = POOL_TOKENS,
                                  .has_prefix_cache = true };
    struct kv *kv = kv_open_with(&options, services, 2);
    struct request r = request_of(0, 0, 0), other = request_of(0, 1, 0);
    serve(kv, &r, 0, 64);
    serve(kv, &other, 0, 64); /* four cached units; only those in use count */
    assert_true(pool_reserve(kv, 0, 1, 32));
    assert_int_equal(kv_match(kv, &r, 2, tokens, 64), 32);
    assert_int_equal(kv_budget(kv)->services[0].n_units, pool_is_by_head ? 32 : 2);
    assert_false(pool_reserve(kv, 0, 2, 40));
    assert_true(kv_is_sound(kv));
    kv_close(kv);
}

static void forgets_a_service(void **state)
{
    (void)state;
    struct kv *kv = pool_open(8, 8, true);
    struct request r = request_of(0, 0, 0), s = request_of(1, 0, 0);
    serve(kv, &r, 0, 64);
    serve(kv, &s, 0, 64);
    assert_true(pool_reserve(kv, 0, 1, 40));
    kv_publish(kv, &r, 1, tokens, 40); /* twins of cached blocks stay private */
    kv_forget(kv, 0);
    assert_int_equal(found(kv, &r, 64), 0);
    assert_int_equal(found(kv, &s, 65), 64);
    kv_release(kv, 1);
    assert_true(kv_is_sound(kv));
    kv_close(kv);
}

/* A prompt of 20 tokens gets an answer up to token 64, by blocks of 8. */
static void rows_of_two_classes_are_told_apart(void **state)
{
    (void)state;
    struct request answered = request_of(0, 0, 0), quotes = request_of(0, 0, 0);
    struct request longer = request_of(0, 0, 0), shorter = request_of(0, 0, 0);
    answered.n_prompt = 20;
    quotes.n_prompt = 65;
    longer.n_prompt = 24; /* its third block is of the prompt */
    shorter.n_prompt = 18;
    for (int has_classes = 0; has_classes < 2; has_classes++) {
        pool_has_row_classes = has_classes != 0;
        struct kv *kv = pool_open(8, 8, true);
        serve(kv, &answered, 0, 64);
        assert_int_equal(found(kv, &answered, 65), 64); /* it was preempted, and finds its own */
        assert_int_equal(found(kv, &quotes, 65), has_classes ? 16 : 64);
        assert_int_equal(found(kv, &longer, 65), has_classes ? 16 : 64);
        assert_int_equal(found(kv, &shorter, 65), has_classes ? 16 : 64);
        serve(kv, &quotes, 0, 64); /* the same tokens in the other class, beside the first ones */
        assert_int_equal(found(kv, &quotes, 65), 64);
        assert_int_equal(found(kv, &answered, 65), 64);
        kv_close(kv);
    }
    pool_has_row_classes = false;
}

/* The same service, loaded from a file with other weights. */
static void another_arithmetic_is_not_found(void **state)
{
    (void)state;
    struct kv *kv = pool_open(8, 8, true);
    struct request r = request_of(0, 0, 0);
    kv_set_arithmetic(kv, 0, 7);
    serve(kv, &r, 0, 64);
    kv_set_arithmetic(kv, 0, 8);
    assert_int_equal(found(kv, &r, 65), 0);
    kv_set_arithmetic(kv, 0, 7);
    assert_int_equal(found(kv, &r, 65), 64);
    kv_close(kv);
}

int main(void)
{
    for (int32_t i = 0; i < POOL_TOKENS; i++)
        tokens[i] = i * 7 % 1000;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_whole_blocks_but_not_the_last_token),
        cmocka_unit_test(nobody_sees_anothers),
        cmocka_unit_test(only_computed_positions_are_offered),
        cmocka_unit_test(shared_blocks_live_until_the_last_leaves),
        cmocka_unit_test(evicts_the_least_recently_used_from_its_tail),
        cmocka_unit_test(fresh_memory_goes_before_what_is_cached),
        cmocka_unit_test(a_hit_respects_the_quota),
        cmocka_unit_test(forgets_a_service),
        cmocka_unit_test(rows_of_two_classes_are_told_apart),
        cmocka_unit_test(another_arithmetic_is_not_found),
    };
    int n_failed = cmocka_run_group_tests_name("merged", tests, NULL, NULL);
    pool_is_by_head = true;
    return n_failed + cmocka_run_group_tests_name("head-wise", tests, NULL, NULL);
}
