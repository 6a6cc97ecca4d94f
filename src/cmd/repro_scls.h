/* Shared by the claims of SCLS: a setting, and the results of a run. */
#pragma once
#include "cmd/repro.h"

struct repro_scls_setting {
    const char *key, *policy; /* as repro_simulate */
    int rate, n_workers;      /* requests a second; LLaMA2-13B on an A100-80G each */
    const char *more;         /* further lines of the scenario, or "" */
};
/* Runs Poisson arrivals for 10 minutes (a minute when quick), with lengths like CodeFuse's and no
 * predictions. */
enum status repro_scls_run(struct repro *repro, const struct repro_scls_setting *setting,
                           struct fault *fault) MUST_USE;
/* Means over the seeds of a key. */
struct repro_scls_worth {
    double per_s, mean_s, p95_s; /* requests a second, response times */
    double deviation_s;          /* of the times at which workers finished */
    double pads, invalid;        /* tokens of a request, all its slices together */
    double slices;               /* of a request */
    double batch;                /* rows of a static batch; 0: there was no batch */
    double early; /* part of the batches that all members left before the slice was over */
};
struct repro_scls_worth repro_scls_of(const struct repro *repro, const char *key);

/* repro_scls_ladder.c and repro_scls_models.c: the claims of Figures 15 to 22, and 6, 10, 11. */
enum status repro_scls_fig15(struct repro *repro, struct fault *fault);
enum status repro_scls_fig17(struct repro *repro, struct fault *fault);
enum status repro_scls_fig18(struct repro *repro, struct fault *fault);
enum status repro_scls_fig22(struct repro *repro, struct fault *fault);
enum status repro_scls_fig6(struct repro *repro, struct fault *fault);
enum status repro_scls_fig10(struct repro *repro, struct fault *fault);
enum status repro_scls_fig11(struct repro *repro, struct fault *fault);
