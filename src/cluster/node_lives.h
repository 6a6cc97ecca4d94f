/* The requests that a node has accepted: the session that each came over, its engine, and what it
 * is expected to cost there.
 *
 *   none --submitted--> THERE --its ENDED or RETURNED leaves--> none
 *                         |--its session ends--> ORPHAN --its ENDED or RETURNED--> none
 *
 * A node has one submission of a request at a time. An orphan is cancelled, and its events are
 * dropped. Until it has ended, another submission of the request is refused. */
#pragma once
#include "base/map.h"

struct node_life {
    uint64_t id, session; /* session 0 means an orphan */
    uint32_t epoch;
    uint16_t engine, peer; /* peer: index of its link */
    uint16_t service;
    int32_t n_prompt, n_tokens; /* as its events say */
    int32_t n_predicted;        /* of its answer, by its gateway; 0 = unknown */
    int64_t first_ns;           /* of its first token; 0: it has none */
    int64_t load;               /* route_choice.load */
};
struct node_lives {
    struct map by_id;
    struct node_life *of; /* (n_max) the first n */
    uint32_t n, n_max;
};

void node_lives_init(struct node_lives *lives, uint32_t n_max);
void node_lives_free(struct node_lives *lives);
struct node_life *node_lives_find(const struct node_lives *lives, uint64_t id); /* NULL: none */
/* Adds one whose id is new. Returns false when n_max are there. */
bool node_lives_add(struct node_lives *lives, const struct node_life *life);
/* Removes it. The last one takes its place in `of`. */
void node_lives_remove(struct node_lives *lives, struct node_life *life);
