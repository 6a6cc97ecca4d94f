/* Added tokens that the other files of a Hugging Face directory name, besides tokenizer.json:
 * tokenizer_config.json, or else special_tokens_map.json and added_tokens.json. */
#pragma once
#include "weights/json.h"
#include "weights/tokenizer_json.h"

/* The documents. Each may be NULL. Texts of the list stay in them. */
struct weights_hf_added_files {
    const struct weights_json_node *tokenizer, *settings, *specials, *added;
};
/* Returns a special token's text by its role ("bos_token"); NULL: there is none. */
const struct weights_json_node *weights_hf_added_special(const struct weights_hf_added_files *files,
                                                         const char *role);
/* Sets source's extra tokens, which are in the pile. */
enum status weights_hf_added(const struct weights_hf_added_files *files, struct pile *pile,
                             struct weights_tokenizer_source *source, struct fault *fault) MUST_USE;
