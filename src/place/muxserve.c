/* MuxServe's placement (Algorithms 1 and 2, Eq. 3: docs/ALGORITHMS.md 2.2 to 2.4).
 *
 * Candidates: for every service and degree the smallest share of a device on which decoding, with
 * prompts on what is left, meets its rate. If no share does, the one with the most throughput. Mesh
 * groups: every node is cut into powers of two. All combinations over the nodes of one kind are
 * tried, or COMBINATIONS_MAX of them evenly apart. Services go in order of rate times work, each to
 * the mesh where the throughput of the unit grows most; among equals to the one with more headroom
 * then. A mesh has 100 points of shares, and 20 more. The combination with the most throughput
 * wins; among equals the one with the most headroom (D-11). One copy each. */
#include "place/ground.h"
#include "place/planners.h"

#include "base/num.h"
#include <string.h>

enum {
    COMBINATIONS_MAX = 2000,
    BATCH_MAX = 256,
    PROMPT_TOKENS = 2048, /* of a batch */
    SHARES = 120,         /* points of a mesh; 20 of the 100 are used twice */
    SHARE_MIN = 30,
    SHARE_MAX = 90,
};
static const double part_none = 1e9; /* of a rate of 0 */
struct candidate {                   /* of a service on a degree and kind */
    int32_t share_percent;
    double headroom; /* alone: the part of its rate that it can serve */
};
struct mux {
    const struct place_desk *desk;
    const struct place_problem *problem;
    struct candidate *candidates; /* (n_services, n_kinds, PLACE_DEGREES) */
    int32_t *order;               /* services by work */
    struct place_plan trial, best;
    double *units, *rooms; /* (n_devices) of the trial's groups: throughput, headroom */
    double best_throughput, best_headroom;
    int32_t best_n_placed;
};

/* ---- Eq. 3. ---- */

struct tenant { /* of a unit */
    const struct place_service *service;
    const struct perf *full;        /* on all of the device */
    const struct perf_share *table; /* what a part of it costs */
    double share, batch;            /* of the device; decodes at once */
};

/* Returns a / b, at most part_none. */
static double ratio(double a, double b)
{
    return b > a / part_none ? a / b : part_none;
}

/* Returns the seconds of a batch of b prompts on this share of the device, per prompt. */
static double prompt_s(const struct tenant *t, double share, int64_t b)
{
    int64_t n = max_i64((int64_t)t->service->n_prompt, 1);
    b = max_i64(min_i64(b, PROMPT_TOKENS / n), 1);
    const struct perf_load load = { .n_new = (int32_t)(b * n), .n_new_squared = b * n * n };
    struct perf part;
    perf_at_share(t->full, t->table, share, &part);
    return (double)perf_step_ps(&part, &load) * 1e-12 / (double)b;
}

/* Sets the job of its decodes, alone on its share. */
static struct perf_job decodes_of(const struct tenant *t)
{
    const struct place_service *s = t->service;
    double context = s->n_prompt + s->n_output / 2;
    const struct perf_load load = { .n_decodes = (int32_t)t->batch,
                                    .n_decode_context = (int64_t)(t->batch * context) };
    struct perf part;
    perf_at_share(t->full, t->table, t->share, &part);
    return (struct perf_job){ .ps = perf_step_ps(&part, &load),
                              .bytes = perf_step_bytes(&load, s->size.weights_bytes,
                                                       s->size.kv_bytes_per_token),
                              .share = t->share };
}

/* Returns the sum of min(tpt, W) of a unit. headroom: the largest x such that it serves x times all
 * of its rates.
 *
 * Eq. 3 is tpt = b / (sum of t_p + t_d l_o): prompts of all services run one after the other, then
 * decodes of all side by side. An engine takes prompts as they arrive: let u be the device time
 * that a second's prompts take one by one, and v in full batches. A is the decode steps per second
 * of a service while no prompt runs, divided by the contention of decodes side by side. B is those
 * beside a prompt, where only the lane that is left serves, in turn. At x times the rates W the
 * service needs x W l_o <= b ((1 - x u) A + x u B) while x u < 1, then x W l_o <= b B, and
 * x v <= 1. */
