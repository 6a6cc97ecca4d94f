/* The set of units against a plain array. */
#include "test.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kv/bits.h"

static void finds_the_lowest(void **state)
{
    (void)state;
    enum { N = 5000 };
    static bool has[N];
    struct kv_bits bits;
    void *memory = mem_take(kv_bits_bytes(N));
    kv_bits_init(&bits, N, memory);
    assert_int_equal(kv_bits_first(&bits), KV_BITS_NONE);
    struct rng rng;
    rng_init(&rng, 7, 0);
    uint32_t n = 0;
    for (int step = 0; step < 40000; step++) {
        uint32_t i = rng_below(&rng, step < 20000 ? N : 1 + N / 50);
        if (has[i])
            kv_bits_remove(&bits, i);
        else
            kv_bits_add(&bits, i);
        n += has[i] ? UINT32_MAX : 1;
        has[i] = !has[i];
        uint32_t first = 0;
        while (first < N && !has[first])
            first++;
        assert_int_equal(kv_bits_first(&bits), first == N ? KV_BITS_NONE : first);
        assert_int_equal(bits.n_members, n);
        assert_int_equal(kv_bits_has(&bits, i), has[i]);
    }
    mem_give(memory);
}

static void holds_the_largest_set(void **state)
{
    (void)state;
    struct kv_bits bits;
    void *memory = mem_take(kv_bits_bytes(1 << 24));
    kv_bits_init(&bits, 1 << 24, memory);
    kv_bits_add(&bits, (1 << 24) - 1);
    assert_int_equal(kv_bits_first(&bits), (1 << 24) - 1);
    kv_bits_add(&bits, 70000);
    assert_int_equal(kv_bits_first(&bits), 70000);
    mem_give(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_lowest),
        cmocka_unit_test(holds_the_largest_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
