/* The composers. */
#include "route/compose.h"

#include "base/num.h"
#include "base/time.h"

#define PART_PS_MAX (INT64_C(1) << 50) /* 19 minutes */

/* ---- Sorting: merge sort, bottom up. ---- */

void route_compose_sort(struct route_compose *c)
{
    struct route_item *from = c->items, *to = c->spare;
    for (int32_t width = 1; width < c->n; width *= 2) {
        for (int32_t at = 0; at < c->n; at += 2 * width) {
            int32_t a = at, middle = min_i32(at + width, c->n), b = middle;
            int32_t end = min_i32(at + 2 * width, c->n);
            for (int32_t i = at; i < end; i++) {
                bool is_left = a < middle && (b == end || from[a].key <= from[b].key);
                to[i] = from[is_left ? a++ : b++];
            }
        }
        struct route_item *kept = from;
        from = to;
        to = kept;
    }
    for (int32_t i = 0; i < c->n && from != c->items; i++)
        c->items[i] = from[i];
}

/* ---- How long a batch takes: linear in N but for floor and regime. ---- */

struct line {
    int64_t floor_ps, prefill0, prefill1;
    int64_t decode0[2], decode1[2];
    int32_t b_switch;
};

/* What a million tokens cost a slow machine is more than 64 bits hold: it is bounded, so that a
 * batch of such requests does not wrap. */
static int64_t scaled(double ps, float scale)
{
    double product = num_floor(ps * (scale == 0.0F ? 1 : (double)scale) + 0.5);
    return product < (double)PART_PS_MAX ? (int64_t)product : PART_PS_MAX;
}

static struct line line_of(const struct perf *perf, int32_t n_input, int32_t n_steps)
{
    double l = n_input, steps = max_i32(n_steps - 1, 0);
    double contexts = steps * (l + 1) + steps * (steps - 1) / 2;
    struct line line = { .b_switch = perf->b_switch };
    line.floor_ps = scaled((double)perf->floor_ps, perf->prefill_scale);
    line.prefill0 = scaled((double)perf->c1_ps, perf->prefill_scale);
    line.prefill1 =
        scaled((double)perf->k1_ps * l + (double)perf->q1_ps * l * l / 1024, perf->prefill_scale);
    for (int r = 0; r < 2; r++) {
        line.decode0[r] = scaled(steps * (double)perf->c3_ps[r], perf->decode_scale);
        line.decode1[r] = scaled(steps * (double)perf->c2_ps[r] + contexts * (double)perf->k2_ps[r],
                                 perf->decode_scale);
    }
    return line;
}

static int64_t at(const struct line *line, int64_t n)
{
    int r = n >= line->b_switch;
    return max_i64(line->floor_ps, line->prefill0 + line->prefill1 * n) + line->decode0[r] +
           line->decode1[r] * n;
}

int64_t route_compose_serve_ps(const struct perf *perf, int32_t n, int32_t n_input, int32_t n_steps)
{
    const struct line line = line_of(perf, n_input, n_steps);
    return at(&line, n);
}

/* ---- Batches. ---- */

static int32_t n_max_of(const struct route_compose *c, int32_t n_input, int32_t n_steps)
{
    int32_t n = c->n_max;
    if (c->memory.kind == MEMORY_RULES || c->memory.available_bytes > 0)
        n = min_i32(n, predict_memory_n_max(&c->memory, n_input, n_steps));
    return max_i32(n, 1); /* what does not fit alone is the engine's to refuse */
}

static int32_t steps_of(const struct route_compose *c, int32_t n_output)
{
    return c->n_steps > 0 ? c->n_steps : n_output;
}

static void add_batch(struct route_compose *c, int32_t first, int32_t end)
{
    struct route_batch batch = { .first = first, .n = end - first, .deadline_ns = INT64_MAX };
    for (int32_t i = first; i < end; i++) {
        batch.n_input = max_i32(batch.n_input, c->items[i].n_input);
        batch.n_output = max_i32(batch.n_output, c->items[i].n_output);
        batch.deadline_ns = min_i64(batch.deadline_ns, c->items[i].deadline_ns);
    }
    batch.serve_ps =
        route_compose_serve_ps(c->perf, batch.n, batch.n_input, steps_of(c, batch.n_output));
    c->batches[c->n_batches++] = batch;
}

