/* The default planner: mesh groups by arithmetic, the best few by simulation, and the best of these
 * improved by simulation (docs/ALGORITHMS.md 7.1, 7.2).
 *
 * Screen: for every degree the nodes are cut as SeaLLM cuts them. Services are put on them one copy
 * at a time, each where the estimate gains most. Beam: nodes of the best two are cut again in every
 * way, one node after the other, and filled again; what the estimate prefers stays. If there is
 * only one small node, every way is simulated instead. Rivals: SeaLLM's search at every degree with
 * the estimate instead of the simulator (spread.h), and the plans of the planners that cost next to
 * nothing. The estimate has favourites, so the simulator also sees plans that the estimate
 * misjudges. The search of spread.h goes on until no group takes a copy. With two services a group
 * its end is near SeaLLM's own, with more near AlpaServe's. With one, each service has its own
 * devices in proportion to its load. The estimate calls such plans overloaded, but when room is
 * plentiful they are the best. Judge: all of these that are not plainly worse. Climb: place_improve
 * from the best on, and from the best of another shape if that is nearly as good. Spare: copies in
 * the room that the better one leaves (spare.h), once its groups are divided into lanes (divide.h).
 * All of this uses samples of the window (samples.h), not the window alone. */
#include "place/board.h"
#include "place/divide.h"
#include "place/ground.h"
#include "place/improve.h"
#include "place/planners.h"
#include "place/samples.h"
#include "place/spare.h"
#include "place/spread.h"

enum {
    SPREADS = 3,
    CUTS = 10, /* the number of ways to cut a node of eight */
    STARTS_MAX = PLACE_RACE_MAX,
    FEW_DEVICES = 16,
    SCREENED = 3, /* of the plans that the estimate made, by the estimate */
    RACED = 2,    /* judged on all samples */
    BEAM_NODES = 4,
    SPARE_MEMBERS = 2, /* per group, more than the search allows */
    SPARE_PART = 2,    /* copies may use the climbs' work divided by this */
};
/* Services a group: each for itself, as many as SeaLLM's, and more. */
static const int32_t spread_members[SPREADS] = { 1, 2, 4 };
static const int32_t seallm_members = 2;
/* Work of the judge per device, in all climbs; work_spacious is the least of it when room is
 * plentiful. */
static const double work_per_device = 3000, work_dividing = 2000, work_small = 6000;
static const double work_spacious = 200000;
/* A second climb begins at a plan that costs at most this much more. From further off it never
 * won. */
static const double climb_gap = 0.05;
struct start {
    struct place_plan plan;
    struct place_score score;
    double cost, judged; /* by the estimate, in the samples */
    bool is_full;        /* simulated, whatever its estimate */
};
struct screen {
    const struct place_desk *asked; /* its judge is of windows */
    const struct place_desk *desk;  /* its judge is of samples */
    struct place_samples *samples;
    const struct place_problem *problem;
    struct place_board board;
    struct start starts[STARTS_MAX];
    int32_t n, n_climbs; /* starts; how many of the first ones are worth a climb */
};

static struct start *add_start(struct screen *screen)
{
    CHECK(screen->n < STARTS_MAX);
    struct start *start = &screen->starts[screen->n++];
    size_t n = (size_t)screen->problem->n_services;
    start->is_full = false;
    place_plan_init(&start->plan, screen->problem, screen->desk->pile);
    start->score.services = pile_take(screen->desk->pile, n * sizeof(*start->score.services));
    return start;
}

static void fill(struct screen *screen, struct start *start)
{
    place_board_show(&screen->board, &start->plan);
    place_board_fill(&screen->board, screen->desk->pile);
    start->cost = screen->board.cost;
}

