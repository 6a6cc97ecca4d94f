/* The lists of steps in a tokenizer.json: normalizer, pre_tokenizer, decoder. */
#pragma once
#include "base/pile.h"
#include "base/status.h"
#include "core/tokenizer_steps.h"
#include "weights/json.h"

/* Sets the three lists; texts stay in the document or lie in the pile. A step that is not known is
 * refused by name. */
enum status weights_tokenizer_steps(const struct weights_json_node *root, struct pile *pile,
                                    struct tokenizer_steps *steps, struct fault *fault) MUST_USE;
