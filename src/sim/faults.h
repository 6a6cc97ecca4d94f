/* The bus between clients and engines in a simulation, and its faults.
 *
 * With it the gateway, the manager and a node of all engines are the real ones (cluster/), and they
 * use a bus on virtual time. Clients compare every token that they get with the expected one. All
 * zeros: a bus that takes no time and never fails. */
#pragma once
#include "base/base.h"

struct sim_faults {
    int64_t latency_ns; /* of every message, one way */
    int64_t late_ns;    /* the mean of what comes to it, exponential */
    /* Order between two ends is kept, so a message that waits delays those behind it. */
    double lost;       /* part of the messages that do not arrive and are resent, as TCP does */
    int64_t resend_ns; /* after so long; 0 = 200 ms */
    /* Messages between gateway and node that are lost for good, so that their session ends. A part
     * of them is lost one by one, and all are in spans whose mean distance is break_ns. */
    double drop;
    int64_t break_ns, break_for_ns; /* 0 = none, 0 = 4 s */
    double hole;                    /* part of the pieces of answers that an engine loses */
    double twice; /* part that arrives once more, after resend_ns on average, out of order */
    int64_t cut_ns, cut_for_ns; /* mean time between cuts of a pair of ends, and how long a cut
                                   lasts; 0 = none, 0 = 2 s */
    int64_t crash_ns; /* mean time between crashes of an engine, which lose its content; 0 = none */
    int64_t restart_ns;       /* until it is back with its models; 0 = 5 s */
    int64_t load_bytes_per_s; /* speed at which a model's weights load; 0 = at once */
    int64_t report_ns;        /* between reports of an engine; 0 = 100 ms */
    int64_t bus_bytes;        /* that may be in flight to one end; more is refused; 0 = 64 MiB */
};
struct sim_faults_report {
    int64_t n_messages, n_bytes; /* sent, and their bytes */
    int64_t n_lost, n_twice, n_refused;
    int64_t n_dropped, n_breaks, n_holes;
    int64_t n_crashes, n_crashed; /* of engines; requests that came back from them */
};