static void cut_equally(struct screen *screen)
{
    int32_t most = place_ground_degree_max(screen->problem);
    for (int32_t n = 1; n <= most; n *= 2) {
        struct start *start = add_start(screen);
        (void)place_ground_cut(&start->plan, screen->problem, n, screen->board.n_members_max,
                               screen->desk->pile);
        fill(screen, start);
    }
    struct start *even = add_start(screen);
    place_even.plan(screen->desk, &even->plan);
    even->plan.n_refused = 0;
    fill(screen, even);
}

/* Makes the plan with one node cut another way, and fills that node again. */
static void recut(struct screen *screen, const struct place_plan *from, int32_t node,
                  const struct place_partition *partition, struct start *to)
{
    to->plan.n_groups = 0;
    for (int32_t g = 0; g < from->n_groups; g++)
        if (from->groups[g].node != node)
            to->plan.groups[to->plan.n_groups++] = from->groups[g];
    place_ground_cut_node(&to->plan, screen->problem, &screen->problem->nodes[node], partition);
    screen->board.node = node;
    fill(screen, to);
    screen->board.node = -1;
}

/* Makes every plan of a single node that has few cuts, because each is worth a simulation, whatever
 * its estimate. Returns false when there are more nodes, or more cuts. */
static bool cut_every_way(struct screen *screen)
{
    const struct place_node *node = &screen->problem->nodes[0];
    struct place_partition partitions[PLACE_PARTITIONS_MAX];
    int32_t n = place_ground_partitions(node->n_devices, partitions);
    if (screen->problem->n_nodes > 1 || n > CUTS)
        return false;
    for (int32_t i = 0; i < n; i++) {
        struct start *start = add_start(screen);
        place_ground_cut_node(&start->plan, screen->problem, node, &partitions[i]);
        fill(screen, start);
        start->is_full = true;
    }
    return true;
}

/* Cuts nodes another way while that is cheaper. Nodes of one plan that look alike need not all be
 * tried, so at most BEAM_NODES of them are, evenly apart. */
static void vary(struct screen *screen, const struct start *from)
{
    struct start *best = add_start(screen), trial;
    bool is_changed = false;
    int32_t n_nodes = screen->problem->n_nodes;
    place_plan_init(&trial.plan, screen->problem, screen->desk->pile);
    place_plan_copy(&best->plan, &from->plan);
    best->cost = from->cost;
    for (int32_t k = 0; k < min_i32(n_nodes, BEAM_NODES); k++) {
        int32_t node = (int32_t)((int64_t)k * n_nodes / min_i32(n_nodes, BEAM_NODES));
        struct place_partition partitions[PLACE_PARTITIONS_MAX];
        int32_t n = place_ground_partitions(screen->problem->nodes[node].n_devices, partitions);
        for (int32_t i = 0; i < n; i++) {
            recut(screen, &best->plan, node, &partitions[i], &trial);
            if (trial.cost >= best->cost)
                continue;
            place_plan_copy(&best->plan, &trial.plan);
            best->cost = trial.cost;
            is_changed = true;
        }
    }
    screen->n -= !is_changed;
}

static struct start *cheapest(struct screen *screen, int32_t n, const struct start *but)
{
    struct start *best = NULL;
    for (int32_t i = 0; i < n; i++)
        if (&screen->starts[i] != but && (best == NULL || screen->starts[i].cost < best->cost))
            best = &screen->starts[i];
    return best;
}

static int32_t placed(const struct screen *screen, const struct place_plan *plan)
{
    int32_t n = 0;
    for (int32_t s = 0; s < screen->problem->n_services; s++)
        n += place_plan_copies(plan, s) > 0;
    return n;
}

/* Keeps plans that place the most services, one of each, and of these the cheapest SCREENED, the
 * cheapest first. */