void route_compose_fixed(struct route_compose *c)
{
    int32_t first = 0, n_input = 0, n_output = 0;
    for (int32_t i = 0; i < c->n; i++) {
        const struct route_item *q = &c->items[i];
        n_input = max_i32(n_input, q->n_input);
        n_output = max_i32(n_output, q->n_output);
        if (i - first < n_max_of(c, n_input, steps_of(c, n_output)))
            continue;
        add_batch(c, first, i);
        first = i;
        n_input = q->n_input;
        n_output = q->n_output;
    }
    if (c->n > first)
        add_batch(c, first, c->n);
}

/* The cuts that `from` has found, in order. */
static void cut(struct route_compose *c, int32_t n)
{
    int32_t next = -1;
    for (int32_t i = n; i > 0;) { /* turns the chain around */
        int32_t before = c->from[i];
        c->from[i] = next;
        next = i;
        i = before;
    }
    for (int32_t first = 0; next > 0; first = next, next = c->from[next])
        add_batch(c, first, next);
}

/* Does a batch never take less time with one request more, whatever its input? */
static bool is_monotone(const struct perf *perf)
{
    int64_t b = perf->b_switch;
    return b <= 0 ||
           (perf->c3_ps[1] + b * perf->c2_ps[1] >= perf->c3_ps[0] + (b - 1) * perf->c2_ps[0] &&
            b * perf->k2_ps[1] >= (b - 1) * perf->k2_ps[0]);
}

struct stretch { /* N in [from, to]: a batch takes a + b N */
    int64_t a, b;
    int32_t from, to;
};
/* Lowers *best to the least of cost[i - n] + a + b n over the stretch, and says which n that is. */
static void least_of(const int64_t *cost_i, const struct stretch *s, int64_t *best, int32_t *best_n)
{
    int64_t least = *best;
    for (int32_t n = s->from; n <= s->to; n++) {
        int64_t cost = cost_i[-n] + s->a + s->b * n;
        if (cost < least) {
            least = cost;
            *best_n = n;
        }
    }
    *best = least;
}

/* The best N for the batch that ends with item i - 1, whose input is the longest: the cost before
 * plus the line, which is cut at the regime and where the prefill leaves its floor. Costs grow with
 * i when the line does with N: then it stops where even the least of those before could not better
 * it. */
static void best_end(struct route_compose *c, int32_t i, bool may_stop)
{
    enum { STRIDE = 32 };
    const struct line line = line_of(c->perf, c->items[i - 1].n_input, c->n_steps);
    int32_t n_max = min_i32(i, n_max_of(c, c->items[i - 1].n_input, c->n_steps));
    int64_t best = INT64_MAX, least = c->cost[i - n_max];
    int64_t above = max_i64(0, line.floor_ps - line.prefill0);
    int64_t n_floor = line.prefill1 > 0 ? above / line.prefill1 : (above > 0 ? n_max : 0);
    int32_t best_n = 1, to;
    for (int32_t n = 1; n <= n_max; n = to + 1) {
        int r = n >= line.b_switch;
        bool is_floor = n <= n_floor;
        to = min_i32(n_max, n + STRIDE - 1);
        to = r ? to : min_i32(to, line.b_switch - 1);
        to = is_floor ? (int32_t)min_i64(to, n_floor) : to;
        const struct stretch stretch = {
            .a = line.decode0[r] + (is_floor ? line.floor_ps : line.prefill0),
            .b = line.decode1[r] + (is_floor ? 0 : line.prefill1),
            .from = n,
            .to = to,
        };
        least_of(&c->cost[i], &stretch, &best, &best_n);
        if (may_stop && least + at(&line, to) >= best)
            break;
    }
    c->cost[i] = best;
    c->from[i] = i - best_n;
}

