/* How each key of a GGUF file's metadata is treated. */
#pragma once
#include "weights/gguf.h"
#include "weights/keys.h"

/* Returns all rows; a NULL name ends them. Names are without the architecture's, and families are
 * values of general.architecture. */
const struct weights_key *weights_gguf_keys(void);
/* Refuses the first key with a value that would need an unsupported computation. */
enum status weights_gguf_keys_check(const struct weights_gguf *gguf, const char *architecture,
                                    struct fault *fault) MUST_USE;
/* Adds the file's keys of this architecture that have no row. */
void weights_gguf_keys_unknown(const struct weights_gguf *gguf, const char *architecture,
                               struct pile *pile, struct weights_unknown *unknown);