static void keep_cheapest(struct screen *screen)
{
    int32_t most = 0, n = 0;
    for (int32_t i = 0; i < screen->n; i++)
        most = max_i32(most, placed(screen, &screen->starts[i].plan));
    for (int32_t i = 0; i < screen->n; i++) {
        struct start start = screen->starts[i];
        int32_t at = n;
        bool is_new = placed(screen, &start.plan) == most;
        for (int32_t k = 0; k < n && is_new; k++) {
            is_new = !place_plan_equal(&screen->starts[k].plan, &start.plan);
            screen->starts[k].is_full |= !is_new && start.is_full;
        }
        if (!is_new)
            continue;
        for (; at > 0 && screen->starts[at - 1].cost > start.cost; at--)
            screen->starts[at] = screen->starts[at - 1];
        screen->starts[at] = start;
        n++;
    }
    screen->n = 0;
    for (int32_t i = 0, n_screened = 0; i < n; i++)
        if (screen->starts[i].is_full || n_screened++ < SCREENED)
            screen->starts[screen->n++] = screen->starts[i];
}

/* Returns whether there is time to search longer. There is none when a server starts or models
 * move, and then lanes stay. */
static bool is_small(const struct place_problem *problem)
{
    return problem->n_devices <= FEW_DEVICES && problem->limits.may_divide;
}

/* Returns whether one service a group may be best, so that a longer search gains something. */
static bool is_spacious(const struct place_problem *problem)
{
    return problem->n_devices > 2 * problem->n_services;
}

/* Runs SeaLLM's search with the estimate instead of the simulator. It keeps the end, when no group
 * takes a copy any more. With as many services a group as SeaLLM has, it also keeps the cheapest
 * plan before. */
static void spread(struct screen *screen)
{
    int32_t most = place_ground_degree_max(screen->problem), own = screen->board.n_members_max;
    for (int32_t k = 0; k < SPREADS; k++) {
        screen->board.n_members_max = spread_members[k];
        if (spread_members[k] == 1 && !is_spacious(screen->problem))
            continue;
        for (int32_t n = 1; n <= most; n *= 2) {
            struct start *full = add_start(screen), *cheap = add_start(screen);
            place_spread(&screen->board, &full->plan, &cheap->plan, &cheap->cost, n,
                         screen->desk->pile);
            full->cost = screen->board.cost;
            full->is_full = true;
            screen->n -= spread_members[k] != seallm_members;
        }
    }
    screen->board.n_members_max = own;
}

static void add_rivals(struct screen *screen)
{
    static const struct place_planner *const rivals[] = { &place_machine, &place_greedy,
                                                          &place_muxserve };
    for (size_t i = 0; i < COUNT_OF(rivals); i++) {
        struct start *start = add_start(screen);
        rivals[i]->plan(screen->desk, &start->plan);
        start->plan.n_refused = 0;
    }
    if (is_small(screen->problem)) {
        struct start *start = add_start(screen);
        struct place_desk desk = *screen->asked;
        desk.second = NULL;
        desk.progress = NULL;
        place_seallm.plan(&desk, &start->plan);
        start->plan.n_refused = 0;
    }
}

/* The degree that most devices have. */
static int32_t shape_of(const struct place_plan *plan)
{
    int32_t n_devices[PLACE_DEGREES] = { 0 }, shape = 0;
    for (int32_t g = 0; g < plan->n_groups; g++)
        n_devices[place_degree_index(plan->groups[g].n_devices)] += plan->groups[g].n_devices;
    for (int32_t d = 1; d < PLACE_DEGREES; d++)
        shape = n_devices[d] > n_devices[shape] ? d : shape;
    return shape;
}

/* Scores the starts from `from` on, and puts the best one first; those that lost the race come
 * last. With n_kept 0 the race is over after one sample. */
