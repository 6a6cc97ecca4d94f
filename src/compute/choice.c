/* Candidates of a draw. The highest are found without sorting: a few are sampled, and the list is
 * narrowed down between two of these. The backend's loops run over long lists (compute/draw.h). */
#include "compute/choice.h"

#include "base/mem.h"
#include "base/num.h"
#include <string.h>

/* A sample's size, and the distance of its bounds from the place that is searched: the square root
 * of the size. */
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

void compute_choice_init(struct compute_choice *choice, const struct compute_draw *loops,
                         int32_t n_max)
{
    *choice = (struct compute_choice){
        .loops = loops,
        .n_max = n_max,
        .list = list_of(n_max, true),
        .parts = { list_of(n_max, false), list_of(n_max, false) },
    };
}

size_t compute_choice_bytes(int32_t n_max)
{
    size_t value_bytes = sizeof(int32_t) + sizeof(float); /* a weight and its logit */
    return ((size_t)n_max + COMPUTE_DRAW_BLOCK) * (3 * value_bytes + sizeof(int32_t));
}

void compute_choice_free(struct compute_choice *choice)
{
    free_list(&choice->list);
    free_list(&choice->parts[0]);
    free_list(&choice->parts[1]);
    *choice = (struct compute_choice){ 0 };
}

int32_t compute_choice_best(const struct compute_choice *choice, const float *logits, int32_t n)
{
    enum { PART = 1024 };
    float top = -__builtin_inff();
    int32_t first = 0; /* of the part that contains it */
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

/* Samples `n` pairs spread evenly over the list, the highest first. */
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

/* Finds the end in a list that fits a sample. */
static struct compute_choice_end end_of_few(const struct compute_draw_list *list, int64_t wanted)
{
    struct pair pairs[SAMPLE];
    struct compute_choice_end end = { .n_at = 0 };
    int32_t i = 0;
    sample(list, pairs, list->n);
    for (; wanted > 0; wanted -= pairs[i++].weight) {
        CHECK(i < list->n);
        end.n_at = i > 0 && pairs[i].value == end.value ? end.n_at + 1 : 1;
        end.value = pairs[i].value;
    }
    end.over = -wanted;
    return end;
}

struct bounds {
    float low, high;
};

/* Return the highest float below x, and the lowest above. x is finite and no NaN. */
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

static float next_above(float x)
{
    return -next_below(-x);
}

/* Returns two values. The end of a share of the list's weight, the highest first, is probably
 * between them. */
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
                            at >= spread ? pairs[at - spread].value : __builtin_inff() };
}

static int64_t weight_of(const struct compute_choice *choice, const struct compute_draw_list *list)
{
    return list->weights != NULL ? choice->loops->sum(list->weights, list->n) : list->n;
}

/* Finds the fewest of the highest that together weigh `wanted`, 0 < wanted <= total, the sum of
 * their weights. Each round keeps those between two values, or the others. When a round kept nearly
 * all, one value serves as both bounds, which always ends the search or removes some. */
static struct compute_choice_end find_end(struct compute_choice *choice,
                                          const struct compute_draw_list *list, int64_t total,
                                          int64_t wanted)
{
    const struct compute_draw *loops = choice->loops;
    struct compute_draw_list rest = *list;
    int32_t spread = SPREAD;
    for (int round = 0; rest.n > SAMPLE; round++) {
        struct compute_draw_list part = choice->parts[round % 2];
        struct bounds in = guess(&rest, (double)wanted / (double)total, spread);
        if (rest.weights == NULL)
            part.weights = NULL;
        int64_t above = loops->split(&rest, in.low, in.high, &part);
        int64_t between = weight_of(choice, &part);
        if (above >= wanted) { /* the end is above */
            (void)loops->split(&rest, next_above(in.high), __builtin_inff(), &part);
            total = above;
        } else if (above + between < wanted) { /* or below */
            (void)loops->split(&rest, -__builtin_inff(), next_below(in.low), &part);
            wanted -= above + between;
            total -= above + between;
        } else {
            wanted -= above;
            total = between;
            if (in.low == in.high) { /* all of part are equal */
                int64_t weight = between / part.n, n_at = (wanted + weight - 1) / weight;
                return (struct compute_choice_end){ in.low, (int32_t)n_at, n_at * weight - wanted };
            }
        }
        spread = part.n > rest.n / 4 * 3 ? 0 : SPREAD;
        rest = part;
    }
    return end_of_few(&rest, wanted);
}

