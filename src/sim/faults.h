/* What lies between clients and engines when a simulation has the bus, and what goes wrong there.
 *
 * With it the gateway, the manager and a node of all engines are the real ones (cluster/), talking
 * over a bus on virtual time; clients compare every token that they get with the one that it must
 * be. All zeros: a bus that takes no time and never fails. */
#pragma once
#include "base/base.h"

struct sim_faults {
    int64_t latency_ns; /* of every message, one way */
    int64_t late_ns;    /* the mean of what comes to it, exponential */
    /* Order between two ends is kept: a message that waits keeps those behind it waiting. */
    double lost; /* part of the messages that do not arrive: they are sent again, as TCP does */
    int64_t resend_ns; /* after so long; 0 = 200 ms */
    /* Messages between gateway and node that are really lost, so that their session ends: a part of
     * them one by one, and all of a span whose mean distance is break_ns. */
    double drop;
    int64_t break_ns, break_for_ns; /* 0 = none, 0 = 4 s */
    double hole;                    /* part of the pieces of answers that an engine loses */
    double twice; /* part that arrives once more, after resend_ns in the mean, out of order */
    int64_t cut_ns, cut_for_ns; /* mean time between cuts of a pair of ends, and how long nothing
                                   passes then; 0 = none, 0 = 2 s */
    int64_t crash_ns; /* mean time between crashes of an engine: what it holds is lost; 0 = none */
    int64_t restart_ns;       /* until it is there again with its models; 0 = 5 s */
    int64_t load_bytes_per_s; /* at which weights come when a model is loaded; 0 = at once */
    int64_t report_ns;        /* between reports of an engine; 0 = 100 ms */
    int64_t bus_bytes;        /* that may be on their way to one end; more is refused; 0 = 64 MiB */
};
struct sim_faults_report {
    int64_t n_messages, n_bytes; /* sent, and their bytes */
    int64_t n_lost, n_twice, n_refused;
    int64_t n_dropped, n_breaks, n_holes;
    int64_t n_crashes, n_crashed; /* of engines; requests that came back from them */
};
