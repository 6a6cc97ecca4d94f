/* The papers' claims as commands. `shoal repro NAME` simulates the settings of one table or figure,
 * and writes a record per request. It computes the figures from those files and prints, for each
 * claim, the paper's value, ours, and whether it holds.
 *
 * A claim simulates its settings under its own keys, then judges. Every figure that it judges comes
 * from the records, so other policies give other verdicts. Only figures that no record has (times
 * on the wall) are kept beside them. */
#pragma once
#include "base/str.h"
#include "scenario/cases.h"

enum { PAPERS_KEY_MAX = 64, PAPERS_KEYS_MAX = 256, PAPERS_FILES_MAX = 8, PAPERS_KEPT_MAX = 64 };

struct papers;
struct papers_options {
    const char *folder, *swap, *kv; /* where records go; "A,B": A for B, or NULL; KIND, or NULL */
    bool is_quick, is_json;
    int64_t n_seeds;
};
/* Prints the register, a line a claim. */
void papers_list(bool is_json);
/* Runs the claims of this name, of a paper ("seallm"), or "all", and prints what came out. Returns
 * the exit code. */
int papers_run(const struct papers_options *options, const char *name);

/* Simulates one setting with every seed, and keeps its records under `key`. policy: a preset, a
 * scheduler, or "scheduler/router". yaml: a scenario (docs/SIMULATOR.md). A claim that repeats a
 * key has an error. */
enum status papers_simulate(struct papers *repro, const char *key, const char *policy,
                            const char *yaml, struct fault *fault) MUST_USE;
/* Has a planner place the services of a scenario with `nodes:`, on the workload of the scenario's
 * seed, judged under the policy. STATUS_UNSUPPORTED: the planner leaves a service out. */
struct papers_placed {
    double plan_s; /* that planning took */
    int32_t n_placed, n_services, n_devices;
    double normalized, attainment; /* that the judge saw */
};
struct papers_place_ask {
    const char *planner, *policy, *yaml;
};
enum status papers_place(struct papers *repro, const struct papers_place_ask *ask,
                         struct papers_placed *placed, struct fault *fault) MUST_USE;
/* Places as above, then simulates those engines under the same policy. more: lines of a scenario
 * that override it. A scenario that was not placed is not run, which is no fault. */
enum status papers_simulate_placed(struct papers *repro, const char *key,
                                   const struct papers_place_ask *ask, const char *more,
                                   bool *is_placed, struct fault *fault) MUST_USE;
/* Writes a file beside the records. Its path is valid as long as the claim runs. */
enum status papers_file(struct papers *repro, const char *name, const char *text, const char **path,
                        struct fault *fault) MUST_USE;
/* Keeps a figure that no record has, for the claim's judge: the time that planning took, say. The
 * first one has index 0. */
void papers_keep(struct papers *repro, double figure);
double papers_kept(const struct papers *repro, int index);
/* Returns the policy, planner or setting that replaces this one: --swap A,B exchanges A and B. For
 * names that a claim writes into a scenario itself. */
const char *papers_swapped(const struct papers *repro, const char *policy);
/* Returns how many seeds every setting is run with; `seed` below is 0, 1, ... n - 1. */
int papers_n_seeds(const struct papers *repro);
/* Returns the folder of the records. A claim may put its workloads there too. */
const char *papers_folder(const struct papers *repro);
/* Returns whether the user chose the short form. Claims then shorten their runs. */
bool papers_is_quick(const struct papers *repro);
/* Returns the score of the run of a key and seed, over all its services. */
const struct score *papers_score(const struct papers *repro, const char *key, int seed);
/* Returns the whole run: records, world, report. */
const struct scenario_case *papers_case(const struct papers *repro, const char *key, int seed);
/* Returns the mean over seeds of a figure of the whole run. */
typedef double papers_figure(const struct score *score);
double papers_mean(const struct papers *repro, const char *key, papers_figure *figure);
double papers_nl(const struct score *score);           /* normalized latency */
double papers_attained(const struct score *score);     /* fraction that meets the setting's rule */
double papers_p99(const struct score *score);          /* of latency, s */
double papers_p99_tpot(const struct score *score);     /* of the time per token, s */
double papers_served(const struct score *score);       /* requests a second */
double papers_offered(const struct score *score);      /* requests a second that came */
double papers_least_served(const struct score *score); /* fraction, of the service with the least */
/* Returns the weighted throughput of a key, sum(rate X) / sum(rate), as a mean over seeds. */
double papers_weighted(const struct papers *repro, const char *key);

/* Writes one line of the claim's table, with its verdict. paper: its words or number; ours:
 * printf-like. */
void papers_judge(struct papers *repro, bool holds, const char *what, const char *paper,
                  const char *ours, ...) PRINTF_LIKE(5, 6);
/* Says of the last line that its claim, if it holds, does so by direction and not in its size. */
void papers_by_direction(struct papers *repro);
/* A line that is shown and not judged. */
void papers_note(struct papers *repro, const char *what, const char *paper, const char *ours, ...)
    PRINTF_LIKE(4, 5);
/* Notes a difference between the paper's setting and ours, one sentence each. */
void papers_differs(struct papers *repro, const char *sentence);
