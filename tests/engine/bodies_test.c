/* Bodies: a body that is taken is kept as it is, and all memory comes back whole. */
#include "../test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "engine/bodies.h"

static struct request_body *make(uint32_t n_tokens, uint32_t n_stops, uint32_t n_biases,
                                 uint64_t seed)
{
    size_t n_bytes = request_body_bytes(n_tokens, n_stops, n_biases);
    struct request_body *body = mem_take(n_bytes);
    *body = (struct request_body){ (uint32_t)n_bytes, n_tokens, n_stops, n_biases, seed, { 0 } };
    for (uint32_t i = 0; i < n_tokens; i++)
        request_body_tokens(body)[i] = (int32_t)(seed + i);
    for (uint32_t i = 0; i < n_stops; i++)
        request_body_stop_ids(body)[i] = (int32_t)(seed + 1000 + i);
    for (uint32_t i = 0; i < n_biases; i++)
        request_body_biases(body)[i] = (struct logit_bias){ (int32_t)(seed + i), (float)i };
    return body;
}

static struct engine_bodies_room room(int32_t n_tokens_max)
{
    return (struct engine_bodies_room){ n_tokens_max, 0 };
}

static void check(struct engine_bodies *bodies, uint32_t handle, const struct request_body *body)
{
    struct engine_body kept = engine_bodies_at(bodies, handle);
    assert_int_equal(kept.head->n_tokens, 0);
    assert_int_equal(kept.head->seed, body->seed);
    assert_memory_equal(kept.tokens, request_body_tokens(body), 4 * body->n_tokens);
    assert_memory_equal(request_body_stop_ids(kept.head), request_body_stop_ids(body),
                        4 * body->n_stop_ids);
    assert_memory_equal(request_body_biases(kept.head), request_body_biases(body),
                        sizeof(struct logit_bias) * body->n_biases);
}

static void keeps_every_part(void **state)
{
    struct engine_bodies *bodies = engine_bodies_open(4, 1 << 16);
    struct request_body *body = make(100, 3, 5, 7);
    (void)state;
    uint32_t handle = engine_bodies_take(bodies, body, room(400));
    assert_true(handle != 0);
    check(bodies, handle, body);
    engine_bodies_at(bodies, handle).tokens[399] = 1; /* room for all that may come */
    engine_bodies_put(bodies, handle);
    mem_give(body);
    engine_bodies_close(bodies);
}

static void shortage_is_zero(void **state)
{
    struct engine_bodies *bodies = engine_bodies_open(2, 4096);
    struct request_body *body = make(1, 0, 0, 1);
    (void)state;
    assert_int_equal(engine_bodies_take(bodies, body, room(2000)), 0); /* larger than all of it */
    uint32_t a = engine_bodies_take(bodies, body, room(10)),
             b = engine_bodies_take(bodies, body, room(10));
    assert_true(a != 0 && b != 0 && a != b);
    assert_int_equal(engine_bodies_take(bodies, body, room(10)), 0); /* n_max */
    engine_bodies_put(bodies, a);
    engine_bodies_put(bodies, b);
    assert_true(engine_bodies_take(bodies, body, room(900)) != 0); /* halves grew together again */
    mem_give(body);
    engine_bodies_close(bodies);
}

static void put_twice(void *arg)
{
    struct engine_bodies *bodies = arg;
    struct request_body *body = make(1, 0, 0, 1);
    uint32_t handle = engine_bodies_take(bodies, body, room(10));
    engine_bodies_put(bodies, handle);
    engine_bodies_put(bodies, handle);
}

static void putting_twice_dies(void **state)
{
    struct engine_bodies *bodies = engine_bodies_open(2, 4096);
    (void)state;
    test_dies(put_twice, bodies);
    engine_bodies_close(bodies);
}

/* Random takes and puts: no body's bytes change, and at the end all memory is one piece again. */
static void random_takes_and_puts(void **state)
{
    enum { N = 60 };
    struct request_body *kept[N] = { 0 };
    uint32_t handles[N] = { 0 };
    struct rng rng;
    int n_short = 0;
    struct engine_bodies *bodies = engine_bodies_open(N, 100000); /* not a power of two */
    (void)state;
    rng_init(&rng, test_seed(3), 0);
    for (int n = 0; n < 20000; n++) {
        uint32_t i = rng_below(&rng, N);
        if (handles[i] != 0) {
            check(bodies, handles[i], kept[i]);
            engine_bodies_put(bodies, handles[i]);
            mem_give(kept[i]);
            handles[i] = 0;
            kept[i] = NULL;
            continue;
        }
        kept[i] =
            make(1 + rng_below(&rng, 300), rng_below(&rng, 5), rng_below(&rng, 5), rng_u64(&rng));
        handles[i] = engine_bodies_take(bodies, kept[i], room(300 + (int32_t)rng_below(&rng, 600)));
        n_short += handles[i] == 0;
        if (handles[i] == 0) {
            mem_give(kept[i]);
            kept[i] = NULL;
        }
    }
    assert_true(n_short > 100);
    for (int i = 0; i < N; i++)
        if (handles[i] != 0) {
            check(bodies, handles[i], kept[i]);
            engine_bodies_put(bodies, handles[i]);
            mem_give(kept[i]);
        }
    struct request_body *body = make(1, 0, 0, 1);
    assert_true(engine_bodies_take(bodies, body, room(16000)) != 0); /* 65,536 bytes in one piece */
    mem_give(body);
    engine_bodies_close(bodies);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_every_part),
        cmocka_unit_test(shortage_is_zero),
        cmocka_unit_test(putting_twice_dies),
        cmocka_unit_test(random_takes_and_puts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
