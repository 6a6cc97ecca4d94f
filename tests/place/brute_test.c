/* Compares the planners that follow papers with every placement, each by what it optimises itself,
 * on up to 4 services and 4 devices. (default and seallm by the judge's order: default_test.c;
 * layers: helr_test.c.) */
#include "judged.h"

static const struct {
    int32_t n_devices, n_services, gib[4], asked[4];
} cases[] = {
    { 2, 2, { 10, 20 }, { 200, 100 } },
    { 3, 3, { 10, 20, 30 }, { 300, 200, 60 } },
    { 4, 3, { 10, 10, 100 }, { 500, 50, 60 } },
    { 4, 3, { 13, 26, 13 }, { 600, 60, 300 } },
    { 4, 4, { 7, 26, 100, 13 }, { 100, 400, 30, 100 } },
    { 3, 3, { 10, 20, 30 }, { 900, 700, 300 } }, /* more than they can serve */
    { 4, 4, { 30, 30, 30, 30 }, { 150, 150, 150, 150 } },
};
enum { OVERLOADED = 5, JUDGED = 6 }; /* the last has too many placements to simulate them all */

/* Returns how far a greedy search may stay behind, in parts of the requests. */
static double slack_of(size_t i)
{
    return i == OVERLOADED ? 0.11 : 0.03;
}

static void open_case(struct small *small, size_t i)
{
    small_open(small, 1, cases[i].n_devices);
    small->effort = 1;
    for (int32_t s = 0; s < cases[i].n_services; s++)
        small_add(small, cases[i].gib[s], cases[i].asked[s]);
    small_measure(small);
}

/* ---- All planners: each plan is one of the placements, and no better than the best. ---- */

struct known {
    struct place_plan plans[16];
    bool is_seen[16];
    int n;
};

static bool is_same(const struct place_plan *all, const struct place_plan *plan)
{
    int32_t g = 0;
    for (int32_t i = 0; i < all->n_groups; i++) {
        const struct place_group *a = &all->groups[i], *b = &plan->groups[g];
        if (a->n_members == 0)
            continue;
        if (g == plan->n_groups || a->first_device != b->first_device ||
            a->n_devices != b->n_devices || a->n_members != b->n_members)
            return false;
        for (int32_t m = 0; m < a->n_members; m++)
            if (a->members[m].service != b->members[m].service)
                return false;
        g++;
    }
    return g == plan->n_groups;
}

static void see_known(struct brute *brute, void *self)
{
    struct known *known = self;
    brute_see_best(brute, NULL);
    for (int i = 0; i < known->n; i++)
        known->is_seen[i] = known->is_seen[i] || is_same(&brute->plan, &known->plans[i]);
}

static void every_plan_is_one_of_all_and_none_beats_the_best(void **state)
{
    int n;
    const struct place_planner *const *all = place_planner_all(&n);
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        static struct small small;
        struct judged judged;
        struct known known = { .n = n };
        open_case(&small, i);
        judged_open(&judged, &small);
        for (int p = 0; p < n; p++)
            small_plan(&small, all[p], &judged.face, &known.plans[p]);
        struct brute brute = { .see = see_known, .n_members_max = 4, .self = &known };
        brute_walk(&brute, &judged);
        for (int p = 0; p < n; p++) {
            struct place_score score = judged_score(&judged, &known.plans[p]);
            char text[512];
            print_message("case %zu, %lld placements, best %.4f %.3f: %-9s %.4f %.3f  %s\n", i,
                          (long long)brute.n_plans, brute.best.attainment, brute.best.normalized,
                          all[p]->name, score.attainment, score.normalized,
                          small_text(&known.plans[p], text));
            assert_true(known.is_seen[p]);
            assert_true(place_judge_compare(&score, &brute.best) <= 0);
        }
        judged_close(&judged);
        small_close(&small);
    }
}

/* ---- alpaserve: goodput over equal groups. ---- */

