/* What travels on the bus: a head with version, kind and length, then a flat record of that kind.
 *
 *   gateway -> node     OPEN (a session begins)   SUBMIT (engine, request, body)
 *                       CANCEL (engine, id, epoch)
 *   node -> gateway     EVENT (service_event, payload)   REPORT (engine_report)   CHANGE
 *   both ways of these  BEAT (nothing else was said for a second)   CLOSED (the session is over)
 *   node -> manager     REPORT, CHANGE (a model begins to come, came, goes, went, failed here)
 *   manager -> node     LOAD, UNLOAD, OUST (an unload even with requests), DRAIN (engine, service)
 *   gateway -> manager  WANT (service: requests are held for it), ASK (a control ask),
 *                       SPACE (engine, service: a request needs bytes that others have there)
 *   manager -> gateway  CHANGE (BROKEN: what is held for it ends), ANSWER
 *
 * Messages between a gateway and a node belong to a session (cluster/link.h).
 *
 * Services, adapters and tenants travel as 64-bit hashes, since each actor has numbers of its own
 * (cluster/roster.h). An engine travels as the number that its node has for it.
 *
 * Times travel as spans, since each machine has a clock of its own: how long ago something was, or
 * how long it is still to be. The receiver reckons them back with its own clock when it takes the
 * message, so the time under way is not in them.
 *
 * All ends are of one version: a message of another is dropped as malformed. A change of what a
 * record says, or of how long it is, raises the version. */
#pragma once
#include "cluster/roster.h"
#include "core/control.h"
#include "core/service.h"

enum { MESSAGE_VERSION = 9 };
enum message_kind {
    MESSAGE_SUBMIT,
    MESSAGE_CANCEL,
    MESSAGE_EVENT,
    MESSAGE_REPORT,
    MESSAGE_CHANGE,
    MESSAGE_LOAD,
    MESSAGE_UNLOAD,
    MESSAGE_OUST,
    MESSAGE_DRAIN,
    MESSAGE_WANT,
    MESSAGE_SPACE,
    MESSAGE_ASK,
    MESSAGE_ANSWER,
    MESSAGE_OPEN,
    MESSAGE_BEAT,
    MESSAGE_CLOSED,
    MESSAGE_N,
};
struct message_head {
    uint16_t version, kind;
    uint16_t engine;
    uint16_t from;    /* the sender's address */
    uint32_t n_bytes; /* of all of it */
    uint32_t epoch;   /* CANCEL: of the submission that ends */
    uint64_t service; /* its name; 0: the message is about none */
    uint64_t id;      /* of a request or an ask */
    uint64_t session; /* 0: of none */
    uint32_t number;  /* its place in the session, the first being 0, each way its own */
    uint32_t zero;    /* so that no byte is undefined */
};
struct message_submit { /* then the request_body */
    struct message_head head;
    uint64_t adapter; /* its name; 0: none */
    /* Its times are spans: see cluster_message_request_to_spans. Its service and variant are 0: the
     * names above count. Its cohort is the session's. */
    struct request request;
};
struct message_event { /* then the payload */
    struct message_head head;
    struct service_event event; /* served_ns is a span: how long ago, -1 when it is not known */
};
/* A report without its rows (n_services says how many follow, and nothing is listed), then the rows
 * of its services, then their names. It tells all that there is to tell: what it does not name is
 * gone, so a lost or repeated one does no harm. */
struct message_report {
    struct message_head head;
    struct engine_report report;
    uint64_t names[LIMIT_SERVICES]; /* room; the names stand behind the last row */
};
/* Of a report with so many rows. */
static inline size_t cluster_message_report_bytes(int n_rows)
{
    return offsetof(struct message_report, report) + engine_report_bytes(n_rows) +
           sizeof(uint64_t) * (size_t)n_rows;
}
/* Writes the message, whose sender, engine and so on are in its head already: the rows of the
 * services that the report lists and the roster has, in the same life. Returns its bytes. */
size_t cluster_message_write_report(const struct engine_report *report,
                                    const struct cluster_roster *roster,
                                    struct message_report *message, int64_t now_ns);
/* Into what an earlier message said, or zeroes; engine and n_services stay. Rows of services that
 * the roster does not have, or that are beyond n_services, are left out. */
void cluster_message_read_report(const struct message_report *message,
                                 const struct cluster_roster *roster, struct engine_report *report,
                                 int64_t now_ns);
struct message_change {
    struct message_head head;
    struct service_change change; /* its engine, service and life are 0: the head's count */
};
struct message_space {
    struct message_head head;
    int64_t n_bytes; /* of KV, that the request may come to need */
    uint8_t insists; /* its answer has begun: who is pinned or busy there leaves for it */
};
struct message_ask {
    struct message_head head;
    uint8_t kind; /* enum control_kind */
};
struct message_answer {
    struct message_head head;
    uint8_t status; /* enum status */
    struct fault fault;
};

/* A request's times as spans from now: arrived_ns, first_ns and served_ns become ages (first_ns -1
 * when there is no first token yet), deadline_ns the time that is left. And back. */
void cluster_message_request_to_spans(struct request *request, int64_t now_ns);
void cluster_message_request_of_spans(struct request *request, int64_t now_ns);

struct message_head cluster_message_head(enum message_kind kind, uint16_t from, size_t n_bytes);
/* `name`: of the change's service. */
struct message_change cluster_message_change(uint16_t from, uint64_t name,
                                             const struct service_change *change);
/* The change with the service that the roster has for it; false when it has none. */
bool cluster_message_read_change(const struct message_change *message,
                                 const struct cluster_roster *roster,
                                 struct service_change *change);
/* What came from outside: the kind's size, indices, the body inside a SUBMIT, the payload of an
 * EVENT. The sender has n_engines. */
bool cluster_message_is_valid(const void *message, size_t n_bytes, int n_engines);
