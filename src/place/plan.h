/* A plan: groups of devices, each of which becomes one engine, and which services live in it.
 *
 * What a plan promises (check.h tests it): groups are of 1, 2, 4, 8 or 16 neighbouring devices of
 * one node, aligned to their size within it, and share no device; a service is at most once in a
 * group; weights and activations of a group leave the KV floor of place_limits; every service is in
 * a group, or refused with a sentence that has the arithmetic. Devices in no group are spare. */
#pragma once
#include "base/pile.h"
#include "place/division.h"
#include "place/problem.h"

enum { PLACE_MEMBERS_MAX = 16, PLACE_WHY_BYTES = 200 };
struct place_member {
    int32_t service;
    int32_t share_percent; /* of the device that its decodes get (MuxServe); 100 = all of it */
    int64_t kv_bytes;      /* its quota of the group's KV; 0 = none, all share */
};
struct place_group {
    int32_t node, first_device, n_devices, n_members;
    int32_t
        division; /* into lanes (division.h); PLACE_DIVISION_USUAL unless limits let it choose */
    struct place_member members[PLACE_MEMBERS_MAX];
};
struct place_refusal {
    int32_t service;
    char why[PLACE_WHY_BYTES];
};
struct place_plan {
    int32_t n_groups, n_refused;
    struct place_group *groups;    /* (problem's n_devices), n_groups of them there */
    struct place_refusal *refused; /* (problem's n_services) */
};
/* Empty; its arrays come out of the pile and live as long. */
void place_plan_init(struct place_plan *plan, const struct place_problem *problem,
                     struct pile *pile);
void place_plan_copy(struct place_plan *to, const struct place_plan *from); /* of one problem */
bool place_plan_equal(const struct place_plan *a, const struct place_plan *b);

/* Adds an empty group; it must lie in one node. */
struct place_group *place_plan_add_group(struct place_plan *plan,
                                         const struct place_problem *problem, int32_t first_device,
                                         int32_t n_devices);
/* Cuts every node into groups of n_devices, and what is left of a node into smaller powers of two.
 */
void place_plan_cut(struct place_plan *plan, const struct place_problem *problem,
                    int32_t n_devices);
/* Quotas of a group were for the members it had: it loses them. */
void place_group_add(struct place_group *group, int32_t service);
void place_group_remove(struct place_group *group, int32_t service);
bool place_group_has(const struct place_group *group, int32_t service);
/* Would the group still leave its KV floor with this service too? False when it is there already or
 * the group has n_members_max. */
bool place_group_takes(const struct place_problem *problem, const struct place_group *group,
                       int32_t service, int32_t n_members_max);
int64_t place_group_memory(const struct place_problem *problem, const struct place_group *group);
/* Memory less weights and activations: the KV pool. */
int64_t place_group_kv_bytes(const struct place_problem *problem, const struct place_group *group);
int32_t place_group_kind(const struct place_problem *problem, const struct place_group *group);

int32_t place_plan_copies(const struct place_plan *plan, int32_t service); /* groups that have it */
int32_t place_plan_devices(const struct place_plan *plan); /* in groups that have a service */
double place_plan_cost(const struct place_plan *plan, const struct place_problem *problem);
/* Takes groups without a service out, orders the others by their first device and members by
 * service, and refuses every service that is in no group: each planner ends with it. */
void place_plan_finish(struct place_plan *plan, const struct place_problem *problem);
