/* The files of a Hugging Face directory that a card is read from. */
#pragma once
#include "base/pile.h"
#include "weights/json.h"
#include "weights/vocabulary.h"

enum { HF_TOKENIZER_BYTES_MAX = 64 << 20, HF_SETTINGS_BYTES_MAX = 16 << 20 };

/* The memory that the card points into. It must live as long. */
struct weights_hf_card {
    struct pile pile;
    /* tokenizer.json, tokenizer_config.json, special_tokens_map.json, added_tokens.json */
    struct weights_json tokenizer, settings, specials, added;
    struct weights_vocabulary vocabulary;
};
