/* SentencePiece's tokenizer.model: unigram and BPE models. */
#pragma once
#include "weights/card.h"
#include "weights/vocabulary.h"

/* Returns how many pieces are in the file; 0 when it isn't a SentencePiece model. */
int32_t weights_sentencepiece_count(struct view file);
/* Fills tokens, scores, types and special ids. Texts are copied into the pile. n_least is the
 * number of ids for which the vocabulary must have room (added tokens follow the pieces, at most
 * 65536). vocabulary is initialized here, also on failure. */
enum status weights_sentencepiece(struct view file, int32_t n_least, struct pile *pile,
                                  struct weights_vocabulary *vocabulary, struct weights_card *card,
                                  struct fault *fault) MUST_USE;
