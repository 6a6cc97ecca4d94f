/* Reads a scenario's settings of the bus: "lost=0.01,crash=60s". */
#pragma once
#include "base/flags.h"
#include "sim/faults.h"

/* Each text is a list separated by commas, and the last value wins. docs/SIMULATOR.md has the
 * names. */
enum status scenario_faults_parse(const struct flags_texts *texts, struct sim_faults *out,
                                  struct fault *fault) MUST_USE;
