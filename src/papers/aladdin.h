/* The claims of Aladdin about workers: aladdin_workers.c. */
#pragma once
#include "papers/papers.h"

enum status papers_aladdin_table3(struct papers *repro, struct fault *fault);
enum status papers_aladdin_fig9(struct papers *repro, struct fault *fault);
enum status papers_aladdin_fig10(struct papers *repro, struct fault *fault);
enum status papers_aladdin_fig11(struct papers *repro, struct fault *fault);
enum status papers_aladdin_eq7(struct papers *repro, struct fault *fault);
enum status papers_aladdin_fig12(struct papers *repro, struct fault *fault);
enum status papers_aladdin_groups(struct papers *repro, struct fault *fault);
