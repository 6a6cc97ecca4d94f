/* Measures how much of this machine's processors other processes use during a measurement. */
#pragma once
#include "base/base.h"

struct busy {        /* a moment */
    int64_t all_ns;  /* processor time of all processes since the machine's start */
    int64_t own_ns;  /* of this process and of its children that ended */
    int64_t wall_ns; /* monotonic */
};
struct busy roofline_busy_now(void);
/* Returns the cores that all others used on average between two moments, including a hypervisor's;
 * never below 0. */
double roofline_busy_others(const struct busy *from, const struct busy *to);
/* Returns the processor time in the first line of /proc/stat, without idle and waiting; -1 when it
 * is not such a text. ticks_per_s: of its unit. */
int64_t roofline_busy_parse(const char *stat, long ticks_per_s);
