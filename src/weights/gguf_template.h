/* The chat templates and special tokens of a GGUF file. */
#pragma once
#include "weights/card.h"
#include "weights/gguf.h"

/* Sets the card's templates: tokenizer.chat_template, and tokenizer.chat_template.NAME. */
enum status weights_gguf_template(struct weights_gguf *gguf, struct weights_card *card,
                                  struct fault *fault) MUST_USE;
/* Sets specials_json from the file's ids. The card's tokens must be set already. */
enum status weights_gguf_template_specials(struct weights_gguf *gguf, struct weights_card *card,
                                           struct fault *fault) MUST_USE;
