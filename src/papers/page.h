/* The page of a claim: its lines, with the paper's values, ours and verdicts, and what differs. */
#pragma once
#include "base/str.h"
#include "papers/register.h"

enum { PAPERS_TEXT_MAX = 240, PAPERS_ROWS_MAX = 128 };
struct papers_row {
    const char *what, *paper;
    char ours[PAPERS_TEXT_MAX];
    bool is_judged, holds;
    bool is_by_direction; /* if it holds: in its direction, not in its size */
};
struct papers_page {
    const struct papers_claim *claim;
    const char *folder; /* of the records */
    int64_t n_seeds;
    int n_rows, n_differs;
    struct papers_row rows[PAPERS_ROWS_MAX];
    const char *differs[PAPERS_ROWS_MAX];
};
void papers_page_print(const struct papers_page *page, struct str *out);
void papers_page_print_json(const struct papers_page *page, struct str *out);
/* Writes where the claim stands: "SeaLLM, Figure 12". */
void papers_page_source(const struct papers_claim *claim, char source[64]);
