/* Each field of a key makes another name. */
#include "kv/disk_key.h"
#include "../test.h"

static void each_word_counts(void **state)
{
    struct kv_disk_key key = { 1, 2, 3, 4, 5, 6, 7, 16, 1, 0, 1 };
    const struct hash128 name = kv_disk_key_root(&key);
    (void)state;
    for (size_t at = 0; at < sizeof key; at += 4) {
        uint32_t *word = (void *)((unsigned char *)&key + at);
        *word ^= 1;
        struct hash128 other = kv_disk_key_root(&key);
        assert_true(name.low != other.low && name.high != other.high);
        *word ^= 1;
    }
    struct hash128 again = kv_disk_key_root(&key);
    assert_true(name.low == again.low && name.high == again.high);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_word_counts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
