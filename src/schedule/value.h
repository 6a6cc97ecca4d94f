/* Value: what serving a model next is worth, to the policy `value`.
 *
 * On one lane. A decode step costs nearly the same for one request as for ten, so a model's turn is
 * worth the sum over its requests. Each counts
 *     h (1 + slowness),  h = 1 / sqrt(x),  slow = age / (L-hat x),
 * with x = max(attained / L-hat, young): work done so far, measured as if alone, in mean requests,
 * and at least what nearly all requests of the model take (a fifth take less: value_young; learned
 * from those that ended). h falls as a request goes on (of a heavy tail, who has run long will run
 * long), slow is how many times longer it is here than its work took: of one that hardly began,
 * than the shortest would take. Slowness adds nearly nothing while it is small, half of the most at
 * value_slow, and at most value_cap^2 times the sum of h:
 *     value_cap^2 u^2 / (1 + u^2),  u = mean of slow^2 / value_slow^2.
 * Who needs up to 5 times as long as alone is in time for most targets: below that latency alone
 * counts; near it a turn saves requests; and whoever is so late that he could hardly be later does
 * not take the device from those who still can be in time. (Without a bound a backlog of a heavy
 * model outweighs all that a light one has: each gets slower, both stay so.)
 * The sum is divided by L-hat^(3/2) and by rate^value_rate: between the greedy rule for rare
 * requests (1 / L-hat^2) and Kleinrock's square root for models that are always busy, where the
 * parts of the device that give the least normalized latency go by sqrt(rate) and not by L-hat.
 * While fewer requests are here than value_few, the rule is the greedy one; of n requests,
 * value_few / n of the way to it.
 *
 * Where batches do not pay (a core computes 16 requests in 3 to 16 times the time of one; a GPU in
 * hardly more than that of one), all of this turns, as far as they do not, to the greedy rule for
 * single requests: L-hat^2, h the same for all (who goes on is nearer to his end), and the sum
 * divided by how much longer a step takes of all than of one. It is wholly that where 16 take three
 * times as long as one or more, as soon as 8 have ended: a rule that serves the short first never
 * learns that a model is short whose first request was long. Slowness counts by one less the
 * square of how much longer a step of 16 takes than one of one, and not at all from twice as long
 * on: serving the late beside the others then costs these more than it saves.
 *
 * How many run together. Let a step take a + b k of k requests. Of n like requests, batches of k,
 * one after the other, end on average after steps of (a + b k) (n / k + 1) / 2: least at k = sqrt(n
 * a / b). So no more start than that times value_batch: on a GPU, where a is hundreds of b, all do;
 * on a core a few do, who end early; the last of all ends a little later. Under the greedy rule one
 * more does: others come meanwhile, and k is least for those who are here.
 *
 * Side by side on several lanes nobody is kept from computing for long, and it is the size of
 * batches that counts: a job (a model's prompts, or its decodes) is worth its requests times the
 * time since its last batch began, in L-hat: normalized latency that they gathered since. Whoever
 * has waited long enough comes first, with all that joined meanwhile.
 *
 * A model whose requests hold more than 1.5 times the bytes times time of some other's starts one
 * only when what the light need stays free, at most value_kept of the pool: trunk reservation. They
 * need what those hold who are there together, each value_slow times as long as alone. */
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
/* Nobody runs, nothing is known. */
void schedule_value_open(struct schedule_value *sums, const struct schedule_config *config);
/* What the service is like now; the sums are of nobody. */
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
    const struct schedule_value_weights
        *weights; /* for who first asks what is needed; NULL: known */
};
/* waited_ns: the ages of its waiting requests, together; they count as far as they would find room;
 * -1: not at all, since nobody may start. */
double schedule_value_index(const struct schedule_config *config, const struct schedule_view *view,
                            int service, const struct schedule_value *sums, int64_t waited_ns,
                            struct schedule_value_here *here);
/* Of n requests of the service whose last batch began then. */
double schedule_value_gathered(const struct schedule_view *view, int service, int64_t n,
                               int64_t begun_ns);
/* ---- Who is light: bytes times time of services' mean requests, known from the events where the
 * view counts what else changes them. ---- */

struct schedule_value_weights {
    double *of;      /* (n_services) infinite when nobody asks for it */
    uint16_t *asked; /* (n_asked) those whose weight is finite, ascending */
    int32_t n_asked;
    uint32_t n_changes; /* the view's, of when all were weighed */
    double lightest;
};
/* Whether lanes pay, as that was when it was last looked at. */
struct schedule_value_pay {
    uint32_t n_changes; /* the view's; 0: not looked at */
    int32_t who;        /* the service by which it is known; -1: none is open */
    struct perf perf;   /* its */
    bool is_worth_it;
};
/* After an event of this service. */
void schedule_value_weigh(struct schedule_value_weights *weights, const struct schedule_view *view,
                          int service);
/* The least weight of all. */
double schedule_value_lightest(const struct schedule_value_weights *weights,
                               const struct schedule_view *view);
/* Units that the light services' requests hold, by Little's law of those who are value_slow times
 * as long here as alone, and twice the deviation. Infinite while not all are weighed. */
double schedule_value_needed(const struct schedule_config *config, const struct schedule_view *view,
                             const struct schedule_value_weights *weights);
/* Free units that requests of the service must leave when they start. */
int64_t schedule_value_kept(const struct schedule_config *config, const struct schedule_view *view,
                            int service, struct schedule_value_here *here);
