/* Candidates of a draw: looked at and weighed 16 at a time, the best found by histograms of their
 * bits instead of by sorting. Loops over BLOCK become vectors; selects instead of branches. */
#include "run/choice.h"

#include "base/mem.h"
#include "base/num.h"
#include <string.h>

enum { BLOCK = 16, BIN_BITS = 10, BINS = 1 << BIN_BITS, GROUP_ROWS = 16 };

/* What lies this far under the best, over the temperature, weighs less than 1.3e-9 of it. */
static const float NEGLIGIBLE = 20.5F;

void run_choice_init(struct run_choice *choice, int32_t n_max)
{
    *choice = (struct run_choice){ .n_max = n_max };
    size_t n = (size_t)n_max + BLOCK; /* a block is written before it is known what stays */
    choice->ids = mem_take(n * sizeof(*choice->ids));
    choice->weights = mem_take(n * sizeof(*choice->weights));
    choice->values = mem_take(n * sizeof(*choice->values));
    choice->bins = mem_take(n * sizeof(*choice->bins));
    choice->places = mem_take(n * sizeof(*choice->places));
}

void run_choice_free(struct run_choice *choice)
{
    mem_give(choice->ids);
    mem_give(choice->weights);
    mem_give(choice->values);
    mem_give(choice->bins);
    mem_give(choice->places);
    *choice = (struct run_choice){ 0 };
}

/* ---- The best. ---- */

/* The largest of n logits, -infinity when all are NaN. */
static float largest(const float *logits, int32_t n)
{
    float tops[BLOCK];
    int32_t i = 0;
    for (int j = 0; j < BLOCK; j++)
        tops[j] = -__builtin_inff();
    for (; i + BLOCK <= n; i += BLOCK)
        for (int j = 0; j < BLOCK; j++)
            tops[j] = logits[i + j] > tops[j] ? logits[i + j] : tops[j];
    for (int j = 0; i + j < n; j++)
        tops[j] = logits[i + j] > tops[j] ? logits[i + j] : tops[j];
    for (int j = 1; j < BLOCK; j++)
        tops[0] = tops[j] > tops[0] ? tops[j] : tops[0];
    return tops[0];
}

int32_t run_choice_best(const float *logits, int32_t n)
{
    enum { PART = 512 };
    float top = -__builtin_inff();
    int32_t first = 0; /* of the part that has it */
    for (int32_t i = 0; i < n; i += PART) {
        float part = largest(logits + i, min_i32(PART, n - i));
        first = part > top ? i : first;
        top = part > top ? part : top;
    }
    for (int32_t i = first; i < n; i++)
        if (logits[i] == top)
            return i;
    return n - 1;
}

/* ---- The highest of many. ---- */

/* Integers in the order of the floats; both zeros are equal. */
static int32_t key_of(float x)
{
    int32_t bits;
    x += 0.0F;
    memcpy(&bits, &x, sizeof(bits));
    return bits ^ (bits >> 31 & INT32_MAX);
}

/* Where the highest end: what lies in bins above `bin` stays, and in it what is above the value,
 * and the first n_at of those equal to it. */
struct end {
    int32_t bin, n_at;
    float value;
};

/* Even bins over the values' range; a higher value's is never lower. All are in bin 0 where the
 * range has no sensible width. */
