/* The index of the policy `value`. See value.h. */
#include "schedule/value.h"
#include "base/num.h"
#include <float.h>

/* Bytes times time: a model that is this much heavier keeps room for the lighter. */
#define HEAVIER 1.5
/* Requests a second of a service that has had none. */
#define RATE_LEAST 0.001
/* Young is at least this. Its logarithm moves by steps of YOUNG_STEP over how many have ended, or
 * of the least. */
#define YOUNG_LEAST      0.001
#define YOUNG_STEP       6.0
#define YOUNG_STEP_LEAST 0.3
enum { BATCH = 16 }; /* requests, to see whether batches pay */
enum { KNOWN = 8 };  /* ended requests after which the mean is reliable enough to be greedy */

double schedule_value_length_s(const struct schedule_service *service)
{
    if (service->solo_ns > 0)
        return (double)service->solo_ns * 1e-9;
    int64_t n_in = service->n_prompt_mean >= 1 ? (int64_t)service->n_prompt_mean : 256;
    int64_t n_out = service->n_output_mean >= 1 ? (int64_t)service->n_output_mean : 128;
    return (double)max_i64(perf_solo_ps(&service->perf, n_in, n_out), 1) * 1e-12;
}

void schedule_value_open(struct schedule_value *sums, const struct schedule_config *config)
{
    *sums = (struct schedule_value){ .young = config->value_age, .length_s = 1, .rate = 1 };
}

static bool is_equal(double a, double b)
{
    return !(a < b) && !(a > b);
}

void schedule_value_look(struct schedule_value *sums, const struct schedule_config *config,
                         const struct schedule_service *service, int64_t now_ns)
{
    int64_t context = max_i64((int64_t)(service->n_prompt_mean + service->n_output_mean / 2), 1);
    double one = (double)perf_decode_span_ps(&service->perf, 1, context, 1);
    double all = (double)perf_decode_span_ps(&service->perf, BATCH, BATCH * context, 1);
    double b = all > one ? (all - one) / (BATCH - 1) : 0;
    double rate = service->rate_per_s > RATE_LEAST ? service->rate_per_s : RATE_LEAST;
    rate = config->value_rate > 0 ? rate : 1;
    double length_s = schedule_value_length_s(service), young = sums->young;
    double further = one > 0 && b < one ? b / one : one > 0;
    double longer = (BATCH - 1) * further; /* takes a batch */
    bool is_greedy = longer >= 2 && sums->n_ended >= KNOWN;
    /* Both change seldom. */
    double log_length = is_equal(length_s, sums->length_s) ? sums->log_length : num_log(length_s);
    double log_rate = is_equal(rate, sums->rate) ? sums->log_rate : num_log(rate);
    *sums = (struct schedule_value){
        .looked_ns = now_ns,
        .n_ended = sums->n_ended,
        .young = young,
        .length_s = length_s,
        .young_s = young * length_s,
        .rate = rate,
        .log_length = log_length,
        .log_rate = log_rate,
        .further = further,
        .little = is_greedy || further >= 0.5 ? 1 : 2 * further,
        .slow_part = longer < 1 ? 1 - longer * longer : 0,
        .a_by_b = b > 0 ? (one > b ? one - b : 0) / b : DBL_MAX,
    };
}

/* The logarithm of the quantile goes up or down with each request that ends, in smaller and smaller
 * steps (Robbins and Monro). The steps never become so small that it could not follow. */
void schedule_value_ended(struct schedule_value *sums, const struct schedule_config *config,
                          int64_t attained_ps)
{
    double x = (double)attained_ps * 1e-12 / sums->length_s;
    double step = YOUNG_STEP / (sums->n_ended + 3);
    step = step > YOUNG_STEP_LEAST ? step : YOUNG_STEP_LEAST;
    sums->n_ended += sums->n_ended < INT32_MAX - 3;
    sums->young *= num_exp(step * (config->value_young - (x < sums->young)));
    sums->young = sums->young < YOUNG_LEAST ? YOUNG_LEAST : sums->young < 1 ? sums->young : 1;
}

void schedule_value_rebase(struct schedule_value *sums, int64_t now_ns)
{
    double dt = (double)(now_ns - sums->looked_ns) * 1e-9;
    sums->hgaa += 2 * dt * sums->hga + dt * dt * sums->hg;
    sums->hga += dt * sums->hg;
    sums->looked_ns = now_ns;
}

double schedule_value_few(const struct schedule_config *config, double n, double little)
{
    double few = n > config->value_few ? config->value_few / n : 1;
    return little > few ? little : few;
}

int32_t schedule_value_seqs_most(const struct schedule_config *config,
                                 const struct schedule_value *sums, double n)
{
    double most = config->value_batch * num_sqrt(n * sums->a_by_b) + 0.5 + (sums->little >= 1);
    if (config->value_batch <= 0 || most >= (double)config->n_seqs_max)
        return config->n_seqs_max;
    return most < 1 ? 1 : (int32_t)most;
}

/* Waiting requests that could start now. */
static double n_startable(const struct schedule_config *config, const struct schedule_view *view,
                          int service, const struct schedule_value *sums,
                          struct schedule_value_here *here)
{
    const struct schedule_service *s = &view->services[service];
    const struct kv_budget_service *b = &view->kv->services[service];
    int64_t n_units = view->kv->n_units_free - schedule_value_kept(config, view, service, here);
    double n_blocks = (double)(kv_blocks_in(b, max_i64(n_units, 0)) + b->n_blocks_free);
    double each = (s->n_prompt_mean + s->n_output_mean / 2) / max_i32(b->block_tokens, 1) + 1;
    int64_t n_most =
        schedule_value_seqs_most(config, sums, (double)s->n_running + (double)s->n_waiting);
    double n = (double)min_i64(s->n_waiting, max_i64(n_most - s->n_running, 0));
    return n * each > n_blocks ? n_blocks / each : n;
}

