/* The work of rounds: closed forms against rounds done one by one. */
#include "../test.h"
#include "base/rng.h"
#include "engine/exec.h"

/* One round on a copy of the record. */
static void do_round(struct request *r, int32_t n_item, struct engine_progress *sum)
{
    int32_t limit = r->n_tokens_max;
    if (r->n_tokens >= limit || (r->kind != REQUEST_GENERATE && r->n_computed == r->n_tokens))
        return; /* it has drawn its last token */
    int32_t n = min_i32(n_item, r->n_tokens - r->n_computed);
    r->n_computed += n;
    sum->n_computed += n;
    if (r->n_computed == r->n_tokens && r->kind == REQUEST_GENERATE) {
        r->n_tokens++;
        sum->n_new++;
    }
}

static void closed_form_is_the_sum_of_rounds(void **state)
{
    struct rng rng;
    (void)state;
    rng_init(&rng, test_seed(1), 0);
    for (int n = 0; n < 20000; n++) {
        struct request r = { .n_prompt = 1 + (int32_t)rng_below(&rng, 40) };
        r.n_tokens = r.n_prompt + (int32_t)rng_below(&rng, 10);
        r.n_computed = (int32_t)rng_below(&rng, (uint32_t)r.n_tokens);
        r.n_tokens_max = r.n_tokens + 1 + (int32_t)rng_below(&rng, 30);
        r.kind = rng_below(&rng, 8) == 0 ? REQUEST_EMBED : REQUEST_GENERATE;
        int32_t n_item = 1 + (int32_t)rng_below(&rng, 12);
        int32_t n_all = engine_exec_rounds(&r, n_item);
        struct request copy = r;
        struct engine_progress sum = { 0 };
        for (int32_t round = 1; round <= n_all; round++) {
            do_round(&copy, n_item, &sum);
            struct engine_progress progress = engine_exec_progress(&r, n_item, round);
            assert_int_equal(progress.n_computed, sum.n_computed);
            assert_int_equal(progress.n_new, sum.n_new);
        }
        bool is_over = r.kind == REQUEST_GENERATE ? copy.n_tokens == copy.n_tokens_max
                                                  : copy.n_computed == copy.n_tokens;
        assert_true(is_over);
        struct engine_progress more = engine_exec_progress(&r, n_item, n_all + 5);
        assert_true(more.n_computed == sum.n_computed && more.n_new == sum.n_new);
    }
}

static void lease_ends_drawing(void **state)
{
    struct request r = { .n_prompt = 4, .n_tokens = 4, .n_tokens_max = 100, .n_lease = 3 };
    (void)state;
    assert_int_equal(engine_exec_rounds(&r, 4), 3);
    assert_int_equal(engine_exec_progress(&r, 4, 50).n_new, 3);
    assert_int_equal(engine_exec_progress(&r, 4, 50).n_computed, 6);
}

static void load_tells_decodes_from_prompts(void **state)
{
    struct request requests[3] = {
        { .n_prompt = 10, .n_tokens = 15, .n_computed = 14, .n_tokens_max = 30 }, /* a decode */
        { .n_prompt = 64, .n_tokens = 64, .n_computed = 32, .n_tokens_max = 70 }, /* a chunk */
        { .n_prompt = 33, .n_tokens = 33, .n_computed = 32, .n_tokens_max = 40 }, /* its last */
    };
    struct batch_item items[3] = { { 0, 1, 0 }, { 1, 20, 0 }, { 2, 1, 0 } };
    struct batch batch = { .n_items = 3, .items = items };
    struct perf_load load = engine_exec_load(&batch, requests);
    (void)state;
    assert_int_equal(load.n_decodes, 1);
    assert_int_equal(load.n_decode_context, 15);
    assert_int_equal(load.n_new, 21);
    assert_int_equal(load.n_new_squared, 401);
    assert_int_equal(load.n_new_context, 20 * 32 + 32);
}

/* A draft costs as much as another decode, and may count as a round more. */
static void drafts_are_rows_of_a_decode(void **state)
{
    struct request r = { .n_prompt = 10, .n_tokens = 15, .n_computed = 14, .n_tokens_max = 30 };
    struct batch_item item = { 0, 4, 3 };
    struct batch batch = { .n_items = 1, .items = &item };
    struct perf_load load = engine_exec_load(&batch, &r);
    struct engine_progress progress = engine_exec_progress_of(&r, &item, 1);
    (void)state;
    assert_int_equal(load.n_decodes, 4);
    assert_int_equal(load.n_decode_context, 4 * 15);
    assert_int_equal(load.n_new, 0);
    assert_int_equal(progress.n_new, 4);
    assert_int_equal(progress.n_computed, 4);
    r.n_lease = 2;
    assert_int_equal(engine_exec_progress_of(&r, &item, 1).n_new, 2);
}

/* The load of each round is that of the records as they would be then. */
static void load_of_later_rounds(void **state)
{
    struct request requests[2] = {
        { .n_prompt = 10, .n_tokens = 15, .n_computed = 14, .n_tokens_max = 30 },
        { .n_prompt = 64, .n_tokens = 64, .n_computed = 20, .n_tokens_max = 70 },
    };
    struct batch_item items[2] = { { 0, 1, 0 }, { 1, 20, 0 } };
    struct batch batch = { .n_items = 2, .items = items };
    struct batch padded = { .n_items = 2, .items = items, .pads = { 70, 3 } };
    (void)state;
    for (int32_t round = 0; round < 6; round++) {
        struct request then[2] = { requests[0], requests[1] };
        for (int i = 0; i < 2 && round > 0; i++) {
            struct engine_progress p = engine_exec_progress(&requests[i], items[i].n_tokens, round);
            then[i].n_computed += p.n_computed;
            then[i].n_tokens += p.n_new;
        }
        struct perf_load load = engine_exec_load_of_round(&batch, requests, round);
        struct perf_load wanted = engine_exec_load(&batch, then);
        assert_int_equal(load.n_decodes, wanted.n_decodes);
        assert_int_equal(load.n_decode_context, wanted.n_decode_context);
        assert_int_equal(load.n_context_most, wanted.n_context_most);
        assert_int_equal(load.n_new, wanted.n_new);
        assert_int_equal(load.n_new_squared, wanted.n_new_squared);
        assert_int_equal(load.n_new_context, wanted.n_new_context);
    }
    assert_int_equal(engine_exec_load_of_round(&padded, requests, 0).n_new, 60);
    assert_int_equal(engine_exec_load_of_round(&padded, requests, 2).n_decode_context, 3 * 72);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_form_is_the_sum_of_rounds),
        cmocka_unit_test(lease_ends_drawing),
        cmocka_unit_test(load_tells_decodes_from_prompts),
        cmocka_unit_test(drafts_are_rows_of_a_decode),
        cmocka_unit_test(load_of_later_rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
