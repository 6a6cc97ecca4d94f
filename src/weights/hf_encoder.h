/* Encoders (BERT, RoBERTa, XLM-RoBERTa): what config.json says beside the sizes. And how vectors
 * are made of the rows of any model: the files of sentence-transformers. */
#pragma once
#include "core/model_spec.h"
#include "weights/json.h"

/* Does nothing for other architectures. */
enum status weights_hf_encoder(const struct weights_json_from *config,
                               struct model_spec *spec) MUST_USE;
/* Reads modules.json of the directory, and the pooling that it names. Without these files the spec
 * stays as it is. */
enum status weights_hf_pooling(const char *directory, struct model_spec *spec,
                               struct fault *fault) MUST_USE;
