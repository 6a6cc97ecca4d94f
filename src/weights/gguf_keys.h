/* How each key of a GGUF file's metadata is treated. */
#pragma once
#include "weights/gguf.h"
#include "weights/keys.h"

/* Returns all rows; a NULL name ends them. Names are without the architecture's, and families are
 * names of architectures (weights/names.h). */
const struct weights_key *weights_gguf_keys(void);
/* Refuses the first key with a value that would need an unsupported computation. Keys of the file
 * begin with `prefix`. */
enum status weights_gguf_keys_check(const struct weights_gguf *gguf, const char *prefix,
                                    const char *family, struct fault *fault) MUST_USE;
/* Adds the file's keys of this family that have no row. */
void weights_gguf_keys_unknown(const struct weights_gguf *gguf, const char *prefix,
                               const char *family, struct pile *pile,
                               struct weights_unknown *unknown);