static void fill_bins(const float *values, int32_t n, int32_t *bins)
{
    float low = values[0], high = values[0];
    for (int32_t i = 0; i < n; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    float span = high - low, scale = (BINS - 1) / span;
    if (!(span > 1e-30F && span < 1e30F)) {
        memset(bins, 0, (size_t)n * sizeof(*bins));
        return;
    }
    for (int32_t i = 0; i < n; i++)
        bins[i] = (int32_t)((values[i] - low) * scale);
}

/* Of the n at `places`, which share a bin, the fewest of the highest that bring `have` to `wanted`:
 * the range of their keys is cut in four until it is a single one. */
static struct end end_in_bin(const float *values, const int32_t *weights, int32_t *places,
                             int32_t n, int64_t have, int64_t wanted)
{
    int32_t low = INT32_MIN, n_left = 0;
    for (int shift = 30; shift >= 0; shift -= 2) {
        int64_t sums[4] = { 0 };
        for (int32_t i = 0; i < n; i++) {
            uint32_t at = ((uint32_t)key_of(values[places[i]]) - (uint32_t)low) >> shift;
            sums[at] += weights ? weights[places[i]] : 1;
        }
        uint32_t part = 3;
        for (; part > 0 && have + sums[part] < wanted; part--)
            have += sums[part];
        n_left = 0;
        for (int32_t i = 0; i < n; i++) {
            int32_t place = places[i];
            places[n_left] = place;
            n_left += ((uint32_t)key_of(values[place]) - (uint32_t)low) >> shift == part;
        }
        low = (int32_t)((uint32_t)low + (part << shift));
        n = n_left;
    }
    struct end end = { .value = values[places[0]] };
    for (; end.n_at < n && (end.n_at == 0 || have < wanted); end.n_at++)
        have += weights ? weights[places[end.n_at]] : 1;
    return end;
}

/* The fewest of the highest of which `wanted` come together, weighed, or counted where weights is
 * NULL. bins, places: (n) scratch; bins are needed to tell who is among them. */
static struct end find_end(const float *values, const int32_t *weights, int32_t n, int64_t wanted,
                           int32_t *bins, int32_t *places)
{
    int64_t sums[BINS] = { 0 }, have = 0;
    int32_t bin = BINS - 1, n_in = 0;
    fill_bins(values, n, bins);
    for (int32_t i = 0; i < n; i++)
        sums[bins[i]] += weights ? weights[i] : 1;
    for (; bin > 0 && have + sums[bin] < wanted; bin--)
        have += sums[bin];
    for (int32_t i = 0; i < n; i++) {
        places[n_in] = i;
        n_in += bins[i] == bin;
    }
    struct end end = end_in_bin(values, weights, places, n_in, have, wanted);
    end.bin = bin;
    return end;
}

static void keep_until(struct run_choice *choice, struct end end)
{
    int32_t *ids = choice->ids, *weights = choice->weights, n = 0;
    float *values = choice->values;
    for (int32_t i = 0; i < choice->n; i++) {
        float value = values[i];
        bool is_in = choice->bins[i] > end.bin;
        if (choice->bins[i] == end.bin) {
            is_in = value > end.value;
            if (value == end.value)
                is_in = end.n_at-- > 0;
        }
        ids[n] = ids[i];
        weights[n] = weights[i];
        values[n] = value;
        n += is_in;
    }
    choice->n = n;
}

/* What at least top_k logits reach: the top_k-th of the maxima of groups. NaN is in none. */
static float bound_of_top(struct run_choice *choice, const float *logits, int32_t n, int32_t top_k)
{
    int32_t n_groups = n / (BLOCK * GROUP_ROWS) * BLOCK;
    float *tops = choice->values;
    if (n_groups < 2 * top_k)
        return -__builtin_inff();
    for (int32_t i = 0; i < n_groups; i += BLOCK, logits += BLOCK * GROUP_ROWS) {
        for (int j = 0; j < BLOCK; j++)
            tops[i + j] = -__builtin_inff();
        for (int k = 0; k < BLOCK * GROUP_ROWS; k += BLOCK)
            for (int j = 0; j < BLOCK; j++)
                tops[i + j] = logits[k + j] > tops[i + j] ? logits[k + j] : tops[i + j];
    }
    return find_end(tops, NULL, n_groups, top_k, choice->bins, choice->places).value;
}

/* ---- Weights. ---- */

/* e^x for x in [-NEGLIGIBLE, 0], within 1e-6 of itself; anything for others. n ln 2 is taken off in
 * two parts, the polynomial of what is left is Cephes' expf. */
static inline float exp_of(float x)
{
    const float shift = 12582912.0F; /* 1.5 * 2^23: adding it rounds to an integer */
    float t = x * 1.44269504F + shift;
    float n = t - shift;
    float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = (p * (r * r) + r) + 1.0F;
    union {
        float f;
        uint32_t u;
    } bits = { .f = t }; /* t holds n in its low bits: moved into the exponent it is 2^n */
    bits.u = (bits.u << 23) + 0x3F800000U;
    return p * bits.f;
}

struct limit {
    float best, inverse; /* 1 / temperature */
    float distance;      /* the least of (logit - best) / temperature */
    float logit;         /* and the least logit */
};

/* Appends a block's candidates to the n that there are. */
static int32_t append_block(const struct run_choice *choice, int32_t n, const float *logits,
                            struct limit limit, int32_t first)
{
    float distances[BLOCK];
    int32_t weights[BLOCK], is_in[BLOCK], n_in = 0;
    for (int j = 0; j < BLOCK; j++) {
        float distance = (logits[j] - limit.best) * limit.inverse;
        int32_t is_near = -(distance >= limit.distance) & -(logits[j] >= limit.logit);
        is_in[j] = is_near;
        n_in -= is_near;
        distances[j] = is_near ? distance : 0.0F;
    }
    if (n_in == 0)
        return n;
    for (int j = 0; j < BLOCK; j++)
        weights[j] = (int32_t)(exp_of(distances[j]) * (float)RUN_CHOICE_ONE + 0.5F);
    int32_t *ids_out = choice->ids + n, *weights_out = choice->weights + n, k = 0;
    float *values_out = choice->values + n;
    if (n_in == BLOCK) {
        for (int j = 0; j < BLOCK; j++) {
            ids_out[j] = first + j;
            weights_out[j] = weights[j];
            values_out[j] = logits[j];
        }
        return n + BLOCK;
    }
    for (int j = 0; j < BLOCK; j++) {
        ids_out[k] = first + j;
        weights_out[k] = weights[j];
        values_out[k] = logits[j];
        k -= is_in[j];
    }
    return n + k;
}

void run_choice_weigh(struct run_choice *choice, const float *logits, int32_t n, float best,
                      struct run_choice_how how)
{
    struct limit limit = { best, 1.0F / how.temperature, -NEGLIGIBLE, -__builtin_inff() };
    CHECK(n <= choice->n_max);
    if (how.min_p > 0.0F) {
        float log_min_p = (float)num_log((double)how.min_p);
        limit.distance = log_min_p > limit.distance ? log_min_p : limit.distance;
    }
    if (how.top_k > 0)
        limit.logit = bound_of_top(choice, logits, n, how.top_k);
    choice->n = 0;
    int32_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
        choice->n = append_block(choice, choice->n, logits + i, limit, i);
    if (i < n) { /* behind the last one: what is never kept */
        float block[BLOCK];
        for (int32_t j = 0; j < BLOCK; j++)
            block[j] = i + j < n ? logits[i + j] : __builtin_nanf("");
        choice->n = append_block(choice, choice->n, block, limit, i);
    }
    if (how.top_k <= 0 || how.top_k >= choice->n)
        return;
    keep_until(choice,
               find_end(choice->values, NULL, choice->n, how.top_k, choice->bins, choice->places));
}

/* ---- What the weights decide. ---- */

static int64_t sum_of(const int32_t *weights, int32_t n)
{
    int64_t total = 0;
    for (int32_t i = 0; i < n; i++)
        total += weights[i];
    return total;
}

int64_t run_choice_total(const struct run_choice *choice)
{
    return sum_of(choice->weights, choice->n);
}

/* Leaves out what weighs so little that all who weigh no more than it, together with it, do not
 * reach `spare`: it is not among the highest that weigh the rest. (Of two logits the higher one may
 * weigh a few units of rounding less, hence the 64th.) */
static void leave_light(struct run_choice *choice, int64_t spare)
{
    int32_t least = (int32_t)min_i64(spare / choice->n, INT32_MAX), n_heavy = 0, n = 0;
    least -= least / 64 + 1;
    for (int32_t i = 0; i < choice->n; i++)
        n_heavy += choice->weights[i] >= least;
    if (n_heavy > choice->n / 2)
        return; /* not worth it */
    for (int32_t i = 0; i < choice->n; i++) {
        int32_t weight = choice->weights[i];
        choice->ids[n] = choice->ids[i];
        choice->values[n] = choice->values[i];
        choice->weights[n] = weight;
        n += weight >= least;
    }
    choice->n = n;
}

void run_choice_keep_share(struct run_choice *choice, float top_p)
{
    int64_t total = run_choice_total(choice);
    double share = (double)top_p * (double)total;
    int64_t wanted = share >= (double)total ? total : max_i64((int64_t)share, 1);
    wanted += (double)wanted < share; /* rounded up */
    if (wanted >= total)
        return;
    leave_light(choice, total - wanted);
    keep_until(choice, find_end(choice->values, choice->weights, choice->n, wanted, choice->bins,
                                choice->places));
}

int32_t run_choice_pick(const struct run_choice *choice, double unit)
{
    enum { PART = 256 };
    int64_t total = run_choice_total(choice), at = (int64_t)(unit * (double)total);
    int32_t i = 0;
    CHECK(choice->n > 0);
    at = min_i64(at, total - 1);
    for (; i + PART < choice->n; i += PART) {
        int64_t part = sum_of(choice->weights + i, PART);
        if (at < part)
            break;
        at -= part;
    }
    for (; i + 1 < choice->n && at >= choice->weights[i]; i++)
        at -= choice->weights[i];
    return choice->ids[i];
}
