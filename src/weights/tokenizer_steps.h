/* The lists of steps in a tokenizer.json: normalizer, pre_tokenizer, decoder. */
#pragma once
#include "base/pile.h"
#include "base/status.h"
#include "core/tokenizer_steps.h"
#include "weights/json.h"

/* Sets the three lists. Texts stay in the document or are in the pile. An unknown step is refused
 * by name. */
enum status weights_tokenizer_steps(const struct weights_json_node *root, struct pile *pile,
                                    struct tokenizer_steps *steps, struct fault *fault) MUST_USE;
