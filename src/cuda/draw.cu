/* Drawing tokens: one thread block a row of logits.
 *
 * Candidates are those of compute/choice.c. The end of the highest (top_k, top_p) is found by radix
 * selection over the bits of the logits: four histograms of a byte each, from the top. The pick
 * walks tiles of 1,024 ids in order of id. */
extern "C" {
#include "cuda/draw.h"
}
#include "cuda/draw_math.cuh"

enum { THREADS = 1024, WARPS = THREADS / 32, BINS = 256, TILES = CUDA_VOCABULARY_MAX / THREADS };

typedef unsigned long long weight_t;

struct Limit { /* of candidates */
    float best, inverse, distance;
};
struct End { /* where candidates end: above key, and the first n_at of those equal to it */
    uint32_t key;
    uint32_t n_at;
    weight_t over; /* what all weigh beyond what was wanted */
};
struct Best {
    float value;
    int id;
};
struct Shared {
    weight_t bins[BINS], tiles[TILES], sums[WARPS], wanted;
    uint32_t equals[TILES];
    Best bests[WARPS];
    uint32_t prefix;
    int tile;
};

struct DrawView {
    struct cuda_draw draw;
};

/* The weight of a logit, -1 when it is no candidate. */
__device__ __forceinline__ int weigh(float x, Limit limit)
{
    float distance = (x - limit.best) * limit.inverse;
    if (!(distance >= limit.distance))
        return -1;
    return static_cast<int>(draw_exp(distance) * 1073741824.0f + 0.5f);
}

/* Unsigned, in the order of floats; both zeros are one. */
__device__ __forceinline__ uint32_t key_of(float x)
{
    uint32_t bits = math_bits<uint32_t>(x + 0.0f);
    return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ float value_of(uint32_t key)
{
    return math_bits<float>(key >> 31 != 0 ? key & 0x7FFFFFFFu : ~key);
}

/* ---- Sums and maxima over the block. ---- */

__device__ weight_t block_sum(weight_t x, Shared &s)
{
#pragma unroll
    for (int o = 16; o > 0; o >>= 1)
        x += __shfl_xor_sync(0xFFFFFFFFu, x, o);
    if (threadIdx.x % 32 == 0)
        s.sums[threadIdx.x / 32] = x;
    __syncthreads();
    weight_t total = 0;
    for (int i = 0; i < WARPS; i++)
        total += s.sums[i];
    __syncthreads();
    return total;
}

__device__ __forceinline__ Best better(Best a, Best b)
{
    return b.value > a.value || (b.value == a.value && b.id < a.id) ? b : a;
}

__device__ Best block_best(Best best, Shared &s)
{
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
        Best other = { __shfl_xor_sync(0xFFFFFFFFu, best.value, o),
                       __shfl_xor_sync(0xFFFFFFFFu, best.id, o) };
        best = better(best, other);
    }
    if (threadIdx.x % 32 == 0)
        s.bests[threadIdx.x / 32] = best;
    __syncthreads();
    best = s.bests[0];
    for (int i = 1; i < WARPS; i++)
        best = better(best, s.bests[i]);
    __syncthreads();
    return best;
}

/* The best of this thread's share that comes behind `last`. NaN is never one. */
__device__ Best own_best(const float *logits, int n, Best last)
{
    Best best = { -INFINITY, INT32_MAX };
    for (int i = threadIdx.x; i < n; i += THREADS) {
        Best one = { logits[i], i };
        bool is_behind = one.value < last.value || (one.value == last.value && i > last.id);
        if (is_behind)
            best = better(best, one);
    }
    return best;
}

/* The first of the highest logits; n - 1 when all are NaN. */
__device__ int first_best(const float *logits, int n, Shared &s)
{
    const Best all = { INFINITY, -1 };
    Best best = block_best(own_best(logits, n, all), s);
    return best.id < n ? best.id : n - 1;
}

__device__ weight_t total_weight(const float *logits, int n, Limit limit, Shared &s)
{
    weight_t sum = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) {
        int weight = weigh(logits[i], limit);
        sum += weight >= 0 ? weight : 0;
    }
    return block_sum(sum, s);
}

/* ---- Log probabilities. ---- */

/* log of the sum of exponentials, as a double of the same bits as compute/sampler.c's. */
__device__ double log_sum(const float *logits, int n, Shared &s)
{
    Limit limit = { logits[first_best(logits, n, s)], 1.0f / 1.0f, -DRAW_NEGLIGIBLE };
    weight_t total = total_weight(logits, n, limit, s);
    double log = total > 0 ? draw_log(static_cast<double>(total) / 1073741824.0) : 0.0;
    return static_cast<double>(limit.best) + log;
}

