/* Shared by the claims of Aladdin about workers: a search for the fewest that meet a target. */
#pragma once
#include "papers/needed.h"

struct papers_aladdin_search {
    const char *key, *policy;
    int rate, n_first, n_last, tp;
    int n_groups; /* of workers, each with its own router */
    /* Writes the scenario of a run. */
    void (*write)(char *yaml, size_t n_bytes, const struct papers_aladdin_search *search,
                  int n_workers);
};
enum status papers_aladdin_run(struct papers *repro, const struct papers_aladdin_search *s,
                               struct fault *fault) MUST_USE;
/* Sets the fewest GPUs of each target, as a mean over seeds. */
void papers_aladdin_count(const struct papers *repro, const struct papers_aladdin_search *s,
                          double gpus[PAPERS_TARGETS]);
/* A write: workers that compute prompts and decode, for LLaMA-13B on A100s with PCIe. */
void papers_aladdin_mixed(char *yaml, size_t n_bytes, const struct papers_aladdin_search *s,
                          int n_workers);
