/* Model files: GGUF v2/v3 (split too) and Hugging Face directories of safetensors, mapped and
 * checked.
 *
 * weights_open reads the header, checks every count, offset and type against the file's size,
 * builds the spec and finds each tensor by role. Nothing is copied: tensors point into the mapping,
 * which lives until weights_close. */
#pragma once
#include "core/model_weights.h"
#include "weights/card.h"

struct weights;
struct weights_unknown; /* weights/keys.h */

/* Opens a model. path is a .gguf file (any part of a split set), or a directory with config.json
 * and *.safetensors. */
enum status weights_open(struct weights **out, const char *path, struct fault *fault) MUST_USE;
void weights_close(struct weights *weights);
const struct model_spec *weights_spec(const struct weights *weights);
const struct model_weights *weights_model(const struct weights *weights);
const struct weights_card *weights_card(const struct weights *weights);
int64_t weights_file_bytes(const struct weights *weights); /* bytes of all tensors as stored */
/* Returns 64 bits over names, shapes, types and a sample of the content of all tensors. They are
 * part of the arithmetic's name. */
uint64_t weights_hash(const struct weights *weights);
/* Returns 64 bits over the sizes of its files and the times when they were written last. A file
 * that is written again has others, even if weights_hash does not see the difference. */
uint64_t weights_stamp(const struct weights *weights);
/* Returns false when one of its files was changed after it was opened, or could not be read. Then
 * all copies of its data are invalid. */
bool weights_are_whole(const struct weights *weights);
/* Drops the pages of this tensor when they are not needed any more (it was packed). */
void weights_drop(const struct weights *weights, const struct tensor *tensor);
/* Returns the keys of the file without a row in the tables of weights/keys.h. They are ignored. */
const struct weights_unknown *weights_unknown_keys(const struct weights *weights);
const char *weights_format(const struct weights *weights); /* "GGUF v3", "safetensors" */
