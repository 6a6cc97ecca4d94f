/* Typed access to GGUF metadata: a missing key leaves the default, a wrong type is one sentence. */
#pragma once
#include "weights/gguf_file.h"

const struct weights_gguf_value *weights_gguf_meta_find(const struct weights_gguf *gguf,
                                                        const char *key);
/* A number or a bool (1 or 0) as a double; false for anything else. */
bool weights_gguf_meta_number(const struct weights_gguf_value *value, double *out) MUST_USE;
/* Each leaves *out alone when the key is absent; a wrong type or a value out of range is bad input.
 */
enum status weights_gguf_meta_i64(const struct weights_gguf *gguf, const char *key, int64_t least,
                                  int64_t most, int64_t *out, struct fault *fault) MUST_USE;
enum status weights_gguf_meta_f32(const struct weights_gguf *gguf, const char *key, float *out,
                                  struct fault *fault) MUST_USE;
enum status weights_gguf_meta_bool(const struct weights_gguf *gguf, const char *key, bool *out,
                                   struct fault *fault) MUST_USE;
enum status weights_gguf_meta_text(const struct weights_gguf *gguf, const char *key,
                                   struct view *out, struct fault *fault) MUST_USE;
/* An array whose elements are of this type, NULL when the key is absent. */
enum status weights_gguf_meta_array(const struct weights_gguf *gguf, const char *key, uint32_t of,
                                    const struct weights_gguf_value **out,
                                    struct fault *fault) MUST_USE;
/* Walks an array of texts: *cursor starts at 0. */
struct view weights_gguf_meta_next_text(const struct weights_gguf_value *array, size_t *cursor);
const char *weights_gguf_meta_type(uint32_t type); /* "an array", for sentences */
