/* What each key of a GGUF file's metadata is to us. */
#pragma once
#include "weights/gguf.h"
#include "weights/keys.h"

/* All rows, which end at name NULL: names without the architecture's, and families are values of
 * general.architecture. */
const struct weights_key *weights_gguf_keys(void);
/* Refuses the first key whose value asks for what is not computed here. */
enum status weights_gguf_keys_check(const struct weights_gguf *gguf, const char *architecture,
                                    struct fault *fault) MUST_USE;
/* Adds the keys of this architecture in the file that have no row. */
void weights_gguf_keys_unknown(const struct weights_gguf *gguf, const char *architecture,
                               struct pile *pile, struct weights_unknown *unknown);