__device__ void find_top(const float *logits, int n, int n_top, double base,
                         struct cuda_logprobs *out, Shared &s)
{
    Best last = { INFINITY, -1 }, own = own_best(logits, n, last);
    int n_kept = 0;
    for (; n_kept < n_top; n_kept++) {
        last = block_best(own, s);
        if (last.id >= n)
            break;
        if (threadIdx.x == 0) {
            out->top_ids[n_kept] = last.id;
            out->top_logprobs[n_kept] = static_cast<float>(static_cast<double>(last.value) - base);
        }
        if (last.id % THREADS == static_cast<int>(threadIdx.x))
            own = own_best(logits, n, last);
    }
    if (threadIdx.x == 0)
        out->n_top = n_kept;
}

/* ---- Filters on logits. ---- */

__device__ __forceinline__ int token_at(const struct cuda_ask &ask, int i)
{
    return ask.last != nullptr && i == ask.n_tokens - 1 ? *ask.last : ask.tokens[i];
}

__device__ void add_biases(const struct cuda_ask &ask, float *logits, int n)
{
    for (int i = threadIdx.x; i < ask.n_biases; i += THREADS) {
        int id = ask.biases[i].id;
        bool is_first = id >= 0 && id < n;
        for (int j = 0; j < i && is_first; j++)
            is_first = ask.biases[j].id != id;
        for (int j = i; j < ask.n_biases && is_first; j++)
            if (ask.biases[j].id == id)
                logits[id] += ask.biases[j].bias;
    }
}

__device__ void apply_repetition(const struct cuda_ask &ask, float *logits, int *counts, int n)
{
    float penalty = ask.repetition_penalty;
    if (!(penalty > 0.0f) || penalty == 1.0f)
        return; /* the whole block */
    for (int i = threadIdx.x; i < ask.n_tokens; i += THREADS) {
        int id = token_at(ask, i);
        if (id >= 0 && id < n && atomicAdd(&counts[id], 1) == 0)
            logits[id] = logits[id] > 0.0f ? logits[id] / penalty : logits[id] * penalty;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < ask.n_tokens; i += THREADS) {
        int id = token_at(ask, i);
        if (id >= 0 && id < n)
            atomicExch(&counts[id], 0);
    }
    __syncthreads();
}

__device__ void apply_counts(const struct cuda_ask &ask, float *logits, int *counts, int n)
{
    if (ask.frequency_penalty == 0.0f && ask.presence_penalty == 0.0f)
        return; /* the whole block */
    for (int i = ask.n_prompt + threadIdx.x; i < ask.n_tokens; i += THREADS) {
        int id = token_at(ask, i);
        if (id >= 0 && id < n)
            atomicAdd(&counts[id], 1);
    }
    __syncthreads();
    for (int i = ask.n_prompt + threadIdx.x; i < ask.n_tokens; i += THREADS) {
        int id = token_at(ask, i);
        int count = id >= 0 && id < n ? atomicExch(&counts[id], 0) : 0;
        if (count > 0)
            logits[id] -= ask.frequency_penalty * static_cast<float>(count) + ask.presence_penalty;
    }
    __syncthreads();
}

__device__ void filter(const struct cuda_ask &ask, float *logits, int *counts, int n)
{
    for (int i = threadIdx.x; i < n && ask.mask != nullptr; i += THREADS)
        if ((ask.mask[i / 32] >> (i % 32) & 1) == 0)
            logits[i] = -INFINITY;
    __syncthreads();
    add_biases(ask, logits, n);
    __syncthreads();
    bool forbids = ask.n_tokens - ask.n_prompt < ask.n_tokens_min;
    for (int i = 0; i < ask.n_stop_ids && forbids && threadIdx.x == 0; i++)
        if (ask.stop_ids[i] >= 0 && ask.stop_ids[i] < n)
            logits[ask.stop_ids[i]] = -1e30f;
    __syncthreads();
    apply_repetition(ask, logits, counts, n);
    apply_counts(ask, logits, counts, n);
}

/* ---- Where the highest end. ---- */

/* Finds the bin at which the sum from the top bin down reaches s.wanted, extends s.prefix by it and
 * takes what lies above off s.wanted. One warp does it, eight bins a lane. */