static double goodput(struct judged *judged, const struct place_plan *plan)
{
    struct place_score score = judged_score(judged, plan);
    int32_t n_copies = 0;
    for (int32_t g = 0; g < plan->n_groups; g++)
        n_copies += plan->groups[g].n_members;
    return score.attainment - score.latency_s / 1e4 + n_copies / 1e6;
}

static void see_goodput(struct brute *brute, void *self)
{
    double *best = self, worth;
    for (int32_t g = 1; g < brute->plan.n_groups; g++)
        if (brute->plan.groups[g].n_devices > brute->plan.groups[0].n_devices ||
            (brute->plan.groups[g].n_devices < brute->plan.groups[0].n_devices &&
             g + 1 < brute->plan.n_groups))
            return;
    worth = goodput(brute->judged, &brute->plan);
    *best = worth > *best ? worth : *best;
}

static void alpaserve_is_near_the_best_goodput_of_equal_groups(void **state)
{
    (void)state;
    for (size_t i = 0; i < JUDGED; i++) {
        static struct small small;
        struct judged judged;
        struct place_plan plan;
        double best = -1;
        open_case(&small, i);
        small.problem.limits.n_members_max = 2;
        judged_open(&judged, &small);
        struct brute brute = { .see = see_goodput, .n_members_max = 2, .self = &best };
        brute_walk(&brute, &judged);
        small_plan(&small, &place_alpaserve, &judged.face, &plan);
        double ours = goodput(&judged, &plan);
        print_message("case %zu: goodput %.5f, best %.5f\n", i, ours, best);
        assert_true(ours <= best + 1e-9);
        assert_true(ours > best - slack_of(i));
        judged_close(&judged);
        small_close(&small);
    }
}

/* ---- seallm: services that reach the attainment, then requests in time (D-3). ---- */

struct met {
    int32_t n_met;
    double attainment;
};

static void see_met(struct brute *brute, void *self)
{
    struct place_score score = judged_score(brute->judged, &brute->plan);
    struct met *best = self;
    if (score.n_met > best->n_met ||
        (score.n_met == best->n_met && score.attainment > best->attainment))
        *best = (struct met){ score.n_met, score.attainment };
}

static void seallm_is_near_the_most_services_in_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < JUDGED; i++) {
        static struct small small;
        struct judged judged;
        struct place_plan plan;
        struct met best = { -1, 0 };
        open_case(&small, i);
        judged_open(&judged, &small);
        struct brute brute = { .see = see_met, .n_members_max = 2, .self = &best };
        brute_walk(&brute, &judged);
        small_plan(&small, &place_seallm, &judged.face, &plan);
        struct place_score ours = judged_score(&judged, &plan);
        print_message("case %zu: %d services, %.4f; best %d, %.4f\n", i, ours.n_met,
                      ours.attainment, best.n_met, best.attainment);
        assert_true(ours.n_met <= best.n_met && ours.n_met >= best.n_met - 1);
        assert_true(ours.n_met < best.n_met || ours.attainment > best.attainment - slack_of(i));
        judged_close(&judged);
        small_close(&small);
    }
}

/* ---- muxserve: throughput by Equation 3, over every cut, one copy each, every share. ---- */

struct mux {
    int32_t n_placed;
    double best;
    struct place_plan plan;
};

static double throughput_of(const struct place_problem *problem, const struct place_plan *plan,
                            int32_t *n_placed)
{
    double sum = 0, headroom;
    *n_placed = 0;
    for (int32_t g = 0; g < plan->n_groups; g++) {
        *n_placed += plan->groups[g].n_members;
        if (plan->groups[g].n_members > 0)
            sum += place_muxserve_throughput(problem, &plan->groups[g], &headroom);
    }
    return sum;
}

/* Tries every share of every member of this group that its points allow. */
static double best_shares(const struct place_problem *problem, struct place_group *group, int32_t m,
                          int32_t points)
{
    double best = -1, headroom;
    if (m == group->n_members)
        return place_muxserve_throughput(problem, group, &headroom);
    for (int32_t share = 30; share <= 90 && points + share <= 120; share += 10) {
        group->members[m].share_percent = share;
        double worth = best_shares(problem, group, m + 1, points + share);
        best = worth > best ? worth : best;
    }
    return best;
}

