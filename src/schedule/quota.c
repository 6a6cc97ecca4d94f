/* Adapts the quotas of the KV pool. See quota.h. */
#include "schedule/quota.h"
#include "base/time.h"
#include "schedule/busy.h"
#include <string.h>

enum { SAMPLES = 16 }; /* of usage, a period */

/* ---- Setting them. ---- */

static double mean_length(const struct schedule_service *s)
{
    double n = s->n_prompt_mean + s->n_output_mean;
    return n >= 1 ? n : 1;
}

void schedule_quota_shares_among(const struct schedule_view *view, const struct set *services,
                                 double *shares)
{
    double rates = 0, sum = 0, given = 0;
    int n_open = 0;
    for (int i = 0; (i = set_next(services, i, view->n_services)) >= 0; i++) {
        given += view->services[i].is_open ? (double)view->services[i].kv_quota_bytes : 0;
        rates += view->services[i].is_open ? view->services[i].rate_per_s : 0;
        n_open += view->services[i].is_open;
    }
    for (int i = 0; (i = set_next(services, i, view->n_services)) >= 0; i++) {
        const struct schedule_service *s = &view->services[i];
        double bytes = (double)max_i64(s->kv_bytes_per_token, 1);
        shares[i] = 0;
        if (s->is_open)
            shares[i] = given > 0 ? (double)s->kv_quota_bytes
                                  : (rates > 0 ? s->rate_per_s : 1) * mean_length(s) * bytes;
        sum += shares[i];
    }
    for (int i = 0; (i = set_next(services, i, view->n_services)) >= 0; i++) {
        if (sum > 0)
            shares[i] /= sum;
        else
            shares[i] = n_open > 0 && view->services[i].is_open ? 1.0 / n_open : 0;
    }
}

void schedule_quota_shares(const struct schedule_view *view, double *shares)
{
    const struct set all = set_of_first(view->n_services);
    schedule_quota_shares_among(view, &all, shares);
}

static int64_t units_for(const struct schedule_view *view, int service, int64_t n_tokens)
{
    const struct kv_budget_service *b = &view->kv->services[service];
    return kv_units_for(b, kv_blocks_for(n_tokens, b->block_tokens));
}

/* Returns what a service must be able to hold: a mean request, and its first waiting one. */
static int64_t floor_of(const struct schedule_view *view, int service)
{
    const struct schedule_service *s = &view->services[service];
    if (!s->is_open)
        return 0;
    int64_t n = (int64_t)mean_length(s);
    if (s->first_waiting != SCHEDULE_NONE)
        n = max_i64(n, view->requests[s->first_waiting].n_tokens + (int64_t)s->n_output_mean);
    return max_i64(units_for(view, service, n), 1);
}

void schedule_quota_init(struct schedule_quota *quota, int64_t *memory, int32_t n_services_max)
{
    memset(memory, 0, 2 * (size_t)n_services_max * sizeof(*memory));
    *quota = (struct schedule_quota){ .n_units = memory, .sampled = memory + n_services_max };
}

/* Cuts or fills the quotas, the lowest index first, until they sum to the pool, because of
 * rounding. */
static void make_sum(struct schedule_quota *quota, const struct schedule_view *view)
{
    int64_t sum = 0;
    for (int i = 0; i < view->n_services; i++)
        sum += quota->n_units[i];
    for (int i = 0; i < view->n_services && sum != quota->n_units_pool; i++) {
        if (sum < quota->n_units_pool && !view->services[i].is_open && i + 1 < view->n_services)
            continue;
        int64_t change = max_i64(quota->n_units_pool - sum, -quota->n_units[i]);
        quota->n_units[i] += change;
        sum += change;
    }
    CHECK(sum == quota->n_units_pool);
}

static void set(struct schedule_quota *quota, const struct schedule_view *view)
{
    double shares[KV_SERVICES_MAX];
    int64_t n_floors = 0;
    schedule_quota_shares(view, shares);
    quota->n_units_pool = view->kv->n_units_open;
    for (int i = 0; i < view->n_services; i++)
        n_floors += floor_of(view, i);
    int64_t n_left = max_i64(quota->n_units_pool - n_floors, 0);
    for (int i = 0; i < view->n_services; i++) {
        int64_t own_floor = n_left > 0 ? floor_of(view, i) : 0;
        double part = shares[i] * (double)(n_left > 0 ? n_left : quota->n_units_pool);
        quota->n_units[i] = own_floor + (int64_t)part;
    }
    make_sum(quota, view);
}

