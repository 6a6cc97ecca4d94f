/* Morphling's search for a configuration, as UELLM compares with it (docs/ALGORITHMS.md 6.9). Every
 * service is alone, few stress tests run, and the cheapest configuration is taken that an adapted
 * model calls good.
 *
 * A configuration is a degree and a number of copies. The adapted model is our estimate, which is
 * known beforehand, as Morphling's regressor is from other models' profiles. A stress test
 * simulates the service alone on a configuration. If the service is late, the model uses a higher
 * rate from then on and is asked again. A service gets tests for a twentieth of the configurations,
 * or two if that is more. Devices are dedicated: first one group for each service, then the chosen
 * copies while there is room. */
#include "place/cut.h"
#include "place/estimate.h"
#include "place/planners.h"

enum { COPIES_MAX = 16 };
static const double rate_up = 1.3;

struct choice { /* of a service */
    int32_t degree, n_copies, n_tests, n_tests_max;
    double rate_factor;
    bool is_known; /* its last test was good, or no more are allowed */
};
struct morphling {
    const struct place_desk *desk;
    const struct place_problem *problem;
    struct choice *choices;     /* (n_services) */
    struct place_plan *plans;   /* (n_services) stress tests */
    struct place_score *scores; /* (n_services) */
    const struct place_plan **asked;
    int32_t *services; /* the services of the tests that run */
};

static double met_by(const struct morphling *m, int32_t service, int32_t degree, int32_t n_copies)
{
    const struct place_service *s = &m->problem->services[service];
    struct place_group group = { .n_devices = degree };
    struct place_estimate estimate;
    double rate = m->choices[service].rate_factor * s->rate_per_s / n_copies;
    for (int32_t i = 0; i < m->problem->n_nodes; i++)
        if (m->problem->nodes[i].kind == s->base_kind)
            group.node = i;
    place_group_add(&group, service);
    place_estimate_group(m->problem, &group, &rate, &estimate);
    return estimate.met[0];
}

static int32_t degree_max(const struct place_problem *problem, int32_t kind)
{
    int32_t most = 1;
    for (int32_t i = 0; i < problem->n_nodes; i++)
        while (problem->nodes[i].kind == kind && most * 2 <= PLACE_GROUP_MAX &&
               most * 2 <= problem->nodes[i].n_devices)
            most *= 2;
    return most;
}

/* Finds the fewest devices that the model calls good; if none are, those that it rates best. */
static void predict(struct morphling *m, int32_t service)
{
    const struct place_service *s = &m->problem->services[service];
    struct choice *choice = &m->choices[service];
    int32_t most = degree_max(m->problem, s->base_kind), n_space = 0, fewest = INT32_MAX;
    double best_met = -1;
    for (int32_t degree = s->base_degree; degree > 0 && degree <= most; degree *= 2) {
        for (int32_t n = 1; n <= COPIES_MAX && n * degree <= m->problem->n_devices; n++) {
            double met = met_by(m, service, degree, n);
            bool is_good = met >= m->problem->limits.attainment;
            n_space++;
            if (is_good ? n * degree >= fewest : fewest < INT32_MAX || met <= best_met)
                continue;
            best_met = met;
            fewest = is_good ? n * degree : fewest;
            choice->degree = degree;
            choice->n_copies = n;
        }
    }
    choice->n_tests_max = max_i32(n_space / 20, 2);
}

static void lay_out(const struct morphling *m, int32_t service, struct place_plan *plan)
{
    struct place_cut cut;
    const struct choice *choice = &m->choices[service];
    place_cut_init(&cut, m->problem, m->desk->pile);
    plan->n_groups = 0;
    for (int32_t n = 0; n < choice->n_copies; n++) {
        int32_t at = place_cut_take(&cut, choice->degree, service);
        if (at >= 0)
            place_group_add(place_plan_add_group(plan, m->problem, at, choice->degree), service);
    }
}

