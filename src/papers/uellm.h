/* Shared by the claims of UELLM: queries at t = 0 with the SLOs of its repository. */
#pragma once
#include "papers/papers.h"

enum { PAPERS_UELLM_QUERIES_MAX = 300 };

struct papers_uellm_queries { /* of one trial */
    int n;
    int32_t n_prompt[PAPERS_UELLM_QUERIES_MAX], n_output[PAPERS_UELLM_QUERIES_MAX];
    double slo_s[PAPERS_UELLM_QUERIES_MAX];
};
/* Simulates n queries with Alpaca's lengths, to draw them. */
enum status papers_uellm_draw(struct papers *repro, int n, int trial, struct fault *fault) MUST_USE;
/* Sets the queries that were drawn. SLOs are of the repository's ranges, 90 to 250 s; if wide, of
 * the paper's, 1 to 350 s. */
void papers_uellm_drawn(const struct papers *repro, int n, int trial, bool is_wide,
                        struct papers_uellm_queries *q);
/* Writes queries begin .. end - 1 as a trace with the service q. */
enum status papers_uellm_write(const struct papers_uellm_queries *q, int begin, int end,
                               const char *path, struct fault *fault) MUST_USE;
/* ---- ChatGLM2-6B in 33 units over cards (uellm_layers.c). ---- */

enum { PAPERS_UELLM_UNITS = 33, PAPERS_UELLM_CARDS_MAX = 8 };
struct papers_uellm_card {
    double speed;  /* of a card at its full power */
    int32_t units; /* that its free memory holds */
};
/* A static engine on a chain of cards, one batch at a time; the host bounds its steps. */
struct papers_uellm_chain {
    double decode_ms, decode_us_per_request, decode_ns_per_context, prefill_ms,
        prefill_us_per_token;
    double utilization; /* of a card of the chain: the mean part of a step that it works */
    int32_t n_cards;
};
/* Makes the cards' plan by this planner. Cards 0 and 1, 2 and 3, .. share a PCIe bridge. */
enum status papers_uellm_place(const struct papers_uellm_card *cards, int n, const char *planner,
                               struct papers_uellm_chain *chain, struct fault *fault) MUST_USE;
/* Writes the scenario's lines of service q on the chain, with every time `slower` times as long. */
void papers_uellm_service(const struct papers_uellm_chain *chain, double slower, struct str *yaml);