static double throughput_of(struct tenant *tenants, int32_t n, double bytes_per_s, double *headroom)
{
    struct perf_job jobs[PLACE_MEMBERS_MAX] = { 0 };
    double factors[PLACE_MEMBERS_MAX], least = 1, u = 0, v = 0, turn_s = 0, total = 0;
    for (int32_t i = 0; i < n; i++)
        least = tenants[i].share < least ? tenants[i].share : least;
    double left = SHARES / 100.0 - least;
    left = left < 1 ? left : 1;
    *headroom = n > 0 ? part_none : 0;
    for (int32_t i = 0; i < n; i++) {
        struct tenant *t = &tenants[i];
        jobs[i] = decodes_of(t);
        u += t->service->rate_per_s * prompt_s(t, left, 1);
        v += t->service->rate_per_s * prompt_s(t, left, PROMPT_TOKENS);
        turn_s += t->share <= least ? (double)jobs[i].ps * 1e-12 : 0;
    }
    for (int32_t i = 0; i < n; i++)
        factors[i] = 1;
    if (bytes_per_s > 0) /* else the device's memory is not known */
        perf_contention(jobs, n, bytes_per_s, factors);
    for (int32_t i = 0; i < n; i++) {
        struct tenant *t = &tenants[i];
        double rate = t->service->rate_per_s, need = rate * t->service->n_output;
        double alone = t->batch / ((double)jobs[i].ps * 1e-12 * factors[i]);
        double beside = t->share <= least ? t->batch / turn_s : 0;
        double x = ratio(alone, need + u * (alone - beside));
        if (x * u > 1) {
            double full = ratio(beside, need);
            full = full < ratio(1, v) ? full : ratio(1, v);
            x = full > 1 / u ? full : 1 / u;
        }
        total += rate * (x < 1 ? x : 1);
        *headroom = x < *headroom ? x : *headroom;
    }
    return total;
}

static const struct candidate *candidate_of(const struct mux *mux, int32_t service, int32_t kind,
                                            int32_t n_devices)
{
    return &mux->candidates[(service * mux->problem->n_kinds + kind) * PLACE_DEGREES +
                            place_degree_index(n_devices)];
}

static struct tenant tenant_of(const struct place_problem *problem, int32_t service, int32_t kind,
                               int32_t n_devices, int32_t share_percent)
{
    const struct place_service *s = &problem->services[service];
    return (struct tenant){ .service = s,
                            .full = place_problem_perf(problem, service, kind, n_devices),
                            .table = perf_share_of(s->size.weights_bytes / n_devices, n_devices),
                            .share = share_percent / 100.0 };
}

static double batch_in(double n)
{
    return n < 1 ? 1 : n < BATCH_MAX ? num_floor(n) : BATCH_MAX;
}

/* KV is split by rate times bytes of a request (D-12). */
double place_muxserve_throughput(const struct place_problem *problem,
                                 const struct place_group *group, double *headroom)
{
    struct tenant tenants[PLACE_MEMBERS_MAX];
    double shares = 0, kv = (double)place_group_kv_bytes(problem, group);
    int32_t kind = place_group_kind(problem, group);
    for (int32_t i = 0; i < group->n_members; i++) {
        tenants[i] = tenant_of(problem, group->members[i].service, kind, group->n_devices,
                               group->members[i].share_percent);
        const struct place_service *s = tenants[i].service;
        shares += s->rate_per_s * (s->n_prompt + s->n_output) * (double)s->size.kv_bytes_per_token;
    }
    for (int32_t i = 0; i < group->n_members; i++)
        tenants[i].batch =
            batch_in(shares > 0 ? kv * tenants[i].service->rate_per_s / shares : BATCH_MAX);
    return throughput_of(tenants, group->n_members,
                         problem->kinds[kind].bytes_per_s * group->n_devices, headroom);
}

/* ---- Algorithm 2. ---- */

static struct candidate find_candidate(const struct mux *mux, int32_t service, int32_t kind,
                                       int32_t n_devices)
{
    const struct place_kind *of = &mux->problem->kinds[kind];
    struct candidate best = { .share_percent = 0 };
    for (int32_t share = SHARE_MIN; share <= SHARE_MAX; share += 10) {
        struct tenant t = tenant_of(mux->problem, service, kind, n_devices, share);
        const struct place_service *s = t.service;
        double kv = (double)(of->memory_bytes * n_devices -
                             place_problem_model_bytes(mux->problem, service));
        double headroom;
        t.batch = batch_in(kv / ((s->n_prompt + s->n_output) * (double)s->size.kv_bytes_per_token));
        (void)throughput_of(&t, 1, of->bytes_per_s * n_devices, &headroom);
        if (best.share_percent == 0 || headroom > best.headroom)
            best = (struct candidate){ share, headroom };
        if (headroom >= 1)
            break;
    }
    return best;
}

