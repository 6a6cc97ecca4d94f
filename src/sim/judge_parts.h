/* Divides a plan into parts: groups that share services. Their order does not depend on where they
 * lie, so equal parts have equal hashes. */
#pragma once
#include "base/hash.h"
#include "place/judge.h"

enum { JUDGE_SERVICES_MAX = 64 }; /* of a part, so that large plans have several to simulate */

struct judge_shape { /* a group, whatever devices it has */
    int32_t kind, n_devices, division, n_members, services[PLACE_MEMBERS_MAX]; /* ascending */
    int32_t shares[PLACE_MEMBERS_MAX];    /* percent, one per member */
    int32_t quotas[PLACE_MEMBERS_MAX][2]; /* bytes: the upper half, the lower 31 bits */
};
/* The k-th request of a service is this part's when k mod n_all is in [before, before + n_own). */
struct judge_deal {
    int32_t service, n_own, n_all, before;
};
struct judge_part {
    struct hash128 hash;
    int32_t n_groups, n_services;
    struct judge_shape *shapes; /* (n_groups) ascending */
    struct judge_deal *deals;   /* (n_services) ascending by service, at most JUDGE_SERVICES_MAX */
    /* The results. */
    struct place_service_score *scores; /* (n_services) */
    float *latencies;                   /* (n_latencies) s, of all requests */
    int32_t n_latencies;
    int64_t n_steps; /* that its engines took */
    int64_t search;  /* the last search that used it */
};
/* Makes the parts of a plan for a window; out: (the plan's n_groups). Returns how many. */
int32_t judge_parts_of(const struct place_problem *problem, const struct place_plan *plan,
                       struct hash128 window, struct judge_part **out);
void judge_parts_close(struct judge_part *part);
