/* The ring against a queue: random sizes in one thread, random paces across two, random damage by
 * an untrusted side. */
#include "test.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/ring.h"
#include "base/rng.h"
#include "base/team.h"
#include "base/time.h"
#include <sched.h>

#define CAPACITY   512
#define N_RECORDS  100000
#define RECORD_MAX 200

/* Makes record i of a seed, so that both sides know its length and its bytes. */
static size_t make_record(uint64_t seed, uint64_t i, unsigned char *bytes)
{
    size_t n = (size_t)(rng_at(seed, 1, i) % RECORD_MAX);
    if (rng_at(seed, 2, i) % 2 == 0)
        n %= 16;
    for (size_t at = 0; at < n; at++)
        bytes[at] = (unsigned char)(i * 31 + at);
    return n;
}

static void check_record(uint64_t seed, uint64_t i, const void *record, size_t n)
{
    unsigned char wanted[RECORD_MAX];
    assert_int_equal(n, make_record(seed, i, wanted));
    assert_memory_equal(record, wanted, n);
}

static void test_ring_is_a_queue(void **state)
{
    (void)state;
    uint64_t seed = test_seed(1), n_put = 0, n_got = 0;
    struct rng rng;
    struct ring *ring = mem_take(ring_bytes(CAPACITY));
    rng_init(&rng, seed, 0);
    ring_init(ring, CAPACITY);
    while (n_got < N_RECORDS) {
        unsigned char bytes[RECORD_MAX];
        const void *record;
        size_t n, cut;
        for (uint32_t i = rng_below(&rng, 6); i > 0; i--) {
            n = make_record(seed, n_put, bytes);
            cut = n == 0 ? 0 : rng_below(&rng, (uint32_t)n);
            uint64_t used = atomic_load(&ring->head) - atomic_load(&ring->tail);
            bool is_put = ring_put(ring, bytes, cut, bytes + cut, n - cut);
            assert_true(is_put ||
                        used + 2 * align_up_u64(n + 8, 8) > CAPACITY); /* no false refusal */
            n_put += is_put;
        }
        for (uint32_t i = rng_below(&rng, 6); i > 0; i--) {
            assert_int_equal(ring_is_empty(ring), n_got == n_put);
            assert_int_equal(ring_peek(ring, &record, &n), n_got < n_put);
            if (n_got == n_put)
                break;
            check_record(seed, n_got++, record, n);
            ring_pop(ring);
        }
    }
    mem_give(ring);
}

struct side {
    struct ring *ring;
    uint64_t seed;
};

static void write_all(void *arg)
{
    struct side *side = arg;
    for (uint64_t i = 0; i < N_RECORDS;) {
        unsigned char bytes[RECORD_MAX];
        size_t n = make_record(side->seed, i, bytes);
        if (ring_put(side->ring, bytes, n / 2, bytes + n / 2, n - n / 2))
            i++;
        else
            sched_yield();
    }
}

static void test_ring_across_two_threads(void **state)
{
    (void)state;
    struct side side = { mem_take(ring_bytes(CAPACITY)), test_seed(2) };
    ring_init(side.ring, CAPACITY);
    struct thread *writer = thread_start("writer", write_all, &side);
    for (uint64_t i = 0; i < N_RECORDS;) {
        const void *record;
        size_t n;
        if (!ring_peek(side.ring, &record, &n)) {
            sched_yield();
            continue;
        }
        check_record(side.seed, i++, record, n);
        ring_pop(side.ring);
        if (rng_at(side.seed, 3, i) % 5000 == 0)
            time_sleep_ns(100000); /* let it fill up */
    }
    thread_join(writer);
    assert_true(ring_is_empty(side.ring));
    mem_give(side.ring);
}

static void test_damage_is_survived(void **state)
{
    (void)state;
    struct rng rng;
    rng_init(&rng, test_seed(3), 0);
    struct ring *ring =
        mem_take(ring_bytes(CAPACITY)); /* exactly, so that a sanitizer sees its end */
    unsigned char bytes[RECORD_MAX] = { 0 };
    for (int round = 0; round < 20000; round++) {
        ring_init(ring, CAPACITY);
        for (int i = 0; i < 5; i++)
            (void)!ring_put(ring, bytes, rng_below(&rng, RECORD_MAX), NULL, 0);
        for (uint32_t i = rng_below(&rng, 8); i > 0; i--) {
            uint32_t at = rng_below(&rng, CAPACITY / 8) * 8;
            uint32_t lie = (uint32_t)rng_u64(&rng) >> rng_below(&rng, 32);
            memcpy(ring->data + at, &lie, sizeof(lie));
        }
        if (round % 3 == 0)
            atomic_store(&ring->head, rng_u64(&rng) >> rng_below(&rng, 64));
        if (round % 5 == 0)
            atomic_store(&ring->tail, rng_u64(&rng) >> rng_below(&rng, 64));
        ring->capacity = rng_u64(&rng);
        const void *record;
        size_t n;
        for (int i = 0; i < 10 && ring_peek_within(ring, CAPACITY, &record, &n); i++) {
            (void)hash_fast(record, n, 0); /* touches every byte */
            ring_pop_within(ring, CAPACITY);
        }
    }
    mem_give(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_is_a_queue),
        cmocka_unit_test(test_ring_across_two_threads),
        cmocka_unit_test(test_damage_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
