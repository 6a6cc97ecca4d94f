/* How a file's block yields packed weights without being decoded: words of four values, moved as
 * they are or after a few shifts. For packing (pack.c), which the time to load a model depends on.
 */
#pragma once
#include "cpu/pack.h"

struct cpu_pack_source {
    int32_t at_d, at_m; /* offsets of the halves in the file's block; at_m -1: there is none */
    /* The packed words (form.n_bits of them, plane by plane) of 32 values, the block's b-th. */
    void (*words)(const unsigned char *block, int b, uint32_t *out);
    /* K types: the scales and minimums of all sub-blocks. NULL otherwise. */
    void (*scales)(const unsigned char *block, int8_t *scales, int8_t *minimums);
};
/* Of an integer type. */
const struct cpu_pack_source *cpu_pack_words_source(enum dtype dtype);
