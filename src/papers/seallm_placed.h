/* Shared by the claims of SeaLLM about placement: the systems, each with its own planner, and the
 * setting. */
#pragma once
#include "papers/sweep.h"

extern const struct papers_system papers_seallm_placed_vllm, papers_seallm_placed_alpa,
    papers_seallm_placed_mux, papers_seallm_placed_sea, papers_seallm_placed_ours;
/* Writes the sixteen services at a rate, as lines of a scenario. */
void papers_seallm_placed_setting(double rate, struct str *yaml);
void papers_seallm_placed_differs(struct papers *repro);
