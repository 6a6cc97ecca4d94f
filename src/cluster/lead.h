/* The leading manager's sessions with its nodes: the port through which a manager of many nodes
 * (cluster/manager.h) sends orders and gets reports.
 *
 *   of each node: NONE --draws a session, LEAD with the manager's stamp--> OPEN
 *                 OPEN --CLOSED, 3 s of silence, a message is missing, FENCE--> NONE
 *
 * Orders go out only while the manager may act (store/leader.h), and carry its epoch. A node that
 * obeyed another manager answers LEAD with FENCE, which the caller tells its candidate. */
#pragma once
#include "cluster/bus.h"
#include "cluster/nodes.h"
#include "store/fence.h"

/* The address that a manager of many nodes has for gateways; what it sends there goes nowhere. */
#define CLUSTER_LEAD_NO_GATEWAY (UINT16_MAX - 1)

/* For a candidate, which asks its nodes now and then, so that its connections stay and its next
 * epoch is above all that they obeyed. */
void cluster_lead_ask(const struct bus_port *port, uint16_t node);
/* Reads a node's answer. Returns false for any other message. */
bool cluster_lead_read_answer(const void *message, size_t n_bytes, struct store_stamp *kept);

struct cluster_lead;
struct cluster_lead_options {
    struct bus_port port;
    const struct cluster_node_at *nodes; /* (n_nodes) copied */
    int n_nodes;
    struct store_stamp stamp;
    uint64_t seed; /* of sessions */
    /* Asked before each order. */
    bool (*may_act)(void *self);
    void *self;
};
struct cluster_lead *cluster_lead_open(const struct cluster_lead_options *options);
void cluster_lead_close(struct cluster_lead *lead); /* ends the sessions */
/* For the manager alone. */
struct bus_port cluster_lead_port(struct cluster_lead *lead);
int64_t cluster_lead_step(struct cluster_lead *lead, int64_t now_ns); /* next wake */
bool cluster_lead_has_session(const struct cluster_lead *lead, int node);
/* Returns a node whose session has ended since the last call, or -1. */
int cluster_lead_next_lost(struct cluster_lead *lead);
/* Returns true, once each, for a manager that a node obeyed instead. */
bool cluster_lead_next_refusal(struct cluster_lead *lead, struct store_stamp *kept);
