/* Chooses a plan of the front: helr, he and lr. */
#include "place/helr.h"

#include "place/layers_front.h"

/* Returns the number of devices to take: the lowest among those with the least score. */
static int32_t choose(const struct layers_front *front, enum layers_aim aim,
                      const struct layers_weights *weights)
{
    int32_t fewest = 0, best = 0;
    int64_t least_ps = INT64_MAX;
    double best_score = 0;
    for (int32_t n = front->n_max; n >= 1; n--) {
        fewest = front->cost_ps[n] < INT64_MAX ? n : fewest;
        least_ps = min_i64(least_ps, front->cost_ps[n]);
    }
    if (aim == LAYERS_HE || fewest == 0)
        return fewest;
    for (int32_t n = fewest; n <= front->n_max; n++) {
        if (front->cost_ps[n] == INT64_MAX)
            continue;
        double slower = least_ps > 0 ? (double)front->cost_ps[n] / (double)least_ps : 1;
        double score = aim == LAYERS_LR ? (double)front->cost_ps[n]
                                        : weights->latency * slower +
                                              weights->devices * (double)n / (double)fewest;
        if (best == 0 || score < best_score) {
            best = n;
            best_score = score;
        }
    }
    return best;
}

enum status helr_solve(const struct layers_problem *problem, enum layers_aim aim,
                       const struct layers_weights *weights, struct layers_plan *plan,
                       struct fault *fault)
{
    static const struct layers_weights even = { 1, 1 };
    const struct layers_weights *w = weights != NULL ? weights : &even;
    struct layers_front front;
    if (!(w->latency >= 0 && w->latency <= 1e9 && w->devices >= 0 && w->devices <= 1e9))
        return fault_set(fault, STATUS_BAD_INPUT, "weights of helr are 0 to 1e9");
    enum status status = layers_front_open(&front, problem, aim == LAYERS_HE, fault);
    if (status == STATUS_OK) {
        int32_t n = choose(&front, aim, w);
        CHECK(n > 0); /* layers_solve has seen that all devices together hold the model */
        layers_front_plan(&front, n, plan);
    }
    layers_front_close(&front);
    return status;
}
