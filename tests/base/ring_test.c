/* Tests of the ring: order, wrapping, fullness, two threads, and a hostile other side. */
#include "test.h"
#include "base/mem.h"
#include "base/ring.h"
#include "base/team.h"
#include "base/time.h"

static struct ring *ring_open(uint64_t capacity)
{
    struct ring *ring = mem_take(ring_bytes(capacity));
    ring_init(ring, capacity);
    return ring;
}

static void test_empty_ring(void **state)
{
    (void)state;
    struct ring *ring = ring_open(64);
    const void *record;
    size_t n;
    assert_true(ring_is_empty(ring));
    assert_false(ring_peek(ring, &record, &n));
    mem_give(ring);
}

static void test_two_parts_make_one_record(void **state)
{
    (void)state;
    struct ring *ring = ring_open(128);
    const void *record;
    size_t n;
    assert_true(ring_put(ring, "head", 4, "tail", 5));
    assert_true(ring_put(ring, NULL, 0, NULL, 0));
    assert_false(ring_is_empty(ring));
    assert_true(ring_peek(ring, &record, &n));
    assert_int_equal(n, 9);
    assert_string_equal(record, "headtail");
    assert_true(ring_peek(ring, &record, &n)); /* looking changes nothing */
    assert_int_equal(n, 9);
    ring_pop(ring);
    assert_true(ring_peek(ring, &record, &n));
    assert_int_equal(n, 0);
    ring_pop(ring);
    assert_true(ring_is_empty(ring));
    mem_give(ring);
}

static void test_full_ring_refuses_whole_records(void **state)
{
    (void)state;
    struct ring *ring = ring_open(64);
    unsigned char bytes[64] = { 1 };
    assert_false(ring_put(ring, bytes, 57, NULL, 0));
    assert_false(ring_put(ring, bytes, SIZE_MAX, bytes, SIZE_MAX));
    assert_true(ring_put(ring, bytes, 56, NULL, 0)); /* exactly the ring */
    assert_false(ring_put(ring, bytes, 0, NULL, 0));
    ring_pop(ring);
    assert_true(ring_put(ring, bytes, 0, NULL, 0));
    mem_give(ring);
}

static void test_records_never_wrap(void **state)
{
    (void)state;
    struct ring *ring = ring_open(64);
    unsigned char bytes[40];
    for (int round = 0; round < 1000; round++) {
        const void *record;
        size_t n, n_put = (size_t)(round % 25);
        memset(bytes, round & 0xFF, sizeof(bytes));
        assert_true(ring_put(ring, bytes, n_put, NULL, 0));
        assert_true(ring_peek(ring, &record, &n));
        assert_int_equal(n, n_put);
        assert_int_equal(memcmp(record, bytes, n), 0);
        assert_int_equal((uintptr_t)record % 8, 0);
        assert_true((const unsigned char *)record + n <= ring->data + 64);
        ring_pop(ring);
    }
    mem_give(ring);
}

#define N_SENT 50000

static void send_numbers(void *arg)
{
    struct ring *ring = arg;
    for (uint32_t i = 0; i < N_SENT;) {
        unsigned char pad[24] = { (unsigned char)i };
        if (ring_put(ring, &i, sizeof(i), pad, i % 24))
            i++;
        else
            time_sleep_ns(1000);
    }
}

static void test_two_threads(void **state)
{
    (void)state;
    struct ring *ring = ring_open(1024);
    struct thread *writer = thread_start("writer", send_numbers, ring);
    for (uint32_t i = 0; i < N_SENT;) {
        const void *record;
        size_t n;
        uint32_t number;
        if (!ring_peek(ring, &record, &n)) {
            time_sleep_ns(1000);
            continue;
        }
        memcpy(&number, record, sizeof(number));
        assert_int_equal(number, i);
        assert_int_equal(n, 4 + i % 24);
        ring_pop(ring);
        i++;
    }
    thread_join(writer);
    assert_true(ring_is_empty(ring));
    mem_give(ring);
}

static void test_lies_are_not_believed(void **state)
{
    (void)state;
    struct ring *ring = ring_open(64);
    const void *record;
    size_t n;
    assert_true(ring_put(ring, "12345678", 8, NULL, 0));
    static const uint32_t lies[] = { 13, 60, 61, 1000, 0x7FFFFFFF, 0xFFFFFFF8, 0xFFFFFFFE };
    for (size_t i = 0; i < COUNT_OF(lies); i++) {
        memcpy(ring->data, &lies[i], sizeof(lies[i]));
        assert_false(ring_peek(ring, &record, &n));
    }
    memset(ring->data, 0xFF, 4); /* a skip mark that leads to nothing */
    assert_false(ring_peek(ring, &record, &n));
    ring_pop(ring); /* drops what can't be believed */
    assert_true(ring_is_empty(ring));
    static const uint64_t heads[] = { 1, 7, 65, 72, 1 << 20, UINT64_MAX, UINT64_MAX - 7 };
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        ring_init(ring, 64);
        atomic_store(&ring->head, heads[i]);
        assert_false(ring_peek(ring, &record, &n));
    }
    ring_init(ring, 64);
    assert_true(ring_put(ring, "1", 1, NULL, 0));
    ring->capacity = UINT64_C(1) << 40; /* the reader keeps its own */
    assert_true(ring_peek_within(ring, 64, &record, &n));
    assert_int_equal(n, 1);
    ring_pop_within(ring, 64);
    assert_true(ring_is_empty(ring));
    atomic_store(&ring->tail, 1000);
    ring->capacity = 64;
    assert_false(ring_put(ring, "1", 1, NULL, 0));
    mem_give(ring);
}

/* The reader's process may write any capacity into the ring: the writer keeps to its own. */
static void test_a_writer_knows_the_capacity(void **state)
{
    (void)state;
    struct ring *ring = ring_open(64);
    unsigned char bytes[64] = { 1 };
    ring->capacity = 1 << 20;
    assert_false(ring_put_within(ring, 64, bytes, 57, NULL, 0));
    for (int i = 0; i < 100; i++) {
        assert_true(ring_put_within(ring, 64, bytes, 40, NULL, 0));
        assert_false(ring_put_within(ring, 64, bytes, 40, NULL, 0));
        ring_pop_within(ring, 64);
    }
    atomic_store(&ring->tail, UINT64_MAX - 7); /* more was read than was ever written */
    assert_false(ring_put_within(ring, 64, bytes, 40, NULL, 0));
    mem_give(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_ring),
        cmocka_unit_test(test_two_parts_make_one_record),
        cmocka_unit_test(test_full_ring_refuses_whole_records),
        cmocka_unit_test(test_records_never_wrap),
        cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_lies_are_not_believed),
        cmocka_unit_test(test_a_writer_knows_the_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