/* Returns what slowness adds to a worth of h: at most value_cap^2 times h. */
static double added(const struct schedule_config *config, double h, double h_slow2)
{
    double most = config->value_cap * config->value_cap * h;
    double half = config->value_slow * config->value_slow * h;
    if (most <= 0 || h_slow2 <= 0)
        return 0;
    double u = h_slow2 / half;
    return most * (u < 1e6 ? u * u / (1 + u * u) : 1);
}

double schedule_value_index(const struct schedule_config *config, const struct schedule_view *view,
                            int service, const struct schedule_value *sums, int64_t waited_ns,
                            struct schedule_value_here *here)
{
    const struct schedule_service *s = &view->services[service];
    double dt = (double)(view->now_ns - sums->looked_ns) * 1e-9;
    double h_slow2 = sums->hgaa + 2 * dt * sums->hga + dt * dt * sums->hg;
    double sum = sums->h + sums->slow_part * added(config, sums->h, h_slow2), n_all = sums->n;
    if (waited_ns >= 0 && s->n_waiting > 0) {
        double slow = (double)waited_ns * 1e-9 / (double)s->n_waiting / sums->young_s;
        double n = n_startable(config, view, service, sums, here);
        double h = sums->little + (1 - sums->little) * num_sqrt(1 / sums->young);
        sum += n * (h + sums->slow_part * added(config, h, h * slow * slow));
        n_all += n;
    }
    double longer = n_all > 1 ? 1 + sums->little * sums->further * (n_all - 1) : 1;
    return sum / longer *
           num_exp(-(1.5 + 0.5 * here->few) * sums->log_length -
                   config->value_rate * (1 - here->few) * sums->log_rate);
}

double schedule_value_gathered(const struct schedule_view *view, int service, int64_t n,
                               int64_t begun_ns)
{
    double gap = (double)(view->now_ns - begun_ns + 1);
    return (double)n * gap / schedule_value_length_s(&view->services[service]);
}

/* Bytes times time of a mean request. */
static double weight_of(const struct schedule_service *s)
{
    return (double)s->kv_bytes_per_token * (s->n_prompt_mean + s->n_output_mean) *
           schedule_value_length_s(s);
}

static double weight_or_none(const struct schedule_service *service)
{
    if (!service->is_open || service->rate_per_s <= 0)
        return DBL_MAX; /* no service keeps room for it */
    return weight_of(service);
}

static double least(const struct schedule_value_weights *w)
{
    double lightest = DBL_MAX;
    for (int32_t k = 0; k < w->n_asked; k++)
        lightest = w->of[w->asked[k]] < lightest ? w->of[w->asked[k]] : lightest;
    return lightest;
}

static bool are_known(const struct schedule_value_weights *w, const struct schedule_view *view)
{
    return view->n_changes > 0 && w->n_changes == view->n_changes;
}

/* A request that ends changes its service's weight; the view counts all other changes. */
void schedule_value_weigh(struct schedule_value_weights *w, const struct schedule_view *view,
                          int service)
{
    if (!are_known(w, view)) {
        w->n_changes = view->n_changes;
        w->n_asked = 0;
        for (int i = 0; i < view->n_services && view->n_changes > 0; i++) {
            w->of[i] = weight_or_none(&view->services[i]);
            if (w->of[i] < DBL_MAX)
                w->asked[w->n_asked++] = (uint16_t)i;
        }
        w->lightest = least(w);
        return;
    }
    double before = w->of[service], weight = weight_or_none(&view->services[service]);
    w->of[service] = weight;
    if (weight <= w->lightest)
        w->lightest = weight;
    else if (before <= w->lightest)
        w->lightest = least(w);
}

static double lightest_of(const struct schedule_view *view)
{
    double lightest = DBL_MAX;
    for (int i = 0; i < view->n_services; i++) {
        double weight = weight_or_none(&view->services[i]);
        lightest = weight < lightest ? weight : lightest;
    }
    return lightest;
}

double schedule_value_lightest(const struct schedule_value_weights *w,
                               const struct schedule_view *view)
{
    if (!are_known(w, view))
        return lightest_of(view);
    VERIFY(!(w->lightest < lightest_of(view)) && !(w->lightest > lightest_of(view)));
    return w->lightest;
}

double schedule_value_needed(const struct schedule_config *config, const struct schedule_view *view,
                             const struct schedule_value_weights *w)
{
    if (!are_known(w, view))
        return DBL_MAX;
    double mean = 0, variance = 0;
    for (int32_t k = 0; k < w->n_asked; k++) {
        int i = w->asked[k];
        const struct schedule_service *s = &view->services[i];
        const struct kv_budget_service *b = &view->kv->services[i];
        if (w->of[i] > w->lightest * HEAVIER)
            continue;
        double each = (s->n_prompt_mean + s->n_output_mean) /
                      (double)max_i64((int64_t)b->block_tokens * b->blocks_per_unit, 1);
        double n = s->rate_per_s * config->value_slow * schedule_value_length_s(s);
        mean += n * each;
        variance += n * each * each;
    }
    return mean + 2 * num_sqrt(variance);
}

int64_t schedule_value_kept(const struct schedule_config *config, const struct schedule_view *view,
                            int service, struct schedule_value_here *here)
{
    double most = config->value_kept * (double)view->kv->n_units_open;
    if (!(here->lightest * HEAVIER < weight_of(&view->services[service])))
        return 0;
    if (here->weights != NULL)
        here->needed = schedule_value_needed(config, view, here->weights);
    here->weights = NULL;
    return (int64_t)(here->needed < most ? here->needed : most);
}