/* Scales all quotas by the same factor after the pool grew or shrank. */
static void rescale(struct schedule_quota *quota, const struct schedule_view *view)
{
    double factor = (double)view->kv->n_units_open / (double)max_i64(quota->n_units_pool, 1);
    for (int i = 0; i < view->n_services; i++)
        quota->n_units[i] = (int64_t)((double)quota->n_units[i] * factor);
    quota->n_units_pool = view->kv->n_units_open;
    make_sum(quota, view);
}

/* ---- Adapting them. ---- */

/* Returns the bytes of waiting requests, in units; at most as much as is in use and the floor
 * beyond it. */
static int64_t wanted(const struct schedule_view *view, int service, int64_t used)
{
    const struct schedule_service *s = &view->services[service];
    double n_tokens = (double)s->n_waiting * mean_length(s);
    int64_t n = units_for(view, service, (int64_t)(n_tokens < 1e15 ? n_tokens : 1e15));
    return min_i64(used + n, 2 * used + floor_of(view, service));
}

struct trade {
    int64_t offer[KV_SERVICES_MAX], ask[KV_SERVICES_MAX], sum_offer, sum_ask;
};

static void offer_and_ask(const struct schedule_quota *quota, const struct schedule_view *view,
                          const struct schedule_config *config, const int64_t *used,
                          struct trade *trade)
{
    trade->sum_offer = trade->sum_ask = 0;
    for (int i = 0; i < view->n_services; i++) {
        const struct schedule_service *s = &view->services[i];
        double own = (double)quota->n_units[i];
        trade->offer[i] = trade->ask[i] = 0;
        if (!s->is_open || (double)used[i] < config->quota_donor * own) {
            int64_t offer =
                s->is_open ? (int64_t)(config->quota_kept * own) - used[i] : quota->n_units[i];
            offer = min_i64(offer, quota->n_units[i] - floor_of(view, i));
            trade->offer[i] = max_i64(offer, 0);
        } else if ((double)wanted(view, i, used[i]) > config->quota_wanted * (double)used[i]) {
            int64_t step = (int64_t)(config->quota_step * own);
            step = max_i64(step, units_for(view, i, (int64_t)mean_length(s)));
            trade->ask[i] = max_i64(min_i64(step, wanted(view, i, used[i]) - quota->n_units[i]), 0);
        }
        trade->sum_offer += trade->offer[i];
        trade->sum_ask += trade->ask[i];
    }
}

/* Returns the service that wants more and uses most of its quota; -1 when none wants more. */
static int neediest(const struct schedule_quota *quota, const struct schedule_view *view,
                    const struct trade *trade, const int64_t *used)
{
    int best = -1;
    for (int i = 0; i < view->n_services; i++) {
        if (trade->ask[i] == 0)
            continue;
        if (best < 0 || (double)used[i] * (double)max_i64(quota->n_units[best], 1) >
                            (double)used[best] * (double)max_i64(quota->n_units[i], 1))
            best = i;
    }
    return best;
}

void schedule_quota_adapt(struct schedule_quota *quota, const struct schedule_view *view,
                          const struct schedule_config *config, const int64_t *used)
{
    struct trade trade;
    offer_and_ask(quota, view, config, used, &trade);
    int64_t give = min_i64(trade.sum_offer, trade.sum_ask), left = give;
    if (give == 0)
        return;
    int64_t n_given = 0, lost[KV_SERVICES_MAX];
    for (int i = 0; i < view->n_services; i++) {
        lost[i] = trade.offer[i] * give / trade.sum_offer;
        n_given += lost[i];
    }
    for (int i = 0; i < view->n_services; i++) { /* the rest from rounding: to the first that can */
        int64_t more = min_i64(give - n_given, trade.offer[i] - lost[i]);
        lost[i] += more;
        n_given += more;
    }
    for (int to = neediest(quota, view, &trade, used); to >= 0 && left > 0;
         to = neediest(quota, view, &trade, used)) {
        int64_t n = min_i64(trade.ask[to], left);
        trade.ask[to] = 0;
        quota->n_units[to] += n;
        left -= n;
    }
    int64_t sum = 0;
    for (int i = 0; i < view->n_services; i++) {
        quota->n_units[i] -= lost[i];
        sum += quota->n_units[i];
    }
    CHECK(sum == quota->n_units_pool);
    quota->n_changes++;
}

