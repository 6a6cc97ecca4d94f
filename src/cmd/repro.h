/* The papers' claims as commands. `shoal repro NAME` simulates the settings of one table or figure,
 * and writes a record per request. It computes the figures from those files and prints, for each
 * claim, the paper's value, ours, and whether it holds.
 *
 * A claim is a function that simulates settings under its own keys, then judges. Every figure that
 * it judges comes from the records, so other policies give other verdicts. */
#pragma once
#include "base/str.h"
#include "cmd/sim_cases.h"

enum { REPRO_KEYS_MAX = 256, REPRO_ROWS_MAX = 128, REPRO_FILES_MAX = 8 };

struct repro;
struct repro_claim {
    const char *name;  /* "seallm-fig12" */
    const char *paper; /* "SeaLLM, Figure 12" */
    const char *title;
    enum status (*run)(struct repro *repro, struct fault *fault);
};
/* Each paper's claims end with a row whose name is NULL. */
extern const struct repro_claim repro_seallm[], repro_seallm_placed[], repro_muxserve[],
    repro_muxserve_placed[], repro_aladdin[], repro_scls[], repro_uellm[];

/* Simulates one setting with every seed, and keeps its records under `key`. policy: a preset, a
 * scheduler, or "scheduler/router". yaml: a scenario (docs/SIMULATOR.md). A claim that repeats a
 * key has an error. */
enum status repro_simulate(struct repro *repro, const char *key, const char *policy,
                           const char *yaml, struct fault *fault) MUST_USE;
/* Has a planner place the services of a scenario with `nodes:`, on the workload of the scenario's
 * seed, judged under the policy. The scenario with its engines goes to out, for repro_simulate.
 * STATUS_UNSUPPORTED: the planner leaves a service out. */
struct repro_placed {
    double plan_s; /* that planning took */
    int32_t n_placed, n_services, n_devices;
    double normalized, attainment; /* that the judge saw */
};
struct repro_place_ask {
    const char *planner, *policy, *yaml;
};
enum status repro_place(struct repro *repro, const struct repro_place_ask *ask,
                        struct repro_placed *placed, struct str *out, struct fault *fault) MUST_USE;
/* Writes a file beside the records. Its path is valid as long as the claim runs. */
enum status repro_file(struct repro *repro, const char *name, const char *text, const char **path,
                       struct fault *fault) MUST_USE;
/* Returns the policy, planner or setting that replaces this one: --swap A,B exchanges A and B. For
 * names that a claim writes into a scenario itself. */
const char *repro_swapped(const struct repro *repro, const char *policy);
/* Returns how many seeds every setting is run with; `seed` below is 0, 1, ... n - 1. */
int repro_n_seeds(const struct repro *repro);
/* Returns the folder of the records. A claim may put its workloads there too. */
const char *repro_folder(const struct repro *repro);
/* Returns whether the user chose the short form. Claims then shorten their runs. */
bool repro_is_quick(const struct repro *repro);
/* Returns the score of the run of a key and seed, over all its services. */
const struct score *repro_score(const struct repro *repro, const char *key, int seed);
/* Returns the whole run: records, world, report. */
const struct sim_case *repro_case(const struct repro *repro, const char *key, int seed);
/* Returns the mean over seeds of a figure of the whole run. */
typedef double repro_figure(const struct score *score);
double repro_mean(const struct repro *repro, const char *key, repro_figure *figure);
double repro_nl(const struct score *score);       /* normalized latency */
double repro_attained(const struct score *score); /* fraction that meets the setting's rule */
double repro_p99(const struct score *score);      /* of latency, s */

/* Writes one line of the claim's table, with its verdict. paper: its words or number; ours:
 * printf-like. */
void repro_judge(struct repro *repro, bool holds, const char *what, const char *paper,
                 const char *ours, ...) PRINTF_LIKE(5, 6);
/* A line that is shown and not judged. */
void repro_note(struct repro *repro, const char *what, const char *paper, const char *ours, ...)
    PRINTF_LIKE(4, 5);
/* Notes a difference between the paper's setting and ours, one sentence each. */
void repro_differs(struct repro *repro, const char *sentence);
