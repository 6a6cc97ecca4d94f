/* The claims of Aladdin about workers: repro_aladdin_workers.c. */
#pragma once
#include "cmd/repro.h"

enum status repro_aladdin_table3(struct repro *repro, struct fault *fault);
enum status repro_aladdin_fig9(struct repro *repro, struct fault *fault);
enum status repro_aladdin_fig10(struct repro *repro, struct fault *fault);
enum status repro_aladdin_fig11(struct repro *repro, struct fault *fault);
enum status repro_aladdin_eq7(struct repro *repro, struct fault *fault);
enum status repro_aladdin_fig12(struct repro *repro, struct fault *fault);
enum status repro_aladdin_groups(struct repro *repro, struct fault *fault);
