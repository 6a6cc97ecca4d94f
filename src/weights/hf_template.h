/* The chat templates and special tokens of a Hugging Face directory. */
#pragma once
#include "base/pile.h"
#include "weights/card.h"
#include "weights/json.h"

/* Sets the card's templates and specials_json. settings is tokenizer_config.json, NULL when there
 * is none. It must live as long as the card, and so must the pile. */
enum status weights_hf_template(const char *directory, const struct weights_json_node *settings,
                                struct pile *pile, struct weights_card *card,
                                struct fault *fault) MUST_USE;
