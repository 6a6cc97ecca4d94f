/* Candidates of a draw: the highest are found by looking at a few and narrowing down between two of
 * them, instead of by sorting. What goes over many are the backend's loops (compute/draw.h). */
#include "run/choice.h"

#include "base/mem.h"
#include "base/num.h"
#include <string.h>

/* A sample's size, and how far around the place that is sought its bounds lie: the square root of
 * the size. */
enum { SAMPLE = 64, SPREAD = 8 };

static struct compute_draw_list list_of(int32_t n_max, bool has_ids)
{
    size_t n = (size_t)n_max + COMPUTE_DRAW_BLOCK;
    return (struct compute_draw_list){ .ids = has_ids ? mem_take(n * sizeof(int32_t)) : NULL,
                                       .weights = mem_take(n * sizeof(int32_t)),
                                       .values = mem_take(n * sizeof(float)) };
}

static void free_list(struct compute_draw_list *list)
{
    mem_give(list->ids);
    mem_give(list->weights);
    mem_give(list->values);
}

void run_choice_init(struct run_choice *choice, const struct compute_draw *loops, int32_t n_max)
{
    *choice = (struct run_choice){
        .loops = loops, .n_max = n_max, .list = list_of(n_max, true), .part = list_of(n_max, false)
    };
}

void run_choice_free(struct run_choice *choice)
{
    free_list(&choice->list);
    free_list(&choice->part);
    *choice = (struct run_choice){ 0 };
}

int32_t run_choice_best(const struct run_choice *choice, const float *logits, int32_t n)
{
    enum { PART = 1024 };
    float top = -__builtin_inff();
    int32_t first = 0; /* of the part that has it */
    for (int32_t i = 0; i < n; i += PART) {
        float part = choice->loops->highest(logits + i, min_i32(PART, n - i));
        first = part > top ? i : first;
        top = part > top ? part : top;
    }
    for (int32_t i = first; i < n; i++)
        if (logits[i] == top)
            return i;
    return n - 1;
}

/* ---- The highest of many. ---- */

struct pair {
    float value;
    int32_t weight;
};

/* `n` pairs spread evenly over the list, the highest first. */
static void sample(const struct compute_draw_list *list, struct pair *pairs, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        int32_t from = (int32_t)((int64_t)list->n * i / n), at = i;
        const struct pair pair = { list->values[from], list->weights ? list->weights[from] : 1 };
        for (; at > 0 && pairs[at - 1].value < pair.value; at--)
            pairs[at] = pairs[at - 1];
        pairs[at] = pair;
    }
}

/* Where the highest end: what is above the value, and the first n_at of those equal to it. */
struct end {
    float value;
    int32_t n_at;
};

/* Of a list that all fits a sample. */
static struct end end_of_few(const struct compute_draw_list *list, int64_t wanted)
{
    struct pair pairs[SAMPLE];
    struct end end = { .n_at = 0 };
    int32_t i = 0;
    sample(list, pairs, list->n);
    for (; wanted > 0; wanted -= pairs[i++].weight) {
        CHECK(i < list->n);
        end.n_at = i > 0 && pairs[i].value == end.value ? end.n_at + 1 : 1;
        end.value = pairs[i].value;
    }
    return end;
}

struct bounds {
    float low, high;
    int32_t n_low; /* of those equal to low */
};

