/* The tokenizer.json of Hugging Face's tokenizers library. */
#pragma once
#include "weights/card.h"
#include "weights/json.h"
#include "weights/vocabulary.h"

/* Fills what the file says of the card; texts stay in the document and in the pile. vocabulary is
 * initialized here, also on failure. *says_specials: the file says itself whether bos and eos are
 * added. */
enum status weights_tokenizer_json(const struct weights_json_node *root, struct pile *pile,
                                   struct weights_vocabulary *vocabulary, struct weights_card *card,
                                   bool *says_specials, struct fault *fault) MUST_USE;
