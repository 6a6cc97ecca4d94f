/* A bus on virtual time. A message may arrive later, late, after being resent, or twice.
 *
 * Order between two ends is kept, except for second copies.
 *
 * Between the two ends of a link messages may also be lost, one by one or all of a span. The drawn
 * faults depend only on the seed and on the number of the message. */
#pragma once
#include "cluster/bus.h"
#include "sim/faults.h"

enum { SIM_CHANNELS_ENDS = 4 };
struct sim_channels_fifo { /* of one way between two ends */
    unsigned char *bytes;
    size_t first, end, room; /* what waits is [first, end) */
    int64_t last_due_ns;
    int64_t cut_ns, cut_until_ns; /* the cut that comes next or goes on */
    uint64_t n_cuts;
};
struct sim_channels {
    struct sim_faults faults;
    const int64_t *clock_ns;
    uint64_t seed, n_sent;
    uint16_t link[2];                 /* two ends between which messages may be lost */
    int64_t break_ns, break_until_ns; /* the next or present break; 0: not drawn yet */
    struct sim_channels_end {
        struct sim_channels *channels;
        uint16_t address;
        struct sim_channels_fifo *shown; /* its first message was shown last */
        struct sim_channels_fifo *first; /* its first message arrives first, unless something */
        bool is_stale;                   /* came or went since */
        size_t n_waiting;                /* bytes on their way to it */
        /* from each end, in order, and second copies */
        struct sim_channels_fifo from[SIM_CHANNELS_ENDS], again[SIM_CHANNELS_ENDS];
    } ends[SIM_CHANNELS_ENDS];
    struct sim_faults_report *report;
};
/* The report counts the faults; it and the clock are lent. */
void sim_channels_open(struct sim_channels *channels, const struct sim_faults *faults,
                       uint64_t seed, const int64_t *clock_ns, struct sim_faults_report *report);
/* Allows the loss of messages between these two ends. Call it before any port is taken. */
void sim_channels_link(struct sim_channels *channels, uint16_t a, uint16_t b);
void sim_channels_close(struct sim_channels *channels);
struct bus_port sim_channels_port(struct sim_channels *channels, uint16_t address);
/* Returns when the next message arrives at this end; TIME_NEVER: none is in flight. */
int64_t sim_channels_next_ns(struct sim_channels *channels, uint16_t address);