__device__ void choose_bin(Shared &s, int shift)
{
    int lane = threadIdx.x, top = BINS - 1 - 8 * lane; /* this lane's highest bin */
    weight_t own = 0, before, wanted = s.wanted;
    for (int i = 0; i < 8; i++)
        own += s.bins[top - i];
    before = own;
#pragma unroll
    for (int o = 1; o < 32; o <<= 1) {
        weight_t other = __shfl_up_sync(0xFFFFFFFFu, before, o);
        before += lane >= o ? other : 0;
    }
    before -= own;
    __syncwarp();
    if (before >= wanted || before + own < wanted)
        return;
    int bin = top;
    for (; before + s.bins[bin] < wanted; bin--)
        before += s.bins[bin];
    s.prefix |= static_cast<uint32_t>(bin) << shift;
    s.wanted = wanted - before;
}

/* The fewest of the highest candidates that weigh `wanted` together (count: each weighs 1), where
 * 0 < wanted <= what all weigh. */
__device__ End find_end(const float *logits, int n, Limit limit, weight_t wanted, bool counts,
                        Shared &s)
{
    if (threadIdx.x == 0) {
        s.prefix = 0;
        s.wanted = wanted;
    }
    for (int shift = 24; shift >= 0; shift -= 8) {
        if (threadIdx.x < BINS)
            s.bins[threadIdx.x] = 0;
        __syncthreads();
        uint32_t prefix = s.prefix, mask = shift == 24 ? 0 : 0xFFFFFFFFu << (shift + 8);
        for (int i = threadIdx.x; i < n; i += THREADS) {
            int weight = weigh(logits[i], limit);
            uint32_t key = key_of(logits[i]);
            if (weight >= 0 && (key & mask) == prefix)
                atomicAdd(&s.bins[key >> shift & (BINS - 1)],
                          static_cast<weight_t>(counts ? 1 : weight));
        }
        __syncthreads();
        if (threadIdx.x < 32)
            choose_bin(s, shift);
        __syncthreads();
    }
    End end = { s.prefix, 0, 0 };
    weight_t weight = counts ? 1 : weigh(value_of(end.key), limit);
    weight_t left = s.wanted, n_at = (left + weight - 1) / weight;
    end.n_at = static_cast<uint32_t>(n_at);
    end.over = n_at * weight - left;
    __syncthreads();
    return end;
}

/* ---- The pick. ---- */

/* The candidate in which `at` falls when weights are laid side by side in order of id. */
__device__ void pick(const float *logits, int n, Limit limit, End end, weight_t at, int *drawn,
                     Shared &s)
{
    int n_tiles = (n + THREADS - 1) / THREADS, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int tile = warp; tile < n_tiles; tile += WARPS) {
        weight_t sum = 0;
        int equals = 0;
        for (int i = tile * THREADS + lane; i < min((tile + 1) * THREADS, n); i += 32) {
            int weight = weigh(logits[i], limit);
            uint32_t key = key_of(logits[i]);
            sum += weight >= 0 && key > end.key ? weight : 0;
            equals += weight >= 0 && key == end.key;
        }
#pragma unroll
        for (int o = 16; o > 0; o >>= 1) {
            sum += __shfl_xor_sync(0xFFFFFFFFu, sum, o);
            equals += __shfl_xor_sync(0xFFFFFFFFu, equals, o);
        }
        if (lane == 0) {
            s.tiles[tile] = sum;
            s.equals[tile] = equals;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int equal_weight = weigh(value_of(end.key), limit), tile = 0;
        for (; tile < n_tiles - 1; tile++) {
            uint32_t equals = min(s.equals[tile], end.n_at);
            weight_t sum = s.tiles[tile] + equals * static_cast<weight_t>(max(equal_weight, 0));
            if (at < sum)
                break;
            at -= sum;
            end.n_at -= equals;
        }
        s.tile = tile;
        s.wanted = at;
        s.prefix = end.n_at;
    }
    __syncthreads();
    at = s.wanted;
    uint32_t n_at = s.prefix;
    int id = s.tile * THREADS + threadIdx.x;
    float x = id < n ? logits[id] : -INFINITY;
    int weight = id < n ? weigh(x, limit) : -1;
    bool is_equal = weight >= 0 && key_of(x) == end.key;
    unsigned equals = __ballot_sync(0xFFFFFFFFu, is_equal);
    if (lane == 0)
        s.equals[warp] = __popc(equals);
    __syncthreads();
    uint32_t rank = __popc(equals & ((1u << lane) - 1));
    for (int i = 0; i < warp; i++)
        rank += s.equals[i];
    bool is_in = weight >= 0 && (key_of(x) > end.key || (is_equal && rank < n_at));
    weight_t own = is_in ? weight : 0, before = own;
#pragma unroll
    for (int o = 1; o < 32; o <<= 1) {
        weight_t other = __shfl_up_sync(0xFFFFFFFFu, before, o);
        before += lane >= o ? other : 0;
    }
    if (lane == 31)
        s.sums[warp] = before;
    __syncthreads();
    for (int i = 0; i < warp; i++)
        before += s.sums[i];
    if (is_in && at < before && at >= before - own)
        *drawn = id;
}

