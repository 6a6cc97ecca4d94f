/* A link: one session between a gateway and a node, for one of its ends.
 *
 *   gateway  NONE --begins: draws a session, sends OPEN--> OPEN --ends--> NONE
 *   node     NONE --takes OPEN--> OPEN --ends, or takes another OPEN--> NONE
 *
 * Within a session each message counts once and in order, and a session that cannot keep this ends.
 * On a bus that drops single messages, each end keeps copies of the last ones that it sent. An end
 * that finds a gap says RESEND with the number that it expects, and the other one sends everything
 * from there on again. Elsewhere, and when the copy is gone, a missing message ends the session.
 *
 * A session ends when a message is missing, when the other end sends CLOSED, or, on a bus that can
 * lose messages, after 3 s of silence. Both ends send BEAT after a second without another message.
 * A port whose connection to the peer breaks sends CLOSED of session 0, which ends whatever session
 * is open. When a session has ended, the gateway takes back each request that it sent over it. The
 * node ends each request that came over it, and no message of it counts again.
 *
 * Silence is counted in steps of at most a second, so that an end which was itself stopped for long
 * does not take the other one for dead. */
#pragma once
#include "cluster/bus.h"
#include "cluster/message.h"

struct cluster_link {
    struct bus_port port;
    uint16_t peer;    /* its address */
    uint64_t session; /* 0: none */
    /* private below */
    uint32_t n_sent, n_taken; /* numbered messages of this session, each way */
    int64_t now_ns, said_ns, silent_ns;
    struct cluster_link_copy {
        size_t n_bytes;
        void *bytes;
    } * copies;       /* a ring of the last CLUSTER_LINK_COPIES, by number; NULL: none is kept */
    int64_t asked_ns; /* RESEND was said last */
};
enum { CLUSTER_LINK_COPIES = 512 };

enum cluster_link_verdict {
    CLUSTER_LINK_COUNTS,  /* it is the next of this session */
    CLUSTER_LINK_PAST,    /* a repeated message, or one of another session */
    CLUSTER_LINK_MISSING, /* messages before it are missing, so the session has to end */
};

/* Begins a session with this id, which is not 0. */
void cluster_link_begin(struct cluster_link *link, uint64_t session, int64_t now_ns);
/* Ends the session and sends CLOSED. Does nothing without a session. */
void cluster_link_end(struct cluster_link *link);
/* Gives back what it keeps. Says nothing. */
void cluster_link_free(struct cluster_link *link);
/* Sends a message that begins with a message_head, which gets session and number. Returns false
 * when there is no session, or the bus is full. */
bool cluster_link_send(struct cluster_link *link, void *message, size_t n_bytes, const void *part2,
                       size_t n2);
/* Judges a message from the peer. One of an unknown session is answered with CLOSED. */
enum cluster_link_verdict cluster_link_take(struct cluster_link *link,
                                            const struct message_head *head);
/* Leaves the last message unread, so that it counts when it comes again. */
void cluster_link_untake(struct cluster_link *link);
/* Sends BEAT when it is due. Returns false when the session has to end because the peer is silent.
 * Moves *wake_ns to the time of the next step if that is earlier. */
bool cluster_link_step(struct cluster_link *link, int64_t now_ns, int64_t *wake_ns);