void route_compose_slices(struct route_compose *c)
{
    bool may_stop = is_monotone(c->perf);
    c->cost[0] = 0;
    for (int32_t i = 1; i <= c->n; i++)
        best_end(c, i, may_stop);
    cut(c, c->n);
}

/* ---- UELLM. ---- */

struct odbs { /* the batch that is being filled */
    int32_t n, n_input, n_output;
    double slo_s;
};

static double slo_of(const struct route_compose *c, const struct route_item *q)
{
    return q->deadline_ns == TIME_NEVER ? 0 : (double)(q->deadline_ns - c->now_ns) * 1e-9;
}

static double max_f64(double a, double b)
{
    return a > b ? a : b;
}

/* May q join? (section 5.2; n: requests in the batch) */
static bool may_join(const struct route_compose *c, const struct odbs *b,
                     const struct route_item *q)
{
    const struct route_config *config = c->config;
    double n = b->n, o = b->n_output, len = q->n_output;
    int32_t n_output = max_i32(b->n_output, q->n_output);
    if (b->n >= n_max_of(c, max_i32(b->n_input, q->n_input), n_output))
        return false;
    switch (config->cost) {
    case ROUTE_COST_TEXT:
        return config->cost_w1 * (slo_of(c, q) + b->slo_s) * (n + 1) * config->cost_l1 +
                   config->cost_w2 * (len + o) * (n + 1) * config->cost_l2 <=
               config->cost_max;
    case ROUTE_COST_CODE:
        return b->n < config->n_odbs_batch &&
               config->cost_w2 * max_f64(0, len - o) * (n + 1) * config->cost_l2 <=
                   config->cost_max;
    default:
        return n * max_f64(0, len - o) + max_f64(0, o - len) <=
               config->waste_max * (n + 1) * max_f64(o, len);
    }
}

void route_compose_odbs(struct route_compose *c)
{
    struct odbs b = { 0 };
    int32_t first = 0;
    for (int32_t i = 0; i < c->n; i++) {
        const struct route_item *q = &c->items[i];
        if (b.n > 0 && !may_join(c, &b, q)) {
            add_batch(c, first, i);
            first = i;
            b = (struct odbs){ 0 };
        }
        b.n++;
        b.n_input = max_i32(b.n_input, q->n_input);
        b.n_output = max_i32(b.n_output, q->n_output);
        b.slo_s = max_f64(b.slo_s, slo_of(c, q));
    }
    if (c->n > first)
        add_batch(c, first, c->n);
}

/* ---- By deadline. ---- */