__device__ void draw_one(const struct cuda_ask &ask, const float *logits, int n, int *drawn,
                         Shared &s)
{
    int best = first_best(logits, n, s);
    Limit limit = { logits[best], 1.0f / ask.temperature, ask.distance };
    weight_t total = 0;
    if (ask.temperature > 0.0f)
        total = total_weight(logits, n, limit, s);
    if (total == 0) { /* greedy, or there is no candidate */
        if (threadIdx.x == 0)
            *drawn = best;
        return;
    }
    End end = { 0, 0, 0 }; /* below all */
    if (ask.top_k > 0) {
        weight_t n_candidates = 0;
        for (int i = threadIdx.x; i < n; i += THREADS)
            n_candidates += weigh(logits[i], limit) >= 0;
        n_candidates = block_sum(n_candidates, s);
        if (static_cast<weight_t>(ask.top_k) < n_candidates) {
            end = find_end(logits, n, limit, ask.top_k, true, s);
            weight_t sum = 0;
            for (int i = threadIdx.x; i < n; i += THREADS) {
                int weight = weigh(logits[i], limit);
                sum += weight >= 0 && key_of(logits[i]) > end.key ? weight : 0;
            }
            total = block_sum(sum, s) +
                    end.n_at * static_cast<weight_t>(weigh(value_of(end.key), limit));
        }
    }
    if (ask.top_p < 1.0f) {
        double share = static_cast<double>(ask.top_p) * static_cast<double>(total);
        weight_t wanted = total;
        if (!(share >= static_cast<double>(total))) {
            wanted = max(static_cast<long long>(share), 1ll);
            wanted += static_cast<double>(wanted) < share;
        }
        if (wanted < total) {
            end = find_end(logits, n, limit, wanted, false, s);
            total = wanted + end.over;
        }
    }
    double unit = draw_unit(draw_bits(ask.seed, 0, static_cast<uint64_t>(ask.n_tokens)));
    weight_t at = static_cast<weight_t>(unit * static_cast<double>(total));
    pick(logits, n, limit, end, min(at, total - 1), drawn, s);
}

__global__ void __launch_bounds__(THREADS) draw_kernel(struct cuda_draw draw)
{
    __shared__ Shared s;
    const struct cuda_ask ask = draw.asks[blockIdx.x];
    int n = draw.n_vocabulary;
    int64_t at = static_cast<int64_t>(blockIdx.x) * n;
    float *logits = draw.logits + at, *raw = draw.raw + at;
    if (ask.kind == CUDA_ASK_NONE)
        return;
    double base = 0.0;
    if (ask.logprobs != nullptr) {
        base = log_sum(logits, n, s);
        if (threadIdx.x == 0) {
            *ask.logprobs = {};
            if (ask.kind == CUDA_ASK_SCORE)
                ask.logprobs->logprob =
                    static_cast<float>(static_cast<double>(logits[ask.id]) - base);
        }
    }
    if (ask.logprobs != nullptr)
        find_top(logits, n, ask.n_top_logprobs, base, ask.logprobs, s);
    if (ask.kind == CUDA_ASK_SCORE)
        return;
    if (ask.logprobs != nullptr) {
        for (int i = threadIdx.x; i < n; i += THREADS)
            raw[i] = logits[i];
    }
    filter(ask, logits, draw.counts + at, n);
    __syncthreads();
    draw_one(ask, logits, n, draw.drawn + blockIdx.x, s);
    __syncthreads();
    if (ask.logprobs != nullptr && threadIdx.x == 0)
        ask.logprobs->logprob =
            static_cast<float>(static_cast<double>(raw[draw.drawn[blockIdx.x]]) - base);
}

bool cuda_draw_rows(struct cuda_stream *stream, const struct cuda_draw *draw)
{
    if (draw->n_vocabulary < 1 || draw->n_vocabulary > CUDA_VOCABULARY_MAX)
        return false;
    return draw->n_rows == 0 || LAUNCH(draw_kernel, draw->n_rows, THREADS, 0, stream, *draw);
}
