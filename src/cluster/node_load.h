/* The requests that each gateway has on an engine of a node, summed by service. A node tells each
 * gateway the sums of the other ones with its reports, so that several gateways place nearly as one
 * would. */
#pragma once
#include "cluster/node_lives.h"
#include "route/policy.h"

struct node_load {
    struct route_others *sums; /* (n_links + 1, n_services) the last row is of all links */
    struct route_others *rest; /* (n_services) scratch */
    int n_links, n_services;
};
/* Makes room for links and services; never fewer than before. */
void node_load_fit(struct node_load *load, int n_links, int n_services);
void node_load_free(struct node_load *load);
/* Counts the requests on an engine. Those of sessions that are over do not count. */
void node_load_count(struct node_load *load, const struct node_lives *lives, int engine,
                     int64_t now_ns);
/* Returns (n_services) what all links but this one have there, until the next call; NULL: they have
 * nothing. */
const struct route_others *node_load_of_others(struct node_load *load, int link);
