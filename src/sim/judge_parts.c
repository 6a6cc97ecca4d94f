/* Finds connected groups by union and find over services, and cuts parts of too many services. */
#include "sim/judge_parts.h"

#include "base/mem.h"
#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int by_shape(const void *a, const void *b)
{
    const int32_t *x = a, *y = b; /* all int32_t, with zeros behind a shape's members */
    for (size_t i = 0; i < sizeof(struct judge_shape) / sizeof(int32_t); i++)
        if (x[i] != y[i])
            return x[i] > y[i] ? 1 : -1;
    return 0;
}

static struct judge_shape shape_of(const struct place_problem *problem,
                                   const struct place_group *group)
{
    struct judge_shape shape = { .kind = place_group_kind(problem, group),
                                 .n_devices = group->n_devices,
                                 .division = group->division,
                                 .n_members = group->n_members };
    for (int32_t i = 0; i < group->n_members; i++)
        shape.services[i] = group->members[i].service;
    qsort(shape.services, (size_t)shape.n_members, sizeof(*shape.services), by_number);
    for (int32_t i = 0; i < group->n_members; i++) {
        const struct place_member *member = &group->members[i];
        int32_t at = 0;
        while (shape.services[at] != member->service)
            at++;
        shape.shares[at] = member->share_percent;
        shape.quotas[at][0] = (int32_t)(member->kv_bytes >> 31);
        shape.quotas[at][1] = (int32_t)(member->kv_bytes & INT32_MAX);
    }
    return shape;
}

static int32_t root_of(int32_t *parents, int32_t i)
{
    while (parents[i] != i)
        i = parents[i] = parents[parents[i]];
    return i;
}

/* Sets parents[s] to the least service that s is linked with. */
static void link_services(const struct place_plan *plan, int32_t *parents, int32_t n_services)
{
    for (int32_t s = 0; s < n_services; s++)
        parents[s] = s;
    for (int32_t g = 0; g < plan->n_groups; g++) {
        const struct place_group *group = &plan->groups[g];
        for (int32_t m = 1; m < group->n_members; m++) {
            int32_t a = root_of(parents, group->members[0].service);
            int32_t b = root_of(parents, group->members[m].service);
            parents[max_i32(a, b)] = min_i32(a, b);
        }
    }
}

struct maker {
    const struct place_problem *problem;
    struct hash128 window;
    int32_t *n_copies; /* (n_services) in the whole plan */
    int32_t *n_dealt;  /* (n_services) in the parts made so far */
    int32_t *n_own;    /* (n_services) in the part that is being made */
    struct judge_part **out;
    int32_t n;
};

/* A part of shapes [0, n). */
static void make_part(struct maker *maker, const struct judge_shape *shapes, int32_t n)
{
    struct judge_part *part = mem_take(sizeof(*part));
    struct judge_deal deals[JUDGE_SERVICES_MAX];
    part->n_groups = n;
    part->shapes = mem_take((size_t)n * sizeof(*shapes));
    memcpy(part->shapes, shapes, (size_t)n * sizeof(*shapes));
    qsort(part->shapes, (size_t)n, sizeof(*shapes), by_shape);
    for (int32_t g = 0; g < n; g++)
        for (int32_t m = 0; m < shapes[g].n_members; m++)
            maker->n_own[shapes[g].services[m]]++;
    for (int32_t s = 0; s < maker->problem->n_services; s++) {
        if (maker->n_own[s] == 0)
            continue;
        CHECK(part->n_services < JUDGE_SERVICES_MAX);
        deals[part->n_services++] =
            (struct judge_deal){ s, maker->n_own[s], maker->n_copies[s], maker->n_dealt[s] };
        maker->n_dealt[s] += maker->n_own[s];
        maker->n_own[s] = 0;
    }
    for (int32_t i = 0; i < part->n_services; i++)
        if (deals[i].n_own == deals[i].n_all) /* all of it: shapes have the number of copies */
            deals[i].n_own = deals[i].n_all = 1;
    size_t n_services = (size_t)part->n_services;
    part->deals = mem_take(n_services * sizeof(*deals));
    memcpy(part->deals, deals, n_services * sizeof(*deals));
    part->scores = mem_take(n_services * sizeof(*part->scores));
    struct hash128 hash = hash_fast(part->shapes, (size_t)n * sizeof(*shapes), maker->window.low);
    part->hash = hash_fast(part->deals, n_services * sizeof(*deals),
                           hash.low ^ (hash.high * 3) ^ (maker->window.high * 5));
    maker->out[maker->n++] = part;
}

