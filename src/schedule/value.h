/* The index of the policy `value`: the worth of serving a model next. value_policy.c has the
 * formulas and their reasons. */
#pragma once
#include "base/num.h"
#include "schedule/policy.h"

struct schedule_value { /* of a service and its running requests, at the last update */
    int64_t looked_ns;  /* ages below are of then, in seconds */
    int32_t n;          /* requests */
    int32_t n_ended;    /* that young was learned from */
    double young;
    double length_s, young_s;    /* L-hat; young times L-hat, as used in the sums */
    double rate;                 /* of arrivals a second */
    double log_length, log_rate; /* of length_s, of rate */
    double further; /* how much longer a step takes for each further request: 0 to 1 times one's */
    double little;  /* how little batches pay: 0 to 1 */
    double slow_part;        /* how far slowness counts: 0 to 1 */
    double a_by_b;           /* of a step */
    double h, hg, hga, hgaa; /* sums of h, h g, h g age and h g age^2, with g = 1 / (L-hat x)^2 */
};
/* No request runs, nothing is known. */
void schedule_value_open(struct schedule_value *sums, const struct schedule_config *config);
/* Notes the service's present state; the sums become those of no request. */
void schedule_value_look(struct schedule_value *sums, const struct schedule_config *config,
                         const struct schedule_service *service, int64_t now_ns);
/* Notes that a request of the service ended after this much work, as if alone. */
void schedule_value_ended(struct schedule_value *sums, const struct schedule_config *config,
                          int64_t attained_ps);
/* Returns L-hat in seconds, or a medium request's while nothing is known. */
double schedule_value_length_s(const struct schedule_service *service);
/* The ages are of now from here on. */
void schedule_value_rebase(struct schedule_value *sums, int64_t now_ns);
/* n = 1 adds a request that arrived then; -1 removes one that was added with the same work. */
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
/* Returns how few requests n are: value_few over their number, at most 1. If batches pay little, as
 * a mean over the services that have requests, it is nearer to 1. */
double schedule_value_few(const struct schedule_config *config, double n, double little);
/* Returns how many of n requests may run together. */
int32_t schedule_value_seqs_most(const struct schedule_config *config,
                                 const struct schedule_value *sums, double n);
/* Results that a plan computes once, by the functions of these names. */
struct schedule_value_here {
    double few, lightest, needed;
    const struct schedule_value_weights *weights; /* used until `needed` is known; then NULL */
};
/* waited_ns: the sum of the ages of its waiting requests. They count as far as they would find
 * room; -1: they do not count, since none may start. */
double schedule_value_index(const struct schedule_config *config, const struct schedule_view *view,
                            int service, const struct schedule_value *sums, int64_t waited_ns,
                            struct schedule_value_here *here);
/* Returns the worth of n requests of the service whose last batch began then. */
double schedule_value_gathered(const struct schedule_view *view, int service, int64_t n,
                               int64_t begun_ns);
/* ---- Light services: bytes times time of services' mean requests. Events keep it up to date if
 * the view counts all other changes. ---- */

struct schedule_value_weights {
    double *of;      /* (n_services) infinite when no request has come for it */
    uint16_t *asked; /* (n_asked) services with a finite weight, ascending */
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
/* Returns the units that the light services' requests hold. By Little's law it counts requests that
 * are value_slow times as long here as alone, and twice the deviation. Infinite while not all are
 * weighed. */
double schedule_value_needed(const struct schedule_config *config, const struct schedule_view *view,
                             const struct schedule_value_weights *weights);
/* Returns the free units that requests of the service must leave when they start. */
int64_t schedule_value_kept(const struct schedule_config *config, const struct schedule_view *view,
                            int service, struct schedule_value_here *here);
