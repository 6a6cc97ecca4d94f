/* Warns in the log when a thread was slow: its work took more than a second, or it woke more than a
 * second later than it asked to. The warning tells what the thread did meanwhile.
 *
 *   engine-0: taking mail took 5.2 s (of the last 5.3 s: 0.1 computing, 5.1 ready but without a
 * core, 0.1 asleep or blocked)
 *
 * "Without a core" means that the machine has too much to do. "Asleep" means that nothing woke the
 * thread, or that it waited for the disk or a lock. Each thread logs at most one warning a second;
 * the others are counted.
 *
 * A struct pace belongs to one thread. Sources: /proc/thread-self/schedstat (Linux,
 * Documentation/scheduler/sched-stats: nanoseconds on a core and in its queue). */
#pragma once
#include "base/base.h"

#define PACE_SLOW_NS INT64_C(1000000000) /* longer work is reported */

struct pace_sample { /* of the calling thread, since it began */
    int64_t now_ns, on_core_ns, in_queue_ns;
};
struct pace {
    char part[16];
    struct pace_sample sample; /* at most some 100 ms old when a slow piece of work begins */
    int64_t told_ns;
    uint32_t n_untold;
};

void pace_begin(struct pace *pace, const char *part); /* called by the thread that owns it */
/* `what` (a sentence's beginning: "taking mail took") began at begin_ns and is over. Returns the
 * time now, where the next piece of work begins. */
int64_t pace_took(struct pace *pace, int64_t begin_ns, const char *what);
/* Reports that the thread woke after due_ns, the latest time that it wanted ("woke later than asked
 * by"). Returns now. */
int64_t pace_due(struct pace *pace, int64_t due_ns, const char *what);
struct pace_sample pace_read(void);
