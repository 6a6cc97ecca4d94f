/* A node's session with the leading manager of its cluster. Private to the node.
 *
 *   NONE --LEAD with a stamp that may be obeyed--> OPEN --CLOSED, silence, a message is missing-->
 * NONE OPEN --LEAD with such a stamp----------------> OPEN
 *
 * A LEAD whose stamp is refused is answered with FENCE and changes nothing. So is one without a
 * session, by which a candidate asks. The fence has a new
 * stamp on disk before the session begins. An order counts in the session alone, and it carries the
 * epoch of the stamp that opened it. */
#pragma once
#include "cluster/link.h"
#include "store/fence.h"

struct node_lead {
    struct store_fence *fence; /* NULL: the node obeys no manager of another process */
    struct cluster_link link;
    struct store_stamp stamp; /* of the session */
    uint32_t n_refused;       /* so that a refusal is logged once in a while */
};
void node_lead_init(struct node_lead *lead, const struct bus_port *port, struct store_fence *fence);
/* Returns whether the message is the leading manager's, or that of a candidate. */
bool node_lead_is_for(const struct node_lead *lead, const struct message_head *head);
/* Takes such a message, which is valid. Returns true when it is an order that counts. */
bool node_lead_take(struct node_lead *lead, const struct message_head *head, int64_t now_ns);
/* Sends a message in the session. Returns false when it has no room; true, too, without a
 * session. */
bool node_lead_send(struct node_lead *lead, void *message, size_t n_bytes);
/* Passes on a gateway's WANT, SPACE or DEMAND, if there is a session and room. */
void node_lead_pass_on(struct node_lead *lead, const struct message_head *head, size_t n_bytes);
/* Ends the session. The manager begins another one, in which no earlier order is in progress. */
void node_lead_end(struct node_lead *lead);
void node_lead_step(struct node_lead *lead, int64_t now_ns, int64_t *wake_ns);
