/* Makes packed weights from a file's block without decoding it: words of four values, moved
 * unchanged or after a few shifts. It is for packing (pack.c), which determines the time to load a
 * model. */
#pragma once
#include "cpu/pack.h"

struct cpu_pack_source {
    int32_t at_d, at_m; /* offsets of the halves in the file's block; at_m -1: there is none */
    /* Makes the packed words (form.n_bits of them, plane by plane) of 32 values, the block's
     * b-th. */
    void (*words)(const unsigned char *block, int b, uint32_t *out);
    /* K types: the scales and minimums of all sub-blocks. NULL otherwise. */
    void (*scales)(const unsigned char *block, int8_t *scales, int8_t *minimums);
};
/* Returns the source for an integer type. */
const struct cpu_pack_source *cpu_pack_words_source(enum dtype dtype);