static void see_mux(struct brute *brute, void *self)
{
    const struct place_problem *problem = &brute->judged->small->problem;
    struct mux *mux = self;
    double sum = 0;
    int32_t n_placed = 0;
    for (int32_t s = 0; s < problem->n_services; s++)
        if (place_plan_copies(&brute->plan, s) > 1)
            return;
    for (int32_t g = 0; g < brute->plan.n_groups; g++) {
        struct place_group group = brute->plan.groups[g];
        double worth = group.n_members > 0 ? best_shares(problem, &group, 0, 0) : 0;
        if (worth < 0) /* more services than the points are for */
            return;
        sum += worth;
        n_placed += group.n_members;
    }
    if (n_placed > mux->n_placed || (n_placed == mux->n_placed && sum > mux->best)) {
        mux->n_placed = n_placed;
        mux->best = sum;
    }
}

static void muxserve_is_near_the_best_throughput(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        static struct small small;
        struct judged judged;
        struct place_plan plan;
        struct mux mux = { .n_placed = -1 };
        int32_t n_placed;
        open_case(&small, i);
        judged_open(&judged, &small);
        struct brute brute = { .see = see_mux, .n_members_max = 4, .self = &mux };
        brute_walk(&brute, &judged);
        small_plan(&small, &place_muxserve, NULL, &plan);
        double ours = throughput_of(&small.problem, &plan, &n_placed);
        print_message("case %zu: %d services %.4f/s, best %d %.4f/s\n", i, n_placed, ours,
                      mux.n_placed, mux.best);
        assert_int_equal(n_placed, mux.n_placed);
        assert_true(ours <= mux.best + 1e-9);
        assert_true(ours > 0.9 * mux.best);
        judged_close(&judged);
        small_close(&small);
    }
}

/* ---- Dedicated devices. ---- */

struct dedicated {
    int32_t poorest;   /* even: the most devices that the service with the fewest can have */
    int32_t fewest[4]; /* morphling: devices of the cheapest configuration that is good alone */
};

static int32_t devices_of(const struct place_plan *plan, int32_t service)
{
    int32_t n = 0;
    for (int32_t g = 0; g < plan->n_groups; g++)
        n += place_group_has(&plan->groups[g], service) ? plan->groups[g].n_devices : 0;
    return n;
}

static int32_t poorest_of(const struct place_problem *problem, const struct place_plan *plan)
{
    int32_t least = INT32_MAX;
    for (int32_t s = 0; s < problem->n_services; s++)
        least = min_i32(least, devices_of(plan, s));
    return least;
}

static void see_dedicated(struct brute *brute, void *self)
{
    const struct place_problem *problem = &brute->judged->small->problem;
    struct dedicated *best = self;
    struct place_service_score services[4];
    struct place_score score = { .services = services };
    const struct place_plan *plan = &brute->plan;
    int32_t alone = -1, n_placed = 0;
    best->poorest = max_i32(best->poorest, poorest_of(problem, plan));
    for (int32_t s = 0; s < problem->n_services; s++)
        if (place_plan_copies(plan, s) > 0) {
            alone = s;
            n_placed++;
        }
    if (n_placed != 1)
        return;
    brute->judged->face.score(brute->judged->face.self, &plan, 1, &problem->window, &score);
    if ((double)services[alone].n_met >= problem->limits.attainment * (double)services[alone].n)
        best->fewest[alone] = min_i32(best->fewest[alone], devices_of(plan, alone));
}

