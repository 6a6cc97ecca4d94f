/* How much of this machine's processors others use while something is measured. */
#pragma once
#include "base/base.h"

struct busy {        /* a moment */
    int64_t all_ns;  /* processor time of everybody since the machine's start */
    int64_t own_ns;  /* of this process and of its children that ended */
    int64_t wall_ns; /* monotonic */
};
struct busy roofline_busy_now(void);
/* Cores that all others used on average between two moments, what a hypervisor took among them;
 * never below 0. */
double roofline_busy_others(const struct busy *from, const struct busy *to);
/* The processor time in the first line of /proc/stat, idle and waiting left out; -1 when it is no
 * such text. ticks_per_s: of its unit. */
int64_t roofline_busy_parse(const char *stat, long ticks_per_s);
