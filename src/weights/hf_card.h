/* The card of a Hugging Face directory. */
#pragma once
#include "weights/card.h"
#include "weights/hf_files.h"

/* Opens a card. config is the directory's config.json, NULL when there is none. n_vocabulary is the
 * rows of the embedding, 0 = unknown; further tokens are dropped. On failure nothing is left
 * open. */
enum status weights_hf_card_open(struct weights_hf_card *hf, const char *directory,
                                 const struct weights_json_node *config, int32_t n_vocabulary,
                                 struct weights_card *card, struct fault *fault) MUST_USE;
void weights_hf_card_close(struct weights_hf_card *hf);
