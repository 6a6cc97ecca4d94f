/* Words made directly from a block equal those of decoding it and packing its values. */
#include "test.h"

#include "base/rng.h"
#include "compute/quant.h"
#include "cpu/pack_words.h"

/* Returns the bits of value k in a plane of n bits. */
static int bits_of(const uint32_t *plane, int n, int k)
{
    uint32_t word = plane[k / 4 % n];
    return (int)(word >> (8 * (k % 4) + k / 4 / n * n)) & ((1 << n) - 1);
}

static int value_of(struct cpu_form form, const uint32_t *words, int k)
{
    int offset = form.has_minimum ? 0 : form.n_bits == 2 ? 1 : 1 << (form.n_bits - 1);
    if (form.table != CPU_TABLE_NONE)
        return (form.table == CPU_TABLE_IQ4 ? quant_iq4_values
                                            : quant_mxfp4_values)[bits_of(words, 4, k)];
    switch (form.n_bits) {
    case 2:
        return bits_of(words, 2, k) - offset;
    case 3:
        return bits_of(words, 2, k) + 4 * bits_of(words + 2, 1, k) - offset;
    case 4:
        return bits_of(words, 4, k) - offset;
    case 5:
        return bits_of(words, 4, k) + 16 * bits_of(words + 4, 1, k) - offset;
    case 6:
        return bits_of(words, 4, k) + 16 * bits_of(words + 4, 2, k) - offset;
    default:
        return (int8_t)bits_of(words, 8, k);
    }
}

static void words_are_the_values(void **state)
{
    (void)state;
    int n_types = 0;
    for (int dtype = 0; dtype < DTYPE_N; dtype++) {
        const struct dtype_info *info = dtype_info((enum dtype)dtype);
        if (!info->is_integer)
            continue;
        const struct cpu_pack_source *source = cpu_pack_words_source((enum dtype)dtype);
        struct cpu_form form = cpu_pack_form((enum dtype)dtype);
        n_types++;
        for (uint64_t seed = 0; seed < 50; seed++) {
            unsigned char block[256];
            struct quant_block want;
            int8_t scales[QUANT_SUBS_MAX] = { 0 }, minimums[QUANT_SUBS_MAX] = { 0 };
            for (int i = 0; i < 256; i++)
                block[i] = (unsigned char)rng_at(seed, (uint64_t)dtype, (uint64_t)i);
            quant_block_decode((enum dtype)dtype, block, &want);
            if (form.has_bf16)
                assert_int_equal(want.d, quant_mxfp4_scale(block[source->at_d]));
            else
                assert_memory_equal(&want.d, block + source->at_d, 2);
            if (form.has_minimum)
                assert_memory_equal(&want.m, block + source->at_m, 2);
            for (int b = 0; b < info->n_block / 32; b++) {
                uint32_t words[8];
                source->words(block, b, words);
                for (int k = 0; k < 32; k++)
                    assert_int_equal(value_of(form, words, k), want.values[32 * b + k]);
            }
            if (source->scales == NULL)
                continue;
            source->scales(block, scales, minimums);
            assert_memory_equal(scales, want.scales, (size_t)(256 / form.n_sub));
            if (form.has_minimum)
                assert_memory_equal(minimums, want.minimums, (size_t)(256 / form.n_sub));
        }
    }
    assert_int_equal(n_types, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(words_are_the_values) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