/* The highest float below x, which is no NaN and not -infinity. */
static float next_below(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    if (x == 0)
        bits = INT32_MIN; /* -0 */
    bits += bits < 0 ? 1 : -1;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* Two values between which a share of the list's weight, the highest first, is likely to end. */
static struct bounds guess(const struct compute_draw_list *list, double share, int32_t spread)
{
    struct pair pairs[SAMPLE];
    int64_t sum = 0, have = 0;
    int32_t at = 0;
    sample(list, pairs, SAMPLE);
    for (int32_t i = 0; i < SAMPLE; i++)
        sum += pairs[i].weight;
    for (; at + 1 < SAMPLE; at++) {
        have += pairs[at].weight;
        if ((double)have >= share * (double)sum)
            break;
    }
    return (struct bounds){ at + spread < SAMPLE ? pairs[at + spread].value : -__builtin_inff(),
                            at >= spread ? pairs[at - spread].value : __builtin_inff(), INT32_MAX };
}

/* The fewest of the highest of which `wanted` come together, 0 < wanted <= total, the sum of their
 * weights: each round keeps those between two of them, or the others. Where that kept nearly all,
 * one value is both bounds, which always ends it or leaves some out. */
static struct end find_end(struct run_choice *choice, const struct compute_draw_list *list,
                           int64_t total, int64_t wanted)
{
    const struct compute_draw *loops = choice->loops;
    struct compute_draw_list part = choice->part, rest = *list;
    int32_t spread = SPREAD;
    if (list->weights == NULL)
        part.weights = NULL;
    while (rest.n > SAMPLE) {
        struct bounds in = guess(&rest, (double)wanted / (double)total, spread);
        int64_t sums[2];
        loops->sums_above(&rest, in.low, in.high, sums);
        if (sums[0] >= wanted) { /* they end above */
            in = (struct bounds){ in.high, __builtin_inff(), 0 };
            total = sums[0];
        } else if (sums[1] < wanted) { /* or below */
            in = (struct bounds){ -__builtin_inff(), next_below(in.low), INT32_MAX };
            wanted -= sums[1];
            total -= sums[1];
        } else {
            wanted -= sums[0];
            total = sums[1] - sums[0];
        }
        int32_t n = rest.n;
        loops->keep(&rest, in.low, in.high, in.n_low, &part);
        rest = part;
        if (in.low == in.high && in.n_low > 0) {
            int32_t weight = rest.weights != NULL ? rest.weights[0] : 1;
            return (struct end){ in.low, (int32_t)((wanted + weight - 1) / weight) };
        }
        spread = rest.n > n / 4 * 3 ? 0 : SPREAD;
    }
    return end_of_few(&rest, wanted);
}

static void keep_until(struct run_choice *choice, struct end end)
{
    const struct compute_draw *loops = choice->loops;
    struct compute_draw_list *list = &choice->list;
    loops->keep(list, end.value, __builtin_inff(), end.n_at, list);
    choice->total = loops->sum(list->weights, list->n);
}

/* What at least top_k logits reach: the top_k-th of the maxima of groups. NaN is in none. */
static float bound_of_top(struct run_choice *choice, const float *logits, int32_t n, int32_t top_k)
{
    enum { MANY = COMPUTE_DRAW_BLOCK * COMPUTE_DRAW_BLOCK };
    struct compute_draw_list tops = { .n = n / MANY * COMPUTE_DRAW_BLOCK,
                                      .values = choice->list.values };
    if (tops.n < 2 * top_k)
        return -__builtin_inff();
    choice->loops->tops(logits, n, tops.values);
    return find_end(choice, &tops, tops.n, top_k).value;
}

void run_choice_weigh(struct run_choice *choice, const float *logits, int32_t n, float best,
                      struct run_choice_how how)
{
    struct compute_draw_limit limit = { best, 1.0F / how.temperature, -COMPUTE_DRAW_NEGLIGIBLE,
                                        -__builtin_inff() };
    CHECK(n <= choice->n_max);
    if (how.min_p > 0.0F) {
        float log_min_p = (float)num_log((double)how.min_p);
        limit.distance = log_min_p > limit.distance ? log_min_p : limit.distance;
    }
    if (how.top_k > 0)
        limit.logit = bound_of_top(choice, logits, n, how.top_k);
    struct compute_draw_list *list = &choice->list;
    choice->total = choice->loops->weigh(logits, n, &limit, list);
    if (how.top_k <= 0 || how.top_k >= list->n)
        return;
    const struct compute_draw_list each_once = { .n = list->n, .values = list->values };
    keep_until(choice, find_end(choice, &each_once, list->n, how.top_k));
}

/* ---- What the weights decide. ---- */

void run_choice_keep_share(struct run_choice *choice, float top_p)
{
    int64_t total = choice->total;
    double share = (double)top_p * (double)total;
    int64_t wanted = share >= (double)total ? total : max_i64((int64_t)share, 1);
    wanted += (double)wanted < share; /* rounded up */
    if (wanted < total)
        keep_until(choice, find_end(choice, &choice->list, total, wanted));
}

int32_t run_choice_pick(const struct run_choice *choice, double unit)
{
    enum { PART = 256 };
    const struct compute_draw_list *list = &choice->list;
    int64_t at = min_i64((int64_t)(unit * (double)choice->total), choice->total - 1);
    int32_t i = 0;
    CHECK(list->n > 0);
    for (; i + PART < list->n; i += PART) {
        int64_t part = choice->loops->sum(list->weights + i, PART);
        if (at < part)
            break;
        at -= part;
    }
    for (; i + 1 < list->n && at >= list->weights[i]; i++)
        at -= list->weights[i];
    return list->ids[i];
}
