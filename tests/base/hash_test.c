/* Tests of the hashes against published vectors. */
#include "test.h"
#include "base/hash.h"

static void test_secure_is_sha256(void **state)
{
    (void)state;
    /* FIPS 180-2: SHA-256("abc") = ba7816bf 8f01cfea 414140de 5dae2223 ... */
    static const unsigned char abc[16] = { 0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea,
                                           0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23 };
    const char *text = "abc";
    for (size_t cut = 0; cut <= 3; cut++) {
        struct hash128 hash = hash_secure(text, cut, text + cut, 3 - cut);
        assert_memory_equal(&hash.low, abc, 8);
        assert_memory_equal(&hash.high, abc + 8, 8);
    }
    static const unsigned char empty[8] = { 0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14 };
    struct hash128 hash = hash_secure(NULL, 0, NULL, 0);
    assert_memory_equal(&hash.low, empty, 8);
}

static void test_fast_is_xxh3(void **state)
{
    (void)state;
    /* XXH3-128 of nothing with seed 0: 99aa06d3014798d86001c324468d497f */
    struct hash128 hash = hash_fast("", 0, 0);
    assert_true(hash.high == 0x99aa06d3014798d8u && hash.low == 0x6001c324468d497fu);
    struct hash128 a = hash_fast("shoal", 5, 1), b = hash_fast("shoal", 5, 2);
    assert_true(a.low != b.low && a.high != b.high);
}

static void test_const_time_equality(void **state)
{
    (void)state;
    assert_true(hash_equal_const_time("secret", "secret", 6));
    assert_false(hash_equal_const_time("secret", "secreT", 6));
    assert_true(hash_equal_const_time("a", "b", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_secure_is_sha256),
        cmocka_unit_test(test_fast_is_xxh3),
        cmocka_unit_test(test_const_time_equality),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
