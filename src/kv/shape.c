/* Chooses the unit's size, and how each service cuts it, so that the cut wastes least
 * (docs/ALGORITHMS.md D-10).
 *
 * A service with b bytes a token cuts a unit of U bytes into k blocks of t tokens and loses
 * 1 - k t b / U of it. The best U always fits at least one service exactly (else it could shrink).
 * So the candidates are all k t b of all services: a few thousand, tried one by one. Among those
 * that waste nearly as little the smallest is taken. Merging one 16-token block of each model as it
 * is would lose 36% of Llama-2-7B's memory beside 13B. The cut found here, 12.5 MiB as 3 x 8 and
 * 2 x 8 tokens, loses 4%.
 *
 * Blocks of 8 tokens are taken only if 16 and 32 waste too much. Attention reads a block's rows of
 * a head at once, and runs of 8 rows cost it about a sixth more than runs of 16 (bench/kv.c). */
#include "kv/shape.h"

#include "kv/kind.h"
#include "kv/ledger.h"

enum { UNIT_BYTES_ALIGN = 64 };         /* a cache line: blocks start on one */
#define UNIT_BYTES_MIN ((int64_t)65536) /* smaller units cost more records than they save */
#define WASTE_SLACK    0.005 /* a smaller unit is worth this much: partial ones leave less unused */
#define WASTE_FINE     0.02  /* below this the smaller unit always wins */

enum { LONG_BLOCK_TOKENS = 64 }; /* prefixes are found by whole blocks, */
#define WASTE_LONG 0.25          /* so a block is this long only if that saves so much of a unit */

static const int32_t block_tokens_choices[] = { 8, 16, 32 };

/* Cuts a unit into blocks of `tokens` tokens. Returns the fraction that it loses; 2 when none
 * fits. */
static double cut_into(int32_t tokens, int64_t bytes_per_token, int64_t unit_bytes,
                       struct kv_layout *out)
{
    int64_t block_bytes = tokens * bytes_per_token;
    int64_t n = min_i64(unit_bytes / block_bytes, KV_UNIT_BLOCKS_MAX);
    *out = (struct kv_layout){ bytes_per_token, tokens, (int32_t)n, block_bytes };
    return n == 0 ? 2 : 1 - (double)(n * block_bytes) / (double)unit_bytes;
}

/* Finds the best cut of a unit for one service, and returns the fraction that it loses. Small
 * blocks come first, from choice `first` on, since the last block of each request is half empty on
 * average. */
static double cut(int first, int64_t bytes_per_token, int64_t unit_bytes, struct kv_layout *out)
{
    double best = 2;
    for (int i = first; i < (int)COUNT_OF(block_tokens_choices); i++) {
        struct kv_layout layout;
        double waste = cut_into(block_tokens_choices[i], bytes_per_token, unit_bytes, &layout);
        if (waste > 1 || waste > best - 1e-9)
            continue;
        best = waste;
        *out = layout;
    }
    return best;
}

bool kv_shape_cut(int64_t bytes_per_token, int64_t unit_bytes, struct kv_layout *layout,
                  double *waste)
{
    struct kv_layout longer;
    *waste = cut(1, bytes_per_token, unit_bytes, layout);
    if (*waste > WASTE_FINE)
        *waste = cut(0, bytes_per_token, unit_bytes, layout);
    if (*waste > 1)
        return false;
    double other = cut_into(LONG_BLOCK_TOKENS, bytes_per_token, unit_bytes, &longer);
    if (other < *waste - WASTE_LONG) {
        *layout = longer;
        *waste = other;
    }
    return true;
}

struct ask {
    int n_services;
    const int64_t *bytes_per_token;
    int first; /* of the choices of block_tokens */
};

static double cut_all(const struct ask *ask, int64_t unit_bytes, struct kv_layout *layouts)
{
    double worst = 0;
    for (int i = 0; i < ask->n_services; i++) {
        double waste = cut(ask->first, ask->bytes_per_token[i], unit_bytes, &layouts[i]);
        if (waste > worst)
            worst = waste;
    }
    return worst;
}

static int64_t candidate(int64_t bytes_per_token, int32_t choice, int64_t n_blocks)
{
    int64_t bytes = bytes_per_token * block_tokens_choices[choice] * n_blocks;
    return (int64_t)align_up_u64((uint64_t)bytes, UNIT_BYTES_ALIGN);
}

/* Returns the smallest candidate within [min, max] that loses at most `waste_max`; with waste_max <
 * 0 the one that loses least. 0 if there is no such candidate. */
static int64_t search(const struct ask *ask, const int64_t bounds[2], double waste_max,
                      double *waste)
{
    struct kv_layout scratch[KV_SERVICES_MAX];
    int64_t best = 0;
    *waste = 2;
    for (int i = 0; i < ask->n_services; i++) {
        for (int32_t j = ask->first; j < (int32_t)COUNT_OF(block_tokens_choices); j++) {
            for (int64_t n = 1; n <= KV_UNIT_BLOCKS_MAX; n++) {
                int64_t unit = candidate(ask->bytes_per_token[i], j, n);
                if (unit < bounds[0] || unit > bounds[1] ||
                    (waste_max >= 0 && best != 0 && unit >= best))
                    continue;
                double w = cut_all(ask, unit, scratch);
                if (waste_max >= 0 ? w > waste_max : w >= *waste)
                    continue;
                best = unit;
                *waste = w;
            }
        }
    }
    return best;
}

/* Returns the unit for blocks of at least block_tokens_choices[first] tokens; 0 if no unit holds
 * one of each. */
static int64_t choose(const struct ask *ask, int64_t unit_bytes_max, struct kv_layout *layouts,
                      double *waste)
{
    int64_t bounds[2] = { 0, unit_bytes_max };
    for (int i = 0; i < ask->n_services; i++) {
        CHECK(ask->bytes_per_token[i] > 0);
        int64_t smallest = candidate(ask->bytes_per_token[i], ask->first, 1);
        bounds[0] = max_i64(bounds[0], smallest); /* every service must fit at least one block */
    }
    bounds[1] = max_i64(bounds[0], bounds[1]);
    int64_t wanted[2] = { max_i64(bounds[0], UNIT_BYTES_MIN), bounds[1] };
    double least, unused;
    int64_t unit = search(ask, wanted, -1, &least);
    if (unit == 0) { /* the model is so small that 64 blocks of 32 tokens stay below the floor */
        wanted[0] = bounds[0];
        unit = search(ask, wanted, -1, &least);
    }
    CHECK(unit > 0);
    double enough = least + WASTE_SLACK > WASTE_FINE ? least + WASTE_SLACK : WASTE_FINE;
    unit = search(ask, wanted, enough, &unused);
    *waste = cut_all(ask, unit, layouts);
    return unit;
}

int64_t kv_choose_layout(int n_services, const int64_t *bytes_per_token, int64_t unit_bytes_max,
                         struct kv_layout *layouts, double *waste)
{
    CHECK(n_services > 0 && n_services <= KV_SERVICES_MAX);
    struct ask ask = { n_services, bytes_per_token, 1 };
    int64_t unit = choose(&ask, unit_bytes_max, layouts, waste);
    if (unit <= unit_bytes_max && *waste <= WASTE_FINE)
        return unit;
    ask.first = 0;
    return choose(&ask, unit_bytes_max, layouts, waste);
}