/* ---- Algorithm 1. ---- */

static bool takes(const struct mux *mux, const struct place_group *group, int32_t service)
{
    int32_t kind = place_group_kind(mux->problem, group), points = 0;
    for (int32_t i = 0; i < group->n_members; i++)
        points += group->members[i].share_percent;
    return place_group_takes(mux->problem, group, service, PLACE_MEMBERS_MAX) &&
           points + candidate_of(mux, service, kind, group->n_devices)->share_percent <= SHARES;
}

static bool is_twin(const struct mux *mux, const struct place_group *a, const struct place_group *b)
{
    return a->n_members == 0 && b->n_members == 0 && a->n_devices == b->n_devices &&
           place_group_kind(mux->problem, a) == place_group_kind(mux->problem, b);
}

/* Places a service where the unit's throughput grows most; among equals where more headroom is
 * left. Empty meshes of one kind and size are evaluated once. */
static bool place_one(struct mux *mux, int32_t service)
{
    struct place_plan *plan = &mux->trial;
    double most = 0, unit = 0, room = 0;
    int32_t best = -1;
    for (int32_t g = 0; g < plan->n_groups; g++) {
        bool is_seen = !takes(mux, &plan->groups[g], service);
        for (int32_t h = 0; h < g && !is_seen; h++)
            is_seen = is_twin(mux, &plan->groups[g], &plan->groups[h]);
        if (is_seen)
            continue;
        struct place_group with = plan->groups[g];
        int32_t kind = place_group_kind(mux->problem, &with);
        place_group_add(&with, service);
        with.members[with.n_members - 1].share_percent =
            candidate_of(mux, service, kind, with.n_devices)->share_percent;
        double headroom, grown = place_muxserve_throughput(mux->problem, &with, &headroom);
        double delta = grown - mux->units[g], same = 1e-9 * (1 + most);
        if (best >= 0 && (delta < most - same || (delta <= most + same && headroom <= room)))
            continue;
        best = g;
        most = delta;
        unit = grown;
        room = headroom;
    }
    if (best < 0)
        return false;
    int32_t kind = place_group_kind(mux->problem, &plan->groups[best]);
    place_group_add(&plan->groups[best], service);
    plan->groups[best].members[plan->groups[best].n_members - 1].share_percent =
        candidate_of(mux, service, kind, plan->groups[best].n_devices)->share_percent;
    mux->units[best] = unit;
    mux->rooms[best] = room;
    return true;
}

static void try_meshes(struct mux *mux)
{
    double throughput = 0, headroom = part_none;
    int32_t n_placed = 0;
    memset(mux->units, 0, (size_t)mux->problem->n_devices * sizeof(*mux->units));
    for (int32_t k = 0; k < mux->problem->n_services; k++)
        n_placed += place_one(mux, mux->order[k]);
    for (int32_t g = 0; g < mux->trial.n_groups; g++) {
        if (mux->trial.groups[g].n_members == 0)
            continue;
        throughput += mux->units[g];
        headroom = mux->rooms[g] < headroom ? mux->rooms[g] : headroom;
    }
    bool is_better = n_placed > mux->best_n_placed;
    if (n_placed == mux->best_n_placed)
        is_better =
            throughput > mux->best_throughput * (1 + 1e-9) ||
            (throughput >= mux->best_throughput * (1 - 1e-9) && headroom > mux->best_headroom);
    if (!is_better)
        return;
    place_plan_copy(&mux->best, &mux->trial);
    mux->best_n_placed = n_placed;
    mux->best_throughput = throughput;
    mux->best_headroom = headroom;
}

/* ---- Mesh groups. ---- */

struct nodes { /* alike */
    int32_t kind, n_devices, n, n_partitions;
    struct place_partition partitions[PLACE_PARTITIONS_MAX];
    int64_t n_choices; /* multisets of n partitions, or mixtures of two */
    bool is_mixed;
};

/* Returns C(n + k - 1, k - 1), the number of multisets, up to a bound. */
static int64_t multisets(int64_t n, int64_t k, int64_t most)
{
    int64_t product = 1;
    for (int64_t i = 1; i < k && product <= most; i++)
        product = product * (n + i) / i;
    return min_i64(product, most + 1);
}