static void even_and_morphling_against_all_dedicated_devices(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        static struct small small;
        struct judged judged;
        struct place_plan even, morphling;
        struct dedicated best = { 0, { INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX } };
        int32_t wanted = 0, n_devices = cases[i].n_devices;
        open_case(&small, i);
        judged_open(&judged, &small);
        struct brute brute = { .see = see_dedicated, .n_members_max = 1, .self = &best };
        brute_walk(&brute, &judged);
        small_plan(&small, &place_even, NULL, &even);
        small_plan(&small, &place_morphling, &judged.face, &morphling);
        print_message("case %zu: even %d of %d;", i, poorest_of(&small.problem, &even),
                      best.poorest);
        assert_int_equal(poorest_of(&small.problem, &even), best.poorest);
        for (int32_t s = 0; s < cases[i].n_services; s++) {
            print_message(" morphling %d of %d;", devices_of(&morphling, s), best.fewest[s]);
            wanted += min_i32(best.fewest[s], n_devices + 1);
        }
        print_message("\n");
        /* If there is room for all of them, two tests find the cheapest up to one device. */
        for (int32_t s = 0; s < cases[i].n_services && wanted <= n_devices; s++)
            assert_in_range(devices_of(&morphling, s), best.fewest[s], best.fewest[s] + 1);
        judged_close(&judged);
        small_close(&small);
    }
}

/* ---- machine, greedy: each service once, on the emptiest. ---- */

/* The fullest group of a plan, by the loads of services; copies share theirs. */
static double fullest_of(const struct place_plan *plan, const double *loads)
{
    double most = 0;
    for (int32_t g = 0; g < plan->n_groups; g++) {
        double load = 0;
        for (int32_t m = 0; m < plan->groups[g].n_members; m++)
            load += loads[plan->groups[g].members[m].service] /
                    place_plan_copies(plan, plan->groups[g].members[m].service);
        most = load > most ? load : most;
    }
    return most;
}

struct list {
    double loads[4], best;
};

static void see_list(struct brute *brute, void *self)
{
    struct list *list = self;
    for (int32_t s = 0; s < brute->judged->small->problem.n_services; s++)
        if (place_plan_copies(&brute->plan, s) != 1)
            return;
    double fullest = fullest_of(&brute->plan, list->loads);
    list->best = fullest < list->best ? fullest : list->best;
}

/* Placing each on the emptiest makes the fullest at most 2 - 1 / n times the least possible
 * (Graham). This holds for memory with greedy and for time with machine, on machines of one
 * device. */
static void lists_keep_grahams_bound(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
        static struct small small;
        struct judged judged;
        struct place_plan plan;
        struct list list = { .best = 1e300 };
        bool is_machine = i % 2 == 1;
        int32_t n = cases[i / 2].n_devices;
        small_open(&small, is_machine ? n : 1, is_machine ? 1 : n);
        for (int32_t s = 0; s < cases[i / 2].n_services; s++)
            small_add(&small, 1 + cases[i / 2].gib[s] % 15, cases[i / 2].asked[s]);
        small_measure(&small);
        for (int32_t s = 0; s < cases[i / 2].n_services; s++) {
            const struct place_service *of = &small.services[s];
            int64_t solo_ps =
                perf_solo_ps(&of->perfs[0], (int64_t)of->n_prompt, (int64_t)of->n_output);
            list.loads[s] = is_machine ? of->rate_per_s * (double)solo_ps * 1e-12
                                       : (double)place_problem_model_bytes(&small.problem, s);
        }
        judged_open(&judged, &small);
        struct brute brute = { .see = see_list, .n_members_max = 4, .self = &list };
        brute_walk(&brute, &judged);
        small_plan(&small, is_machine ? &place_machine : &place_greedy, NULL, &plan);
        double ours = fullest_of(&plan, list.loads);
        print_message("case %zu, %s: fullest %.4g, at best %.4g\n", i / 2,
                      is_machine ? "machine" : "greedy", ours, list.best);
        assert_true(is_machine || ours >= list.best * (1 - 1e-9)); /* machine fills empty ones */
        assert_true(ours <= list.best * (2 - 1.0 / n) * (1 + 1e-9));
        judged_close(&judged);
        small_close(&small);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_is_one_of_all_and_none_beats_the_best),
        cmocka_unit_test(alpaserve_is_near_the_best_goodput_of_equal_groups),
        cmocka_unit_test(seallm_is_near_the_most_services_in_time),
        cmocka_unit_test(muxserve_is_near_the_best_throughput),
        cmocka_unit_test(even_and_morphling_against_all_dedicated_devices),
        cmocka_unit_test(lists_keep_grahams_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
