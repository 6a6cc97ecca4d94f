/* The files that simulations write, named by what tells several runs apart. */
#pragma once
#include "base/status.h"

struct report_files_run { /* NULL or not: does this differ between the runs? */
    const char *label;
    const double *rate;
    const uint64_t *seed;
};
/* "run.csv" as it is for a single run, else with what differs before its ending:
 * "run-fcfs-x0.5-s3.csv". A label's / becomes _. For mem_give; NULL for NULL. */
char *report_files_name(const char *path, const struct report_files_run *run);