static int32_t n_new_services(const struct judge_shape *shape, const bool *is_in)
{
    int32_t n = 0;
    for (int32_t m = 0; m < shape->n_members; m++)
        n += !is_in[shape->services[m]];
    return n;
}

/* Makes parts of linked shapes [0, n), and cuts them where they would have too many services. */
static void make_parts(struct maker *maker, struct judge_shape *shapes, int32_t n)
{
    bool *is_in = mem_take((size_t)maker->problem->n_services * sizeof(*is_in));
    int32_t from = 0, n_services = 0;
    qsort(shapes, (size_t)n, sizeof(*shapes), by_shape);
    for (int32_t g = 0; g < n; g++) {
        if (n_services + n_new_services(&shapes[g], is_in) > JUDGE_SERVICES_MAX) {
            make_part(maker, shapes + from, g - from);
            memset(is_in, 0, (size_t)maker->problem->n_services * sizeof(*is_in));
            from = g;
            n_services = 0;
        }
        n_services += n_new_services(&shapes[g], is_in);
        for (int32_t m = 0; m < shapes[g].n_members; m++)
            is_in[shapes[g].services[m]] = true;
    }
    make_part(maker, shapes + from, n - from);
    mem_give(is_in);
}

/* Puts shapes of linked groups behind each other: those of root r are [starts[r], starts[r +
 * 1]). */
static void sort_by_root(const struct place_problem *problem, const struct place_plan *plan,
                         struct judge_shape *shapes, int32_t *starts)
{
    size_t n_bytes = ((size_t)problem->n_services + 1) * sizeof(int32_t);
    int32_t *parents = mem_take(n_bytes), *at = mem_take(n_bytes);
    link_services(plan, parents, problem->n_services);
    for (int32_t g = 0; g < plan->n_groups; g++)
        if (plan->groups[g].n_members > 0)
            starts[root_of(parents, plan->groups[g].members[0].service) + 1]++;
    for (int32_t s = 0; s < problem->n_services; s++)
        starts[s + 1] += starts[s];
    memcpy(at, starts, n_bytes);
    for (int32_t g = 0; g < plan->n_groups; g++)
        if (plan->groups[g].n_members > 0)
            shapes[at[root_of(parents, plan->groups[g].members[0].service)]++] =
                shape_of(problem, &plan->groups[g]);
    mem_give(parents);
    mem_give(at);
}

int32_t judge_parts_of(const struct place_problem *problem, const struct place_plan *plan,
                       struct hash128 window, struct judge_part **out)
{
    size_t n_services = (size_t)problem->n_services;
    int32_t *starts = mem_take((n_services + 1) * sizeof(*starts));
    struct judge_shape *shapes = mem_take((size_t)max_i32(plan->n_groups, 1) * sizeof(*shapes));
    struct maker maker = { .problem = problem,
                           .window = window,
                           .n_copies = mem_take(n_services * sizeof(int32_t)),
                           .n_dealt = mem_take(n_services * sizeof(int32_t)),
                           .n_own = mem_take(n_services * sizeof(int32_t)),
                           .out = out };
    for (int32_t g = 0; g < plan->n_groups; g++)
        for (int32_t m = 0; m < plan->groups[g].n_members; m++)
            maker.n_copies[plan->groups[g].members[m].service]++;
    sort_by_root(problem, plan, shapes, starts);
    for (int32_t s = 0; s < problem->n_services; s++)
        if (starts[s + 1] > starts[s])
            make_parts(&maker, shapes + starts[s], starts[s + 1] - starts[s]);
    mem_give(starts);
    mem_give(shapes);
    mem_give(maker.n_copies);
    mem_give(maker.n_dealt);
    mem_give(maker.n_own);
    return maker.n;
}

void judge_parts_close(struct judge_part *part)
{
    mem_give(part->shapes);
    mem_give(part->deals);
    mem_give(part->scores);
    mem_give(part->latencies);
    mem_give(part);
}
