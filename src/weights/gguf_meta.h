/* Typed access to GGUF metadata. A missing key leaves the default, and a wrong type is a fault of
 * one sentence. */
#pragma once
#include "weights/gguf_file.h"

const struct weights_gguf_value *weights_gguf_meta_find(const struct weights_gguf *gguf,
                                                        const char *key);
/* Reads a number or a bool (1 or 0) as a double. Returns false for another type. */
bool weights_gguf_meta_number(const struct weights_gguf_value *value, double *out) MUST_USE;
/* Each function leaves *out alone when the key is absent. A wrong type or a value out of range is
 * STATUS_BAD_INPUT. */
enum status weights_gguf_meta_i64(const struct weights_gguf *gguf, const char *key, int64_t least,
                                  int64_t most, int64_t *out, struct fault *fault) MUST_USE;
enum status weights_gguf_meta_f32(const struct weights_gguf *gguf, const char *key, float *out,
                                  struct fault *fault) MUST_USE;
enum status weights_gguf_meta_bool(const struct weights_gguf *gguf, const char *key, bool *out,
                                   struct fault *fault) MUST_USE;
enum status weights_gguf_meta_text(const struct weights_gguf *gguf, const char *key,
                                   struct view *out, struct fault *fault) MUST_USE;
/* Sets *out to an array with elements of this type, to NULL when the key is absent. */
enum status weights_gguf_meta_array(const struct weights_gguf *gguf, const char *key, uint32_t of,
                                    const struct weights_gguf_value **out,
                                    struct fault *fault) MUST_USE;
/* Walks an array of texts. *cursor starts at 0. */
struct view weights_gguf_meta_next_text(const struct weights_gguf_value *array, size_t *cursor);
const char *weights_gguf_meta_type(uint32_t type); /* "an array", for messages */
