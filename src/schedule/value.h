/* The index of the policy `value`: what serving a model next is worth. value_policy.c has the
 * formulas and their reasons. */
#pragma once
#include "base/num.h"
#include "schedule/policy.h"

struct schedule_value { /* of a service and its running requests, when it was last looked at */
    int64_t looked_ns;  /* ages below are of then, in seconds */
    int32_t n;          /* requests */
    int32_t n_ended;    /* that young was learned from */
    double young;
    double length_s, young_s;    /* L-hat; young times L-hat, as the sums have it */
    double rate;                 /* of arrivals a second */
    double log_length, log_rate; /* of length_s, of rate */
    double further; /* how much longer a step takes for each further request: 0 to 1 times one's */
    double little;  /* how little batches pay: 0 to 1 */
    double slow_part;        /* how far slowness counts: 0 to 1 */
    double a_by_b;           /* of a step */
    double h, hg, hga, hgaa; /* sums of h; of h g, h g age, h g age^2 with g = 1 / (L-hat x)^2 */
};
/* No request runs, nothing is known. */
void schedule_value_open(struct schedule_value *sums, const struct schedule_config *config);
/* Notes what the service is like now; the sums are of no request. */
void schedule_value_look(struct schedule_value *sums, const struct schedule_config *config,
                         const struct schedule_service *service, int64_t now_ns);
/* A request of the service ended after so much work as if alone. */
void schedule_value_ended(struct schedule_value *sums, const struct schedule_config *config,
                          int64_t attained_ps);
/* L-hat in seconds; a middling request's while nothing is known. */
double schedule_value_length_s(const struct schedule_service *service);
/* The ages are of now from here on. */
void schedule_value_rebase(struct schedule_value *sums, int64_t now_ns);
/* n = 1 adds a request that arrived then, -1 takes out one that was added with the same work. */
static inline void schedule_value_add(struct schedule_value *sums, int64_t attained_ps,
                                      int64_t arrived_ns, int n)
{
    double x = (double)attained_ps * 1e-12; /* times L-hat */
    x = x > sums->young_s ? x : sums->young_s;
    double inverse = 1 / x;
    double h = n * (sums->little + (1 - sums->little) * num_sqrt(sums->length_s * inverse));
    double hg = h * inverse * inverse;
    double age = (double)max_i64(sums->looked_ns - arrived_ns, 0) * 1e-9;
    sums->n += n;
    sums->h += h;
    sums->hg += hg;
    sums->hga += hg * age;
    sums->hgaa += hg * age * age;
}
/* How few requests n are: value_few over their number, at most 1; where batches pay little, in the
 * mean of the services that have requests, nearer to 1. */
double schedule_value_few(const struct schedule_config *config, double n, double little);
/* Of n requests so many run together at most. */
int32_t schedule_value_seqs_most(const struct schedule_config *config,
                                 const struct schedule_value *sums, double n);
/* What a plan finds once, by the functions of these names. */
struct schedule_value_here {
    double few, lightest, needed;
    const struct schedule_value_weights *weights; /* until `needed` is known; then NULL */
};
/* waited_ns: the ages of its waiting requests, together; they count as far as they would find room;
 * -1: not at all, since none may start. */
double schedule_value_index(const struct schedule_config *config, const struct schedule_view *view,
                            int service, const struct schedule_value *sums, int64_t waited_ns,
                            struct schedule_value_here *here);
/* Of n requests of the service whose last batch began then. */
double schedule_value_gathered(const struct schedule_view *view, int service, int64_t n,
                               int64_t begun_ns);
/* ---- Which services are light: bytes times time of services' mean requests, known from the events
 * where the view counts what else changes them. ---- */

struct schedule_value_weights {
    double *of;      /* (n_services) infinite when no request asks for it */
    uint16_t *asked; /* (n_asked) those whose weight is finite, ascending */
    int32_t n_asked;
    uint32_t n_changes; /* the view's, of when all were weighed */
    double lightest;
};
/* After an event of this service. */
void schedule_value_weigh(struct schedule_value_weights *weights, const struct schedule_view *view,
                          int service);
/* The least weight of all. */
double schedule_value_lightest(const struct schedule_value_weights *weights,
                               const struct schedule_view *view);
/* Units that the light services' requests hold, by Little's law of those that are value_slow times
 * as long here as alone, and twice the deviation. Infinite while not all are weighed. */
double schedule_value_needed(const struct schedule_config *config, const struct schedule_view *view,
                             const struct schedule_value_weights *weights);
/* Free units that requests of the service must leave when they start. */
int64_t schedule_value_kept(const struct schedule_config *config, const struct schedule_view *view,
                            int service, struct schedule_value_here *here);
