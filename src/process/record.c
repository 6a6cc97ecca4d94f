/* Checks what an engine's process wrote. */
#include "process/record.h"

#include "run/unit.h"

static const size_t fixed_bytes[] = {
    [PROCESS_READY] = sizeof(struct process_record),
    [PROCESS_CHANGE] = sizeof(struct process_change),
    [PROCESS_REPORT] = offsetof(struct process_report, report.services),
    [PROCESS_PRESENCE] = sizeof(struct process_presence),
    [PROCESS_WANT] = sizeof(struct process_want),
};

static bool is_valid_report(const struct process_report *m, size_t n_bytes)
{
    const struct engine_report *r = &m->report;
    return r->n_services >= 0 && r->n_services <= LIMIT_MODELS &&
           n_bytes ==
               offsetof(struct process_report, report) + engine_report_bytes(r->n_services) &&
           report_is_valid(r, LIMIT_MODELS) && set_next(&r->listed, r->n_services, SET_MAX) < 0;
}

static bool is_valid_presence(const struct process_presence *m)
{
    return (m->presence == RUN_UNIT_NONE || m->presence == RUN_UNIT_REFUSED ||
            m->presence == RUN_UNIT_READY) &&
           fault_is_text(&m->why);
}

bool process_record_is_valid(const void *record, size_t n_bytes)
{
    const struct process_record *head = record;
    if (n_bytes < sizeof *head || head->kind < PROCESS_READY || head->kind > PROCESS_WANT ||
        n_bytes < fixed_bytes[head->kind] || head->service < 0 || head->service >= LIMIT_MODELS)
        return false;
    if (head->kind != PROCESS_REPORT && n_bytes != fixed_bytes[head->kind])
        return false;
    switch (head->kind) {
    case PROCESS_CHANGE: {
        const struct process_change *m = record;
        return m->change.service < LIMIT_MODELS && report_change_is_valid(&m->change);
    }
    case PROCESS_REPORT:
        return is_valid_report(record, n_bytes);
    case PROCESS_PRESENCE:
        return is_valid_presence(record);
    case PROCESS_WANT:
        return report_bytes_are_valid(((const struct process_want *)record)->n_bytes);
    default:
        return true;
    }
}

bool process_record_is_event(const void *record, size_t n_bytes)
{
    const struct service_event *event = record;
    return n_bytes >= sizeof *event && event->served_ns >= 0 &&
           service_event_is_valid(event, event + 1, n_bytes - sizeof *event);
}