static void end_period(struct schedule_quota *quota, const struct schedule_view *view,
                       const struct schedule_config *config)
{
    int64_t used[KV_SERVICES_MAX];
    double rates = 0;
    for (int i = 0; i < view->n_services; i++) {
        rates += view->services[i].rate_per_s;
        used[i] = quota->sampled[i] / max_i64(quota->n_samples, 1);
        quota->sampled[i] = 0;
    }
    if (!quota->is_by_rates && rates > 0) {
        quota->is_by_rates = true;
        set(quota, view);
    } else if (quota->n_samples > 0) {
        schedule_quota_adapt(quota, view, config, used);
    }
    quota->n_samples = 0;
}

void schedule_quota_saw(struct schedule_quota *quota, const struct schedule_view *view,
                        const struct schedule_config *config, const struct schedule_event *event)
{
    int64_t period = max_i64(config->quota_ns_period, SAMPLES * TIME_NS_PER_MS);
    int64_t now = event->now_ns;
    if (quota->n_units_pool == 0) {
        if (view->kv->n_units_open == 0)
            return;
        set(quota, view);
        quota->next_ns = (now / period + 1) * period;
        quota->next_sample_ns = (now / (period / SAMPLES) + 1) * (period / SAMPLES);
    }
    if (quota->n_units_pool != view->kv->n_units_open)
        rescale(quota, view);
    if (event->what != SCHEDULE_DONE || now < quota->next_sample_ns)
        return;
    for (int i = 0; i < view->n_services; i++)
        quota->sampled[i] += view->kv->services[i].n_units;
    quota->n_samples++;
    quota->next_sample_ns = (now / (period / SAMPLES) + 1) * (period / SAMPLES);
    if (now < quota->next_ns)
        return;
    end_period(quota, view, config);
    quota->next_ns = (now / period + 1) * period;
}

/* ---- Asking them. ---- */

int64_t schedule_quota_most(const struct schedule_quota *quota, const struct schedule_view *view,
                            const struct schedule_config *config, int service, int64_t *n_kept)
{
    uint32_t n_running = 0;
    bool may_borrow = true;
    for (int32_t k = 0; k < schedule_n_busy(view) && (may_borrow || n_running == 0); k++) {
        int i = schedule_busy(view, k);
        const struct schedule_service *s = &view->services[i];
        n_running += s->n_running;
        if (i != service && s->is_open && s->n_waiting > 0 &&
            view->kv->services[i].n_units < quota->n_units[i])
            may_borrow = false;
    }
    *n_kept = 0;
    if (n_running == 0 || quota->n_units_pool == 0)
        return INT64_MAX; /* a service that is alone takes what it needs */
    *n_kept =
        may_borrow ? (int64_t)(config->quota_lent * (double)view->kv->n_units_open) + 1 : INT64_MAX;
    return quota->n_units[service];
}

void schedule_quota_report(const struct schedule_quota *quota, const struct schedule_view *view,
                           struct schedule_report *report)
{
    double shares[KV_SERVICES_MAX];
    int64_t n_used = 0;
    schedule_quota_shares(view, shares);
    report->n_services = view->n_services;
    report->n_quota_changes = quota->n_changes;
    for (int i = 0; i < view->n_services; i++)
        n_used += view->kv->services[i].n_units;
    for (int i = 0; i < view->n_services; i++) {
        struct schedule_report_service *s = &report->services[i];
        s->n_units_quota = quota->n_units[i];
        s->n_units_used = view->kv->services[i].n_units;
        if (n_used > 0 && shares[i] > 0)
            s->r = (double)s->n_units_used / (double)n_used / shares[i];
    }
}
