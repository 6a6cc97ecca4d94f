/* What travels on the bus: a head with version, kind and length, then a flat record of that kind.
 *
 *   gateway -> node     SUBMIT (engine, request, body)   CANCEL (engine, id)
 *   node -> gateway     EVENT (service_event, payload)   REPORT (engine_report)   CHANGE
 *   node -> manager     REPORT, CHANGE (a model begins to come, came, goes, went, failed here)
 *   manager -> node     LOAD, UNLOAD, DRAIN (engine, service)
 *   gateway -> manager  WANT (service: requests are held for it), ASK (a control ask)
 *   manager -> gateway  CHANGE (BROKEN: what is held for it ends), ANSWER */
#pragma once
#include "core/control.h"
#include "core/service.h"

enum { MESSAGE_VERSION = 2 };
enum message_kind {
    MESSAGE_SUBMIT,
    MESSAGE_CANCEL,
    MESSAGE_EVENT,
    MESSAGE_REPORT,
    MESSAGE_CHANGE,
    MESSAGE_LOAD,
    MESSAGE_UNLOAD,
    MESSAGE_DRAIN,
    MESSAGE_WANT,
    MESSAGE_ASK,
    MESSAGE_ANSWER,
    MESSAGE_N,
};
struct message_head {
    uint16_t version, kind;
    uint16_t engine, service;
    uint32_t n_bytes; /* of all of it */
    uint16_t from;    /* the sender's address */
    uint16_t padding;
    uint64_t id; /* of a request or an ask */
};
struct message_submit { /* then the request_body */
    struct message_head head;
    struct request request;
};
struct message_event { /* then the payload */
    struct message_head head;
    struct service_event event;
};
struct message_report { /* of the services only as many as there are */
    struct message_head head;
    struct engine_report report;
};
static inline size_t cluster_message_report_bytes(int n_services)
{
    return offsetof(struct message_report, report) + engine_report_bytes(n_services);
}
struct message_change {
    struct message_head head;
    uint8_t status; /* enum service_status */
    uint8_t cause;  /* enum status */
    int64_t weights_bytes, activation_bytes;
    struct fault fault;
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

struct message_head cluster_message_head(enum message_kind kind, uint16_t from, size_t n_bytes);
/* What came from outside: the kind's size, indices, the body inside a SUBMIT, the payload of an
 * EVENT. */
bool cluster_message_is_valid(const void *message, size_t n_bytes, int n_engines, int n_services);
