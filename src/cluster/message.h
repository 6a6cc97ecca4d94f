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
 * Times travel as spans, since each machine has a clock of its own: how long ago something was, or
 * how long it is still to be. The receiver reckons them back with its own clock when it takes the
 * message, so the time under way is not in them.
 *
 * All ends are of one version: a message of another is dropped as malformed. A change of what a
 * record says, or of how long it is, raises the version. */
#pragma once
#include "core/control.h"
#include "core/service.h"

enum { MESSAGE_VERSION = 8 };
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
    uint16_t engine, service;
    uint32_t n_bytes; /* of all of it */
    uint16_t from;    /* the sender's address */
    uint16_t padding;
    uint64_t id;      /* of a request or an ask */
    uint64_t session; /* 0: of none */
    uint32_t number;  /* its place in the session, the first being 0, each way its own */
    uint32_t epoch;   /* CANCEL: of the submission that ends */
};
struct message_submit { /* then the request_body */
    struct message_head head;
    struct request request; /* its times are spans: see cluster_message_request_to_spans */
};
struct message_event { /* then the payload */
    struct message_head head;
    struct service_event event; /* served_ns is a span: how long ago, -1 when it is not known */
};
/* A report without its rows, then the rows of the services that it lists, one after the other. It
 * tells all that there is to tell: what it does not list is gone, so a lost or repeated one does no
 * harm. */
struct message_report {
    struct message_head head;
    struct engine_report report;
};
/* Of a report that lists so many. */
static inline size_t cluster_message_report_bytes(int n_listed)
{
    return offsetof(struct message_report, report) + engine_report_bytes(n_listed);
}
/* Writes the message, whose sender, engine and so on are in its head already. Returns its bytes. */
size_t cluster_message_write_report(const struct engine_report *report,
                                    struct message_report *message, int64_t now_ns);
/* Into what an earlier one said, or zeroes. */
void cluster_message_read_report(const struct message_report *message, struct engine_report *report,
                                 int64_t now_ns);
struct message_change {
    struct message_head head;
    uint8_t status; /* enum service_status */
    uint8_t cause;  /* enum status */
    int64_t weights_bytes, activation_bytes;
    struct fault fault;
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
/* What came from outside: the kind's size, indices, the body inside a SUBMIT, the payload of an
 * EVENT. */
bool cluster_message_is_valid(const void *message, size_t n_bytes, int n_engines, int n_services);