/* Of the items [first, end), which stand by deadline: those due before. */
static int32_t n_late(const struct route_compose *c, int32_t first, int32_t end, int64_t end_ns)
{
    int32_t low = first, high = end;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (c->items[middle].deadline_ns < end_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low - first;
}

#define LATE_PS_MAX (INT64_MAX / 4) /* of all requests together, were all of them late */

/* The best batch that ends with item i - 1. The line is found anew only where input or output grow.
 */
static void best_deadline_end(struct route_compose *c, int32_t i)
{
    int64_t penalty_ps =
        min_i64((int64_t)(c->config->late_penalty_s * 1e12), LATE_PS_MAX / max_i32(c->n, 1));
    int32_t n_input = 0, n_output = 0, n_max = 0, n_idle = max_i32(c->n_idle, 1);
    struct line line = { 0 };
    c->cost[i] = INT64_MAX;
    for (int32_t n = 1; n <= min_i32(i, c->n_max); n++) {
        const struct route_item *q = &c->items[i - n];
        if (q->n_input > n_input || q->n_output > n_output) {
            n_input = max_i32(n_input, q->n_input);
            n_output = max_i32(n_output, q->n_output);
            line = line_of(c->perf, n_input, n_output);
            n_max = n_max_of(c, n_input, n_output);
        }
        if (n > n_max)
            return;
        int64_t serve = at(&line, n), cost = c->cost[i - n] + serve;
        if (c->cost[max_i32(0, i - n_max)] + serve >= c->cost[i])
            return; /* what is longer takes longer still */
        if (cost >= c->cost[i])
            continue;
        int64_t end_ns = c->now_ns + (c->time[i - n] / n_idle + serve) / 1000;
        if (q->deadline_ns < end_ns)
            cost += penalty_ps * n_late(c, i - n, i, end_ns);
        if (cost >= c->cost[i])
            continue;
        c->cost[i] = cost;
        c->time[i] = c->time[i - n] + serve;
        c->from[i] = i - n;
    }
}

/* time: when the batches before end if all idle engines share them evenly. */
void route_compose_deadlines(struct route_compose *c)
{
    int64_t n_input = 0, n_output = 0;
    for (int32_t i = 0; i < c->n; i++) {
        n_input += c->items[i].n_input;
        n_output += c->items[i].n_output;
    }
    int32_t n_usual = c->n > 0 ? n_max_of(c, (int32_t)(n_input / c->n), (int32_t)(n_output / c->n))
                               : 0; /* of a batch of average requests */
    int32_t n = (int32_t)min_i64(c->n, (int64_t)n_usual * max_i32(c->n_idle, 1));
    c->cost[0] = c->time[0] = 0;
    for (int32_t i = 1; i <= n; i++)
        best_deadline_end(c, i);
    cut(c, n);
}

/* ---- Bins. ---- */

/* The first of the bins with so much left: a tree of the most that is left below. */
static int32_t first_with(const int64_t *most, int32_t n_leaves, int64_t bytes)
{
    int32_t i = 1;
    while (i < n_leaves)
        i = most[2 * i] >= bytes ? 2 * i : 2 * i + 1;
    return i - n_leaves;
}

/* Puts the items of each bin next to each other, in their order, and adds the bins as batches. */
static void gather(struct route_compose *c, const int32_t *bin_of, int32_t n_bins)
{
    int32_t *next = c->from;
    for (int32_t i = 0; i <= n_bins; i++)
        next[i] = 0;
    for (int32_t i = 0; i < c->n; i++)
        next[bin_of[i] + 1]++;
    for (int32_t i = 1; i <= n_bins; i++)
        next[i] += next[i - 1];
    for (int32_t i = 0; i < c->n; i++)
        c->spare[next[bin_of[i]]++] = c->items[i];
    for (int32_t i = 0; i < c->n; i++)
        c->items[i] = c->spare[i];
    for (int32_t i = 0; i < n_bins; i++) /* next[i] is now where bin i ends */
        add_batch(c, i > 0 ? next[i - 1] : 0, next[i]);
}

/* Sizes in bytes of what a request may come to; a bin's room in requests counts as well: a full one
 * has nothing left. cost holds the tree (2 n_leaves <= 4 n), time the bins and their counts. */
void route_compose_bins(struct route_compose *c)
{
    int64_t capacity = c->memory.available_bytes > 0 ? c->memory.available_bytes : INT64_MAX / 4;
    int32_t n_leaves = 1, n_bins = 0;
    while (n_leaves < c->n)
        n_leaves *= 2;
    int64_t *most = c->cost;
    int32_t *bin_of = (int32_t *)c->time, *n_of = bin_of + c->n;
    for (int32_t i = 1; i < 2 * n_leaves; i++)
        most[i] = capacity;
    for (int32_t i = 0; i < c->n; i++) {
        const struct route_item *q = &c->items[i];
        int64_t bytes = (int64_t)(q->n_input + q->n_output) * c->memory.bytes_per_token;
        int32_t bin = first_with(most, n_leaves, min_i64(bytes, capacity));
        bin_of[i] = bin;
        if (bin == n_bins)
            n_of[n_bins++] = 0;
        bool is_full = ++n_of[bin] >= c->n_max;
        int64_t left = most[n_leaves + bin] - bytes;
        most[n_leaves + bin] = is_full || left < 0 ? -1 : left;
        for (int32_t k = (n_leaves + bin) / 2; k > 0; k /= 2)
            most[k] = max_i64(most[2 * k], most[2 * k + 1]);
    }
    gather(c, bin_of, n_bins);
}