/* Returns a value that at least top_k logits reach: the top_k-th of the maxima of groups. No group
 * has a NaN. */
static float bound_of_top(struct compute_choice *choice, const float *logits, int32_t n,
                          int32_t top_k)
{
    enum { MANY = COMPUTE_DRAW_BLOCK * COMPUTE_DRAW_BLOCK };
    struct compute_draw_list tops = { .n = n / MANY * COMPUTE_DRAW_BLOCK,
                                      .values = choice->list.values };
    if (tops.n < 2 * top_k)
        return -__builtin_inff();
    choice->loops->tops(logits, n, tops.values);
    return find_end(choice, &tops, tops.n, top_k).value;
}

/* Returns the weight of the candidates among a part of the list, and subtracts those at the end
 * from end->n_at. */
static int64_t weight_until(const struct compute_choice *choice,
                            const struct compute_draw_list *part, struct compute_choice_end *end)
{
    struct compute_draw_list equal = choice->parts[0];
    if (end->value == -__builtin_inff())
        return choice->loops->sum(part->weights, part->n);
    int64_t above = choice->loops->split(part, end->value, end->value, &equal);
    int32_t n_at = min_i32(equal.n, end->n_at);
    end->n_at -= n_at;
    return n_at > 0 ? above + (int64_t)n_at * equal.weights[0] : above;
}

void compute_choice_weigh(struct compute_choice *choice, const float *logits, int32_t n, float best,
                          struct compute_choice_how how)
{
    struct compute_draw_limit limit = { best, 1.0F / how.temperature, -COMPUTE_DRAW_NEGLIGIBLE,
                                        -__builtin_inff(), how.next ? how.next : logits };
    CHECK(n <= choice->n_max);
    if (how.min_p > 0.0F) {
        float log_min_p = (float)num_log((double)how.min_p);
        limit.distance = log_min_p > limit.distance ? log_min_p : limit.distance;
    }
    if (how.top_k > 0)
        limit.logit = bound_of_top(choice, logits, n, how.top_k);
    struct compute_draw_list *list = &choice->list;
    choice->total = choice->all = choice->loops->weigh(logits, n, &limit, list);
    choice->end = (struct compute_choice_end){ .value = -__builtin_inff() };
    if (how.top_k <= 0 || how.top_k >= list->n)
        return;
    const struct compute_draw_list each_once = { .n = list->n, .values = list->values };
    choice->end = find_end(choice, &each_once, list->n, how.top_k);
    struct compute_choice_end end = choice->end;
    choice->total = weight_until(choice, list, &end);
}

/* ---- What the weights decide. ---- */

void compute_choice_keep_share(struct compute_choice *choice, float top_p)
{
    int64_t total = choice->total;
    double share = (double)top_p * (double)total;
    int64_t wanted = share >= (double)total ? total : max_i64((int64_t)share, 1);
    wanted += (double)wanted < share; /* rounded up */
    if (wanted >= total)
        return;
    choice->end = find_end(choice, &choice->list, choice->all, wanted);
    choice->total = wanted + choice->end.over;
}

int32_t compute_choice_pick(const struct compute_choice *choice, double unit)
{
    enum { PART = 256 };
    const struct compute_draw_list *list = &choice->list;
    struct compute_choice_end end = choice->end; /* n_at: within the rest of the list */
    int64_t at = min_i64((int64_t)(unit * (double)choice->total), choice->total - 1);
    int32_t i = 0;
    for (; i + PART < list->n; i += PART) {
        const struct compute_draw_list part = { PART, NULL, list->weights + i, list->values + i };
        struct compute_choice_end behind = end;
        int64_t weight = weight_until(choice, &part, &behind);
        if (at < weight)
            break;
        at -= weight;
        end = behind;
    }
    for (;; i++) {
        CHECK(i < list->n);
        bool is_in = list->values[i] > end.value;
        if (list->values[i] == end.value)
            is_in = end.n_at-- > 0;
        if (is_in && at < list->weights[i])
            return list->ids[i];
        at -= is_in ? list->weights[i] : 0;
    }
}
