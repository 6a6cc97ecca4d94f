/* The card of a Hugging Face directory. */
#pragma once
#include "weights/json.h"
#include "weights/vocabulary.h"
#include "weights/weights.h"

enum { HF_TOKENIZER_BYTES_MAX = 64 << 20, HF_SETTINGS_BYTES_MAX = 16 << 20 };

/* The memory that the card points into. It must live as long. */
struct weights_hf_card {
    struct pile pile;
    /* tokenizer.json, tokenizer_config.json, special_tokens_map.json, added_tokens.json */
    struct weights_json tokenizer, settings, specials, added;
    struct weights_vocabulary vocabulary;
};

/* Opens a card. config is the directory's config.json, NULL when there is none. n_vocabulary is the
 * rows of the embedding, 0 = unknown; further tokens are dropped. On failure nothing is left
 * open. */
enum status weights_hf_card_open(struct weights_hf_card *hf, const char *directory,
                                 const struct weights_json_node *config, int32_t n_vocabulary,
                                 struct weights_card *card, struct fault *fault) MUST_USE;
void weights_hf_card_close(struct weights_hf_card *hf);
