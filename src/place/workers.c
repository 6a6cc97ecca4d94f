/* Workers of one service: Aladdin's Equations 5 to 8. */
#include "place/workers.h"

#include "base/lsq.h"
#include "base/num.h"

/* ---- Equation 6. ---- */

/* Returns the time in ps of a decode step of b requests, b not whole, at this mean context, with
 * its share of prompts. */
static double step_of(const struct workers_ask *ask, const struct perf *perf, double b)
{
    double context = ask->n_prompt + ask->n_output / 2;
    int r = b >= perf->b_switch;
    double ps =
        (double)perf->c3_ps[r] + ((double)perf->c2_ps[r] + (double)perf->k2_ps[r] * context) * b;
    ps *= (double)perf->decode_scale;
    if (ask->counts_prefill && ask->n_output > 0) {
        double i = ask->n_prompt;
        double prompt =
            (double)perf->c1_ps + (double)perf->k1_ps * i + (double)perf->q1_ps * i * i / 1024;
        prompt = prompt < (double)perf->floor_ps ? (double)perf->floor_ps : prompt;
        ps += b * prompt * (double)perf->prefill_scale / ask->n_output;
    }
    return ps;
}

/* Returns the largest b, not whole, whose step is within the target. Each regime is a line. */
static double batch_within(const struct workers_ask *ask, const struct perf *perf, double target_ps)
{
    double best = 0;
    for (int r = 0; r < 2; r++) {
        double low = r == 0 ? 0 : perf->b_switch;
        double high = r == 0 ? (double)perf->b_switch * (1 - 1e-12) : 1e9;
        double at_low = step_of(ask, perf, low), at_high = step_of(ask, perf, high);
        if (high < low || at_low > target_ps)
            continue;
        double b = at_high <= target_ps
                       ? high
                       : low + (high - low) * (target_ps - at_low) / (at_high - at_low);
        best = b > best ? b : best;
    }
    return best;
}

static struct workers_answer answer_of(const struct workers_ask *ask,
                                       const struct workers_option *option)
{
    struct workers_answer a = { .bound = WORKERS_NO_ROOM };
    double target_ps = (double)ask->tpot_ns * 1000, n = option->n_devices;
    double tokens = ask->n_prompt + ask->n_output * (ask->is_safe ? 1 : 0.5);
    a.kv_bytes = (ask->device_bytes - ask->reserve_bytes) * option->n_devices - ask->weights_bytes;
    if (a.kv_bytes <= 0 || tokens <= 0 || ask->kv_bytes_per_token <= 0)
        return a;
    a.n_in_memory = (double)a.kv_bytes / ((double)ask->kv_bytes_per_token * tokens);
    a.n_in_target = ask->tpot_ns > 0 ? batch_within(ask, &option->perf, target_ps) : 1e9;
    if (a.n_in_memory < 1)
        return a;
    a.bound = WORKERS_TOO_SLOW;
    if (a.n_in_target < 1)
        return a;
    double by_memory = a.n_in_memory * 1e12 / (n * step_of(ask, &option->perf, a.n_in_memory));
    double by_target = ask->tpot_ns > 0 ? a.n_in_target * 1e12 / (n * target_ps) : by_memory;
    a.bound = by_memory <= by_target ? WORKERS_BY_MEMORY : WORKERS_BY_TARGET;
    a.tokens_per_s = by_memory <= by_target ? by_memory : by_target;
    a.price_per_million = ask->price * 1e6 / (a.tokens_per_s * 3600);
    return a;
}

int place_workers_configure(const struct workers_ask *ask, const struct workers_option *options,
                            int n, struct workers_answer *answers)
{
    int best = -1;
    for (int i = 0; i < n; i++) {
        answers[i] = answer_of(ask, &options[i]);
        if (answers[i].tokens_per_s <= 0)
            continue;
        double ahead = best < 0 ? 1 : answers[i].tokens_per_s - answers[best].tokens_per_s;
        if (ahead > 0 || (ahead == 0 && options[i].n_devices < options[best].n_devices))
            best = i;
    }
    return best;
}

/* ---- Equation 5. ---- */

int64_t place_workers_step_ps(const struct workers_split *split, int32_t n_devices)
{
    double n = n_devices;
    double ps = split->k4_ps / n + split->c4_ps + split->ka_ps * (n - 1) / n;
    return ps > 0 ? (int64_t)num_floor(ps + 0.5) : 0;
}

