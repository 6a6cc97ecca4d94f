/* The tokenizer.json of Hugging Face's tokenizers library. */
#pragma once
#include "weights/card.h"
#include "weights/json.h"
#include "weights/vocabulary.h"

/* A token that the library finds in the text itself. */
struct weights_added {
    struct view text;
    unsigned flags; /* enum added_flag */
    int64_t id;     /* as in the file; -1: it has none */
    bool is_weak;   /* it does not change a token with the same text that is not weak */
    bool is_named;  /* if is_weak: it makes that token special */
};
struct weights_tokenizer_source {
    const struct weights_json_node *root;
    /* Tokens of other files, which are added behind those of tokenizer.json
     * (weights/hf_added.h). */
    int32_t n_extra;
    const struct weights_added *extra;
};
/* Fills the card's fields that the file has. Texts stay in the document and in the pile. vocabulary
 * is initialized here, also on failure. card->add_bos and add_eos mean that the file itself puts
 * tokens before and behind texts. */
enum status weights_tokenizer_json(const struct weights_tokenizer_source *source, struct pile *pile,
                                   struct weights_vocabulary *vocabulary, struct weights_card *card,
                                   struct fault *fault) MUST_USE;
/* Reads an added token's flags from an object that describes it. */
unsigned weights_tokenizer_json_flags(const struct weights_json_node *token);
