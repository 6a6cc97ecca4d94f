/* One copy for each of many services at once, the neediest first; for half as many where that is
 * too dear, down to one. A simulation is dear and most copies cost nothing, so few are needed. */
#include "place/spare.h"

#include "place/board.h"

enum { TRIALS = 2 }; /* as many as asked for, and half of them: work for two cores */
struct spare {
    const struct place_improve *how;
    const struct place_problem *problem;
    struct place_board board;
    struct place_plan *plan;
    struct place_plan trials[TRIALS];
    struct place_score scores[TRIALS];
    double costs[TRIALS];
    bool *is_over; /* (n_services) no copy for it any more */
    bool *is_done; /* (n_services) it has one in this trial, or finds no room there */
};

/* Who has most work for each of its copies. -1: nobody is left. */
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

/* Another copy for up to n services, each where the estimate likes it best. first: the neediest of
 * those that found room. Returns how many did. */
static int32_t add_copies(struct spare *spare, struct place_plan *trial, int32_t n, int32_t *first)
{
    int32_t n_added = 0;
    for (int32_t s = 0; s < spare->problem->n_services; s++)
        spare->is_done[s] = false;
    place_plan_copy(trial, spare->plan);
    place_board_show(&spare->board, trial);
    while (n_added < n) {
        double gain;
        int32_t who = neediest(spare);
        int32_t group = who >= 0 ? place_board_best(&spare->board, who, &gain) : -1;
        if (who < 0)
            break;
        spare->is_done[who] = true;
        if (group < 0)
            continue;
        if (n_added++ == 0)
            *first = who;
        place_board_add(&spare->board, group, who);
    }
    return n_added;
}

/* Copies for up to n services, or for half of them; none where both cost more than cost_max.
 * Returns for how many; 0: *first is the neediest of them, -1: there is no room. */
static int32_t try_copies(struct spare *spare, int32_t n, double cost_max, int32_t *first)
{
    const struct place_plan *plans[TRIALS];
    int32_t added[TRIALS], n_trials = 0;
    *first = -1;
    for (; n_trials < TRIALS && n > 0; n /= 2) {
        int32_t n_added = add_copies(spare, &spare->trials[n_trials], n, first);
        if (n_added == 0)
            return 0;
        n = n_added;
        plans[n_trials] = &spare->trials[n_trials];
        added[n_trials++] = n_added;
    }
    place_samples_race(spare->how->samples, plans, n_trials, n_trials, spare->scores, spare->costs);
    for (int32_t i = 0; i < n_trials; i++) {
        if (spare->costs[i] > cost_max)
            continue;
        place_plan_copy(spare->plan, &spare->trials[i]);
        return added[i];
    }
    return 0;
}

void place_spare(const struct place_improve *how, struct place_plan *plan, double cost)
{
    const struct place_desk *desk = how->desk;
    size_t n_services = (size_t)desk->problem->n_services;
    struct spare spare = { .how = how, .problem = desk->problem, .plan = plan };
    int64_t begun = desk->judge->work(desk->judge->self);
    spare.is_over = pile_take(desk->pile, n_services * sizeof(*spare.is_over));
    spare.is_done = pile_take(desk->pile, n_services * sizeof(*spare.is_done));
    place_board_init(&spare.board, spare.problem, how->n_members_max, desk->pile);
    for (int i = 0; i < TRIALS; i++) {
        place_plan_init(&spare.trials[i], spare.problem, desk->pile);
        spare.scores[i].services =
            pile_take(desk->pile, n_services * sizeof(*spare.scores[i].services));
    }
    int32_t n = spare.problem->n_services;
    while (desk->judge->work(desk->judge->self) - begun < how->work_max) {
        int32_t first;
        int32_t n_added = try_copies(&spare, n, cost + PLACE_SPARE_PREMIUM, &first);
        if (first < 0)
            return;
        if (n_added == 0 && n == 1)
            spare.is_over[first] = true;
        n = n_added > 0 ? min_i32(2 * n_added, spare.problem->n_services) : max_i32(n / 4, 1);
    }
}