static void race(struct screen *screen, int32_t from, int n_kept)
{
    const struct place_plan *plans[STARTS_MAX];
    struct place_score scores[STARTS_MAX];
    double costs[STARTS_MAX];
    struct start *starts = screen->starts + from;
    int32_t n = screen->n - from;
    CHECK(n > 0);
    for (int32_t i = 0; i < n; i++) {
        plans[i] = &starts[i].plan;
        scores[i] = starts[i].score;
    }
    if (n_kept > 0)
        place_samples_race(screen->samples, plans, n, n_kept, scores, costs);
    else
        place_samples_first(screen->samples, plans, n, scores, costs);
    for (int32_t i = 0; i < n; i++) {
        struct start start = starts[i];
        int32_t at = i;
        start.score = scores[i];
        start.judged = costs[i];
        for (; at > 0 && starts[at - 1].judged > start.judged; at--)
            starts[at] = starts[at - 1];
        starts[at] = start;
    }
}

/* Adds the best quarter after one sample with thirds as lanes; half as many as there were go on. If
 * there is time, all are tried and all go on. */
static void divide_starts(struct screen *screen)
{
    int32_t n = screen->n, n_more = is_small(screen->problem) ? n : (n + 2) / 4;
    if (!screen->problem->limits.may_divide)
        return;
    race(screen, 0, 0);
    for (int32_t i = 0; i < n_more; i++) {
        struct start *start = add_start(screen);
        place_plan_copy(&start->plan, &screen->starts[i].plan);
        for (int32_t g = 0; g < start->plan.n_groups; g++)
            start->plan.groups[g].division = PLACE_DIVISION_THIRDS;
    }
    if (n_more == n)
        return;
    race(screen, 0, 0);
    screen->n = (n + 1) / 2;
}

/* Puts the best one first, then the best one among other shapes, if there are any. */
static void judge_all(struct screen *screen)
{
    divide_starts(screen);
    race(screen, 0, RACED);
    int32_t shape = shape_of(&screen->starts[0].plan), n = 1;
    for (int32_t i = 1; i < screen->n; i++) {
        if (shape_of(&screen->starts[i].plan) == shape)
            continue;
        struct start start = screen->starts[i];
        for (int32_t k = i; k > n; k--)
            screen->starts[k] = screen->starts[k - 1];
        screen->starts[n++] = start;
    }
    int32_t all = screen->n;
    screen->n = n;
    if (n > 1)
        race(screen, 1, 1);
    screen->n_climbs = 1;
    if (n > 1 && screen->starts[1].judged < screen->starts[0].judged + climb_gap)
        screen->n_climbs = 2;
    screen->n = all;
}

/* Finds the best few under a limit of services a group, scored, the best one first. */
static void search(struct screen *screen, int32_t n_members_max)
{
    screen->n = 0;
    place_board_init(&screen->board, screen->problem, n_members_max, screen->desk->pile);
    cut_equally(screen);
    if (!cut_every_way(screen)) {
        struct start *first = cheapest(screen, screen->n, NULL);
        struct start *next = cheapest(screen, screen->n, first);
        vary(screen, first);
        if (next != NULL)
            vary(screen, next);
    }
    if (n_members_max > 1) /* a limit of one means that no services share */
        spread(screen);
    keep_cheapest(screen);
    if (n_members_max > 1)
        add_rivals(screen);
    judge_all(screen);
}

/* Allows the plan to be as crowded as its start is. */
static struct place_improve how_to(const struct screen *screen, const struct start *start,
                                   int32_t n_members_max)
{
    const struct place_desk *desk = screen->desk;
    double work = is_small(desk->problem)            ? work_small
                  : desk->problem->limits.may_divide ? work_dividing
                                                     : work_per_device;
    work *= (double)desk->problem->n_devices * screen->samples->length;
    if (is_spacious(desk->problem) && work < work_spacious)
        work = work_spacious;
    int32_t n_members = n_members_max;
    for (int32_t g = 0; g < start->plan.n_groups; g++)
        n_members = max_i32(n_members, start->plan.groups[g].n_members);
    return (struct place_improve){ .desk = desk,
                                   .planner = "default",
                                   .n_members_max = n_members,
                                   .work_max = (int64_t)(desk->effort * work / screen->n_climbs),
                                   .samples = screen->samples };
}

