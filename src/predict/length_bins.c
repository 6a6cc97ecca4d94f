/* Predictors that condition on the input's length: the conditional mean and the quantile.
 *
 * Each service has a tree over bins of input lengths (below 16, then by powers of two up to 4096
 * and more). The leaves are the bins, a node has the outputs of its children, and the root those of
 * the whole service. The deepest node on a query's path with enough samples answers it (D-13). Each
 * node has a histogram of outputs with 64 buckets, four an octave, and the sum of the outputs in
 * each. So E[o | o > n] is exact except for the bucket of n, which counts as spread evenly. When a
 * node has seen NODE_SAMPLES_MAX outputs, all of its counts are halved, so that old traffic fades.
 * Source: Aladdin section 4.2, docs/ALGORITHMS.md section 3.1. */
#include "base/num.h"
#include "predict/length.h"
#include "predict/length_rows.h"
#include <string.h>

enum { N_LEAVES = 16, N_NODES = 2 * N_LEAVES, N_BUCKETS = 64, NODE_SAMPLES_MAX = 8192 };

struct node { /* a heap: 1 is the root, 2i and 2i + 1 are the children of i */
    int32_t n;
    int32_t n_of[N_BUCKETS];
    int64_t sum_of[N_BUCKETS]; /* of the outputs in it */
};
struct bins {
    struct length_config config;
    struct node nodes[][N_NODES]; /* (n_services_max) */
};

/* Outputs 0..3 have buckets of their own, then four an octave; the last takes all from 114,688. */
static int bucket_of(int32_t n)
{
    if (n < 4)
        return n;
    int octave = 31 - __builtin_clz((unsigned)n);
    return min_i32(4 * (octave - 1) + ((n >> (octave - 2)) & 3), N_BUCKETS - 1);
}

static int32_t bucket_begin(int bucket)
{
    return bucket < 4 ? bucket : (4 + bucket % 4) << (bucket / 4 - 1);
}

static int leaf_of(int32_t n_prompt)
{
    if (n_prompt < 16)
        return N_LEAVES;
    return N_LEAVES + min_i32(28 - __builtin_clz((unsigned)n_prompt), 9);
}

/* The outputs in a histogram that are longer than n_min: their number and their sum. */
struct tail {
    double n, sum;
};

/* Returns the part of one bucket above n_min. */
static struct tail bucket_tail(const struct node *node, int bucket, int32_t n_min)
{
    struct tail all = { node->n_of[bucket], (double)node->sum_of[bucket] };
    int32_t begin = bucket_begin(bucket), end = bucket_begin(bucket + 1);
    if (begin > n_min)
        return all;
    if (end - 1 <= n_min || bucket == N_BUCKETS - 1)
        return (struct tail){ 0, 0 };
    double n = all.n * (end - 1 - n_min) / (end - begin);
    return (struct tail){ n, n * (n_min + end) / 2 };
}

static struct tail tail_of(const struct node *node, int32_t n_min)
{
    struct tail tail = { 0, 0 };
    for (int i = bucket_of(max_i32(n_min, 0)); i < N_BUCKETS; i++) {
        struct tail part = bucket_tail(node, i, n_min);
        tail.n += part.n;
        tail.sum += part.sum;
    }
    return tail;
}

/* Returns the deepest node on the query's path that has enough samples; the root when none has. */
static const struct node *node_for(const struct bins *bins, const struct length_query *query)
{
    const struct node *nodes = bins->nodes[query->service];
    int at = leaf_of(query->n_prompt);
    while (at > 1 && nodes[at].n < bins->config.n_samples_min)
        at /= 2;
    return &nodes[at];
}

static size_t bins_bytes(const struct length_limits *limits)
{
    return sizeof(struct bins) + (size_t)limits->n_services_max * N_NODES * sizeof(struct node);
}

static void bins_open(void *state, const struct length_limits *limits,
                      const struct length_config *config)
{
    memset(state, 0, bins_bytes(limits));
    ((struct bins *)state)->config = *config;
}

static void halve(struct node *node)
{
    node->n = 0;
    for (int i = 0; i < N_BUCKETS; i++) {
        int32_t n = node->n_of[i] / 2;
        node->sum_of[i] = node->n_of[i] > 0 ? node->sum_of[i] * n / node->n_of[i] : 0;
        node->n_of[i] = n;
        node->n += n;
    }
}

static void bins_observe(void *state, const struct length_query *query, int32_t n_output)
{
    struct bins *bins = state;
    n_output = max_i32(n_output, 0);
    for (int at = leaf_of(query->n_prompt); at >= 1; at /= 2) {
        struct node *node = &bins->nodes[query->service][at];
        int bucket = bucket_of(n_output);
        node->n++;
        node->n_of[bucket]++;
        node->sum_of[bucket] += n_output;
        if (node->n >= NODE_SAMPLES_MAX)
            halve(node);
    }
}

/* Returns a length for a request that is longer than all similar ones. */
static int32_t beyond(const struct bins *bins, const struct node *node, int32_t n_generated)
{
    return length_again(node->n > 0 ? 0 : bins->config.n_default, n_generated);
}

static int32_t conditional_predict(const void *state, const struct length_query *query)
{
    const struct bins *bins = state;
    const struct node *node = node_for(bins, query);
    struct tail tail = tail_of(node, query->n_generated);
    if (tail.n > 0)
        return length_answer(tail.sum / tail.n + 0.5, query->n_generated);
    return beyond(bins, node, query->n_generated);
}

/* Returns the least length that this fraction of the outputs longer than n_generated does not
 * exceed, by proportion inside its bucket. */
static int32_t quantile_predict(const void *state, const struct length_query *query)
{
    const struct bins *bins = state;
    const struct node *node = node_for(bins, query);
    double wanted = tail_of(node, query->n_generated).n * bins->config.quantile;
    if (wanted <= 0)
        return beyond(bins, node, query->n_generated);
    double below = 0;
    for (int i = bucket_of(query->n_generated); i < N_BUCKETS; i++) {
        double n = bucket_tail(node, i, query->n_generated).n;
        if (below + n < wanted || n <= 0) {
            below += n;
            continue;
        }
        int32_t begin = max_i32(bucket_begin(i), query->n_generated + 1);
        int32_t end = i == N_BUCKETS - 1 ? LIMIT_CONTEXT : bucket_begin(i + 1);
        double at = begin - 1 + (end - begin) * ((wanted - below) / n);
        return length_answer(-num_floor(-at), query->n_generated);
    }
    return beyond(bins, node, query->n_generated);
}

const struct length_predictor length_bins_conditional = {
    "conditional",    "the mean of outputs after similar inputs; when exceeded, of longer ones",
    LENGTH_HINT_NONE, bins_bytes,
    bins_open,        conditional_predict,
    bins_observe,
};
const struct length_predictor length_bins_quantile = {
    "quantile",       "a length that 90% of similar requests do not exceed (quantile:0.9)",
    LENGTH_HINT_NONE, bins_bytes,
    bins_open,        quantile_predict,
    bins_observe,
};
