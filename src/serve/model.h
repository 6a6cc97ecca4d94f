/* A configured model's files, checked: what `serve` opens at start and `config check` looks at. */
#pragma once
#include "predict/profile.h"
#include "serve/model_card.h"

struct config;
struct config_model;
/* Of the model's file only the header is read, and samples for its hash. Checks that its KV can be
 * of the type asked for, that ctx is not more than it was trained for, and that a profile is of
 * this file. On success the caller closes all three; the profile has no groups where none is
 * named. */
enum status serve_model_open(const struct config *config, const struct config_model *model,
                             struct weights **weights, struct model_card *card,
                             struct predict_profile *profile, struct fault *fault) MUST_USE;
