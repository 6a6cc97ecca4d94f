/* Decides how many workers a service has: CUSUM, up at once, down when a lower need lasts and
 * pays. */
#include "place/scale.h"

#include "base/num.h"
#include "base/settings.h"

#define S INT64_C(1000000000)

void scale_config_init(struct scale_config *config)
{
    *config = (struct scale_config){ .bin_ns = 10 * S,
                                     .drift = 0.05,
                                     .threshold = 5,
                                     .down_ns = 60 * S,
                                     .n_min = 1,
                                     .cold_start_ns = 20 * S };
}

#define ROW(name, field, kind, min, max)                                                           \
    {                                                                                              \
        name, SETTINGS_##kind, offsetof(struct scale_config, field), min, max, NULL                \
    }
static const struct settings_row rows[] = {
    ROW("k5", line.k5, NUMBER, 0, 1e6),
    ROW("c5", line.c5, NUMBER, -1e6, 1e6),
    ROW("rate_min", line.rate_min, NUMBER, 0, 1e9),
    ROW("bin_ns", bin_ns, MILLISECONDS, 1, 1e9),
    ROW("drift", drift, NUMBER, 0, 10),
    ROW("threshold", threshold, NUMBER, 0, 1e3),
    ROW("down_ns", down_ns, MILLISECONDS, 0, 1e9),
    ROW("n_min", n_min, COUNT, 1, 65535),
    ROW("n_max", n_max, COUNT, 0, 65535),
    ROW("cold_start_ns", cold_start_ns, MILLISECONDS, 0, 1e9),
    ROW("switch_ns", switch_ns, MILLISECONDS, 0, 1e9),
    ROW("headroom", headroom, NUMBER, 0, 10),
};
#undef ROW

enum status scale_config_set(struct scale_config *config, const char *text, struct fault *fault)
{
    const struct settings_row *row = settings_find(rows, COUNT_OF(rows), text);
    if (row != NULL)
        return settings_set(config, row, text, fault);
    return fault_set(fault, STATUS_BAD_INPUT,
                     "\"%.80s\" is no setting of a pool's scale; one is \"k5=0.1\"", text);
}

/* ---- CUSUM. ---- */

void scale_cusum_init(struct scale_cusum *cusum)
{
    *cusum = (struct scale_cusum){ .mean = -1 };
}

static void restart(struct scale_cusum *c, double mean, int32_t n)
{
    *c = (struct scale_cusum){ .mean = mean, .n_mean = min_i32(n, SCALE_MEAN_BINS) };
}

bool scale_cusum_saw(struct scale_cusum *c, const struct scale_config *config, double count)
{
    if (c->mean < 0) {
        restart(c, count, 1);
        return true;
    }
    /* Counts of a Poisson process deviate by the root of their mean. The mean counts as one arrival
     * at least, so that noise near zero does not wake an idle service. */
    double drift = config->drift * c->mean;
    double limit = config->threshold * num_sqrt(c->mean < 1 ? 1 : c->mean);
    c->high += count - c->mean - drift;
    c->sum_high += count;
    c->n_high++;
    if (c->high <= 0) {
        c->high = c->sum_high = 0;
        c->n_high = 0;
    }
    c->low += c->mean - count - drift;
    c->sum_low += count;
    c->n_low++;
    if (c->low <= 0) {
        c->low = c->sum_low = 0;
        c->n_low = 0;
    }
    if (c->high > limit) {
        restart(c, c->sum_high / c->n_high, c->n_high);
        return true;
    }
    if (c->low > limit) {
        restart(c, c->sum_low / c->n_low, c->n_low);
        return true;
    }
    c->n_mean = min_i32(c->n_mean + 1, SCALE_MEAN_BINS);
    c->mean += (count - c->mean) / c->n_mean;
    return false;
}

/* ---- The scaler. ---- */

void scale_init(struct scale *scale)
{
    *scale = (struct scale){ .bin_begin_ns = INT64_MIN,
                             .low_since_ns = INT64_MAX,
                             .down_ns = INT64_MIN };
    scale_cusum_init(&scale->cusum);
}

void scale_arrived(struct scale *scale, int64_t n)
{
    scale->n_arrived += n;
}

/* Ends the bins that are over. Arrivals of a call count to the bin that it finds open. */
static bool end_bins(struct scale *scale, const struct scale_config *config, int64_t now_ns)
{
    bool is_changed = false;
    if (scale->bin_begin_ns == INT64_MIN)
        scale->bin_begin_ns = now_ns;
    while (now_ns - scale->bin_begin_ns >= config->bin_ns) {
        is_changed |= scale_cusum_saw(&scale->cusum, config, (double)scale->n_arrived);
        scale->n_arrived = 0;
        scale->bin_begin_ns += config->bin_ns;
    }
    return is_changed;
}

/* Returns whether it pays to give up a worker, assuming that it stays away for as long as such
 * absences lasted so far. */
static bool pays(const struct scale *scale, const struct scale_config *config)
{
    int64_t cost_ns = config->switch_ns > 0 ? config->switch_ns : config->cold_start_ns;
    return scale->stay_ns <= 0 || scale->stay_ns > (double)cost_ns;
}

static int32_t clamp(const struct scale_config *config, int32_t n)
{
    n = max_i32(n, max_i32(config->n_min, 1));
    return config->n_max > 0 ? min_i32(n, config->n_max) : n;
}

static void went_up(struct scale *scale, int64_t now_ns)
{
    if (scale->down_ns != INT64_MIN) {
        double stay_ns = (double)(now_ns - scale->down_ns);
        scale->stay_ns = scale->stay_ns <= 0 ? stay_ns : (scale->stay_ns + stay_ns) / 2;
    }
    scale->down_ns = INT64_MIN;
    scale->low_since_ns = INT64_MAX;
}

struct scale_order scale_tick(struct scale *scale, const struct scale_config *config,
                              int64_t now_ns, int32_t n_workers)
{
    struct scale_order order = { .n_wanted = clamp(config, n_workers) };
    order.is_changed = end_bins(scale, config, now_ns);
    order.wake_ns = scale->bin_begin_ns + config->bin_ns;
    if (scale->cusum.mean < 0)
        return order;
    order.rate = scale->cusum.mean * 1e9 / (double)config->bin_ns * (1 + config->headroom);
    int32_t n = clamp(config, place_workers_count(&config->line, order.rate));
    if (n > n_workers) {
        went_up(scale, now_ns);
        order.n_wanted = n;
        return order;
    }
    if (n >= n_workers) {
        scale->low_since_ns = INT64_MAX;
        return order;
    }
    if (scale->low_since_ns == INT64_MAX) {
        scale->low_since_ns = now_ns;
        scale->n_low = n;
    }
    scale->n_low = max_i32(scale->n_low, n);
    if (now_ns - scale->low_since_ns >= config->down_ns && pays(scale, config)) {
        order.n_wanted = scale->n_low;
        scale->low_since_ns = INT64_MAX;
        scale->down_ns = now_ns;
    }
    return order;
}