/* Tests all services that are not known yet, at once. Returns false when all are known. */
static bool test(struct morphling *m)
{
    const struct place_judge *judge = m->desk->judge;
    struct place_score *scores = m->scores;
    int n = 0;
    for (int32_t s = 0; s < m->problem->n_services; s++) {
        if (m->choices[s].is_known)
            continue;
        lay_out(m, s, &m->plans[s]);
        m->services[n] = s;
        m->asked[n++] = &m->plans[s];
    }
    if (n == 0)
        return false;
    judge->score(judge->self, m->asked, n, &m->problem->window, scores);
    for (int i = 0; i < n; i++) {
        int32_t s = m->services[i];
        const struct place_service_score *score = &scores[i].services[s];
        struct choice *choice = &m->choices[s];
        bool is_good = (double)score->n_met >= m->problem->limits.attainment * (double)score->n;
        choice->is_known = is_good || ++choice->n_tests >= choice->n_tests_max;
        if (is_good)
            continue;
        choice->rate_factor *= rate_up;
        predict(m, s);
    }
    return true;
}

static void allocate(const struct morphling *m, struct place_plan *plan)
{
    const struct place_problem *problem = m->problem;
    size_t n = (size_t)problem->n_services;
    double *keys = pile_take(m->desk->pile, n * sizeof(*keys));
    int32_t *order = pile_take(m->desk->pile, n * sizeof(*order)), n_given = 1;
    struct place_cut cut;
    place_cut_init(&cut, problem, m->desk->pile);
    for (size_t s = 0; s < n; s++)
        keys[s] = 1e6 * m->choices[s].degree + problem->services[s].rate_per_s;
    place_planners_sort(keys, problem->n_services, order);
    for (int32_t round = 0; n_given > 0 && round < COPIES_MAX; round++) {
        n_given = 0;
        for (int32_t k = 0; k < problem->n_services; k++) {
            const struct choice *choice = &m->choices[order[k]];
            int32_t degree = choice->degree, least = problem->services[order[k]].base_degree;
            int32_t at = -1;
            if (degree == 0 || round >= choice->n_copies)
                continue;
            for (; at < 0 && degree >= least; degree /= at < 0 ? 2 : 1)
                at = place_cut_take(&cut, degree, order[k]);
            if (at < 0)
                continue;
            n_given++;
            place_group_add(place_plan_add_group(plan, problem, at, degree), order[k]);
        }
    }
}

static void plan(const struct place_desk *desk, struct place_plan *plan)
{
    const struct place_problem *problem = desk->problem;
    size_t n = (size_t)problem->n_services;
    struct morphling m = { .desk = desk,
                           .problem = problem,
                           .choices = pile_take(desk->pile, n * sizeof(*m.choices)),
                           .plans = pile_take(desk->pile, n * sizeof(*m.plans)),
                           .scores = pile_take(desk->pile, n * sizeof(*m.scores)),
                           .asked = pile_take(desk->pile, n * sizeof(const struct place_plan *)),
                           .services = pile_take(desk->pile, n * sizeof(*m.services)) };
    for (int32_t s = 0; s < problem->n_services; s++) {
        m.plans[s].groups = pile_take(desk->pile, COPIES_MAX * sizeof(struct place_group));
        m.scores[s].services = pile_take(desk->pile, n * sizeof(struct place_service_score));
        m.choices[s].rate_factor = 1;
        m.choices[s].is_known = problem->services[s].base_degree == 0;
        predict(&m, s);
    }
    while (test(&m)) {}
    allocate(&m, plan);
    place_plan_finish(plan, problem);
}

const struct place_planner place_morphling = {
    .name = "morphling",
    .source = "Morphling, as in UELLM",
    .summary = "the cheapest configuration of each service alone, by a few stress tests",
    .optimises =
        "the cheapest configuration (degree and copies) of each service alone. An estimate is "
        "corrected by stress tests, which simulate the service alone for a twentieth of the "
        "configurations, at least two. Devices are dedicated",
    .cost = "a few simulations for each service",
    .fails = "services share nothing, and their demands are not added up: the last copies get what "
             "is left",
    .is_judging = true,
    .n_members_max = 1,
    .plan = plan,
};
