/* The messages on the bus: a head with version, kind and length, then a flat record of that kind.
 *
 *   gateway -> node     OPEN (a session begins)   SUBMIT (engine, request, body)
 *                       CANCEL (engine, id, epoch)
 *   node -> gateway     EVENT (service_event, payload)   REPORT (engine_report)   CHANGE
 *   both ways of these  BEAT (nothing else was said for a second)   CLOSED (the session is over)
 *                       RESEND (id: the number of a message that is missing)
 *   node -> manager     REPORT, CHANGE (a model begins to come, came, goes, went, failed here)
 *   manager -> node     LOAD, UNLOAD, OUST (an unload even with requests), SLEEP (an unload that
 *                       keeps the packed weights), DRAIN (engine, service)
 *   gateway -> manager  WANT (service: requests are held for it), ASK (a control ask),
 *                       SPACE (engine, service: a request needs bytes that others have there)
 *                       (a gateway without a manager says WANT and SPACE to nodes, for theirs)
 *   gateway -> node -> leading manager  DEMAND (what the gateway counted of a service so far)
 *   leading manager -> node  LEAD (a session begins, with the manager's stamp), then orders
 *   node -> leading manager  FENCE (the stamp is refused; the one that the node obeyed last), or in
 *                       the session REPORT, CHANGE, and the gateways' WANT, SPACE and DEMAND
 *   manager -> gateway  CHANGE (BROKEN: what is held for it ends), ANSWER
 *
 * Messages between a gateway and a node belong to a session (cluster/link.h).
 *
 * Services, adapters and tenants travel as 64-bit hashes, since each actor has its own numbers
 * (cluster/roster.h). An engine travels as the number that its node has for it.
 *
 * Times travel as spans, since each machine has its own clock: how long ago something was, or how
 * long until it is. The receiver converts them with its own clock when it takes the message, so the
 * time in flight is not in them.
 *
 * All ends have the same version, and a message of another version is dropped as malformed. A
 * change of a record's meaning or length raises the version. */
#pragma once
#include "cluster/roster.h"
#include "core/control.h"
#include "core/service.h"
#include "monitor/monitor.h"
#include "route/policy.h"
#include "store/fence.h"

enum { MESSAGE_VERSION = 14 };
/* The bytes of the longest message: a SUBMIT with the longest possible prompt. */
#define MESSAGE_BYTES_MAX ((size_t)5 << 20)
enum message_kind {
    MESSAGE_SUBMIT,
    MESSAGE_CANCEL,
    MESSAGE_EVENT,
    MESSAGE_REPORT,
    MESSAGE_CHANGE,
    MESSAGE_LOAD,
    MESSAGE_UNLOAD,
    MESSAGE_OUST,
    MESSAGE_SLEEP,
    MESSAGE_DRAIN,
    MESSAGE_WANT,
    MESSAGE_SPACE,
    MESSAGE_ASK,
    MESSAGE_ANSWER,
    MESSAGE_OPEN,
    MESSAGE_BEAT,
    MESSAGE_CLOSED,
    MESSAGE_LEAD,
    MESSAGE_FENCE,
    MESSAGE_DEMAND,
    MESSAGE_RESEND,
    MESSAGE_N,
};
struct message_head {
    uint16_t version, kind;
    uint16_t engine;
    uint16_t from;    /* the sender's address */
    uint32_t n_bytes; /* of the whole message */
    uint32_t epoch;   /* CANCEL: the submission that ends; an order: of its manager, low bits */
    uint64_t service; /* its name; 0: the message is about no service */
    uint64_t id;      /* of a request or a control call */
    uint64_t session; /* 0: no session */
    uint32_t number;  /* its place in the session, from 0, in each direction separately */
    uint32_t zero;    /* so that no byte is undefined */
};
/* The place of kept KV: the bulk door of a node (bulk/door.h), and the engine behind it. */
struct cluster_place {
    uint8_t host[16]; /* IPv6; IPv4 is mapped into it */
    uint16_t port;    /* 0: the node has no door for others */
    uint16_t engine;  /* of the node */
    uint32_t zero;
};
struct message_submit { /* then the request_body */
    struct message_head head;
    uint64_t adapter;           /* its name; 0: none */
    struct cluster_place place; /* of the offer that the request's ticket names */
    int64_t load; /* that it adds to its engine, in the unit of the gateways' router */
    /* Its times are spans: see cluster_message_request_to_spans. Its service and variant are 0,
     * since the names above count. Its cohort is the session's. */
    struct request request;
};
struct message_event { /* then the payload */
    struct message_head head;
    struct service_event event; /* served_ns is a span: how long ago, -1 when unknown */
};
/* A report without its rows (n_services is how many follow, and nothing is listed), then the rows
 * of its services, then their names. It is complete: what it does not name is gone, so a lost or
 * repeated report does no harm. In a report to a gateway a row of route_others follows for each
 * name, unless no other gateway has requests there. */
