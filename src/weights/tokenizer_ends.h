/* The post_processor of a tokenizer.json: ids put before and behind a text. */
#pragma once
#include "base/pile.h"
#include "base/status.h"
#include "core/tokenizer_steps.h"
#include "weights/json.h"

/* Sets steps->before and behind, in the pile. A processor that does more with a single text is
 * refused by name. */
enum status weights_tokenizer_ends(const struct weights_json_node *root, struct pile *pile,
                                   struct tokenizer_steps *steps, struct fault *fault) MUST_USE;
