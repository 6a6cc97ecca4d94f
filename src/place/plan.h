/* A plan: groups of devices, and the services on each. Each group becomes one engine.
 *
 * Every plan keeps these promises (check.h tests them). Groups have 1, 2, 4, 8 or 16 neighbouring
 * devices of one node, are aligned to their size within it, and share no device. A service is at
 * most once in a group. Weights and activations of a group leave the KV floor of place_limits.
 * Every service is in a group, or refused with a sentence that has the arithmetic. Devices in no
 * group are spare. */
#pragma once
#include "base/pile.h"
#include "place/division.h"
#include "place/problem.h"

enum { PLACE_MEMBERS_MAX = 16, PLACE_WHY_BYTES = 200 };
struct place_member {
    int32_t service;
    int32_t share_percent; /* of the device, for its decodes (MuxServe); 100 = all of it */
    int64_t kv_bytes;      /* its quota of the group's KV; 0 = no quota, all share */
};
struct place_group {
    int32_t node, first_device, n_devices, n_members;
    int32_t division; /* into lanes (division.h); PLACE_DIVISION_USUAL unless limits let the plan
                         choose */
    struct place_member members[PLACE_MEMBERS_MAX];
};
struct place_refusal {
    int32_t service;
    char why[PLACE_WHY_BYTES];
};
struct place_plan {
    int32_t n_groups, n_refused;
    struct place_group *groups;    /* (the problem's n_devices), n_groups are in use */
    struct place_refusal *refused; /* (problem's n_services) */
};
/* Makes an empty plan. Its arrays come from the pile and live as long as it. */
void place_plan_init(struct place_plan *plan, const struct place_problem *problem,
                     struct pile *pile);
void place_plan_copy(struct place_plan *to, const struct place_plan *from); /* of one problem */
bool place_plan_equal(const struct place_plan *a, const struct place_plan *b);

/* Adds an empty group, which must lie in one node. */
struct place_group *place_plan_add_group(struct place_plan *plan,
                                         const struct place_problem *problem, int32_t first_device,
                                         int32_t n_devices);
/* Cuts every node into groups of n_devices, and the rest of a node into smaller powers of two. */
void place_plan_cut(struct place_plan *plan, const struct place_problem *problem,
                    int32_t n_devices);
/* Both calls drop the group's quotas, because these were for its former members. */
void place_group_add(struct place_group *group, int32_t service);
void place_group_remove(struct place_group *group, int32_t service);
bool place_group_has(const struct place_group *group, int32_t service);
/* Returns whether the group would still leave its KV floor with this service too. False when it has
 * the service already, or has n_members_max. */
bool place_group_takes(const struct place_problem *problem, const struct place_group *group,
                       int32_t service, int32_t n_members_max);
int64_t place_group_memory(const struct place_problem *problem, const struct place_group *group);
/* Returns the bytes of the KV pool: memory less weights and activations. */
int64_t place_group_kv_bytes(const struct place_problem *problem, const struct place_group *group);
int32_t place_group_kind(const struct place_problem *problem, const struct place_group *group);

int32_t place_plan_copies(const struct place_plan *plan, int32_t service); /* groups that have it */
int32_t place_plan_devices(const struct place_plan *plan); /* in groups that have a service */
double place_plan_cost(const struct place_plan *plan, const struct place_problem *problem);
/* Ends every planner's work. It drops groups without a service, orders the others by their first
 * device and members by service, and refuses every service without a group. */
void place_plan_finish(struct place_plan *plan, const struct place_problem *problem);
