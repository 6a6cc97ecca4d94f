/* Value: what serving a model next is worth, to the policy `value`.
 *
 * On one lane. A decode step costs nearly the same for one request as for ten, so a model's turn is
 * worth the sum over its requests. Each counts
 *     h (1 + value_slow slow^2),  h = 1 / sqrt(x),  slow = age / (L-hat x),
 * with x = attained / L-hat + value_age: work done so far, measured as if alone, in mean requests.
 * h falls as a request goes on (of a heavy tail, who has run long will run long), slow is how many
 * times longer it is here than its work took. What slowness adds to the sums of those that run and
 * of those that wait is at most value_cap^2 times the sum of h: whoever is so late that he could
 * hardly be later does not take the device from those who still can be in time. (Without a bound
 * a backlog of a heavy model outweighs all that a light one has: each gets slower, both stay so.)
 * The sum is divided by L-hat^(3/2) and by rate^value_rate: between the greedy rule for rare
 * requests (1 / L-hat^2) and Kleinrock's square root for models that are always busy, where the
 * parts of the device that give the least normalized latency go by sqrt(rate) and not by L-hat.
 * While fewer requests are here than value_few, the rule is the greedy one; of n requests,
 * value_few / n of the way to it. Where batches do not pay (a core computes 16 requests in nearly
 * 16 times the time of one; a GPU in hardly more than that of one), all of this turns, as far as
 * they do not, to the greedy rule for single requests: L-hat^2, slowness not counted, and the sum
 * divided by how much longer a step takes of all than of one.
 *
 * Side by side on several lanes nobody is kept from computing for long, and it is the size of
 * batches that counts: a job (a model's prompts, or its decodes) is worth its requests times the
 * time since its last batch began, in L-hat: normalized latency that they gathered since. Whoever
 * has waited long enough comes first, with all that joined meanwhile.
 *
 * A model whose requests hold more than 1.5 times the bytes times time of some other's starts one
 * only when value_kept of the pool stays free: trunk reservation. */
#pragma once
#include "base/num.h"
#include "schedule/policy.h"

struct schedule_value {      /* of the running requests of a service when it was last looked at */
    int64_t looked_ns;       /* ages below are of then, in seconds */
    int32_t n;               /* requests */
    double length_s;         /* L-hat of then */
    double h, hg, hga, hgaa; /* sums of h; of h g, h g age, h g age^2 with g = 1 / (L-hat x)^2 */
};
/* L-hat in seconds; a middling request's while nothing is known. */
double schedule_value_length_s(const struct schedule_service *service);
/* The ages are of now from here on. */
void schedule_value_rebase(struct schedule_value *sums, int64_t now_ns);
/* n = 1 adds a request that arrived then, -1 takes out one that was added with the same work. */
static inline void schedule_value_add(struct schedule_value *sums,
                                      const struct schedule_config *config, int64_t attained_ps,
                                      int64_t arrived_ns, int n)
{
    double x = (double)attained_ps * 1e-12 + config->value_age * sums->length_s; /* times L-hat */
    double inverse = 1 / x, h = n * num_sqrt(sums->length_s * inverse), hg = h * inverse * inverse;
    double age = (double)max_i64(sums->looked_ns - arrived_ns, 0) * 1e-9;
    sums->n += n;
    sums->h += h;
    sums->hg += hg;
    sums->hga += hg * age;
    sums->hgaa += hg * age * age;
}
/* How few requests are here: value_few over their number, at most 1. */
double schedule_value_few(const struct schedule_config *config, const struct schedule_view *view);
/* What a plan finds once: schedule_value_few, and schedule_value_lightest below. */
struct schedule_value_here {
    double few, lightest;
};
/* waited_ns: the ages of its waiting requests, together; they count as far as they would find room;
 * -1: not at all, since nobody may start. */
double schedule_value_index(const struct schedule_config *config, const struct schedule_view *view,
                            int service, const struct schedule_value *sums, int64_t waited_ns,
                            const struct schedule_value_here *here);
/* Of n requests of the service whose last batch began then. */
double schedule_value_gathered(const struct schedule_view *view, int service, int64_t n,
                               int64_t begun_ns);
/* Bytes times time of a mean request of the service; infinite when nobody asks for it. And the
 * least of all services'. */
double schedule_value_weight(const struct schedule_service *service);
double schedule_value_lightest(const struct schedule_view *view);
/* Free units that requests of the service must leave when they start. */
int64_t schedule_value_kept(const struct schedule_config *config, const struct schedule_view *view,
                            int service, double lightest);
