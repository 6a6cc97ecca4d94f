/* Checks a configured model's files, for `serve` at start and for `config check`. */
#pragma once
#include "predict/profile.h"
#include "serve/model_card.h"

struct config;
struct config_model;
/* Reads only the header of the model's file, and samples for its hash. Checks that its KV can have
 * the configured type, that ctx is not above its trained context, and that a profile belongs to
 * this file. On success the caller closes all three; the profile has no groups where none is
 * named. */
enum status serve_model_open(const struct config *config, const struct config_model *model,
                             struct weights **weights, struct model_card *card,
                             struct predict_profile *profile, struct fault *fault) MUST_USE;
