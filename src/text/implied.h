/* The steps that a kind of tokenizer implies, for files that don't list them (GGUF). */
#pragma once
#include "base/pile.h"
#include "base/status.h"
#include "base/str.h"
#include "text/tokenizer_options.h"

/* Fills steps for byte-level BPE from the name of its split pattern and the tokens' types. The pile
 * owns the data that steps points to. */
enum status text_implied_bpe(struct tokenizer_steps *steps, const struct tokenizer_options *options,
                             struct pile *pile, struct fault *fault) MUST_USE;
/* Sets the tokens of a SentencePiece vocabulary that are found in the raw text. */
void text_implied_spm(struct tokenizer_steps *steps, const struct tokenizer_options *options,
                      struct pile *pile);
/* Sets the special ids before and behind a text. */
void text_implied_ends(struct tokenizer_steps *steps, const struct tokenizer_options *options,
                       struct pile *pile);