static void count_choices(struct nodes *nodes)
{
    int64_t p = nodes->n_partitions;
    nodes->n_choices = multisets(nodes->n, p, COMBINATIONS_MAX);
    nodes->is_mixed = nodes->n_choices > COMBINATIONS_MAX;
    if (nodes->is_mixed)
        nodes->n_choices = p + 3 * (p * (p - 1) / 2);
}

/* Sets how many nodes have each partition in choice number `choice`. counts: (n_partitions). */
static void choose(const struct nodes *nodes, int64_t choice, int32_t *counts)
{
    int32_t p = nodes->n_partitions, left = nodes->n;
    memset(counts, 0, (size_t)p * sizeof(*counts));
    if (nodes->is_mixed) { /* one alone, or a quarter, half, three quarters of one and another */
        int64_t pair = (choice - p) / 3, a = 0;
        if (choice < p) {
            counts[choice] = left;
            return;
        }
        while (pair >= p - 1 - a)
            pair -= p - 1 - a++;
        counts[a] = max_i32(left * (int32_t)((choice - p) % 3 + 1) / 4, 1);
        counts[a + 1 + pair] = left - counts[a];
        return;
    }
    for (int32_t i = 0; i < p; i++) { /* the multisets in order: first those with most of i */
        int32_t n = left;
        if (i + 1 < p) {
            int64_t below = multisets(left - n, p - i - 1, COMBINATIONS_MAX);
            while (choice >= below) {
                choice -= below;
                n--;
                below = multisets(left - n, p - i - 1, COMBINATIONS_MAX);
            }
        }
        counts[i] = n;
        left -= n;
    }
}

static int32_t gather_nodes(const struct place_problem *problem, struct nodes *all, int32_t n_max)
{
    int32_t n = 0;
    for (int32_t i = 0; i < problem->n_nodes; i++) {
        int32_t k = 0;
        while (k < n && (all[k].kind != problem->nodes[i].kind ||
                         all[k].n_devices != problem->nodes[i].n_devices))
            k++;
        if (k == n && n == n_max) /* with more kinds of nodes, the last is like the first */
            k = 0;
        if (k == n) {
            all[n] = (struct nodes){ .kind = problem->nodes[i].kind,
                                     .n_devices = problem->nodes[i].n_devices };
            all[n].n_partitions =
                place_ground_partitions(problem->nodes[i].n_devices, all[n].partitions);
            n++;
        }
        all[k].n++;
    }
    for (int32_t k = 0; k < n; k++)
        count_choices(&all[k]);
    return n;
}

/* Makes the groups of a combination; choices: one per kind of nodes. */
static void cut_all(struct mux *mux, const struct nodes *all, int32_t n, const int64_t *choices)
{
    int32_t counts[PLACE_PARTITIONS_MAX];
    mux->trial.n_groups = 0;
    for (int32_t k = 0; k < n; k++) {
        int32_t p = 0;
        choose(&all[k], choices[k], counts);
        for (int32_t i = 0; i < mux->problem->n_nodes; i++) {
            const struct place_node *node = &mux->problem->nodes[i];
            if (node->kind != all[k].kind || node->n_devices != all[k].n_devices)
                continue;
            while (p + 1 < all[k].n_partitions && counts[p] == 0)
                p++;
            counts[p]--;
            place_ground_cut_node(&mux->trial, mux->problem, node, &all[k].partitions[p]);
        }
    }
}

static bool is_worth_it(const struct mux *mux)
{
    int32_t largest = 0, needed = 0, n_services = mux->problem->n_services;
    for (int32_t g = 0; g < mux->trial.n_groups; g++)
        largest = max_i32(largest, mux->trial.groups[g].n_devices);
    for (int32_t s = 0; s < n_services; s++)
        needed = max_i32(needed, mux->problem->services[s].base_degree);
    int32_t n_least = 0; /* more meshes than services only if nodes can't be cut into fewer */
    for (int32_t i = 0; i < mux->problem->n_nodes; i++)
        n_least += (mux->problem->nodes[i].n_devices + PLACE_GROUP_MAX - 1) / PLACE_GROUP_MAX;
    return largest >= needed && mux->trial.n_groups <= max_i32(n_services, 2 * n_least);
}

