/* Names the files of simulations, so that several runs get different names. */
#pragma once
#include "base/status.h"

struct report_files_run { /* not NULL: this differs between the runs */
    const char *label;
    const double *rate;
    const uint64_t *seed;
};
/* Returns "run.csv" unchanged for a single run. Else it puts what differs before the ending:
 * "run-fcfs-x0.5-s3.csv". A label's / becomes _. For mem_give; NULL for NULL. */
char *report_files_name(const char *path, const struct report_files_run *run);