bool place_workers_fit_split(const int32_t *n_devices, const int64_t *compute_ps,
                             const int64_t *reduce_ps, int n, struct workers_split *out)
{
    static const bool is_nonnegative[2] = { true, true };
    double x[2 * WORKERS_OPTIONS_MAX], y[WORKERS_OPTIONS_MAX], weight[WORKERS_OPTIONS_MAX];
    double c[2] = { 0, 0 }, up = 0, down = 0;
    if (n < 2 || n > WORKERS_OPTIONS_MAX)
        return false;
    for (int i = 0; i < n; i++) {
        double part = (double)(n_devices[i] - 1) / n_devices[i];
        if (n_devices[i] < 1 || compute_ps[i] <= 0 || reduce_ps[i] < 0)
            return false;
        x[2 * i] = 1.0 / n_devices[i];
        x[2 * i + 1] = 1;
        y[i] = (double)compute_ps[i];
        weight[i] = 1 / (y[i] * y[i]);
        up += part * (double)reduce_ps[i];
        down += part * part;
    }
    if (!lsq_solve(n, 2, x, y, weight, is_nonnegative, c))
        return false;
    *out = (struct workers_split){ c[0], c[1], down > 0 ? up / down : 0 };
    return true;
}

/* ---- Equation 7. ---- */

bool place_workers_fit(const struct workers_point *points, int n, double rate_min,
                       struct workers_line *out)
{
    double n_used = 0, rate = 0, workers = 0, rates = 0, both = 0;
    for (int i = 0; i < n; i++) {
        if (points[i].rate < rate_min)
            continue;
        n_used += 1;
        rate += points[i].rate;
        workers += points[i].n;
    }
    if (n_used < 2)
        return false;
    rate /= n_used;
    workers /= n_used;
    for (int i = 0; i < n; i++) {
        if (points[i].rate < rate_min)
            continue;
        rates += (points[i].rate - rate) * (points[i].rate - rate);
        both += (points[i].rate - rate) * (points[i].n - workers);
    }
    if (rates <= 0)
        return false;
    double k5 = both > 0 ? both / rates : 0;
    *out = (struct workers_line){ k5, workers - k5 * rate, rate_min };
    return true;
}

double place_workers_rate_min(double mean, double deviation, double window_s, double part)
{
    if (mean <= 0 || window_s <= 0 || part <= 0)
        return 0;
    double root = 1.96 * deviation / (mean * part);
    return root * root / window_s;
}

int32_t place_workers_count(const struct workers_line *line, double rate)
{
    double at = rate < line->rate_min ? line->rate_min : rate;
    double n = line->k5 * at + line->c5;
    double whole = num_floor(n);
    /* A line that meets a whole number up to rounding needs no further worker. */
    whole += n - whole > 1e-9 ? 1 : 0;
    return whole < 1 ? 1 : whole > 1e6 ? 1000000 : (int32_t)whole;
}

/* ---- Equation 8, corrected. ---- */

/* Returns how many groups the rate wants, and in *most how many the workers allow. */
static double wanted_groups(int32_t n_workers, double rate, double rate_max, double part,
                            double *most)
{
    double wanted = num_floor(rate / rate_max);
    wanted += wanted * rate_max < rate ? 1 : 0;
    *most = num_floor(2 * part * n_workers);
    *most = *most < 1 ? 1 : *most;
    return wanted < 1 ? 1 : wanted;
}

int32_t place_workers_n_groups(int32_t n_workers, double rate, double rate_max, double part)
{
    double most, wanted = wanted_groups(n_workers, rate, rate_max, part, &most);
    return (int32_t)(wanted < most ? wanted : most);
}

struct workers_groups place_workers_group(const struct workers_line *line, double rate,
                                          double rate_max, double part)
{
    struct workers_groups g = { 1, place_workers_count(line, rate), 0, false };
    int32_t alone = g.n_workers;
    if (rate <= rate_max || rate_max <= 0 || part <= 0) {
        g.is_slow = rate_max <= 0;
        return g;
    }
    double most, wanted = wanted_groups(alone, rate, rate_max, part, &most);
    g.is_slow = wanted > most;
    g.n_groups = (int32_t)(wanted < most ? wanted : most);
    struct workers_line own = *line;
    own.rate_min = 0; /* a group sees only its share, and the line's R is one group's own */
    g.n_workers = g.n_groups * place_workers_count(&own, rate / g.n_groups);
    g.n_workers = max_i32(g.n_workers, alone);
    g.n_extra = g.n_workers - alone;
    return g;
}