/* Tries divisions of single groups with the work that climbs left; with few devices, with as much
 * again. */
static void divide(struct screen *screen, struct start *start, int32_t n_members_max,
                   int64_t n_done)
{
    struct place_improve how = how_to(screen, start, n_members_max);
    how.work_max *= screen->n_climbs;
    if (!is_small(screen->problem))
        how.work_max -= n_done;
    place_divide(&how, &start->plan, &start->score, &start->judged);
}

/* Climbs from each of the first few starts. Then tries divisions of the best result, and copies
 * that cost nothing. Returns that plan. */
static const struct place_plan *climb_all(struct screen *screen, int32_t n_members_max)
{
    const struct place_judge *judge = screen->desk->judge;
    struct start *best = &screen->starts[0];
    int64_t begun = judge->work(judge->self);
    for (int32_t i = 0; i < screen->n_climbs; i++) {
        struct start *start = &screen->starts[i];
        const struct place_improve how = how_to(screen, start, n_members_max);
        place_improve(&how, &start->plan, &start->score, &start->judged);
        if (start->judged < best->judged)
            best = start;
    }
    divide(screen, best, n_members_max, judge->work(judge->self) - begun);
    if (n_members_max > 1) { /* a limit of one means that no services share */
        struct place_improve how = how_to(screen, best, n_members_max);
        how.work_max = how.work_max * screen->n_climbs / SPARE_PART;
        how.n_members_max = min_i32(how.n_members_max + SPARE_MEMBERS, PLACE_MEMBERS_MAX);
        place_spare(&how, &best->plan, &best->score, best->judged);
    }
    return &best->plan;
}

static void plan(const struct place_desk *asked, struct place_plan *plan)
{
    struct place_samples samples;
    place_samples_open(&samples, asked);
    const struct place_judge judge = place_samples_face(&samples);
    struct place_desk own = *asked;
    own.judge = &judge;
    if (asked->judge->begin != NULL)
        asked->judge->begin(asked->judge->self);
    const struct place_desk *desk = &own;
    struct screen screen = {
        .asked = asked, .desk = desk, .samples = &samples, .problem = desk->problem
    };
    int32_t n_members = desk->problem->limits.n_members_max, n_placeable = 0;
    for (int32_t s = 0; s < desk->problem->n_services; s++)
        n_placeable += desk->problem->services[s].base_degree > 0;
    search(&screen, n_members);
    while (screen.starts[0].score.n_placed < n_placeable && n_members < PLACE_MEMBERS_MAX) {
        n_members = min_i32(2 * n_members, PLACE_MEMBERS_MAX); /* crowded is better than nowhere */
        search(&screen, n_members);
    }
    if (desk->second != NULL && screen.n > 1) {
        place_plan_copy(desk->second, &screen.starts[1].plan);
        place_plan_finish(desk->second, desk->problem);
    }
    place_plan_copy(plan, climb_all(&screen, n_members));
    place_plan_finish(plan, desk->problem);
}

const struct place_planner place_default = {
    .name = "default",
    .source = "docs/ALGORITHMS.md 7.1, 7.2; `place/samples.h`",
    .summary = "groups by arithmetic, the best few judged and bettered by simulation",
    .optimises = "what it expects of requests that are still to come: [its "
                 "search](#the-search-of-default)",
    .cost = "the screen, about 45,000 simulated requests; then 2,000 engine steps for each device "
            "(at least 200,000 steps if there are more than two devices for each service), and "
            "half as many for copies. On at most 16 devices: twice the screen, SeaLLM's search, "
            "and 6,000 steps for each device (only 3,000 if lanes are not chosen)",
    .fails = "where rates change by more than they did within the window",
    .is_judging = true,
    .n_members_max = PLACE_MEMBERS_MAX, /* if the problem's limit leaves a service out */
    .plan = plan,
};
