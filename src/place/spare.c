/* Adds one copy for each of many services at once, the neediest first. If that costs too much, it
 * tries half as many, down to one. A simulation is expensive and most copies cost nothing, so this
 * needs few simulations. */
#include "place/spare.h"

#include "place/board.h"

struct spare {
    const struct place_improve *how;
    const struct place_problem *problem;
    struct place_board board;
    struct place_plan *plan;
    struct place_plan trial;
    struct place_score score; /* its */
    double cost_max;          /* in the samples */
    bool *is_over;            /* (n_services) no copy for it any more */
    bool *is_done; /* (n_services) it has one in this trial, or no group has room for it */
};

/* Returns the service with the most work for each of its copies; -1 when none is left. */
static int32_t neediest(const struct spare *spare)
{
    int32_t who = -1;
    double most = 0;
    for (int32_t s = 0; s < spare->problem->n_services; s++) {
        const struct place_service *service = &spare->problem->services[s];
        int32_t n_copies = place_plan_copies(spare->plan, s);
        if (spare->is_over[s] || spare->is_done[s] || n_copies == 0)
            continue; /* the search found no room even for one */
        double need = (double)(service->n_requests + 1) * service->solo_s / n_copies;
        if (who < 0 || need > most) {
            who = s;
            most = need;
        }
    }
    return who;
}

/* Makes the trial: the plan with another copy for up to n services, each where the estimate gains
 * most. first: the neediest service that got one. Returns how many did. */
static int32_t add_copies(struct spare *spare, int32_t n, int32_t *first)
{
    int32_t n_added = 0;
    for (int32_t s = 0; s < spare->problem->n_services; s++)
        spare->is_done[s] = false;
    place_plan_copy(&spare->trial, spare->plan);
    place_board_show(&spare->board, &spare->trial);
    while (n_added < n) {
        double gain;
        int32_t who = neediest(spare);
        if (who < 0)
            break;
        int32_t group = place_board_best(&spare->board, who, &gain);
        spare->is_done[who] = true;
        if (group < 0)
            continue;
        if (n_added++ == 0)
            *first = who;
        place_board_add(&spare->board, group, who);
    }
    return n_added;
}

/* Takes the trial as the plan if it is cheap enough. Returns whether it did. */
static bool take(struct spare *spare)
{
    const struct place_plan *plan = &spare->trial;
    double cost;
    place_samples_race(spare->how->samples, &plan, 1, 1, &spare->score, &cost);
    if (cost > spare->cost_max)
        return false;
    place_plan_copy(spare->plan, &spare->trial);
    return true;
}

/* Returns how much more than a plan of this score the plan with its copies may cost. */
static double premium(const struct place_samples *samples, const struct place_score *score)
{
    double drifting = PLACE_SPARE_DRIFT * samples->drift;
    bool is_roomy = score->attainment >= PLACE_SPARE_IN_TIME;
    return is_roomy && drifting > PLACE_SPARE_PREMIUM ? drifting : PLACE_SPARE_PREMIUM;
}

void place_spare(const struct place_improve *how, struct place_plan *plan,
                 const struct place_score *score, double cost)
{
    const struct place_desk *desk = how->desk;
    size_t n_services = (size_t)desk->problem->n_services;
    struct spare spare = { .how = how, .problem = desk->problem, .plan = plan };
    int64_t begun = desk->judge->work(desk->judge->self);
    spare.is_over = pile_take(desk->pile, n_services * sizeof(*spare.is_over));
    spare.is_done = pile_take(desk->pile, n_services * sizeof(*spare.is_done));
    spare.score.services = pile_take(desk->pile, n_services * sizeof(*spare.score.services));
    place_plan_init(&spare.trial, spare.problem, desk->pile);
    place_board_init(&spare.board, spare.problem, how->n_members_max, desk->pile);
    spare.cost_max = cost + premium(how->samples, score);
    int32_t n = spare.problem->n_services;
    while (desk->judge->work(desk->judge->self) - begun < how->work_max) {
        int32_t first;
        int32_t n_added = add_copies(&spare, n, &first);
        if (n_added == 0)
            return; /* there is no room */
        if (take(&spare)) {
            n = min_i32(2 * n_added, spare.problem->n_services);
        } else {
            spare.is_over[first] = n_added == 1;
            n = max_i32(n_added / 2, 1);
        }
    }
}