static void try_all(struct mux *mux)
{
    enum { NODES_MAX = 8 };
    struct nodes *all = pile_take(mux->desk->pile, NODES_MAX * sizeof(*all));
    int64_t choices[NODES_MAX], n_all = 1;
    int32_t n = gather_nodes(mux->problem, all, NODES_MAX);
    for (int32_t k = 0; k < n; k++)
        n_all = min_i64(n_all * all[k].n_choices, INT64_C(1) << 40);
    int64_t n_tried = min_i64(n_all, COMBINATIONS_MAX);
    for (int64_t i = 0; i < n_tried; i++) {
        int64_t left = n_tried == n_all ? i : n_all / n_tried * i;
        for (int32_t k = 0; k < n; k++) {
            choices[k] = left % all[k].n_choices;
            left /= all[k].n_choices;
        }
        cut_all(mux, all, n, choices);
        if (is_worth_it(mux) || (i + 1 == n_tried && mux->best_n_placed < 0))
            try_meshes(mux);
        if (i % 64 == 0)
            place_tell(mux->desk, "muxserve", i, n_tried);
    }
    place_tell(mux->desk, "muxserve", n_tried, n_tried);
}

/* Splits the KV of a unit by what its services need (D-12). */
static void set_quotas(const struct place_problem *problem, struct place_plan *plan)
{
    for (int32_t g = 0; g < plan->n_groups; g++) {
        struct place_group *group = &plan->groups[g];
        double asked[PLACE_MEMBERS_MAX], sum = 0;
        double pool = (double)place_group_kv_bytes(problem, group);
        for (int32_t m = 0; m < group->n_members; m++) {
            const struct place_service *s = &problem->services[group->members[m].service];
            asked[m] =
                s->rate_per_s * (s->n_prompt + s->n_output) * (double)s->size.kv_bytes_per_token;
            sum += asked[m];
        }
        for (int32_t m = 0; m < group->n_members && sum > 0 && group->n_members > 1; m++)
            group->members[m].kv_bytes = (int64_t)num_floor(0.999999 * pool * asked[m] / sum);
    }
}

static void plan(const struct place_desk *desk, struct place_plan *plan)
{
    const struct place_problem *problem = desk->problem;
    size_t n = (size_t)problem->n_services;
    struct mux mux = {
        .desk = desk,
        .problem = problem,
        .candidates = pile_take(desk->pile, n * (size_t)problem->n_kinds * PLACE_DEGREES *
                                                sizeof(*mux.candidates)),
        .order = pile_take(desk->pile, n * sizeof(*mux.order)),
        .units = pile_take(desk->pile, (size_t)problem->n_devices * sizeof(*mux.units)),
        .rooms = pile_take(desk->pile, (size_t)problem->n_devices * sizeof(*mux.rooms)),
        .best_n_placed = -1,
    };
    double *work = pile_take(desk->pile, n * sizeof(*work));
    for (int32_t s = 0; s < problem->n_services; s++) {
        const struct place_service *of = &problem->services[s];
        work[s] = of->rate_per_s * (double)of->size.weights_bytes * (of->n_prompt + of->n_output);
        for (int32_t k = 0; k < problem->n_kinds; k++)
            for (int32_t d = 0; d < PLACE_DEGREES; d++)
                if (place_problem_holds(problem, s, k, 1 << d))
                    mux.candidates[(s * problem->n_kinds + k) * PLACE_DEGREES + d] =
                        find_candidate(&mux, s, k, 1 << d);
    }
    place_planners_sort(work, problem->n_services, mux.order);
    place_plan_init(&mux.trial, problem, desk->pile);
    place_plan_init(&mux.best, problem, desk->pile);
    try_all(&mux);
    if (mux.best_n_placed >= 0)
        place_plan_copy(plan, &mux.best);
    place_plan_finish(plan, problem);
    set_quotas(problem, plan);
}

const struct place_planner place_muxserve = {
    .name = "muxserve",
    .source = "MuxServe, Algorithms 1 and 2, D-11, D-12",
    .summary = "mesh groups by throughput, services side by side in shares of the device",
    .optimises =
        "throughput by Eq. 3, corrected (D-21). A service gets the smallest share of a device that "
        "meets its rate. All mesh groups are tried (beyond 2,000, mixtures of two cuts of a "
        "node). Services are taken by rate times work, and each goes where the throughput of its "
        "unit grows most, then where most headroom is left. There is one copy of each, and shares "
        "have at most 120 points",
    .cost = "arithmetic only",
    .fails = "latency is no goal, and bursts are not counted. There are "
             "no copies, so a service that needs more than one mesh is not served",
    .n_members_max = PLACE_MEMBERS_MAX,
    .plan = plan,
};
