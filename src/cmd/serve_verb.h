/* The common part of `shoal serve`, `shoal node` and `shoal gateway`. */
#pragma once
#include "base/status.h"

struct config;
struct serve_words;
/* Serves until it is told to stop, if the role's check of the settings (NULL: none) finds no fault.
 * Returns the exit code. */
int serve_verb_run(const struct serve_words *words,
                   enum status (*check)(const struct config *config, struct fault *fault));
