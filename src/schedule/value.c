/* The index of the policy `value`. See value.h. */
#include "schedule/value.h"
#include "base/num.h"
#include "schedule/busy.h"
#include <float.h>

#define HEAVIER    1.5   /* bytes times time: who is so much heavier keeps room for the lighter */
#define RATE_LEAST 0.001 /* a second: who was never asked for */
enum { BATCH = 16 };     /* requests, to see whether batches pay */

double schedule_value_length_s(const struct schedule_service *service)
{
    if (service->solo_ns > 0)
        return (double)service->solo_ns * 1e-9;
    int64_t n_in = service->n_prompt_mean >= 1 ? (int64_t)service->n_prompt_mean : 256;
    int64_t n_out = service->n_output_mean >= 1 ? (int64_t)service->n_output_mean : 128;
    return (double)max_i64(perf_solo_ps(&service->perf, n_in, n_out), 1) * 1e-12;
}

void schedule_value_rebase(struct schedule_value *sums, int64_t now_ns)
{
    double dt = (double)(now_ns - sums->looked_ns) * 1e-9;
    sums->hgaa += 2 * dt * sums->hga + dt * dt * sums->hg;
    sums->hga += dt * sums->hg;
    sums->looked_ns = now_ns;
}

/* How much longer a step of the service takes for each further request: 0 to 1 times a step of one,
 * looked at with BATCH of them. */
static double each_further(const struct schedule_service *s)
{
    int64_t context = max_i64((int64_t)(s->n_prompt_mean + s->n_output_mean / 2), 1);
    int64_t one_ps = perf_decode_span_ps(&s->perf, 1, context, 1);
    int64_t all_ps = perf_decode_span_ps(&s->perf, BATCH, BATCH * context, 1);
    if (one_ps <= 0 || all_ps <= one_ps)
        return 0;
    double further = ((double)all_ps / (double)one_ps - 1) / (BATCH - 1);
    return further < 1 ? further : 1;
}

/* How little batches pay: 0, to 1 where they save half of the time or less. */
static double how_little(double further)
{
    return further < 0.5 ? 2 * further : 1;
}

double schedule_value_few(const struct schedule_config *config, const struct schedule_view *view)
{
    double n = 0, little = 0;
    for (int32_t k = 0; k < schedule_n_busy(view); k++) {
        const struct schedule_service *s = &view->services[schedule_busy(view, k)];
        n += (double)s->n_running + (double)s->n_waiting;
        little += how_little(each_further(s));
    }
    if (n <= config->value_few)
        return 1;
    little /= (double)schedule_n_busy(view);
    return little > config->value_few / n ? little : config->value_few / n;
}

/* Waiting requests that could start now. */
static double n_startable(const struct schedule_config *config, const struct schedule_view *view,
                          int service, double lightest)
{
    const struct schedule_service *s = &view->services[service];
    const struct kv_budget_service *b = &view->kv->services[service];
    int64_t n_units = view->kv->n_units_free - schedule_value_kept(config, view, service, lightest);
    double n_blocks = (double)(kv_blocks_in(b, max_i64(n_units, 0)) + b->n_blocks_free);
    double each = (s->n_prompt_mean + s->n_output_mean / 2) / max_i32(b->block_tokens, 1) + 1;
    int64_t n_seats = max_i64((int64_t)config->n_seqs_max - s->n_running, 0);
    double n = (double)min_i64(s->n_waiting, n_seats);
    return n * each > n_blocks ? n_blocks / each : n;
}

/* What slowness adds to so much worth: at most value_cap^2 times that. */
static double added(const struct schedule_config *config, double h, double h_slow2)
{
    double most = config->value_cap * config->value_cap * h;
    if (most <= 0 || h_slow2 <= 0)
        return 0;
    return config->value_slow * h_slow2 * most / (h_slow2 + most);
}

double schedule_value_index(const struct schedule_config *config, const struct schedule_view *view,
                            int service, const struct schedule_value *sums, int64_t waited_ns,
                            const struct schedule_value_here *here)
{
    const struct schedule_service *s = &view->services[service];
    double length = schedule_value_length_s(s);
    double further = each_further(s), little = how_little(further);
    double dt = (double)(view->now_ns - sums->looked_ns) * 1e-9;
    double h_slow2 = sums->hgaa + 2 * dt * sums->hga + dt * dt * sums->hg;
    double sum = sums->h + (1 - little) * added(config, sums->h, h_slow2), n_all = sums->n;
    if (waited_ns >= 0 && s->n_waiting > 0) {
        double x = config->value_age * length;
        double slow = (double)waited_ns * 1e-9 / (double)s->n_waiting / x;
        double n = n_startable(config, view, service, here->lightest);
        double h = n * num_sqrt(length / x);
        sum += h + (1 - little) * added(config, h, h * slow * slow);
        n_all += n;
    }
    double rate = s->rate_per_s > RATE_LEAST ? s->rate_per_s : RATE_LEAST;
    double by_rate = num_pow(rate, config->value_rate * (1 - here->few));
    double longer = n_all > 1 ? 1 + little * further * (n_all - 1) : 1;
    return sum / (num_pow(length, 1.5 + 0.5 * here->few) * by_rate * longer);
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

double schedule_value_weight(const struct schedule_service *service)
{
    if (!service->is_open || service->rate_per_s <= 0)
        return DBL_MAX; /* nobody keeps room for it */
    return weight_of(service);
}

double schedule_value_lightest(const struct schedule_view *view)
{
    double lightest = DBL_MAX;
    for (int i = 0; i < view->n_services; i++) {
        double weight = schedule_value_weight(&view->services[i]);
        lightest = weight < lightest ? weight : lightest;
    }
    return lightest;
}

int64_t schedule_value_kept(const struct schedule_config *config, const struct schedule_view *view,
                            int service, double lightest)
{
    if (config->value_kept > 0 && lightest * HEAVIER < weight_of(&view->services[service]))
        return (int64_t)(config->value_kept * (double)view->kv->n_units_open);
    return 0;
}
