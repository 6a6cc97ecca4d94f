/* Words from a block are what decoding it and packing its values gives. */
#include "test.h"

#include "base/rng.h"
#include "compute/quant.h"
#include "cpu/pack_words.h"

static void words_are_the_values(void **state)
{
    (void)state;
    int n_types = 0;
    for (int dtype = 0; dtype < DTYPE_N; dtype++) {
        const struct dtype_info *info = dtype_info((enum dtype)dtype);
        const struct cpu_pack_source *source = cpu_pack_words_source((enum dtype)dtype);
        if (source == NULL)
            continue;
        struct cpu_form form = cpu_pack_form((enum dtype)dtype);
        n_types++;
        for (uint64_t seed = 0; seed < 50; seed++) {
            unsigned char block[256];
            struct quant_block want;
            int8_t scales[QUANT_SUBS_MAX] = { 0 }, minimums[QUANT_SUBS_MAX] = { 0 };
            for (int i = 0; i < 256; i++)
                block[i] = (unsigned char)rng_at(seed, (uint64_t)dtype, (uint64_t)i);
            quant_block_decode((enum dtype)dtype, block, &want);
            assert_memory_equal(&want.d, block + source->at_d, 2);
            if (form.has_minimum)
                assert_memory_equal(&want.m, block + source->at_m, 2);
            for (int b = 0; b < info->n_block / 32; b++) {
                uint32_t words[8];
                source->words(block, b, words);
                for (int k = 0; k < 32; k++) {
                    int g = form.n_bits == 8 ? k / 4 : k % 16 / 4;
                    uint32_t byte = words[g] >> (k % 4 * 8) & 255;
                    int value = form.n_bits == 8 ? (int)byte : (int)(byte >> (k / 16 * 4) & 15);
                    if (form.value_max < 0)
                        value = (int8_t)byte;
                    assert_int_equal(value - form.offset, want.values[32 * b + k]);
                }
            }
            if (source->scales == NULL)
                continue;
            source->scales(block, scales, minimums);
            assert_memory_equal(scales, want.scales, (size_t)(256 / form.n_sub));
            if (form.has_minimum)
                assert_memory_equal(minimums, want.minimums, (size_t)(256 / form.n_sub));
        }
    }
    assert_true(n_types >= 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(words_are_the_values) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
