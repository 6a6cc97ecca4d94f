/* Shares of device time (docs/ALGORITHMS.md 1.4): why short requests must not always go first.
 *
 * A decode step costs nearly the same for one request as for ten, so serving a short service alone
 * at batch 1 inflates the work. Holding it back to a share phi lets its batch grow: it waits a
 * little and costs less. For the pair (h = short, l = all longer ones), with m the marginal load, F
 * the fixed work of one request and lambda the rate, the expected cost
 *     lambda_h / (phi - m_h) + lambda_l / (1 - u - m_l),  N = lambda_h F_h / (phi - m_h),
 *     u = m_h + (phi - m_h) (1 - exp(-N))
 * is least at some phi in (m_h, 1], found on a grid. */
#include "schedule/share.h"
#include "base/num.h"

enum { GRID = 100 };
static const int64_t stretch_ns_max = INT64_C(1000000000000); /* a longer one changes nothing */

void schedule_share_init(struct share_bucket *bucket, int64_t depth_ns)
{
    *bucket = (struct share_bucket){ depth_ns * SHARE_ONE, 0, SHARE_ONE, 1 };
}

static int64_t stretch(int64_t from_ns, int64_t to_ns)
{
    return min_i64(max_i64(to_ns - from_ns, 0), stretch_ns_max);
}

int64_t schedule_share_level(const struct share_bucket *bucket, int64_t now_ns, int64_t depth_ns)
{
    int64_t filled = bucket->level + stretch(bucket->since_ns, now_ns) * bucket->phi;
    return min_i64(filled, depth_ns * SHARE_ONE);
}

void schedule_share_settle(struct share_bucket *bucket, int64_t now_ns, int64_t depth_ns)
{
    bucket->level = schedule_share_level(bucket, now_ns, depth_ns);
    bucket->since_ns = max_i64(bucket->since_ns, now_ns);
}

void schedule_share_charge(struct share_bucket *bucket, int64_t now_ns, int64_t elapsed_ns,
                           int64_t depth_ns)
{
    schedule_share_settle(bucket, now_ns - elapsed_ns, depth_ns);
    int64_t drained = bucket->level + stretch(0, elapsed_ns) * (bucket->phi - SHARE_ONE);
    bucket->level = max_i64(drained, -depth_ns * SHARE_ONE); /* no debt beyond one depth */
    bucket->since_ns = max_i64(bucket->since_ns, now_ns);
}

struct share_load schedule_share_load(const struct schedule_service *service)
{
    const struct perf *perf = &service->perf;
    double s_per_ps = 1e-12;
    double k1 = (double)perf->k1_ps * (double)perf->prefill_scale * s_per_ps;
    double c2 = (double)perf->c2_ps[0] * (double)perf->decode_scale * s_per_ps;
    double k2 = (double)perf->k2_ps[0] * (double)perf->decode_scale * s_per_ps;
    double c3 = (double)perf->c3_ps[0] * (double)perf->decode_scale * s_per_ps;
    double n_in = service->n_prompt_mean, n_out = service->n_output_mean;
    double context = n_in + n_out / 2;
    return (struct share_load){
        .solo = (double)service->solo_ns,
        .rate = service->rate_per_s,
        .marginal = service->rate_per_s * (k1 * n_in + n_out * (c2 + k2 * context)),
        .fixed = n_out * c3,
    };
}

/* The best cap of h beside longer services with rate and marginal load `longer`, when `room` of the
 * device is left by the shorter ones; 0 when none keeps up. */
static double best_cap(const struct share_load *h, const struct share_load *longer, double room)
{
    double best = 0, least = 0;
    for (int i = 1; i <= GRID; i++) {
        double phi = i == GRID ? 1 : h->marginal + (1 - h->marginal) * i / GRID;
        double slack = phi - h->marginal;
        if (slack <= 0)
            continue;
        double busy = 1 - num_exp(-h->rate * h->fixed / slack);
        double left = room - (h->marginal + slack * busy) - longer->marginal;
        if (left <= 0)
            continue;
        double cost = h->rate / slack + longer->rate / left;
        if (best == 0 || cost < least) {
            best = phi;
            least = cost;
        }
    }
    return best;
}

/* Indices of the services that have traffic, longest first. */
static int sort_by_length(const struct share_load *loads, int n, int *order)
{
    int n_sorted = 0;
    for (int i = 0; i < n; i++) {
        if (loads[i].rate <= 0)
            continue;
        int j = n_sorted++;
        for (; j > 0 && loads[order[j - 1]].solo < loads[i].solo; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
    return n_sorted;
}

bool schedule_share_solve(const struct share_load *loads, int n, double *phi)
{
    int order[KV_SERVICES_MAX];
    int n_busy = sort_by_length(loads, n, order);
    double total = 0, shorter = 0;
    for (int i = 0; i < n; i++)
        phi[i] = 1;
    for (int i = 0; i < n_busy; i++)
        total += loads[order[i]].marginal;
    if (n_busy < 2)
        return total < 1;
    for (int i = 1; i < n_busy; i++)
        shorter += loads[order[i]].marginal;
    struct share_load longer = loads[order[0]];
    bool is_stable = total < 1;
    for (int i = 1; i < n_busy; i++) {
        const struct share_load *h = &loads[order[i]];
        shorter -= h->marginal;
        double cap = is_stable ? best_cap(h, &longer, 1 - shorter) : 0;
        if (cap == 0) { /* nothing keeps up: everybody gets his part of the load */
            is_stable = false;
            cap = h->marginal / total;
        }
        phi[order[i]] = cap;
        longer.rate += h->rate;
        longer.marginal += h->marginal;
    }
    return is_stable;
}
