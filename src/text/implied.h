/* The steps that a kind of tokenizer implies, for files that don't list them (GGUF). */
#pragma once
#include "base/pile.h"
#include "base/status.h"
#include "base/str.h"
#include "text/tokenizer_options.h"

/* Fills steps for byte-level BPE, from the name of its split pattern and the tokens' types. What it
 * points to lies in the pile. */
enum status text_implied_bpe(struct tokenizer_steps *steps, const struct tokenizer_options *options,
                             struct pile *pile, struct fault *fault) MUST_USE;
/* The tokens of a SentencePiece vocabulary that are found in the raw text. */
void text_implied_spm(struct tokenizer_steps *steps, const struct tokenizer_options *options,
                      struct pile *pile);
/* The special ids before and behind a text. */
void text_implied_ends(struct tokenizer_steps *steps, const struct tokenizer_options *options,
                       struct pile *pile);
