/* The records between an engine's process and its parent.
 *
 *   down (parent -> child)  SUBMIT CANCEL LOAD UNLOAD DRAIN ADD ADMIT REMOVE LENT
 *   up   (child -> parent)  READY CHANGE REPORT PRESENCE WANT
 *   events                  a service_event, then its payload
 *
 * Both ends are one program, so records are its structs. A service is a number that parent and
 * child share. WANT asks for the packed weights of a model (process/weights.h); LENT answers it,
 * after their descriptor was sent over the socket. */
#pragma once
#include "core/report.h"
#include "core/service.h"
#include "process/options.h"

enum process_record_kind {
    PROCESS_SUBMIT,
    PROCESS_CANCEL,
    PROCESS_LOAD,
    PROCESS_UNLOAD,
    PROCESS_DRAIN,
    PROCESS_ADD,
    PROCESS_ADMIT,
    PROCESS_REMOVE,
    PROCESS_LENT,
    PROCESS_READY,
    PROCESS_CHANGE,
    PROCESS_REPORT,
    PROCESS_PRESENCE,
    PROCESS_WANT,
};
struct process_record { /* at the start of each */
    uint32_t kind;
    int32_t service;
};
struct process_submit { /* then the request_body */
    struct process_record head;
    struct request request;
};
struct process_cancel {
    struct process_record head;
    uint64_t id, epoch;
};
struct process_unload {
    struct process_record head;
    uint64_t even_busy;
};
struct process_add {
    struct process_record head;
    struct process_service service;
};
struct process_lent {
    struct process_record head;
    uint64_t status; /* enum status; OK: the descriptor comes over the socket */
    uint64_t file_hash;
    struct fault fault;
};
struct process_change {
    struct process_record head;
    struct service_change change;
};
struct process_report { /* its rows are the last, as many as it has services */
    struct process_record head;
    struct engine_report report;
};
struct process_presence {
    struct process_record head;
    uint64_t presence; /* enum run_unit_presence: NONE, REFUSED or READY */
    struct fault why;  /* of REFUSED */
};
struct process_want {
    struct process_record head;
    int64_t n_bytes; /* of the packed weights; 0: not wanted any more */
};

/* Checks a record that the child wrote: its kind, its size, indices, and every value that the
 * parent uses. The record lies in the parent's own memory, at a multiple of 8. */
bool process_record_is_valid(const void *record, size_t n_bytes);
bool process_record_is_event(const void *record, size_t n_bytes); /* of the ring of events */