struct message_report {
    struct message_head head;
    struct cluster_place place; /* where KV that this engine offers is kept */
    struct engine_report report;
    uint64_t names[LIMIT_SERVICES];             /* room; the names follow the last row */
    struct route_others others[LIMIT_SERVICES]; /* room; they follow the last name */
};
/* Returns the bytes of a report with n_rows rows. */
static inline size_t cluster_message_report_bytes(int n_rows)
{
    return offsetof(struct message_report, report) + engine_report_bytes(n_rows) +
           sizeof(uint64_t) * (size_t)n_rows;
}
/* Writes the rows of the services that the report lists and the roster has, in the same life. The
 * message's head already has its sender, engine and so on. Returns its bytes. */
size_t cluster_message_write_report(const struct engine_report *report,
                                    const struct cluster_roster *roster,
                                    struct message_report *message, int64_t now_ns);
/* Adds what other gateways have there to a written report, or leaves it out again if `others` is
 * NULL. others: (n of the roster's services). Returns the message's bytes. */
size_t cluster_message_write_others(const struct route_others *others,
                                    const struct cluster_roster *roster,
                                    struct message_report *message);
/* Reads them. others: (n_services) those that the report does not name become zero. */
void cluster_message_read_others(const struct message_report *message,
                                 const struct cluster_roster *roster, int n_services,
                                 struct route_others *others);
/* Reads a report into the result of an earlier message, or zeros; engine and n_services stay. Rows
 * of services that the roster does not have, or that are beyond n_services, are left out. */
void cluster_message_read_report(const struct message_report *message,
                                 const struct cluster_roster *roster, struct engine_report *report,
                                 int64_t now_ns);
struct message_change {
    struct message_head head;
    struct service_change change; /* its engine, service and life are 0, since the head's count */
};
struct message_space {
    struct message_head head;
    int64_t n_bytes; /* of KV, that the request may come to need */
    uint8_t insists; /* its answer has begun, so even pinned or busy models there leave for it */
};
struct message_ask {
    struct message_head head;
    uint8_t kind; /* enum control_kind */
};
struct message_lead {
    struct message_head head;
    struct store_stamp stamp;
};
struct message_fence {
    struct message_head head;
    uint64_t verdict;        /* enum store_verdict */
    struct store_stamp kept; /* of the manager that the node obeyed last */
};
/* A gateway sends what it counted of a service since it started. Sums only grow, so a lost or
 * repeated message does no harm, and a later one contains it. The head's id is the gateway's
 * life. */
struct message_demand {
    struct message_head head;
    uint64_t number;          /* of the messages of this service, from 1; older ones are dropped */
    int32_t n_engines_wanted; /* by the gateway's router (route/policy.h); 0: it says nothing */
    uint32_t zero;
    struct monitor_bin sums; /* its greatest latency is that since the last message */
};
struct message_answer {
    struct message_head head;
    uint8_t status; /* enum status */
    struct fault fault;
};

/* Converts a request's times to spans from now, and back. arrived_ns, first_ns and served_ns become
 * ages (first_ns -1 when there is no first token yet), and deadline_ns the remaining time. */
void cluster_message_request_to_spans(struct request *request, int64_t now_ns);
void cluster_message_request_of_spans(struct request *request, int64_t now_ns);

struct message_head cluster_message_head(enum message_kind kind, uint16_t from, size_t n_bytes);
/* `name`: of the changed service. */
struct message_change cluster_message_change(uint16_t from, uint64_t name,
                                             const struct service_change *change);
/* Reads the change with the roster's number of the service. Returns false when the roster has no
 * such service. */
bool cluster_message_read_change(const struct message_change *message,
                                 const struct cluster_roster *roster,
                                 struct service_change *change);
/* Checks a message from outside: the kind's size, indices, the body inside a SUBMIT, the payload of
 * an EVENT. The sender has n_engines. */
bool cluster_message_is_valid(const void *message, size_t n_bytes, int n_engines);
