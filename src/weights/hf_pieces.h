/* The card of a Hugging Face directory with a tokenizer.model as its vocabulary. */
#pragma once
#include "weights/hf_added.h"
#include "weights/hf_files.h"

/* Reads the pieces at `path` and the tokens that the other files add to them. is_chatglm adds those
 * that its tokenizer adds in code. */
enum status weights_hf_pieces(const char *path, const struct weights_hf_added_files *files,
                              bool is_chatglm, struct weights_hf_card *hf,
                              struct weights_card *card, struct fault *fault) MUST_USE;
